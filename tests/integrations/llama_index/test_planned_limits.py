"""What bounds a planned run and what the planner is told: budgets, breakers, recall, loops."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool, RetrieverTool
from llama_index.core.workflow import Context
from pydantic import BaseModel

from llama_index_loopmend import AgentStep, PlannedAgentWorkflow, with_hooks
from llama_index_loopmend.testing import call
from loopmend import Planner
from loopmend.breaker import CircuitBreaker
from loopmend.contracts import ActionCandidate, PlannedAction, TaskStateInput
from loopmend.planning import match_specialists
from tests.integrations.llama_index.agents import ACT, FINISH, add, function
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.memories import Words
from tests.integrations.llama_index.planned import (
    KINDS,
    Ran,
    buffer,
    kept,
    planned,
    ran,
    run,
    shown,
)

NARRATED = "I will now call the add tool to work this out."
ADD = call("add", a=1, b=2)


def test_a_budget_of_tokens() -> None:
    """What a turn uses is counted as the provider tells it, and at the end there is a blocker."""
    hook = hooks(token_budget=100)
    agent = planned("function", call("add", a=1, b=1), ADD, call("add", a=2, b=2), hook=hook)
    agent.llm.raw = {"usage": {"prompt_tokens": 40, "completion_tokens": 10}}
    done = run(agent)
    assert done.text == "Stopped: Token budget of 100 is used up."
    assert len(agent.llm.asked) == 2
    assert [plan.selected for plan in done.plans][-1] == "ReturnBlocker"
    assert kept(done.memory)[-1] == ("assistant", done.text)


def test_refused_replies_are_paid_for_too() -> None:
    """A reply that was corrected counts as well as the one that was used."""
    agent = planned("function", "", ADD, "3", hook=hooks(token_budget=100))
    agent.llm.raw = {"usage": {"prompt_tokens": 40, "completion_tokens": 10}}
    assert run(agent).text == "Stopped: Token budget of 100 is used up."
    assert len(agent.llm.asked) == 2


def test_each_turn_has_a_budget_of_its_own() -> None:
    """The next turn starts anew."""
    agent = planned("function", "3", "4", hook=hooks(token_budget=50))
    agent.llm.raw = {"usage": {"prompt_tokens": 40, "completion_tokens": 10}}

    async def turns() -> list[Ran]:
        ctx: Any = Context(agent)
        return [await ran(agent, ctx=ctx) for _ in range(2)]

    assert [done.text for done in asyncio.run(turns())] == ["3", "4"]


def test_tokens_are_estimated_where_the_provider_is_silent() -> None:
    """Without numbers of the provider's the length of the texts has to do."""
    hook = hooks(token_budget=1000)
    agent = planned("function", ADD, "3", hook=hook)
    done = run(agent, "word " * 900)
    assert done.text.startswith("Stopped: Token budget")
    assert len(agent.llm.asked) == 1


@pytest.mark.parametrize(("kind", "act"), [("react", ACT), ("function", ADD)])
def test_what_tools_return_is_counted(kind: str, act: Any) -> None:
    """Where the provider does not count, what is in the scratchpad is counted with the rest."""

    def dump() -> str:
        """Return a lot."""
        return "x" * 40_000

    first: Any = "Thought: a lot\nAction: dump\nAction Input: {}"
    first = first if kind == "react" else call("dump")
    hook = hooks(token_budget=9_000)
    agent = planned(kind, first, act, tools=[dump, add], hook=hook)
    assert run(agent).text == "Stopped: Token budget of 9000 is used up."
    assert len(agent.llm.asked) == 2


def test_a_breaker_opens_and_closes_again() -> None:
    """Failures of the provider open it, then runs end in a blocker, and later one tries again."""
    now = 0.0
    breaker = CircuitBreaker(threshold=2, cooldown=30, clock=lambda: now)
    down = ConnectionError("down")
    agent = planned("function", down, down, "3", "4", hook=hooks(breaker=breaker))

    def tried() -> str:
        return run(agent).text

    for _ in range(2):
        with pytest.raises(ConnectionError, match="down"):
            tried()
    states: list[str] = [breaker.state]
    assert tried().startswith("Stopped: Provider circuit breaker open")
    assert len(agent.llm.asked) == 2
    now = 31.0
    assert tried() == "3"
    assert [*states, breaker.state] == ["open", "closed"]
    assert tried() == "4"


