"""What is done about each action that the planner can select, on real agents."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.memory import BaseMemoryBlock, StaticMemoryBlock
from llama_index.core.workflow import Context

from llama_index_loopmend import AgentStep
from llama_index_loopmend.steps import found_in_blocks
from llama_index_loopmend.testing import call
from loopmend.breaker import CircuitBreaker
from loopmend.contracts import RetrievalMetrics
from tests.integrations.llama_index.agents import ACT, FINISH
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.memories import memory_of
from tests.integrations.llama_index.planned import (
    KINDS,
    LONG,
    answer,
    assistant,
    buffer,
    kept,
    observing,
    planned,
    ran,
    run,
    shown,
    user,
)

GAP = RetrievalMetrics(retrieval_count=1, retrieval_hit=True, avg_similarity=0.1)
VARY = "Vary the structure of the reply"
SHORTER = "The user's messages are getting shorter."
PROTOCOL = "In your last turn: You described a tool call but did not make it."
NARRATED = "I will now call the add tool to work this out."


@pytest.mark.parametrize("kind", ["react", "function"])
def test_without_tools_it_answers_directly(kind: str) -> None:
    """A turn without tools is talk, and the model is asked as ever."""
    agent = planned(kind, answer(kind, "Hi!"), tools=[])
    done = run(agent, "Hello")
    assert done.text == "Hi!"
    assert [(plan.selected, plan.done) for plan in done.plans] == [("AnswerDirectly", None)]
    assert len(agent.llm.asked) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_where_nothing_else_is_called_for(kind: str) -> None:
    """A task goes on with a model call, and the model is shown nothing new."""
    agent = planned(kind, answer(kind, "3"), system_prompt="Be brief.")
    done = run(agent)
    assert done.text == "3"
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized"]
    assert done.plans[0].hints == []
    assert kept(done.memory)[0] == ("user", "1 + 2?")
    assert [m.role.value for m in agent.llm.asked[0]] == ["system", "user"]


@pytest.mark.parametrize("mode", ["enforce", "advise", "observe"])
@pytest.mark.parametrize("hints", [False, True])
def test_hints_are_told_in_the_event(mode: Any, *, hints: bool) -> None:
    """The prompt changes only if you want that, and never if the hook only looks."""
    memory = buffer(
        *(user("Tell me all that there is to know about it"), assistant(LONG)),
        *(user("And what else is there to know?"), assistant(LONG)),
        *(user("And what is the rest?"), assistant(LONG)),
    )
    agent = planned("function", "3", hook=hooks(mode=mode, hints=hints))
    done = run(agent, "Go on", memory=memory)
    told = hints and mode != "observe"
    assert [VARY in hint or SHORTER in hint for hint in done.plans[0].hints] == [True, True]
    assert (VARY in shown(agent.llm)) is (SHORTER in shown(agent.llm)) is told
    assert done.plans[0].told == (done.plans[0].hints if told else [])


@pytest.mark.parametrize("system_prompt", [None, "Be brief."])
@pytest.mark.parametrize("kind", KINDS)
def test_hints_reach_the_prompt(kind: str, system_prompt: str | None) -> None:
    """The hints to vary and to win the user back are shown, next to the agent's own prompt."""
    memory = buffer(
        *(user("Tell me all that there is to know about it"), assistant(LONG)),
        *(user("And what else is there to know?"), assistant(LONG)),
        *(user("And what is the rest?"), assistant(LONG)),
    )
    agent = planned(kind, answer(kind, "3"), system_prompt=system_prompt, hook=hooks(hints=True))
    done = run(agent, "Go on", memory=memory)
    told = shown(agent.llm)
    assert VARY in told
    assert SHORTER in told
    assert [VARY in hint or SHORTER in hint for hint in done.plans[0].hints] == [True, True]
    assert system_prompt is None or system_prompt in told
    assert "add(" in told or "Tool Name: add" in told or kind == "function"
    assert all(VARY not in text for _, text in kept(done.memory))


def test_react_answers_are_compared_without_their_thoughts() -> None:
    """What a ReAct agent keeps in memory starts with its thoughts, which are no structure."""
    lists = assistant(f"Thought: I know\nAnswer: - {LONG}\n- {LONG}")
    texts = assistant(f"Thought: I know\nAnswer: {LONG}")
    agent = planned("react", FINISH)
    done = run(agent, "a", memory=buffer(texts, lists, texts))
    assert done.plans[0].hints == []


def looking(view: AgentStep) -> str | None:
    """Find something on Oslo only."""
    return "Oslo has 700,000 inhabitants." if "Oslo" in view.user_text else None


async def looking_long(view: AgentStep) -> str | None:
    """Take a while to find the same."""
    await asyncio.sleep(0)
    return looking(view)


