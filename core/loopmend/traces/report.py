"""The verdict on a run: the three contracts, why it stopped, and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from loopmend._arguments import wrong_type
from loopmend._rich import html_of
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
from loopmend.traces.view import View

__all__ = ["TraceReport", "classify_trace"]

_NO_BOUND: Final = BoundOk()


@dataclass(frozen=True, slots=True)
class TraceReport:
    r"""What can be said about a run.

    >>> report = classify_trace(Trace.from_react_log("Thought 1: easy\nAction 1: Finish[4]"))
    >>> report.stop_reason.value, report.findings
    ('final_answer', ())
    """

    stop: Stopped
    """Why it stopped, and what tells so."""
    termination: ReactTerminationOutcome
    """The contract's verdict on reason, exit code and answer."""
    grammar: ReactGrammarOutcome
    """The contract's verdict on the scratchpad."""
    bound: ReactBoundOutcome
    """The contract's verdict on the number of steps."""
    findings: tuple[Finding, ...] = ()

    @property
    def stop_reason(self) -> StopReason:
        """Why it stopped."""
        return self.stop.reason

    def kinds(self) -> frozenset[str]:
        """Return the kinds of all findings."""
        return frozenset(finding.kind for finding in self.findings)

    def _repr_html_(self) -> str:
        return html_of("report", self)


def classify_trace(trace: Trace, *, detectors: Iterable[Detector] = DETECTORS) -> TraceReport:
    r"""Say how a run stopped, whether it kept its contracts, and what is wrong with it.

    Deterministic and without a model: the same trace always has the same report.

    Args:
        trace: The run.
        detectors: Who looks at it; by default all that come with the package.

    Raises:
        TypeError: `trace` is not a `Trace`.

    >>> log = "Thought 1: x\nAction 1: Search[a]\nObservation 1: Could not find a\n" * 3
    >>> report = classify_trace(Trace.from_react_log(log, max_iterations=3))
    >>> report.stop_reason.value, sorted(report.kinds())[:4]
    ('max_iterations', ['cap', 'error_storm', 'identical_call', 'no_final_answer'])
    """
    if not isinstance(trace, Trace):
        raise wrong_type(trace, "trace", Trace)
    view = View(trace)
    body = trace.to_react_trace()
    if trace.reason is None:  # then what is told from the trace counts
        body["reason"] = view.stop.reason.value
        if view.stop.reason.exit_code is not None:
            body["exit_code"] = view.stop.reason.exit_code
    most = trace.limits.max_iterations
    return TraceReport(
        view.stop,
        classify_termination(body),
        classify_scratchpad_grammar(body["scratchpad"]),
        _NO_BOUND if most is None else classify_iteration_bound(body, most),
        tuple([finding for detect in detectors for finding in detect(view)]),
    )
