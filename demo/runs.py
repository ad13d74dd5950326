"""What one run of an agent came to, whichever framework it ran in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from loopmend import StopReason, Trace, TraceReport, classify_trace

__all__ = ["ANSWER", "FAILURES", "QUESTION", "Ran", "Run", "ran"]

QUESTION: Final = "How many people live in Oslo?"
ANSWER: Final = "717,710"
FOUND: Final = f"Oslo: {ANSWER} people"

FAILURES: Final[Mapping[str, str]] = {
    "malformed": "writes arguments that are cut off",
    "narrated": "tells what it will do, and does nothing",
    "empty": "says nothing",
    "unknown tool": "calls a tool that does not exist",
    "loop": "makes the same call again and again",
}
"""What the model does wrong, by name; it does better once it is told."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run came to."""

    answer: str
    """What the user gets to see: the answer, or the error."""
    model_calls: int
    trace: Trace
    report: TraceReport

    @property
    def end(self) -> str:
        """Whether the model answered, the run was stopped but told what was found, or neither."""
        if ANSWER not in self.answer:
            return "failed"
        return "answered" if self.report.stop_reason == StopReason.FINAL_ANSWER else "stopped"


Run = Callable[[str, bool], Ran]
"""Runs an agent whose model fails in a way, without or with loopmend."""


def search(query: str) -> str:
    """Search the web."""
    return FOUND if "oslo" in query.casefold() else "nothing found"


def ran(answer: str, model_calls: int, trace: Trace | None) -> Ran:
    """Classify the trace of a run that was recorded."""
    if trace is None:
        msg = "the recorder has no trace of the run"
        raise RuntimeError(msg)
    return Ran(answer.strip(), model_calls, trace, classify_trace(trace))