@pytest.mark.parametrize("look", [looking, looking_long])
@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_inspected_once_a_turn(kind: str, look: Any) -> None:
    """A callback, async or not, is asked once a turn, and what it finds is shown."""
    first = {"react": ACT, "function": call("add", a=1, b=2), "code": "<execute>1</execute>"}
    seen: list[int] = []

    def counted(view: AgentStep) -> Any:
        seen.append(view.iteration)
        return look(view)

    hook = hooks(inspect_memory=counted, observe=lambda _: {"retrieval_metrics": GAP})
    agent = planned(kind, first[kind], answer(kind, "3"), hook=hook)
    done = run(agent, "How large is Oslo?")
    assert [plan.selected for plan in done.plans] == ["InspectMemory"]
    assert done.outcomes == ["looked into memory"]
    assert seen == [0]
    assert "From memory:\nOslo has 700,000" in shown(agent.llm)
    assert "From memory" not in shown(agent.llm, 1)


def test_each_turn_looks_anew() -> None:
    """What holds for one turn is forgotten in the next, also if nothing happens at its start."""
    gaps = iter([GAP, None, GAP])
    seen: list[int] = []

    def look(view: AgentStep) -> str:
        seen.append(view.iteration)
        return "found"

    def observe(view: AgentStep) -> dict[str, Any]:
        found = next(gaps)
        return {} if found is None else {"retrieval_metrics": found}

    hook = hooks(inspect_memory=look, observe=observe)
    agent = planned("react", FINISH, ACT, FINISH, hook=hook)

    async def turns() -> None:
        ctx, memory = Context(agent), buffer()
        await ran(agent, ctx=ctx, memory=memory)
        await ran(agent, ctx=ctx, memory=memory)

    asyncio.run(turns())
    assert seen == [0, 1]


@pytest.mark.parametrize("found", [None, ""])
def test_nothing_found_in_memory(found: str | None) -> None:
    """Where there is nothing to tell, the model is told nothing."""
    hook = hooks(inspect_memory=lambda _: found, observe=lambda _: {"retrieval_metrics": GAP})
    agent = planned("function", "3", hook=hook)
    done = run(agent)
    assert done.outcomes == ["found nothing new in memory"]
    assert "From memory" not in shown(agent.llm)


class Holding(BaseMemoryBlock[Any]):
    """A block that holds the same at all times, and what it was asked with."""

    held: Any

    async def _aget(self, messages: Any = None, **kwargs: Any) -> Any:
        return self.held(messages) if callable(self.held) else self.held

    async def _aput(self, messages: Any) -> None:
        """Keep nothing."""


def test_the_blocks_of_a_memory_are_asked() -> None:
    """Without a callback each block of a real memory says what it holds on the message."""
    agent = planned("function", "3", hook=observing(retrieval_metrics=GAP))
    times = count()

    async def ask() -> Any:
        blocks = [
            StaticMemoryBlock(name="facts", static_content=[TextBlock(text="Oslo is a city.")]),
            Holding(
                name="talk", held=lambda asked: [assistant(f"{next(times)}: {asked[-1].content}")]
            ),
        ]
        async with memory_of(*blocks) as memory:
            return await ran(agent, "Oslo?", memory=memory)

    done = asyncio.run(ask())
    assert done.outcomes == ["looked into memory"]
    assert "From memory:\n1: Oslo?" in shown(agent.llm)


def test_what_blocks_hold_besides_text_is_passed_over() -> None:
    """Pictures and the like are nothing that the model could be told."""

    async def ask() -> str:
        blocks = [Holding(name=f"{type(held)}", held=held) for held in (7, [ImageBlock()], " ")]
        async with memory_of(*blocks) as memory:
            return await found_in_blocks(memory, "Oslo?", [])

    assert asyncio.run(ask()) == ""


def test_what_the_prompt_holds_is_not_told_again() -> None:
    """A memory shows its blocks to the model by itself; only what is new is added."""
    agent = planned("function", "3", hook=observing(retrieval_metrics=GAP))

    async def ask() -> Any:
        said: list[Any] = [TextBlock(text="Oslo is a city.")]
        async with memory_of(StaticMemoryBlock(name="facts", static_content=said)) as memory:
            return await ran(agent, "Oslo?", memory=memory)

    done = asyncio.run(ask())
    assert done.outcomes == ["found nothing new in memory"]
    assert shown(agent.llm).count("Oslo is a city.") == 1


@pytest.mark.parametrize("make", [lambda view, plan: "pdf can be read now.", None])
def test_a_skill_is_composed_or_its_lack_is_an_advice(make: Any) -> None:
    """A creator's callback makes what is missing, else the event tells the developer."""
    known = {"missing_skills": ["pdf"], "authority": "Creator"}
    hook = hooks(observe=lambda _: known, compose=make)
    agent = planned("function", call("add", a=1, b=2), "3", hook=hook)
    done = run(agent)
    assert [plan.selected for plan in done.plans] == ["ComposeSkill"]
    assert ("pdf can be read now." in shown(agent.llm)) is (make is not None)
    assert "Missing skills" not in shown(agent.llm)
    advice = "Missing skills: pdf. Pass `compose=` to create it." if make is None else None
    assert [plan.advice for plan in done.plans] == [advice]
    assert done.outcomes == ([None] if make is None else ["composed"])