def test_an_open_breaker_ends_a_conversation_too() -> None:
    """Without tools nothing can be said either."""
    breaker = CircuitBreaker(threshold=1)
    breaker.record_failure(TimeoutError())
    done = run(planned("function", tools=[], hook=hooks(breaker=breaker)), "Hello")
    assert [plan.selected for plan in done.plans] == ["ReturnBlocker"]
    assert done.plans[0].differences


@pytest.mark.parametrize(("query", "inspected"), [("cats", True), ("oslo", False)])
def test_poor_recall_leads_to_memory(query: str, inspected: bool) -> None:  # noqa: FBT001
    """When what a tool retrieved hardly fits, memory is looked into; else it is not."""
    documents = [Document(text="oslo is a city"), Document(text="oslo and bergen")]
    index = VectorStoreIndex.from_documents(documents, embed_model=Words())
    tool = RetrieverTool.from_defaults(index.as_retriever(), name="search", description="Search.")
    hook = hooks(inspect_memory=lambda _: "They have two cats.")
    agent = planned("function", call("search", input=query), "Found.", tools=[tool], hook=hook)
    done = run(agent, "What do I have?")
    second = "InspectMemory" if inspected else "ContinueCentralized"
    assert [plan.selected for plan in done.plans] == ["ContinueCentralized", second]
    assert ("They have two cats." in shown(agent.llm, 1)) is inspected


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_is_nudged_and_then_stopped(kind: str) -> None:
    """The same call with the same result: the model is told, and then it is over."""
    acts = {"react": ACT, "function": ADD, "code": "<execute>1</execute>"}
    hook = hooks(warn_after=2, stop_after=3)
    agent = planned(kind, *[acts[kind]] * 3, hook=hook)
    done = run(agent)
    assert done.text.startswith("Stopped: ")
    assert len(done.plans) == 1
    assert "2 times with the same arguments" in shown(agent.llm, 2)
    assert "Stopped: " in kept(done.memory)[-1][1]
    assert done.output["loopmend_ended"] == "blocked"


def test_the_second_time_is_told() -> None:
    """By default the model is told of a loop as soon as a call was repeated."""
    agent = planned("function", ADD, ADD, "3")
    done = run(agent)
    assert done.text == "3"
    assert "2 times with the same arguments" in shown(agent.llm, 2)


def test_loops_may_be_allowed() -> None:
    """A tool that polls may repeat freely."""
    agent = planned("function", *[ADD] * 8, "3", hook=hooks(exclude_tools=["add"]))
    assert run(agent).text == "3"


def insist(state: Any, input: TaskStateInput) -> ActionCandidate | None:
    """Stop whoever shouts, unless there is a lot of room."""
    if input.user_content.isupper() and input.remaining_budget_tokens:
        return ActionCandidate(PlannedAction.RETURN_BLOCKER, 0.99, "No shouting.")
    return None


def test_a_rule_of_your_own() -> None:
    """A planner with own rules plans the steps, and each step anew."""
    agent = planned("function", "3", hook=hooks(planner=Planner([insist])))
    loud, calm = run(agent, "ADD THEM"), run(agent, "add them")
    assert loud.text == "Stopped: No shouting."
    assert "own rule insist proposes ReturnBlocker" in loud.plans[0].differences[0]
    assert calm.text == "3"


def test_what_callbacks_see() -> None:
    """The view of a step holds what LlamaIndex knows of it."""
    seen: list[AgentStep] = []

    def observe(step: AgentStep) -> dict[str, Any]:
        seen.append(step)
        return {"intents": ["delegation"]}

    agent = planned("function", ADD, "3", hook=hooks(observe=observe), name="clerk")
    done = run(agent, "Use add for 1 + 2", max_iterations=7)
    first, second = seen
    assert (first.agent_name, first.user_text) == ("clerk", "Use add for 1 + 2")
    assert (first.iteration, second.iteration) == (0, 1)
    assert first.max_iterations == 7
    assert [tool.metadata.name for tool in first.tools] == ["add", "fail"]
    assert first.messages[-1].content == "Use add for 1 + 2"
    assert [result.tool_name for result in second.results] == ["add"]
    assert (first.is_last, first.agent, first.memory) == (False, agent, done.memory)
    assert (first.roster, first.state) == ({}, {})


