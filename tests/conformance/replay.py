"""Replaying vector rows and keeping count."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.calls import Answer, ask
from tests.conformance.deviations import DEVIATIONS
from tests.conformance.rows import Row, function_of

REFERENCE_ONLY = frozenset({"synthesize_task_state"})
"""Functions whose vectors do not come from the Rust code."""

# Parts of a row that say how Rust words or prints the answer, not what it is.
_WORDING = frozenset({"message", "category", "line", "column", "confidence_str"})
# Parts that only the Go port's state has.
_GO_ONLY = frozenset({"named_tool_match", "norm_retry_streak", "protocol_issues"})


@dataclass
class Tally:
    """What became of one function's rows."""

    rows: int = 0
    matches: int = 0
    skipped: int = 0
    deviations: Counter[str] = field(default_factory=Counter)
    mismatches: list[tuple[Row, Answer]] = field(default_factory=list)


def replay(rows: Iterable[Row]) -> dict[str, Tally]:
    """Ask loopmend what Rust was asked and compare."""
    tallies: dict[str, Tally] = {}
    for row in rows:
        tally = tallies.setdefault(function_of(row), Tally())
        tally.rows += 1
        if row.get("error", {}).get("kind") == "BadArgs":
            tally.skipped += 1
            continue
        _judge(row, tally)
    return tallies


def _judge(row: Row, tally: Tally) -> None:
    answer = ask(function_of(row), row["args"])
    # The Go port prints every whole number without a point and every zero without a sign.
    same = operator.eq if function_of(row) in REFERENCE_ONLY else _identical
    if same(answer, _expected(row)):
        tally.matches += 1
        return
    for deviation in DEVIATIONS:
        if deviation.applies(row) and deviation.accepts(row, answer):
            tally.deviations[deviation.name] += 1
            return
    tally.mismatches.append((row, answer))


def _expected(row: Row) -> Answer | None:
    key = "error" if "error" in row else "result"
    return {key: _without_wording(row[key])} if key in row else None


def _without_wording(value: Any) -> Any:
    if isinstance(value, dict):
        ignored = _WORDING | _GO_ONLY
        return {k: _without_wording(v) for k, v in value.items() if k not in ignored}
    return value


def _identical(left: Any, right: Any) -> bool:
    """Compare as JSON text would: 1 is not 1.0, true is not 1, -0.0 is not 0.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_identical(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    return type(left) is type(right) and repr(left) == repr(right)
