"""The verdict on a run first, then why it stopped, the contracts, and what was found."""

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
# What is neither said nor done yet is neither well nor ill.
_VERDICTS: Final = {"answered": "good", "failed": "bad"}


def html(report: TraceReport) -> Markup:
    """Return a report as HTML, with the worst findings first."""
    verdict: str = report.verdict
    chips = [chip(verdict, _VERDICTS.get(verdict, "warn"))]
    if report.unreadable is None:
        chips.append(chip(report.stop_reason.value))
    why = element("p", *chips, clipped(report.headline, LONGEST))
    return card(why, element("p", *_contracts(report)), *_findings(report))


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
        yield note("No findings.")
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
    notes = [*(["suspected"] if finding.certainty == "suspected" else [])]
    notes += ["recovered"] if finding.recovered else []
    unsure = [element("div", ", ".join(notes), css="note")] if notes else []
    return element(
        "tr",
        element("td", chip(severity, _TINTS.get(severity, "")), css="narrow"),
        element("td", element("b", short(finding.kind)), *unsure, css="narrow"),
        element("td", "" if finding.step is None else str(finding.step + 1)),
        element("td", *what),
    )
