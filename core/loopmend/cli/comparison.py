"""What changed between two sets of runs, with intervals: chance does not count as change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Literal

from loopmend.rendering.tally import Tally

__all__ = ["Change", "changes", "newcombe", "wilson"]

Direction = Literal["rose", "fell", "unclear"]


def wilson(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval for a share.

    >>> low, high = wilson(5, 10)
    >>> round(low, 3), round(high, 3)
    (0.237, 0.763)
    """
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, square = count / total, z * z
    middle = share + square / (2 * total)
    half = z * sqrt(share * (1 - share) / total + square / (4 * total * total))
    scale = 1 + square / total
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def newcombe(
    before: tuple[int, int], after: tuple[int, int], confidence: float = 0.95
) -> tuple[float, float]:
    """Return Newcombe's interval for a difference of shares, made of two of Wilson's.

    >>> low, high = newcombe((56, 70), (48, 80))  # his own example, turned around
    >>> round(low, 4), round(high, 4)
    (-0.3339, -0.0524)
    """
    (a, m), (b, n) = before, after
    if not m or not n:
        return -1.0, 1.0
    low_a, high_a = wilson(a, m, confidence)
    low_b, high_b = wilson(b, n, confidence)
    p, q = a / m, b / n
    low = q - p - sqrt((q - low_b) ** 2 + (high_a - p) ** 2)
    high = q - p + sqrt((high_b - q) ** 2 + (p - low_a) ** 2)
    return low, high


@dataclass(frozen=True, slots=True)
class Change:
    """How often something is in the runs before and after.

    >>> Change("finding", "cap", (0, 10), (1, 10), (-0.1, 0.4)).direction
    'unclear'
    """

    group: str
    """`verdict`, `stop reason`, `finding` (an error or a warning) or `information`."""
    name: str
    before: tuple[int, int]
    """In how many runs, and of how many."""
    after: tuple[int, int]
    interval: tuple[float, float]
    """By how much its share changed, within these bounds."""

    @property
    def direction(self) -> Direction:
        """Whether it rose or fell for sure: whether the interval leaves out no change at all."""
        low, high = self.interval
        return "rose" if low > 0 else "fell" if high < 0 else "unclear"


def changes(before: Tally, after: Tally, confidence: float = 0.95) -> list[Change]:
    """Return what is in either set, the clearest rise or fall first in each group.

    >>> changes(Tally(), Tally())
    []
    """
    totals = before.runs, after.runs
    groups = [_shares(tally) for tally in (before, after)]
    found = [
        Change(group, name, *pairs, newcombe(*pairs, confidence))
        for group in groups[0]
        for name, pairs in _paired(groups[0][group], groups[1][group], totals)
    ]
    order = list(groups[0])
    return sorted(found, key=lambda change: (order.index(change.group), -_clearness(change)))


def _shares(tally: Tally) -> dict[str, dict[str, int]]:
    """Return in how many runs each thing is; what the run got over is information."""
    found = {kind: count.severities for kind, count in tally.findings.items()}
    bad = {kind: seen.get("error", 0) + seen.get("warning", 0) for kind, seen in found.items()}
    return {
        "verdict": {name: count.runs for name, count in tally.verdicts.items()},
        "stop reason": {name: count.runs for name, count in tally.stops.items()},
        "finding": {kind: count for kind, count in bad.items() if count},
        "information": {kind: seen["info"] for kind, seen in found.items() if "info" in seen},
    }


def _paired(
    before: dict[str, int], after: dict[str, int], totals: tuple[int, int]
) -> Iterator[tuple[str, tuple[tuple[int, int], tuple[int, int]]]]:
    for name in dict.fromkeys((*before, *after)):
        yield name, ((before.get(name, 0), totals[0]), (after.get(name, 0), totals[1]))


def _clearness(change: Change) -> float:
    low, high = change.interval
    return max(low, -high)
