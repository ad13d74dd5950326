"""What can be found in a trace, and who finds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from loopmend.traces.view import View

__all__ = ["Certainty", "Detector", "Finding", "Severity"]

Severity = Literal["info", "warning", "error"]
"""How bad it is."""
Certainty = Literal["proven", "suspected"]
"""Whether the trace proves it, or only makes it likely."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, or worth knowing, about a run.

    >>> Finding("cap", "The cap of 5 steps was reached.", "error", "proven").step is None
    True
    """

    kind: str
    """What it is, in one word or two, such as `no_progress_loop`."""
    message: str
    """The same in a sentence."""
    severity: Severity
    certainty: Certainty
    step: int | None = None
    """The step that shows it, from 0."""
    evidence: str = ""
    """What shows it: a piece of the trace, at most some 200 characters."""
    span: tuple[int, int] | None = None
    """Where in that step's text, if it stands there."""


class Detector(Protocol):
    """Finds one kind of thing: any function of this form can be registered.

    >>> from loopmend import Trace, classify_trace
    >>> def polite(view):
    ...     if view.trace.answer and "sorry" in view.trace.answer:
    ...         yield Finding("apology", "The answer is an apology.", "info", "proven")
    >>> report = classify_trace(Trace(answer="sorry"), detectors=[polite])
    >>> [finding.kind for finding in report.findings]
    ['apology']
    """

    def __call__(self, view: View, /) -> Iterable[Finding]:
        """Look at a trace and return what was found."""
