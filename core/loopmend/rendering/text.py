"""Reports as text, for logs and for failing tests."""

from __future__ import annotations

from collections.abc import Iterator

from loopmend.rendering.runs import cut, worst_first
from loopmend.traces.finding import Finding
from loopmend.traces.report import TraceReport

__all__ = ["text"]


def text(report: TraceReport) -> str:
    """Return a report as lines of text: the verdict, then the findings, worst first."""
    return "\n".join(_lines(report))


def _lines(report: TraceReport) -> Iterator[str]:
    yield cut(report.headline)
    if report.unreadable is None:
        yield f"Stop reason: {report.stop_reason.value}"
    if not report.findings:
        yield "No findings."
    for finding in worst_first(report.findings):
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[str]:
    place = "" if finding.step is None else f", step {finding.step + 1}"
    recovered = ", recovered" if finding.recovered else ""
    said = cut(finding.message).replace("\n", "\n    ")
    yield f"- {finding.severity}, {finding.certainty}{recovered}{place}: {cut(finding.kind)}"
    yield f"    {said}"
    if finding.evidence not in ("", finding.message):
        evidence = cut(finding.evidence, 200).replace("\n", "\n    | ")
        yield f"    | {evidence}"
