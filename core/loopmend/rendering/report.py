"""The verdict on a run: why it stopped, the contracts, and what was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loopmend.rendering.html import Markup, card, clipped, element
from loopmend.rendering.pieces import LONGEST, chip, code, note, short, table
from loopmend.traces.finding import Finding
from loopmend.traces.report import TraceReport

__all__ = ["html"]

_MOST: Final = 50
_TINTS: Final = {"error": "bad", "warning": "warn"}
_WORST_FIRST: Final = {"error": 0, "warning": 1}
_HEADER: Final = ("", "finding", "step", "what and why")
# Somebody is waited for: that is neither well nor ill.
_OPEN: Final = frozenset({"asked_user", "interrupted", "yielded", "cancelled"})


def html(report: TraceReport) -> Markup:
    """Return a report as HTML, with the worst findings first."""
    why = element("p", _stop(report.stop_reason.value), clipped(report.stop.evidence, LONGEST))
    return card(why, element("p", *_contracts(report)), *_findings(report))


def _stop(reason: str) -> Markup:
    return chip(
        reason, "good" if reason == "final_answer" else "warn" if reason in _OPEN else "bad"
    )


def _contracts(report: TraceReport) -> Iterator[Markup]:
    verdicts = (
        ("termination", report.termination),
        ("grammar", report.grammar),
        ("bound", report.bound),
    )
    for name, verdict in verdicts:
        kept = verdict.kind == "Ok"
        yield chip(f"{name}: {verdict.kind}", "good" if kept else "warn")


def _findings(report: TraceReport) -> Iterator[Markup]:
    if not report.findings:
        yield note("Nothing was found.")
        return
    ranked = sorted(report.findings, key=lambda finding: _WORST_FIRST.get(finding.severity, 2))
    yield table(map(_finding, ranked[:_MOST]), _HEADER)
    if len(ranked) > _MOST:
        yield note(f"… and {len(ranked) - _MOST:,} more findings")


def _finding(finding: Finding) -> Markup:
    severity: str = finding.severity
    what = [clipped(finding.message, LONGEST)]
    if finding.evidence not in ("", finding.message):
        what.append(element("div", code(finding.evidence)))
    unsure = [element("div", "suspected", css="note")] if finding.certainty == "suspected" else []
    return element(
        "tr",
        element("td", chip(severity, _TINTS.get(severity, "")), css="narrow"),
        element("td", element("b", short(finding.kind)), *unsure, css="narrow"),
        element("td", "" if finding.step is None else str(finding.step)),
        element("td", *what),
    )
