"""Planned runs: the modes, many at once, what a context keeps, and a human in the loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow.agent_context import SimpleAgentContext
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent

from llama_index_loopmend import (
    PlanEvent,
    PlannedFunctionAgent,
    PlannedReActAgent,
    PlannerStepHook,
    ProtocolIssueEvent,
    with_hooks,
)
from llama_index_loopmend.steps import NOTES_KEY
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend import NormalizationError, classify_trace
from loopmend.contracts import RetrievalMetrics
from loopmend.planning.notes import Notes
from tests.integrations.llama_index.agents import ACT, FINISH, add, function, react, recorded
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.humans import ask_human
from tests.integrations.llama_index.planned import (
    Ran,
    answer,
    buffer,
    kept,
    planned,
    ran,
    run,
    shown,
)

NARRATED = "I will now call the add tool to work this out."
GAP = RetrievalMetrics(retrieval_count=1, retrieval_hit=True, avg_similarity=0.1)


@pytest.mark.parametrize(
    ("mode", "told", "found"),
    [
        ("enforce", ["From memory:\na memory"], "looked into memory"),
        ("advise", ["Suggested next step: look deeper into memory. Memory recall"], None),
        ("observe", [], None),
    ],
)
def test_modes(mode: Any, told: list[str], found: str | None) -> None:
    """One acts, one tells the model what the plan would do, one only looks; all stream events."""
    hook = PlannerStepHook(
        mode=mode,
        inspect_memory=lambda _: "a memory",
        observe=lambda _: {"retrieval_metrics": GAP},
    )
    agent = planned("function", NARRATED, hook=[hook])
    done = run(agent)
    (plan,) = done.plans
    assert (plan.selected, plan.done) == ("InspectMemory", found)
    assert [text[: len(told[0])] for text in plan.told] == told
    assert all(text in shown(agent.llm) for text in plan.told)
    assert (shown(agent.llm) == "1 + 2?") is (mode == "observe")
    assert done.text == NARRATED


@pytest.mark.parametrize("mode", ["advise", "observe"])
@pytest.mark.parametrize("kind", ["react", "function"])
def test_modes_that_leave_a_run_alone(mode: Any, kind: str) -> None:
    """Without acting, outputs and memory are those of the native agent."""
    script = [ACT if kind == "react" else call("add", a=1, b=2), answer(kind, "3")]
    make = react if kind == "react" else function
    native: Any = make(*script)
    inner: Any = make(*script)
    theirs, ours = run(native), run(with_hooks(inner, hooks(mode=mode)))
    assert ours.text == theirs.text == "3"
    assert kept(ours.memory) == kept(theirs.memory)
    assert [shown(inner.llm, at) for at in (0, 1)] == [shown(native.llm, at) for at in (0, 1)]


@pytest.mark.parametrize("kind", ["react", "function"])
def test_many_runs_at_once(kind: str) -> None:
    """Twenty runs on one agent stay separate: calls, retries, answers, and notes."""

    def reply(messages: Sequence[ChatMessage]) -> Any:
        said = "\n".join(str(m.content) for m in messages if m.role.value != "system")
        number = int(said.split()[0])
        if str(3 * number) in said.split():
            return answer(kind, f"{number} done")
        if "You described a tool call" not in said:
            return NARRATED
        given = {"a": number, "b": 2 * number}
        if kind == "function":
            return call("add", f"call_{number}", **given)
        return f"Thought: add\nAction: add\nAction Input: {json.dumps(given)}"

    agent = planned(kind, reply)
    agent.llm.repeat = True

    async def all_of_them() -> list[Ran]:
        return await asyncio.gather(*(ran(agent, str(n)) for n in range(1001, 1021)))

    done = asyncio.run(all_of_them())
    assert [each.text for each in done] == [f"{n} done" for n in range(1001, 1021)]
    assert {tuple(each.outcome for each in one.issues) for one in done} == {("retry",)}
    assert all(len(each.plans) == 1 for each in done)
    for number, one in enumerate(done, 1001):
        (made,) = one.output.tool_calls
        assert made.tool_kwargs == {"a": number, "b": 2 * number}


def test_a_context_goes_through_json() -> None:
    """What a run leaves behind can be written down, and the next turn goes on from it."""
    agent = planned("function", NARRATED, "3", hook=hooks(max_retries=0))

    async def turns() -> tuple[dict[str, Any], Ran]:
        memory = buffer()
        ctx: Any = Context(agent)
        await ran(agent, ctx=ctx, memory=memory)
        notes = await ctx.store.get(NOTES_KEY)
        again = Context.from_dict(agent, json.loads(json.dumps(ctx.to_dict())))
        return notes, await ran(agent, "And now?", ctx=again, memory=memory)

    notes, done = asyncio.run(turns())
    assert json.loads(json.dumps(notes)) == notes
    assert notes["kept"]["issue"] == {"pattern": "narrated", "streak": 1}
    assert notes["turn"]["gave_up"] is True
    assert done.text == "3"
    assert [plan.selected for plan in done.plans] == ["NormalizationRetry"]


def test_a_refused_reply_can_be_in_a_context_that_is_written_down() -> None:
    """Also in the middle of a step the scratchpad holds nothing that JSON cannot."""
    contexts: list[dict[str, Any]] = []
    agent = planned("react", ACT, NARRATED, FINISH)

    async def turn() -> None:
        ctx: Any = Context(agent)
        handler: Any = agent.run(user_msg="1 + 2?", memory=buffer(), ctx=ctx)
        contexts.extend(
            [
                json.loads(json.dumps(ctx.to_dict()))
                async for event in handler.stream_events()
                if isinstance(event, (PlanEvent, ProtocolIssueEvent))
            ]
        )
        await handler

    asyncio.run(turn())
    assert len(contexts) == 2


def test_the_state_is_bounded() -> None:
    """However long a conversation is, the notes hold one turn, under one key."""
    hook = hooks(
        max_retries=0, inspect_memory=lambda _: None, observe=lambda _: {"retrieval_metrics": GAP}
    )
    agent = planned("function", NARRATED, hook=hook)
    agent.llm.repeat = True

    async def turns() -> tuple[set[str], dict[str, Any]]:
        ctx: Any = Context(agent)
        for turn in range(25):
            await ran(agent, f"turn {turn}", ctx=ctx, memory=buffer())
        state = await ctx.store.get_state()
        return set(state), state[NOTES_KEY]

    keys, notes = asyncio.run(turns())
    native = {"memory", "state", "user_msg_str", "max_iterations", "num_iterations"}
    assert keys - {"loopmend"} >= native
    assert {key for key in keys if "loopmend" in key} == {NOTES_KEY}
    assert notes == {
        "kept": {"issue": {"pattern": "narrated", "streak": 25}},
        "turn": {"inspected": True, "gave_up": True},
    }


@pytest.mark.parametrize(
    "stored", [None, [], "x", {"kept": "2", "turn": None}, {"kept": {"issue": "narrated"}}]
)
def test_notes_that_cannot_be_used(stored: object) -> None:
    """What is not as we wrote it counts for nothing."""
    notes = Notes(stored)
    assert (notes.issue, notes.turn) == ((None, 0), {})


def test_notes_are_kept_when_a_step_fails() -> None:
    """A run that ends with an error is known of in the next one."""
    hook = hooks(max_retries=0, on_failure="raise")
    agent = planned("function", NARRATED, "3", hook=hook)

    async def turns() -> Ran:
        ctx: Any = Context(agent)
        with pytest.raises(NormalizationError):
            await ran(agent, ctx=ctx)
        return await ran(agent, ctx=ctx)

    done = asyncio.run(turns())
    assert [plan.selected for plan in done.plans] == ["NormalizationRetry"]


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_failed_run_leaves_nothing_for_the_next(kind: str) -> None:
    """After a run that met its cap the next one starts without its reasoning and its calls."""
    act = ACT if kind == "react" else call("add", a=1, b=2)
    agent = planned(kind, *[act] * 5, act, answer(kind, "3"), hook=hooks(on_cap="raise"))

    async def turns() -> Ran:
        ctx: Any = Context(agent)
        with pytest.raises(Exception, match="Max iterations of 5 reached"):
            await ran(agent, ctx=ctx, max_iterations=5)
        return await ran(agent, ctx=ctx)

    done = asyncio.run(turns())
    assert done.text == "3"
    assert len(done.output.tool_calls) == 1
    assert done.outcomes == [None]


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_human_in_the_loop(kind: str) -> None:
    """A tool that waits for a human works in a planned run, which is planned once a step."""
    act = {
        "react": 'Thought: ask\nAction: ask_human\nAction Input: {"what": "May I?"}',
        "function": call("ask_human", what="May I?"),
    }
    agent = planned(kind, act[kind], answer(kind, "You may."), tools=[ask_human])

    async def turn() -> tuple[Any, list[Any]]:
        handler: Any = agent.run(user_msg="May I?", memory=buffer())
        events = []
        async for event in handler.stream_events():
            events.append(event)
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))  # type: ignore[call-arg]
        return await handler, events

    output, events = asyncio.run(turn())
    assert output.response.content == "You may."
    assert "They said yes." in shown(agent.llm, 1)
    assert sum(isinstance(event, PlanEvent) for event in events) == 1


def test_steps_outside_of_a_run() -> None:
    """A step can be taken without a workflow, as LlamaIndex's `predict_and_call` does it."""
    agent = planned("react", NARRATED, ACT, name="single")

    async def step() -> tuple[Any, Any]:
        ctx = SimpleAgentContext()
        asked = [ChatMessage(role="user", content="1 + 2?")]
        output = await agent.take_step(ctx, asked, await agent.get_tools(), buffer())
        return output, await ctx.store.get_state()

    output, state = asyncio.run(step())
    assert [made.tool_kwargs for made in output.tool_calls] == [{"a": 1, "b": 2}]
    assert [refused["text"] for refused in output["loopmend_refused"]] == [NARRATED]
    assert NOTES_KEY not in state


