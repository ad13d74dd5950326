"""Linear time where the Rust originals are quadratic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from benchmarks.timing import fastest
from loopmend.contracts import (
    classify_scratchpad_grammar,
    detect_meta_signal,
    detect_normalization_failure,
    parse_action,
)

HALF, WHOLE = 512 * 1024, 1024 * 1024
MOST = 3.0
"""Twice the text may cost at most this much more; quadratic growth costs four times.

The benchmarks hold the exact bound of 2.3; a test that runs beside others must allow for
a noisy machine.
"""


def filled(size: int, unit: str) -> str:
    """Repeat a piece up to a size."""
    return unit * (size // len(unit))


def caveats(size: int, template: str) -> str:
    """Return an answer of about that size whose caveats are all different."""
    count = size // len(template.format(100_000))
    return f"<answer>{''.join(template.format(100_000 + n) for n in range(count))}</answer>"


CASES: dict[str, tuple[Callable[[str], Any], Callable[[int], str]]] = {
    "grammar, many blocks": (
        classify_scratchpad_grammar,
        lambda size: filled(size, "Thought: t\nAction: a\nObservation: o\n"),
    ),
    "grammar, many blocks and an answer": (
        classify_scratchpad_grammar,
        lambda size: filled(size, "Thought: t\nAction: a\nObservation: o\n") + "Final Answer: 4",
    ),
    "grammar, headers only": (
        classify_scratchpad_grammar,
        lambda size: filled(size, "Thought:Action:"),
    ),
    "grammar, answers in every block": (
        classify_scratchpad_grammar,
        lambda size: filled(size, "Thought:Action:Final Answer:"),
    ),
    "caveats, all different": (
        detect_meta_signal,
        lambda size: caveats(size, "<caveat>{}</caveat>"),
    ),
    "caveats, never removed": (
        detect_meta_signal,
        lambda size: caveats(size, "<caveat> {}</caveat>"),
    ),
    "caveats, few that touch": (
        detect_meta_signal,
        lambda size: (
            "<answer><cav<caveat>a</caveat>eat>b</caveat>"
            + filled(size, "<cavea")
            + caveats(15 * 22, "<caveat>{}</caveat>").removeprefix("<answer>")
        ),
    ),
    "caveats, nested": (
        detect_meta_signal,
        lambda size: caveats(size, "<caveat>a<caveat>{}</caveat>"),
    ),
    "normalization, blanks": (
        detect_normalization_failure,
        lambda size: filled(size, "action  x "),
    ),
    "action, brackets": (
        parse_action,
        lambda size: f'{{"type":"tool_call","name":"n","arguments":[{filled(size, "[],")}1]}}',
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_growth_is_linear(case: str) -> None:
    """Twice the text costs about twice the time."""
    function, make = CASES[case]
    half, whole = make(HALF), make(WHOLE)
    ratios = []
    for _ in range(3):
        ratios.append(fastest(partial(function, whole)) / fastest(partial(function, half)))
        if ratios[-1] < MOST:
            break
    assert min(ratios) < MOST
