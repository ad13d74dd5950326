"""Traces of planned runs that end otherwise than with the model's answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.tools import ToolOutput
from workflows.events import StopEvent

from llama_index_loopmend import ProtocolIssueEvent, record_traces
from llama_index_loopmend.runs import Run
from llama_index_loopmend.steps import ENDED
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend import Trace, classify_trace
from loopmend.breaker import CircuitBreaker
from loopmend.traces.stop import stop_of
from tests.integrations.llama_index.agents import BAD, function, recorded, start
from tests.integrations.llama_index.hooked import hooks
from tests.integrations.llama_index.planned import KINDS, answer, assistant, planned

NARRATED = "I will now call the add tool to work this out."
FOUND = ToolCallResult(
    tool_name="add",
    tool_kwargs={},
    tool_id="call_1",
    tool_output=ToolOutput(tool_name="add", content="3", raw_input={}, raw_output=3),
    return_direct=False,
)


def said(trace: Trace) -> list[tuple[str, str | None, str | None]]:
    """Return what each step says, whose error it has, and whose step it is."""
    return [(s.text, s.error.kind if s.error else None, s.agent) for s in trace.steps]


def reason(trace: Trace) -> str:
    """Return why a run stopped, which the trace and its triage agree on."""
    assert trace.reason is not None
    assert classify_trace(trace).stop.reason.value == trace.reason
    return trace.reason


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_provider_that_fails_after_a_correction(kind: str, *, streaming: bool) -> None:
    """What was refused in the step is told though the step raises."""
    trace = recorded(
        planned(kind, NARRATED, ConnectionError("down"), streaming=streaming, name="adder")
    )
    assert said(trace) == [(NARRATED, "Retry", "adder"), ("", "ConnectionError", None)]
    assert reason(trace) == "provider_error"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("streaming", [True, False])
def test_giving_up_with_an_error(kind: str, *, streaming: bool) -> None:
    """Each reply is a step, and the last one has the error that ended the run."""
    hook = hooks(on_failure="raise")
    trace = recorded(
        planned(kind, "", NARRATED, NARRATED, hook=hook, streaming=streaming, name="adder")
    )
    assert said(trace) == [
        ("", "Retry", "adder"),
        (NARRATED, "Retry", "adder"),
        (NARRATED, "NormalizationError", "adder"),
    ]
    assert reason(trace) == "parse_fail"


def test_words_are_no_answer() -> None:
    """A run that we ended says why it stopped, and is not called answered."""
    breaker = CircuitBreaker(threshold=1)
    breaker.record_failure(TimeoutError())
    gave_up = recorded(planned("react", BAD, BAD))
    assert (reason(gave_up), gave_up.question) == ("parse_fail", "1 + 2?")
    blocked = recorded(planned("function", hook=hooks(breaker=breaker)))
    assert (reason(blocked), blocked.question) == ("blocked", "1 + 2?")
    looped = recorded(planned("function", *[call("add", a=1, b=2)] * 3, hook=hooks(stop_after=3)))
    assert (reason(looped), looped.question) == ("blocked", "1 + 2?")  # which is no cap
    assert looped.answer is not None
    assert looped.answer.startswith("Stopped: add was called")
    for kind in KINDS:
        stood_by = recorded(planned(kind, NARRATED, NARRATED))
        assert (reason(stood_by), stood_by.answer) == ("parse_fail", NARRATED)


def test_the_mark_tells_and_not_the_words() -> None:
    """What a model says in our words is its answer, and what is marked is not."""
    for text in ("Stopped: No shouting.", "Gave up after 2 retries: The reply is empty."):
        trace = recorded(planned("function", text))
        assert (reason(trace), trace.answer) == ("final_answer", text)
    ended = recorded(planned("function", "", "", hook=hooks(on_failure=lambda _, output: output)))
    assert (reason(ended), stop_of(ended).evidence) == (
        "parse_fail",
        "The host gave this reason: parse_fail.",
    )
    budget = recorded(planned("function", hook=hooks(token_budget=0)))
    assert stop_of(budget).reason.value == "blocked"


def test_a_run_that_goes_on_was_not_ended() -> None:
    """Only the last output tells why a run ended, and a cap is a cap."""
    wrong = call("sum_up", a=1)
    assert reason(recorded(planned("function", wrong, wrong, "3"))) == "final_answer"
    capped = recorded(
        planned("function", call("add", a=1, b=2), "So it is 3."),
        max_iterations=1,
        early_stopping_method="generate",
    )
    assert (reason(capped), capped.answer) == ("max_iterations", "So it is 3.")
    run, output = Run("1"), AgentOutput(response=assistant("3"), current_agent_name="adder")
    output[ENDED] = "parse_fail"
    run.see(output)
    run.see(FOUND)
    run.see(AgentOutput(response=assistant("3"), current_agent_name="adder"))
    run.see(StopEvent(result="3"))
    assert reason(run.trace()) == "final_answer"


@pytest.mark.parametrize("streaming", [True, False])
def test_a_run_that_is_cancelled_after_a_correction(*, streaming: bool) -> None:
    """It says so; of the step that was not taken to its end nothing is told."""
    llm = ScriptedLLM(script=[NARRATED, "3"], pause=0.05)
    agent = planned("function", llm=llm, streaming=streaming)

    async def run() -> None:
        handler = start(agent)
        async for event in handler.stream_events():
            if isinstance(event, ProtocolIssueEvent):
                await handler.cancel_run()
        await asyncio.gather(handler, return_exceptions=True)

    with record_traces() as recorder:
        asyncio.run(run())
    assert recorder.last is not None
    assert (recorder.last.reason, recorder.last.steps) == ("cancelled", ())


def test_what_a_tool_raises_tells_nothing_of_this_run() -> None:
    """An error may come from an agent that a tool asked, and be about its replies."""
    error: Any = RuntimeError("inner")
    error.loopmend_refused = [{"text": NARRATED, "message": "…", "agent": "inner"}]
    run = Run("1")
    run.step_failed(error, "call_tool")
    run.failed(error)
    assert run.trace().steps == ()


def test_an_answer_without_steps() -> None:
    """A workflow that answers before any agent was asked has an answer all the same."""
    run = Run("1")
    run.see(StopEvent(result="Oslo"))
    trace = run.trace()
    assert (trace.answer, reason(trace), trace.steps) == ("Oslo", "final_answer", ())


def test_plans_are_part_of_a_trace() -> None:
    """Each plan is there with its step: what was known, what was selected, what was done."""
    plans = recorded(planned("function", call("add", a=1, b=2), "3")).metadata["plans"]
    assert [(plan["selected"], plan["step"]) for plan in plans] == [("ContinueCentralized", 0)]
    assert (plans[0]["known"]["tools"], plans[0]["done"]) == (2, None)
    assert "plans" not in recorded(function("3")).metadata


@pytest.mark.parametrize("kind", KINDS)
def test_a_corrected_narration_is_no_tool_error(kind: str) -> None:
    """What the model got wrong is told as its own mistake, and the run has answered."""
    report = classify_trace(recorded(planned(kind, NARRATED, answer(kind, "3"))))
    assert report.stop.reason.value == "final_answer"
    assert {finding.kind for finding in report.findings} == {"parse_failure"}


def test_sub_agents_are_linked_to_their_parent() -> None:
    """The run of an agent in a tool of another one says whose run it is part of."""
    inner = planned("function", "3", name="inner")

    async def ask_inner(question: str) -> str:
        """Ask another agent."""
        return str(await start(inner, question))

    outer = function(call("ask_inner", question="1 + 2?"), "It is 3.", tools=[ask_inner])

    async def run() -> None:
        await start(outer)

    with record_traces() as recorder:
        asyncio.run(run())
    child, parent = recorder.traces
    assert child.metadata["parent_id"] == parent.id
    assert "parent_id" not in parent.metadata
