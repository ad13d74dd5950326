"""Findings in a trace, and the detectors that make them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from loopmend.traces.view import View

__all__ = ["Certainty", "Detector", "Finding", "Severity"]

Severity = Literal["info", "warning", "error"]
"""How bad the finding is."""
Certainty = Literal["proven", "suspected"]
"""Whether the trace proves the finding, or only makes it likely."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, or worth knowing, about a run.

    >>> Finding("cap", "The run reached its cap of 5 steps.", "error", "proven").step is None
    True
    """

    kind: str
    """The kind of finding, such as `no_progress_loop`."""
    message: str
    """The finding in a sentence."""
    severity: Severity
    certainty: Certainty
    step: int | None = None
    """The step that shows it, from 0."""
    evidence: str = ""
    """The evidence: a piece of the trace, about 200 characters at most."""
    span: tuple[int, int] | None = None
    """The position of the evidence in that step's text, if it is there."""
    recovered: bool = False
    """Whether the run recovered: a later step did what this one could not."""


class Detector(Protocol):
    """Finds one kind of thing: any function with this signature can be a detector.

    >>> from loopmend import Trace, classify_trace
    >>> def polite(view):
    ...     if view.trace.answer and "sorry" in view.trace.answer:
    ...         yield Finding("apology", "The answer is an apology.", "info", "proven")
    >>> report = classify_trace(Trace(answer="sorry"), detectors=[polite])
    >>> [finding.kind for finding in report.findings]
    ['apology']
    """

    @abstractmethod
    def __call__(self, view: View, /) -> Iterable[Finding]:
        """Look at a trace and return what was found."""
