"""Linear where the Rust originals are quadratic, and fast at a megabyte."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.timing import fastest
from tests.core.test_growth import CASES, HALF, WHOLE

MOST = 2.3
"""Twice the text costs at most this much more."""
MOST_SECONDS = 0.05
"""For a megabyte; Rust takes 2.7 s for the grammar and 21 s for caveats."""


@pytest.mark.parametrize(
    "case", [name for name in CASES if name.startswith(("grammar", "caveats"))]
)
def test_growth(case: str, report: list[str]) -> None:
    """A megabyte takes at most 2.3 times as long as half of it, and under 50 ms."""
    function, make = CASES[case]
    half, whole = partial(function, make(HALF)), partial(function, make(WHOLE))
    found: list[float] = []
    while len(found) < 5 and (not found or min(found) > MOST):
        found.append(fastest(whole, rounds=15) / fastest(half, rounds=15))
    seconds = fastest(whole, rounds=15)
    report.append(f"{case:36} 1 MB / 512 KB {min(found):5.2f}   1 MB {seconds * 1000:6.1f} ms")
    assert min(found) <= MOST
    assert seconds < MOST_SECONDS
