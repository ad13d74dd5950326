"""Hostile input: a defined result, a documented error, never a crash or a hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from loopmend.contracts import (
    ActionParseError,
    InvalidJson,
    assess_declared_action,
    classify_scratchpad_grammar,
    detect_meta_signal,
    detect_normalization_failure,
    extract_echo_fragments,
    parse_action,
)

TEN_MB = 10_000_000
SECONDS = 30.0
"""Of CPU time. Most take milliseconds and the slowest a few seconds under coverage; a
quadratic one would take hours."""

FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "parse_action": parse_action,
    "detect_normalization_failure": detect_normalization_failure,
    "detect_meta_signal": detect_meta_signal,
    "classify_scratchpad_grammar": classify_scratchpad_grammar,
    "assess_declared_action": assess_declared_action,
    "extract_echo_fragments": lambda text: extract_echo_fragments([text]),
}


def fill(unit: str) -> str:
    """Repeat a piece up to ten megabytes."""
    return unit * (TEN_MB // len(unit))


HOSTILE: dict[str, Callable[[], str]] = {
    "lone surrogate": lambda: "\ud800",
    "lone surrogate in an action": lambda: '{"type":"final","content":"\udfff"}',
    "reversed pair": lambda: "\ude00\ud83d",
    "NUL": lambda: "\x00",
    "NUL in an action": lambda: '{"type":"final\x00"}',
    "every control character": lambda: "".join(map(chr, range(32))),
    "10 MB of letters": lambda: fill("x"),
    "10 MB of blanks": lambda: fill(" "),
    "10 MB of one string": lambda: '{"type":"final","content":"' + fill("x") + '"}',
    "10 MB of numbers": lambda: '{"type":"tool_call","name":"n","arguments":[' + fill("1,") + "1]}",
    "10 MB of digits": lambda: '{"type":"tool_call","name":"n","arguments":' + fill("9") + "}",
    "10 MB of decimals": lambda: '{"type":"tool_call","name":"n","arguments":1.' + fill("9") + "}",
    "10 MB exponent": lambda: '{"type":"tool_call","name":"n","arguments":1e' + fill("9") + "}",
    "10 MB of escapes": lambda: '{"type":"final","content":"' + fill("\\ud83d\\ude00") + '"}',
    "10 MB of backslashes": lambda: '"' + fill("\\"),
    "10 MB of quotes": lambda: fill('"'),
    "100,000 brackets": lambda: "[" * 100_000,
    "100,000 bracket pairs": lambda: "[" * 100_000 + "]" * 100_000,
    "100,000 objects": lambda: '{"a":' * 100_000,
    "100,000 brackets in arguments": lambda: (
        '{"type":"tool_call","name":"n","arguments":' + "[" * 100_000
    ),
    "10 MB of fences": lambda: fill("```"),
    "10 MB of Action": lambda: fill("Action "),
    "10 MB of blank Action": lambda: "Action" + fill(" "),
    "10 MB of narration": lambda: fill("I would use "),
    "10 MB of narration and blanks": lambda: "I would use" + fill(" ") + "-",
    "10 MB of thoughts": lambda: fill("Thought:Action:"),
    "10 MB of thoughts and an answer": lambda: fill("Thought:Action:") + "Final Answer:",
    "10 MB of answers": lambda: fill("Final Answer:"),
    "10 MB of opening tags": lambda: fill("<answer>"),
    "10 MB of caveats": lambda: "<answer>" + fill("<caveat>a</caveat>") + "</answer>",
    "10 MB of open caveats": lambda: "<answer>" + fill("<caveat>") + "</caveat></answer>",
    "10 MB of torn caveats": lambda: "<answer>" + fill("<cav<caveat>a</caveat>eat>") + "</answer>",
    "10 MB confidence": lambda: '<answer confidence="0.' + fill("1") + '">x</answer>',
    "10 MB midpoint": lambda: (
        '<answer confidence="0.5000000298023223876953125' + fill("0") + '1">x</answer>'
    ),
    "10 MB of no confidence": lambda: '<answer confidence="' + fill("1") + 'x">x</answer>',
    "10 MB of steps": lambda: '<thinking steps="' + fill("9") + '">x</thinking>',
    "10 MB of missing": lambda: "<uncertain>" + fill("<missing>") + "</uncertain>",
    "10 MB of dots": lambda: fill("."),
    "10 MB of dotted capitals": lambda: fill("\u0130"),
}


@pytest.mark.parametrize("function", list(FUNCTIONS))
@pytest.mark.parametrize("case", list(HOSTILE))
def test_hostile_text(function: str, case: str) -> None:
    """Every function copes with every hostile text, in time."""
    text = HOSTILE[case]()
    started = time.thread_time()
    try:
        FUNCTIONS[function](text)
    except ActionParseError as error:
        assert function == "parse_action"
        assert error.text is text
    assert time.thread_time() - started < SECONDS


@pytest.mark.parametrize("case", [name for name in HOSTILE if "bracket" in name])
def test_deep_nesting_is_invalid_json(case: str) -> None:
    """Nesting never reaches the recursive decoder: the error says what is wrong."""
    with pytest.raises(InvalidJson, match="nesting deeper than 127 levels"):
        parse_action(HOSTILE[case]())


@pytest.mark.parametrize("function", list(FUNCTIONS))
@pytest.mark.parametrize("value", [None, b"text", 1, 1.5, ["text"], {"text": 1}, bytearray(b"x")])
def test_what_is_not_text(function: str, value: Any) -> None:
    """An argument that is not a `str` raises `TypeError` that names it."""
    with pytest.raises(TypeError, match=f"must be a str, not {type(value).__name__}"):
        FUNCTIONS[function](value)
