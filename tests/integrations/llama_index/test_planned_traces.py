"""Traces of planned runs that end otherwise than with the model's answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflows.events import StopEvent

from llama_index_loopmend import PlannerStepHook, ProtocolIssueEvent, TraceRecorder
from llama_index_loopmend.runs import Run
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend import CircuitBreaker, Trace, classify_trace
from tests.integrations.llama_index.agents import BAD, WAYS, Way, start, teed
from tests.integrations.llama_index.planned import KINDS, planned

NARRATED = "I will now call the add tool to work this out."


def said(trace: Trace) -> list[tuple[str, str | None, str | None]]:
    """Return what each step says, whose error it has, and whose step it is."""
    return [(s.text, s.error.kind if s.error else None, s.agent) for s in trace.steps]


def reason(trace: Trace) -> str:
    """Return why a run stopped, which the trace and its triage agree on."""
    assert trace.reason is not None
    assert classify_trace(trace).stop.reason.value == trace.reason
    return trace.reason


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("streaming", [True, False])
def test_a_provider_that_fails_after_a_correction(way: Way, kind: str, *, streaming: bool) -> None:
    """What was refused in the step is told though the step raises."""
    trace = way(planned(kind, NARRATED, ConnectionError("down"), streaming=streaming, name="adder"))
    assert said(trace) == [(NARRATED, "Retry", "adder"), ("", "ConnectionError", None)]
    assert reason(trace) == "provider_error"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("streaming", [True, False])
def test_giving_up_with_an_error(way: Way, kind: str, *, streaming: bool) -> None:
    """Each reply is a step, and the last one has the error that ended the run."""
    hook = PlannerStepHook(on_exhausted="error")
    trace = way(planned(kind, "", NARRATED, NARRATED, hook=hook, streaming=streaming, name="adder"))
    assert said(trace) == [
        ("", "Retry", "adder"),
        (NARRATED, "Retry", "adder"),
        (NARRATED, "NormalizationError", "adder"),
    ]
    assert reason(trace) == "parse_fail"


@pytest.mark.parametrize("way", WAYS)
def test_words_are_no_answer(way: Way) -> None:
    """A run that ends with words of ours says why it stopped, and is not called answered."""
    breaker = CircuitBreaker(threshold=1)
    breaker.record_failure(TimeoutError())
    gave_up = way(planned("react", BAD, BAD))
    assert (reason(gave_up), gave_up.question) == ("parse_fail", "1 + 2?")
    blocked = way(planned("function", hook=PlannerStepHook(breaker=breaker)))
    assert (reason(blocked), blocked.question) == ("blocked", "1 + 2?")
    looped = way(planned("function", *[call("add", a=1, b=2)] * 9))
    assert (reason(looped), looped.question) == ("max_iterations", "1 + 2?")
    stood_by = way(planned("function", NARRATED, NARRATED))
    assert reason(stood_by) == "final_answer"


def test_two_recorders_see_the_same() -> None:
    """Recording a run changes nothing of its error."""
    hook = PlannerStepHook(on_exhausted="error")
    recorder = TraceRecorder().attach()
    try:
        trace = teed(planned("function", NARRATED, NARRATED, hook=hook))
    finally:
        recorder.detach()
    assert recorder.last is not None
    assert said(trace) == said(recorder.last)


@pytest.mark.parametrize("streaming", [True, False])
def test_a_run_that_is_cancelled_after_a_correction(*, streaming: bool) -> None:
    """What was refused until then is told."""
    llm = ScriptedLLM(script=[NARRATED, "3"], pause=0.05)
    agent = planned("function", llm=llm, streaming=streaming)

    async def record() -> Trace | None:
        handler = start(agent)
        recorder = TraceRecorder()
        async for event in recorder.tee(handler):
            if isinstance(event, ProtocolIssueEvent):
                await handler.cancel_run()
        await asyncio.gather(handler, return_exceptions=True)
        return recorder.last

    trace = asyncio.run(record())
    assert trace is not None
    assert said(trace)[0] == (NARRATED, "Retry", "Agent")
    assert trace.reason == "cancelled"


def test_what_a_tool_raises_tells_nothing_of_this_run() -> None:
    """An error may come from an agent that a tool asked, and be about its replies."""
    error: Any = RuntimeError("inner")
    error.loopmend_refused = [{"text": NARRATED, "message": "…", "agent": "inner"}]
    run = Run()
    run.step_failed(error, "call_tool")
    run.failed(error, "call_tool")
    assert run.trace().steps == ()


def test_only_refused_replies_are_told() -> None:
    """A reply that was used after all is no step of its own."""
    run = Run()
    for outcome in ("salvaged", "noticed", "retry"):
        run.see(ProtocolIssueEvent(pattern="narrated", message="…", attempt=0, outcome=outcome))
    run.step_failed(OSError("down"), "run_agent_step")
    assert [step.error and step.error.kind for step in run.trace().steps] == ["Retry", "OSError"]


def test_an_answer_without_steps() -> None:
    """A workflow that answers before any agent was asked has an answer all the same."""
    run = Run()
    run.see(StopEvent(result="Oslo"))
    trace = run.trace()
    assert (trace.answer, reason(trace), trace.steps) == ("Oslo", "final_answer", ())
