"""Runs that a host tells of while they go on, as traces: no framework is needed for it."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from loopmend import Reply
from loopmend.mending import NativeCall
from loopmend.traces import Limits, Observation, Tokens, Trace, TraceCall, TraceError
from loopmend.traces.exceptions import causes, ending_of
from loopmend.traces.open_runs import Finish, ModelReply, OpenRuns
from loopmend.traces.recorded_runs import trace_of

CALL = Reply("", (NativeCall("search", {"query": "Oslo"}, "1"),))
LIMITS = Limits()


def open_runs() -> OpenRuns:
    """Return runs by a clock that counts."""
    return OpenRuns(count().__next__)


def ended(runs: OpenRuns, id: str, *told: Any, error: BaseException | None = None) -> Trace:
    """End a root, and return its trace."""
    recording = runs.end(id, error=error)
    assert recording is not None
    assert len(runs) == 0
    return trace_of(recording, LIMITS, *told)


def test_an_agent() -> None:
    """Each call of a model is a step, and what its tools return belongs to it."""
    runs = open_runs()
    agent, recording = runs.start("agent", None, "chain", "")
    runs.mark(agent, "of_mine")
    recording.question = "Where is Oslo?"
    runs.start("asked", "agent", "model", "")
    runs.end("asked", ModelReply(CALL, Tokens(3, 1)))
    runs.start("tool", "agent", "tool", "search", call=TraceCall("search", {}, "1"))
    runs.end("tool", Observation("in Norway"))
    runs.start("again", "agent", "model", "")
    runs.end("again", ModelReply(Reply("In Norway.", finish_reason="stop")))
    found = ended(runs, "agent", "In Norway.")
    assert (found.question, found.answer, found.framework, found.id) == (
        "Where is Oslo?",
        "In Norway.",
        "of_mine",
        "agent",
    )
    first, second = found.steps
    assert (first.calls[0].id, first.tokens, first.seconds) == ("1", Tokens(3, 1), 1)
    assert first.observations == (Observation("in Norway", "search", "1", seconds=1),)
    assert (second.answer, second.finish) == ("In Norway.", "stop")


def test_a_refused_reply_counts_once() -> None:
    """What a parser refuses is told by the innermost one, and not again by those around it."""
    runs = open_runs()
    root, _ = runs.start("chain", None, "chain", "")
    runs.start("asked", "chain", "model", "")
    runs.end("asked", ModelReply(Reply("no")))
    inner, outer = ValueError("no JSON"), ValueError("no value")
    outer.__cause__ = inner
    runs.note(root, inner)
    runs.note(root, outer)
    found = ended(runs, "chain", error=outer)
    assert found.steps[0].error == found.error == TraceError("ValueError", "no value", "parser")


def test_work_aside_is_no_step() -> None:
    """What a middleware asks for itself is left out, and so is a question that nobody knows."""
    runs = open_runs()
    node = runs.start("node", None, "chain", "")[0]
    node.node = "model"
    for id, known in (("a", {"aside": True}), ("b", {"strange": True}), ("c", {})):
        runs.start(id, "node", "model", "", **known)
        runs.end(id, ModelReply(Reply(id)))
    assert [step.text for step in ended(runs, "node", "c").steps] == ["c"]


@pytest.mark.parametrize(("log", "answer"), [("in Norway", "in Norway"), (None, None)])
def test_an_executor_that_ends(log: str | None, answer: str | None) -> None:
    """The answer of a text agent is what its executor was told, and why it ended is kept."""
    runs = open_runs()
    root, _ = runs.start("run", None, "chain", "")
    runs.mark(root, "agent_executor")
    runs.start("asked", "run", "model", "")
    runs.end("asked", ModelReply(Reply("Final Answer: in Norway"), is_message=False))
    runs.note(root, Finish(log, "max_iterations"))
    found = ended(runs, "run", "in Norway")
    assert (found.steps[0].answer, found.reason) == (answer, "max_iterations")


def test_pauses_jumps_and_cancellations() -> None:
    """Exceptions that only steer are told apart by the names of their kinds."""
    kinds = {
        name: type(name, (Exception,), {}) for name in ("GraphInterrupt", "ParentCommand", "Other")
    }
    assert [ending_of(kind()) for kind in kinds.values()] == ["interrupted", "", None]
    for error, reason in (
        (kinds["ParentCommand"](), "interrupted"),
        (GeneratorExit(), "cancelled"),
    ):
        runs = open_runs()
        runs.start("run", None, "chain", "")
        assert ended(runs, "run", "x", error=error).reason == reason


def test_late_news_are_ignored() -> None:
    """What is told of a run after its end, from another thread, changes nothing."""
    runs = open_runs()
    run, recording = runs.start("run", None, "chain", "")
    runs.end("run")
    runs.mark(run, "of_mine")
    runs.interrupt(run)
    runs.note(run, TraceCall("search"))
    assert (recording.agent, recording.interrupted, recording.facts) == (None, False, [])


def test_causes_in_a_circle() -> None:
    """Errors that are each other's cause are listed once."""
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert list(causes(first)) == [first, second]
