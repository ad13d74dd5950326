"""What is printed and written about the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from live.record import Run, Totals, totals
from live.tasks import Task

__all__ = ["as_json", "progress", "table"]


def progress(number: int, of: int, task: Task, columns: Mapping[str, Sequence[Run]]) -> str:
    """Return the line about one task."""
    said = "   ".join(f"{name} {_mark(runs[-1])}" for name, runs in columns.items())
    seconds = sum(runs[-1].seconds for runs in columns.values())
    return f"  {number:2}/{of} {task.question:36} {said}   {seconds:.0f} s"


def _mark(run: Run) -> str:
    if run.error is not None:
        return "error"
    return "right" if run.completed else "wrong"


def table(arm: str, columns: Mapping[str, Sequence[Run]]) -> str:
    """Return the numbers of each way to build an agent, side by side."""
    counted = [totals(runs) for runs in columns.values()]
    rows = [
        [arm, *columns],
        ["completed", *(_share(t.completed, t.tasks) for t in counted)],
        ["  95 % interval", *map(_interval, counted)],
        ["right call made", *(_share(t.right_call, t.tasks) for t in counted)],
        ["wrong calls made", *(str(t.wrong_calls) for t in counted)],
        ["times the model was asked", *(str(t.model_calls) for t in counted)],
        ["errors raised", *(str(t.errors) for t in counted)],
    ]
    first = max(len(row[0]) for row in rows)
    width = max(len(cell) for row in rows for cell in row[1:])
    lines = [
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell in row[1:])]) for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _share(count: int, of: int) -> str:
    return f"{count}/{of} ({100 * count / of:.0f} %)" if of else "-"


def _interval(total: Totals) -> str:
    low, high = total.interval
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def as_json(results: Mapping[str, Mapping[str, Sequence[Run]]]) -> str:
    """Return every number and every run."""
    return json.dumps(
        {
            arm: {
                column: {"totals": asdict(totals(runs)), "runs": [_run(run) for run in runs]}
                for column, runs in columns.items()
            }
            for arm, columns in results.items()
        },
        indent=2,
        ensure_ascii=False,
    )


def _run(run: Run) -> dict[str, Any]:
    return {**asdict(run), "completed": run.completed, "right_calls": run.right_calls}
