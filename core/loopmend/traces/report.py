"""The verdict on a run: the three contracts, why it stopped, and the findings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from loopmend._arguments import wrong_type
from loopmend._rich import html_of, rendering
from loopmend.contracts.react_outcomes import (
    BoundOk,
    ReactBoundOutcome,
    ReactGrammarOutcome,
    ReactTerminationOutcome,
)
from loopmend.contracts.react_trace import (
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
)
from loopmend.traces.detectors import DETECTORS
from loopmend.traces.finding import Detector, Finding
from loopmend.traces.stop import Stopped, StopReason
from loopmend.traces.trace import Trace
from loopmend.traces.unread import Later, Lazily
from loopmend.traces.view import View

__all__ = ["TraceReport", "Verdict", "classify_trace"]

_NO_BOUND: Final = BoundOk()


class Verdict(str, Enum):
    """How a run went.

    >>> classify_trace(Trace(answer="4")).verdict.value
    'answered'
    """

    ANSWERED = "answered"
    """The run ended with an answer."""
    HANDED_OVER = "handed_over"
    """The run waits for somebody, or somebody else continues."""
    CANCELLED = "cancelled"
    """Somebody stopped the run."""
    FAILED = "failed"
    """The run ended without an answer, and the record says why."""
    UNKNOWN = "unknown"
    """The record does not say how the run ended."""
    UNREADABLE = "unreadable"
    """loopmend could read nothing from the record."""

    __str__ = str.__str__


_VERDICTS: Final = {
    StopReason.FINAL_ANSWER: Verdict.ANSWERED,
    StopReason.ASKED_USER: Verdict.HANDED_OVER,
    StopReason.INTERRUPTED: Verdict.HANDED_OVER,
    StopReason.YIELDED: Verdict.HANDED_OVER,
    StopReason.CANCELLED: Verdict.CANCELLED,
    StopReason.UNKNOWN: Verdict.UNKNOWN,
}
_WORDS: Final = {
    Verdict.ANSWERED: "Answered",
    Verdict.HANDED_OVER: "Handed over",
    Verdict.CANCELLED: "Cancelled",
    Verdict.FAILED: "Failed",
    Verdict.UNKNOWN: "Unknown",
    Verdict.UNREADABLE: "Unreadable",
}


@dataclass(frozen=True, slots=True)
class TraceReport:
    r"""The verdict on a run.

    >>> report = classify_trace(Trace.from_react_log("Thought 1: easy\nAction 1: Finish[4]"))
    >>> report.stop_reason.value, report.findings
    ('final_answer', ())
    """

    stop: Stopped
    """Why the run stopped, and the evidence."""
    termination: ReactTerminationOutcome
    """The contract's verdict on reason, exit code and answer."""
    grammar: ReactGrammarOutcome
    """The contract's verdict on the scratchpad."""
    bound: ReactBoundOutcome
    """The contract's verdict on the number of steps."""
    findings: tuple[Finding, ...] = ()
    unreadable: str | None = None
    """The record's apparent format, if loopmend could read nothing from it."""

    @property
    def verdict(self) -> Verdict:
        """How it went, in a word."""
        if self.unreadable is not None:
            return Verdict.UNREADABLE
        return _VERDICTS.get(self.stop.reason, Verdict.FAILED)

    @property
    def headline(self) -> str:
        """How it went and why, in a sentence or two."""
        recovered = sum(finding.recovered for finding in self.findings)
        times = "a failure" if recovered == 1 else f"{recovered} failures"
        got_over = f" It recovered from {times}." if recovered else ""
        return f"{_WORDS[self.verdict]}: {self.stop.evidence}{got_over}"

    @property
    def stop_reason(self) -> StopReason:
        """Why it stopped; `unknown` if nothing could be read, see `verdict`."""
        return self.stop.reason

    def kinds(self) -> frozenset[str]:
        """Return the kinds of all findings."""
        return frozenset(finding.kind for finding in self.findings)

    def to_text(self) -> str:
        """Return the report as lines of text, with the worst findings first; `print` shows it."""
        return str(rendering("text").text(self))

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as a page; `loopmend.rendering.write_page` also shows the steps."""
        rendering("page").write_page(path, [(None, self)], title="Run")

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html_of("report", self)


for _name in ("termination", "grammar"):  # few look at them, and they read the whole run
    setattr(TraceReport, _name, Lazily(TraceReport.__dict__[_name]))


def classify_trace(trace: Trace, *, detectors: Iterable[Detector] = DETECTORS) -> TraceReport:
    r"""Say why a run stopped, whether it kept its contracts, and what went wrong.

    Deterministic and without a model: the same trace always has the same report.

    Args:
        trace: The run.
        detectors: The detectors to run; by default all built-in ones.

    Raises:
        TypeError: `trace` is not a `Trace`.

    >>> log = "Thought 1: x\nAction 1: Search[a]\nObservation 1: Could not find a\n" * 3
    >>> report = classify_trace(Trace.from_react_log(log, max_iterations=3))
    >>> report.stop_reason.value, sorted(report.kinds())[:4]
    ('max_iterations', ['cap', 'error_storm', 'fruitless_loop', 'identical_call'])
    """
    if not isinstance(trace, Trace):
        raise wrong_type(trace, "trace", Trace)
    view = View(trace)
    unreadable = trace.unreadable
    found = () if unreadable is not None else [f for detect in detectors for f in detect(view)]
    termination: Any = Later(lambda report: classify_termination(_body(trace, report.stop.reason)))
    grammar: Any = Later(lambda _: classify_scratchpad_grammar(trace.scratchpad))
    bound: Any = _NO_BOUND
    most = trace.limits.max_iterations
    if most is not None:
        bound = classify_iteration_bound({"iterations": trace.iterations}, most)
    return TraceReport(view.stop, termination, grammar, bound, tuple(found), unreadable)


def _body(trace: Trace, reason: StopReason) -> dict[str, Any]:
    """Return the contract's body, in which what is told from the trace counts if nobody says."""
    body = trace.to_react_trace()
    if trace.reason is None:
        body["reason"] = reason.value
        if reason.exit_code is not None:
            body["exit_code"] = reason.exit_code
    return body
