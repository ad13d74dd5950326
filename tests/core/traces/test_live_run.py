"""A run that is recorded while it goes on."""

from __future__ import annotations

from loopmend.traces.live_run import LiveRun, turn_of
from loopmend.traces.trace import Observation, Step, TraceCall, TraceError


def test_results_stand_in_the_order_of_the_calls() -> None:
    """Calls run at once, and the quickest result comes first."""
    run = LiveRun("1", "mine")
    run.observe(Observation("nobody asked"))
    run.ask()
    run.reply(Step(calls=[TraceCall("a", {}, "1"), TraceCall("b", {}, "2")]))
    run.call("2")
    for id in ("2", "1"):
        run.observe(Observation(f"result {id}", call_id=id))
    [step] = run.trace().steps
    assert [result.text for result in step.observations] == ["result 1", "result 2"]
    assert [result.seconds is not None for result in step.observations] == [False, True]
    assert step.seconds is not None


def test_what_was_refused_is_a_step() -> None:
    """A reply that was refused stands before the one that was used."""
    run = LiveRun("1", "mine", parent="0")
    run.refuse("Let me see.", "Nothing is called.", "clerk")
    run.plan({"selected": "AnswerDirectly"})
    run.reply(Step(text="3"))
    run.answer("3")
    trace = run.trace()
    assert [step.text for step in trace.steps] == ["Let me see.", "3"]
    assert trace.metadata["plans"] == [{"selected": "AnswerDirectly", "step": 1}]
    assert trace.metadata["parent_id"] == "0"
    assert trace.reason == "final_answer"


def test_how_it_may_end() -> None:
    """A cancelled run has no error; what an error means is said as for all hosts."""
    cancelled, failed = LiveRun("1", "mine"), LiveRun("2", "mine")
    cancelled.fail(None)
    failed.fail_step(TraceError("ValueError", "no", "model"), "text", "clerk")
    failed.fail(TraceError("TimeoutError", "timed out", "host"))
    assert cancelled.trace().reason == "cancelled"
    assert failed.trace().error == TraceError("TimeoutError", "timed out", "host")
    assert failed.trace().steps[0].text == "text"


def test_headers_count_only_in_text() -> None:
    """Beside a native call, a header is a part of what is said."""
    text = "Thought: t\nAction: add\nAction Input: 1"
    call = TraceCall("add", {"a": 1})
    assert turn_of(text, [call], native=False).thought == "t"
    assert turn_of(text, [call], native=True).actions[0].name == "add"  # type: ignore[union-attr]
    assert turn_of("Thought: t", [], native=False, refused=True).failure is not None