def test_peers_compose_nothing() -> None:
    """Only who has the authority may have things made."""
    known = {"missing_skills": ["pdf"], "authority": "Peer"}
    hook = hooks(observe=lambda _: known, compose=lambda view, plan: "made")
    done = run(planned("function", "3", hook=hook))
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized"]


@pytest.mark.parametrize("told", ["A specialist for tax was made.", None])
def test_a_specialist_is_composed(told: str | None) -> None:
    """Who asks for a specialist where there is none gets one made, by an async callback."""

    async def compose(view: AgentStep, plan: Any) -> str | None:
        await asyncio.sleep(0)
        return told

    hook = hooks(authority="Creator", compose=compose)
    agent = planned("react", FINISH, hook=hook)
    done = run(agent, "@tax file my return, please.")
    assert [plan.selected for plan in done.plans] == ["ComposeSubagent"]
    assert done.outcomes == ["composed"]
    assert (str(told) in shown(agent.llm)) is (told is not None)


def test_the_authority_of_the_state() -> None:
    """The workflow's state says who the user is, where nobody else does."""
    agent = planned("function", "3", initial_state={"authority": "Creator"})
    done = run(agent, "@tax file my return, please.")
    assert [plan.selected for plan in done.plans] == ["ComposeSubagent"]
    assert done.outcomes == [None]


def opened() -> CircuitBreaker:
    """Return a breaker that is open."""
    breaker = CircuitBreaker(threshold=1)
    breaker.record_failure(TimeoutError())
    return breaker


@pytest.mark.parametrize("kind", KINDS)
def test_a_blocker_is_an_answer_without_a_model(kind: str) -> None:
    """With an open breaker the run ends in words that say so, which memory keeps."""
    agent = planned(kind, hook=hooks(breaker=opened()))
    done = run(agent)
    assert done.text == ("Stopped: Provider circuit breaker open; cannot proceed with inference.")
    assert agent.llm.asked == []
    assert done.output["loopmend_ended"] == "blocked"
    assert [plan.selected for plan in done.plans] == ["ReturnBlocker"]
    assert done.outcomes == ["answered without asking the model"]
    roles = [role for role, _ in kept(done.memory)]
    assert roles == ["user", "assistant"]
    assert done.text in kept(done.memory)[1][1]


@pytest.mark.parametrize("kind", KINDS)
def test_after_a_blocker_the_conversation_goes_on(kind: str) -> None:
    """The next turn is shown what was said instead of an answer."""
    breaker = opened()
    agent = planned(kind, answer(kind, "3"), hook=hooks(breaker=breaker))

    async def turns() -> Any:
        ctx, memory = Context(agent), buffer()
        await ran(agent, ctx=ctx, memory=memory)
        breaker.cooldown = 0.0
        return await ran(agent, "Try again", ctx=ctx, memory=memory)

    done = asyncio.run(turns())
    assert done.text == "3"
    said = [m.content or "" for m in agent.llm.asked[0] if m.role.value != "system"]
    assert [said[0], said[2]] == ["1 + 2?", "Try again"]
    assert "Stopped: " in said[1]


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_broken_protocol_is_corrected_before_the_next_call(kind: str) -> None:
    """After a turn that could not be mended the model is reminded first, twice at most."""
    agent = planned(kind, *[NARRATED] * 5, hook=hooks(max_retries=0))

    async def turns() -> list[Any]:
        ctx, memory = Context(agent), buffer()
        return [await ran(agent, ctx=ctx, memory=memory) for _ in range(4)]

    done = asyncio.run(turns())
    assert [each.plans[0].selected for each in done] == [
        "ContinueCentralized",
        "NormalizationRetry",
        "NormalizationRetry",
        "ContinueCentralized",
    ]
    reminded = [PROTOCOL in shown(agent.llm, at) for at in range(4)]
    assert reminded == [False, True, True, False]
    assert all(each.issues[0].outcome == "gave_up" for each in done)


def test_a_good_turn_ends_the_corrections() -> None:
    """Who keeps to the protocol is not reminded any more."""
    agent = planned("function", NARRATED, "3", "4", hook=hooks(max_retries=0))

    async def turns() -> list[Any]:
        ctx, memory = Context(agent), buffer()
        return [await ran(agent, ctx=ctx, memory=memory) for _ in range(3)]

    done = asyncio.run(turns())
    assert [each.plans[0].selected for each in done] == [
        "ContinueCentralized",
        "NormalizationRetry",
        "ContinueCentralized",
    ]


def test_a_memory_is_left_alone() -> None:
    """What the model is told is not written into the user's own messages."""
    hook = hooks(inspect_memory=lambda _: "found", observe=lambda _: {"retrieval_metrics": GAP})
    done = run(planned("function", "3", hook=hook))
    assert kept(done.memory) == [("user", "1 + 2?"), ("assistant", "3")]
