"""Intervals: figures from the papers, and what they must never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend.cli.comparison import Change, changes, newcombe, wilson
from loopmend.rendering.tally import Tally

COUNTS = st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_published(count: int, total: int, low: float, high: float) -> None:
    """Newcombe 1998, Two-sided confidence intervals for the single proportion, method 3."""
    assert [round(bound, 4) for bound in wilson(count, total)] == [low, high]


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_newcombe_as_published(
    one: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe 1998, Interval estimation for the difference, table II, method 10."""
    assert [round(bound, 4) for bound in newcombe(other, one)] == [low, high]


@given(before=COUNTS, after=COUNTS)
def test_intervals_hold_what_was_seen(before: tuple[int, int], after: tuple[int, int]) -> None:
    """The difference that was seen lies inside, and the other way round is the mirror image."""
    low, high = newcombe(before, after)
    back = newcombe(after, before)
    assert (-back[1], -back[0]) == pytest.approx((low, high))
    if before[1] and after[1]:
        seen = after[0] / after[1] - before[0] / before[1]
        assert low - 1e-9 <= seen <= high + 1e-9
    else:
        assert (low, high) == (-1, 1)
    assert Change("finding", "x", before, after, (low, high)).direction in (
        "rose",
        "fell",
        "unclear",
    )


def test_nothing_is_known_of_no_runs() -> None:
    """Of nothing, every share is possible."""
    assert wilson(0, 0) == (0, 1)


def test_the_clearest_change_comes_first() -> None:
    """Within a group, what surely changed stands before what may be chance."""
    before, after = Tally(), Tally()
    for n in range(50):
        for tally, kinds in ((before, ["a"] if n % 2 else []), (after, ["b", "a"][: 1 + n % 2])):
            findings = [
                {"kind": k, "severity": "error", "certainty": "proven", "recovered": False,
                 "message": ""} for k in kinds
            ]  # fmt: skip
            tally.add({"verdict": "failed", "stop_reason": "cap", "findings": findings})
    found = [(each.name, each.direction) for each in changes(before, after)]
    assert found == [("failed", "unclear"), ("cap", "unclear"), ("b", "rose"), ("a", "unclear")]