def test_the_state_may_be_anything() -> None:
    """A state of the user's own that is no mapping tells nothing."""
    agent = planned("function", "3")

    async def turn() -> Ran:
        ctx: Any = Context(agent)
        await ctx.store.set("state", ["notes"])
        return await ran(agent, ctx=ctx)

    assert asyncio.run(turn()).text == "3"


def test_the_last_step_is_told() -> None:
    """Who has one step left is told to answer, which natively comes as an error."""
    acts = [call("add", f"call_{n}", a=n, b=n) for n in range(2)]
    agent = planned("function", *acts, "3")
    done = run(agent, max_iterations=3)
    assert done.text == "3"
    last = "This is the last step"
    assert [last in shown(agent.llm, at) for at in range(3)] == [False, False, True]


class Sum(BaseModel):
    """A sum."""

    total: int


def structured(*script: Any, **options: Any) -> Any:
    """Return a planned agent, and its messages when it shapes its answer."""
    seen: list[list[str]] = []

    def shape(messages: list[ChatMessage]) -> dict[str, Any]:
        seen.append([message.content or "" for message in messages])
        return {"total": 3}

    return planned("function", *script, structured_output_fn=shape, **options), seen


def test_a_blocker_is_not_structured() -> None:
    """It is no answer, so that nobody is asked to shape it."""
    agent, seen = structured(hook=hooks(token_budget=0))
    done = run(agent)
    assert (done.output.structured_response, seen) == (None, [])
    assert kept(done.memory)[-1] == ("assistant", done.text)


def test_structured_output_after_mending() -> None:
    """What was refused is not among what the answer is shaped from."""
    agent, seen = structured(NARRATED, "3")
    assert run(agent).output.structured_response == {"total": 3}
    assert seen == [["1 + 2?", "3"]]


@pytest.mark.parametrize("way", ["class", "wrapper", "workflow"])
@pytest.mark.parametrize("blocked", [False, True])
def test_an_output_class(way: str, blocked: bool) -> None:  # noqa: FBT001
    """LlamaIndex's own structured output works after mending; a blocker asks no provider."""
    script = [] if blocked else [NARRATED, "3", call("Sum", total=3)]
    hook = hooks(token_budget=0 if blocked else None)
    agent: Any
    if way == "class":
        agent = planned("function", *script, output_cls=Sum, hook=hook)
    elif way == "wrapper":
        agent = with_hooks(function(*script, output_cls=Sum), hook)
    else:
        agent = PlannedAgentWorkflow([function(*script)], output_cls=Sum, hooks=hook)
    done = run(agent)
    shaped = None if blocked else Sum(total=3)
    assert done.output.get_pydantic_model(Sum) == shaped
    assert done.text.startswith("Stopped: ") is blocked


def test_a_plan_is_made_anew_when_something_changes() -> None:
    """What is planned for one message does not hold for the next, nor for another agent."""
    hook = hooks(authority="Creator")
    agent = planned("function", "1", "2", "3", hook=hook)
    texts = ("Add.", "@adder please add", "Add.")
    selected = [run(agent, text).plans[0].selected for text in texts]
    assert selected == ["ContinueCentralized", "ComposeSubagent", "ContinueCentralized"]
    assert run(planned("react", FINISH, hook=hook), "Add.").text == "3"


def test_a_plan_is_kept_while_nothing_changes() -> None:
    """The matcher is asked once for a turn, however many steps it has."""
    asked: list[str] = []

    def match(text: str, roster: Any) -> Any:
        asked.append(text)
        return match_specialists(text, roster)

    agent = planned("function", ADD, "3", hook=hooks(match=match))
    assert run(agent, "Add.").text == "3"
    assert asked == ["Add."]


def test_without_a_user_message() -> None:
    """A run that starts from a history is planned from its last message."""
    agent = planned("react", FINISH)

    async def turn() -> Any:
        history = [ChatMessage(role="user", content="1 + 2?")]
        handler: Any = agent.run(chat_history=history, memory=buffer())
        return await handler

    assert str(asyncio.run(turn())) == "3"


def test_tools_that_answer() -> None:
    """A tool that answers directly ends a planned run as it does natively."""
    direct = FunctionTool.from_defaults(add, return_direct=True)
    for kind, act in (("react", ACT), ("function", ADD)):
        agent = planned(kind, act, tools=[direct])
        assert run(agent).text == "3", kind
