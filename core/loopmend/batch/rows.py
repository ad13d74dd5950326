"""The row that a batch writes for each run: flat, small, and the same from every engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loopmend.traces.report import classify_trace
from loopmend.traces.trace import Trace

__all__ = ["read_rows", "row_of"]


def row_of(trace: Trace) -> dict[str, Any]:
    """Classify a run and return what a batch keeps of it.

    >>> row_of(Trace(answer="4", id="a"))["verdict"]
    'answered'
    """
    report = classify_trace(trace)
    return {
        "trace": trace.id,
        "framework": trace.framework,
        "verdict": report.verdict.value,
        "stop_reason": report.stop_reason.value,
        "headline": report.headline,
        "steps": trace.iterations,
        "calls": sum(len(step.calls) for step in trace.steps),
        "tokens": trace.tokens,
        "findings": [
            {
                "kind": finding.kind,
                "severity": finding.severity,
                "certainty": finding.certainty,
                "step": finding.step,
                "recovered": finding.recovered,
            }
            for finding in report.findings
        ],
    }


def read_rows(out: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the rows that `classify_files` wrote, in the order of the files and of the runs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     list(read_rows(folder))
    []
    """
    for part in sorted(Path(out).glob("*.jsonl")):
        with part.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if "lines" not in row:  # what was skipped stands in the last line
                    yield row
