"""One line of input is what the tool's parameters make of it."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import ToolCall, ToolSpec, read_turn
from loopmend.reading.inputs import positional_input, read_input, unquoted


def _spec(required: tuple[str, ...] = (), **kinds: str) -> ToolSpec:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return ToolSpec.of(
        {"name": "t", "parameters": {"properties": properties, "required": list(required)}}
    )


TWO = _spec(("base", "target"), base="string", target="string")
ONE = _spec(("q",), q="string", n="integer")
NONE = _spec()
OPEN = _spec((), a="string", b="string")
LIST = _spec((), tags="array")


@pytest.mark.parametrize(
    ("text", "spec", "expected"),
    [
        ("base='GBP', target='CHF'", TWO, ({"base": "GBP", "target": "CHF"}, "input by name")),
        ("base=GBP, target=CHF", TWO, ({"base": "GBP", "target": "CHF"}, "input by name")),
        ('"base": "GBP"; Target: CHF', TWO, ({"base": "GBP", "target": "CHF"}, "input by name")),
        ("base: GBP\ntarget: CHF", TWO, ({"base": "GBP", "target": "CHF"}, "input by name")),
        ("usd, yen", TWO, ({"base": "usd", "target": "yen"}, "input by position")),
        ("'usd', \"yen\"", TWO, ({"base": "usd", "target": "yen"}, "input by position")),
        ("usd, yen, more", TWO, None),
        ("usd, ", TWO, None),
        ("usd\n, yen", TWO, None),
        ("[usd, yen]", TWO, None),
        ("base=a, base=b", TWO, None),
        ("base=, target=b", TWO, None),
        ("base=a, other=b", TWO, None),
        ("a, b", OPEN, None),
        (
            'TArgs({"base": "a", "target": "b"})',
            TWO,
            ({"base": "a", "target": "b"}, "input as a call"),
        ),
        ('TArgs({"other": "a"})', TWO, None),
        ("T(base='a', target='b')", TWO, ({"base": "a", "target": "b"}, "input as a call")),
        ("T(other='a')", TWO, None),
        ("T('a', 'b')", TWO, None),
        ("T(base='a'", TWO, None),
        ("Oslo", ONE, ({"q": "Oslo"}, None)),
        (" Oslo, Norway ", ONE, ({"q": " Oslo, Norway "}, None)),
        ("q=Oslo", ONE, ({"q": "Oslo"}, "input by name")),
        ("None", NONE, ({}, None)),
        ('"N/A"', NONE, ({}, None)),
        ("", NONE, ({}, None)),
        ("now()", NONE, ({}, None)),
        ("now({})", NONE, ({}, None)),
        ("now(a=1)", NONE, None),
        ("Oslo", NONE, None),
    ],
)
def test_lines(text: str, spec: ToolSpec, expected: Any) -> None:
    """By name, by position for all that is required, as a call, or for the only parameter."""
    assert read_input(text, spec) == expected


@pytest.mark.parametrize(
    ("value", "spec", "expected"),
    [
        ([], NONE, ({}, None)),
        ([1], NONE, None),
        (["a"], LIST, ({"tags": ["a"]}, "input without a name")),
        ([{"q": "a"}], ONE, ({"q": "a"}, "input in a list")),
        ([{"x": "a"}], ONE, None),
        ([{}], ONE, None),
        (["a", "b"], TWO, None),
        (7, ONE, ({"q": 7}, "input without a name")),
        (7, TWO, None),
    ],
)
def test_other_values(value: Any, spec: ToolSpec, expected: Any) -> None:
    """A list is for a parameter that takes one; a lone value for the only parameter."""
    assert positional_input(value, spec) == expected


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("'a'", "a"),
        ("\u201ca\u201d", "a"),
        ("`a`", "a"),
        ("'", "'"),
        ("'a' or 'b'", "'a' or 'b'"),
        ("a'", "a'"),
        ("", ""),
    ],
)
def test_quotes_come_off_in_pairs(text: str, inner: str) -> None:
    """One pair of quotes comes off, if it is one."""
    assert unquoted(text) == inner


def test_through_the_reader() -> None:
    """`Action Input: usd, yen` is a call of a tool of two required parameters."""
    text = "Thought: t\nAction: t\nAction Input: {}"
    expected = (ToolCall("t", {"base": "usd", "target": "yen"}),)
    for line in ("usd, yen", "base='usd', target='yen'", 'TArgs({"base": "usd", "target": "yen"})'):
        turn = read_turn(text.replace("{}", line), tools=[TWO])
        assert turn.actions == expected
        assert turn.fidelity == "repaired"