@pytest.mark.parametrize("kind", ["react", "function"])
def test_a_recorded_run_tells_of_refused_replies(kind: str) -> None:
    """A trace shows each refused reply as a step with an error, and still an answer."""
    agent = planned(kind, NARRATED, answer(kind, "3"))

    trace: Any = recorded(agent)
    assert [step.text for step in trace.steps] == [NARRATED, answer(kind, "3")]
    assert [step.error is not None for step in trace.steps] == [True, False]
    assert trace.steps[0].error.origin == "parser"
    assert classify_trace(trace).stop.reason.value == "final_answer"
    assert trace.answer == "3"


def test_events_are_json() -> None:
    """What is streamed can be sent to whoever shows it."""
    done = run(planned("react", NARRATED, FINISH))
    (plan,), (issue,) = done.plans, done.issues
    for event in (plan, issue):
        assert type(event).model_validate_json(event.model_dump_json()) == event
    assert plan.candidates[0]["action"] == plan.selected == "ContinueCentralized"
    assert plan.rationale == plan.candidates[0]["rationale"]
    assert (issue.pattern, issue.attempt, issue.text) == ("narrated", 1, NARRATED)
    assert issue.correction is not None
    assert issue.current_agent_name == plan.current_agent_name == "Agent"
    assert done.events.index(plan) < done.events.index(issue)


def test_a_class_of_your_own() -> None:
    """The planned classes can be subclassed as LlamaIndex's can."""

    class Mine(PlannedReActAgent):
        """An agent of mine."""

    class Other(PlannedFunctionAgent):
        """Another agent of mine."""

    assert run(Mine(llm=ScriptedLLM(script=[NARRATED, FINISH]), tools=[add])).text == "3"
    other = Other(llm=ScriptedLLM(script=[NARRATED, "3"]), tools=[add])
    with pytest.raises(ValueError, match="already has hooks"):
        with_hooks(other)
    assert run(other).text == "3"
