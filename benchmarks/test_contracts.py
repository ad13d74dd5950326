"""Each contract against `json.loads` of the same text, and that against a careful port's."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import inputs
from benchmarks.reference import CAREFUL, careful_ratio
from benchmarks.timing import ratio
from loopmend.contracts import (
    ActionParseError,
    NormalizationPattern,
    build_normalization_retry_prompt,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
    detect_meta_signal,
    detect_normalization_failure,
    parse_action,
    plan,
)

MOST = 1.5
"""Times the careful port's own ratio."""
TRIES = 3
"""A ratio that noise has spoiled is measured again."""


def parse_bad(text: str) -> None:
    """Parse what is not an action."""
    with suppress(ActionParseError):
        parse_action(text)


def make_plan(turn: inputs.Turn) -> Callable[[], Any]:
    """Return a call that plans a turn."""
    return partial(plan, turn.state, turn.input)


ON_TEXT: dict[str, tuple[Callable[[str], Any], Callable[[int], str], str]] = {
    "parse_tool": (parse_action, inputs.tool, "tool"),
    "parse_final": (parse_action, inputs.final, "final"),
    "parse_bad": (parse_bad, inputs.prose, "final"),
    "norm_prose": (detect_normalization_failure, inputs.prose, "final"),
    "norm_react": (detect_normalization_failure, inputs.react, "final"),
    "meta_prose": (detect_meta_signal, inputs.prose, "final"),
    "meta_answer": (detect_meta_signal, inputs.answer, "final"),
    "grammar": (classify_scratchpad_grammar, inputs.react, "final"),
    "grammar_final": (classify_scratchpad_grammar, inputs.react_final, "final"),
}
ON_VALUES: dict[str, Callable[[], Any]] = {
    "term": partial(classify_termination, inputs.TRACE),
    "bound": partial(classify_iteration_bound, inputs.TRACE, 5),
    "prompt": partial(build_normalization_retry_prompt, NormalizationPattern.NARRATED_TOOL_USE, 7),
    "plan_conv": make_plan(inputs.CONVERSATION),
    "plan_min": make_plan(inputs.QUIET),
    "plan_max": make_plan(inputs.EVERYTHING),
}
YARDSTICKS = {"tool": inputs.tool, "final": inputs.final}
CASES = [(case, size) for case, sizes in CAREFUL.items() for size in sizes]


def calls(case: str, size: str) -> tuple[Callable[[], Any], Callable[[], Any], str]:
    """Return the contract's call, the call of `json.loads` beside it, and its name.

    The yardstick is a JSON text as long as the contract's own: for a contract that reads
    JSON the same text, for one that reads prose a string of it, for one that reads no
    text at all a tool call of 200 bytes.
    """
    if case in ON_VALUES:
        return ON_VALUES[case], partial(json.loads, inputs.tool(200)), "tool"
    function, make, yardstick = ON_TEXT[case]
    text = make(inputs.SIZES[size])
    beside = YARDSTICKS[yardstick](inputs.SIZES[size])
    return partial(function, text), partial(json.loads, beside), yardstick


@pytest.mark.parametrize(("case", "size"), CASES)
def test_contract(case: str, size: str, benchmark: BenchmarkFixture, report: list[str]) -> None:
    """A contract costs at most 1.5 times what the careful port does, in units of `json.loads`."""
    subject, beside, yardstick = calls(case, size)
    careful = careful_ratio(case, size, yardstick)
    found = min(_until(careful * MOST, partial(ratio, subject, beside)))
    report.append(
        f"{case:14} {size:>5}  {found:7.2f} x json.loads   careful port {careful:7.2f}"
        f"   {found / careful:5.2f} of it"
    )
    benchmark.group = size
    benchmark.extra_info["x json.loads"] = round(found, 3)
    benchmark(subject)
    assert found <= careful * MOST


def _until(enough: float, measure: Callable[[], float]) -> list[float]:
    found = [measure()]
    while found[-1] > enough and len(found) < TRIES:
        found.append(measure())
    return found
