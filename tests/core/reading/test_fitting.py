"""A call is fitted to its tool without losing or inventing anything."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import Failure, FailurePattern, Repair, ToolCall
from loopmend.reading.fitting import JsonText, decoded, fit
from loopmend.reading.placeholders import is_placeholder
from loopmend.reading.scalars import Tear
from loopmend.reading.tools import Toolbox
from loopmend.reading.written_calls import Call


def _box(
    required: tuple[str, ...] = (), defs: dict[str, Any] | None = None, /, **parameters: Any
) -> Toolbox:
    schema = {"properties": parameters, "required": list(required), "$defs": defs or {}}
    return Toolbox([{"name": "t", "parameters": schema}])


def _fit(arguments: Any, tools: Toolbox | None, **more: Any) -> tuple[Any, list[str]]:
    repairs: list[Repair] = []
    found = fit(Call("t", arguments, (0, 9), **more), tools, repairs)
    result: Any = found.arguments if isinstance(found, ToolCall) else found.pattern
    return result, [repair.what for repair in repairs]


S, INT, N, B, A, OBJ = (
    {"type": kind} for kind in ("string", "integer", "number", "boolean", "array", "object")
)
BAD = FailurePattern.BAD_ARGUMENTS
ECHO = FailurePattern.TEMPLATE_ECHO
LOOSE = Toolbox(["t"])


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (S, "7", "7"),
        (INT, "7", 7),
        (INT, "-7", -7),
        (INT, "seven", BAD),
        (INT, 7.0, 7),
        (INT, 7.5, BAD),
        (N, "7.5", 7.5),
        (N, "7", 7),
        (N, 7.0, 7.0),
        (N, "x", BAD),
        (B, "True", True),
        (B, "maybe", BAD),
        (B, "yes", True),
        (B, 1, 1),
        (INT, True, BAD),
        (S, 7, "7"),
        (A, '["a"]', ["a"]),
        (A, "a", "a"),
        (A, "[a", "[a"),
        (OBJ, '{"a": 1}', {"a": 1}),
        (OBJ, '{\\"a\\": 1}', {"a": 1}),
        (OBJ, "{\\\"a\\\": 'x'}", {"a": "x"}),
        (OBJ, "{]", "{]"),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "null"]}, "3", 3),
        ({"type": "int"}, "3", 3),
        ({"type": "float"}, "3.5", 3.5),
        ({"anyOf": [INT, {"type": "null"}]}, "3", 3),
        ({"oneOf": [{}, INT, 7]}, "3", 3),
        ({"allOf": [INT]}, "3", 3),
        ({"$ref": "#/$defs/R"}, "3", 3),
        ({"$ref": "#/$defs/missing"}, "3", "3"),
        ({"type": "array", "items": INT}, ["1", "2"], [1, 2]),
        (
            {"type": "object", "properties": {"n": INT, "m": 7}},
            {"n": "1", "m": "2", "o": "3"},
            {"n": 1, "m": "2", "o": "3"},
        ),
        ({"type": "string", "enum": ["Red", "Blue"]}, "red", "Red"),
        ({"type": "string", "enum": ["Red", "RED"]}, "red", "red"),
        ({"type": "string", "enum": ["Red"]}, "green", "green"),
        ({"enum": [1]}, 2, 2),
        (True, "x", "x"),
        ({}, "7", "7"),
        (S, {"a": 1}, BAD),
        (INT, ["a"], BAD),
        (S, "...", ECHO),
        (S, {"type": "string", "description": "x"}, ECHO),
        (OBJ, {"type": "string"}, {"type": "string"}),
    ],
)
def test_types(schema: Any, value: Any, expected: Any) -> None:
    """A value takes the type that its parameter asks for where nothing is lost, stays, or fails."""
    box = _box((), {"R": {"$ref": "#/$defs/I"}, "I": INT}, p=schema)
    failed = isinstance(expected, FailurePattern)
    assert _fit({"p": value}, box)[0] == (expected if failed else {"p": expected})


def test_each_change_is_a_repair() -> None:
    """Types, cases and names that were put right are listed; what fits is not."""
    assert _fit({"p": "7"}, _box(p=INT)) == ({"p": 7}, ["type of `p`"])
    assert _fit({"p": "red"}, _box(p={"type": "string", "enum": ["Red"]})) == (
        {"p": "Red"},
        ["case of `red`"],
    )
    assert _fit({"maxResults": 1}, _box(max_results=INT)) == (
        {"max_results": 1},
        ["name of `maxResults`"],
    )
    assert _fit({"P": 1, "p": 2}, _box(p=INT))[0] is FailurePattern.MALFORMED
    assert _fit({"p": 1}, _box(p=INT)) == ({"p": 1}, [])


@pytest.mark.parametrize("value", ["null", "None"])
def test_nothing_for_what_is_required(value: str) -> None:
    """A required number cannot be nothing; one that may be null can."""
    assert _fit({"p": value}, _box(("p",), p=INT), raw=True)[0] is BAD
    assert _fit({"p": None}, _box(("p",), p=INT))[0] is BAD
    assert _fit({"p": value}, _box(("p",), p={"type": ["string", "null"]}), raw=True)[0] == {
        "p": None
    }
    assert _fit({"p": value}, _box(("p",), p=S), raw=True)[0] == {"p": value}


def test_raw_values() -> None:
    """Text of tags becomes what the schema says, or what it is in JSON if that says nothing."""
    assert _fit({"p": "7"}, _box(p={}), raw=True)[0] == {"p": 7}
    assert _fit({"p": "x"}, _box(p={}), raw=True)[0] == {"p": "x"}
    assert _fit({"p": {"item": "a"}}, _box(p=A), raw=True)[0] == {"p": ["a"]}
    assert _fit({"p": {"item": ["a", "b"]}}, _box(p=A), raw=True)[0] == {"p": ["a", "b"]}


def test_text_that_says_it_is_json() -> None:
    """It is decoded where the schema leaves that open, and is text where a string belongs."""
    assert _fit({"p": JsonText("7")}, _box(p=INT)) == ({"p": 7}, [])
    assert _fit({"p": JsonText("x")}, _box(p=S)) == ({"p": "x"}, [])
    assert type(_fit({"p": JsonText("x")}, _box(p=S))[0]["p"]) is str
    assert _fit({"x": JsonText("7"), "y": "7"}, _box(p=S))[0] == {"x": 7, "y": "7"}
    assert _fit({"x": JsonText("7"), "y": "7"}, LOOSE)[0] == {"x": 7, "y": "7"}


@pytest.mark.parametrize(
    ("arguments", "more", "expected"),
    [
        ({"q": "x"}, {}, {"q": "x"}),
        ({}, {}, BAD),
        ({"other": 1}, {}, BAD),
        ({}, {"missing": True}, FailurePattern.MISSING_INPUT),
        ("", {"missing": True}, FailurePattern.MISSING_INPUT),
        (None, {}, BAD),
        ('{"q": "x"}', {}, {"q": "x"}),
        ("Oslo", {}, {"q": "Oslo"}),
        (7, {}, {"q": "7"}),
        ([1, 2], {}, BAD),
        ({"input": {"q": "x"}}, {}, {"q": "x"}),
        ({"input": '{"q": "x"}'}, {}, {"q": "x"}),
        ({"input": {"other": 1}}, {}, BAD),
        ({}, {"positional": ("x",)}, {"q": "x"}),
        ({}, {"positional": ("x", 1)}, {"q": "x", "n": 1}),
        ({"q": "x"}, {"positional": (1,)}, BAD),
        ({"n": 1}, {"positional": ("x",)}, {"q": "x", "n": 1}),
        ({}, {"positional": ("x", 1, 2)}, BAD),
        ({}, {"positional": ({"q": "x"},)}, {"q": "x"}),
        ({}, {"positional": ({"other": "x"},)}, BAD),
        ({}, {"torn": Tear.OPEN}, FailurePattern.TRUNCATED),
        ({}, {"twice": "q"}, FailurePattern.MALFORMED),
        ({"q": "<your query here>"}, {}, ECHO),
        ({"q": "{q}"}, {}, ECHO),
    ],
)
def test_arguments(arguments: Any, more: dict[str, Any], expected: Any) -> None:
    """Objects, encoded objects, wrappers and positions are taken; what is missing is a failure."""
    assert _fit(arguments, _box(("q",), q=S, n=INT), **more)[0] == expected


def test_messages_say_what_the_tool_takes() -> None:
    """A failure names what is missing, what is not accepted, and what a parameter takes."""
    box = _box(("q",), q=S)

    def message(arguments: Any) -> str:
        found = fit(Call("t", arguments, (0, 9)), box, [])
        assert isinstance(found, Failure)
        return found.message

    assert message({"other": 1}) == "`t` needs `q` and does not accept `other`."
    assert message({}) == "`t` needs `q`."
    assert message({"q": ["a"]}) == "`q` of `t` takes string."


@pytest.mark.parametrize(
    ("arguments", "more", "expected"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ("text", {}, "text"),
        (None, {}, {}),
        ('{"a": 1}', {}, {"a": 1}),
        ({"properties": {"a": 1}}, {}, {"a": 1}),
        ({"a": "..."}, {}, ECHO),
        ({"type": "object", "properties": {}}, {}, ECHO),
        ({}, {"positional": ({"a": 1},)}, {"a": 1}),
        ({}, {"positional": (1,)}, BAD),
        ({}, {"missing": True}, FailurePattern.MISSING_INPUT),
        ("", {"missing": True}, ""),
    ],
)
def test_a_tool_of_which_only_the_name_is_known(
    arguments: Any, more: dict[str, Any], expected: Any
) -> None:
    """It takes what it is given, if that has names and is no placeholder."""
    assert _fit(arguments, LOOSE, **more)[0] == expected
    assert _fit(arguments, None, **more)[0] == expected


def test_names() -> None:
    """A name in another spelling is a repair; another name is another tool."""
    repairs: list[Repair] = []
    assert fit(Call("functions.t", {}, (0, 1)), LOOSE, repairs) == ToolCall("t", {})
    assert [repair.what for repair in repairs] == ["tool name `functions.t`"]
    other = fit(Call("do not t", {}, (0, 1)), LOOSE, [])
    assert isinstance(other, Failure)
    assert other.pattern is FailurePattern.UNKNOWN_TOOL
    repairs = []
    assert fit(Call("a\\_b", {}, (0, 1)), None, repairs) == ToolCall("a_b", {})
    assert len(repairs) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": 1', '{"a": 1'),
        ('{"a": 1} x', '{"a": 1} x'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("{]", "{]"),
        ("text", "text"),
        (7, 7),
    ],
)
def test_encoded_objects(value: Any, expected: Any) -> None:
    """An object that was encoded, even twice, is decoded; anything doubtful stays as it is."""
    assert decoded(value) == expected


@pytest.mark.parametrize(
    ("key", "value", "slot"),
    [
        ("q", "...", True),
        ("q", "\u2026", True),
        ("q", "<string>", True),
        ("q", "YOUR_QUERY_HERE", True),
        ("q", "QUERY_HERE", True),
        ("q", "<the search query>", True),
        ("q", "<the path, once it is known>", True),
        ("html", "<b>bold</b>", False),
        ("city", "<city>", True),
        ("city", "[City]", True),
        ("city", "city", False),
        ("city", "Oslo", False),
        ("html", "<b>", False),
        ("html", "</b a>", False),
    ],
)
def test_placeholders(key: str, value: str, *, slot: bool) -> None:
    """Dots, the word `value`, words in brackets and the key itself in brackets are unfilled."""
    assert is_placeholder(key, value) is slot


def test_schemas_that_never_end() -> None:
    """References in a circle and values without a floor are left as they are."""
    circle = {"R": {"$ref": "#/$defs/R"}}
    assert _fit({"p": "3"}, _box((), circle, p={"$ref": "#/$defs/R"}))[0] == {"p": "3"}
    nested: Any = {"type": "array", "items": {"$ref": "#/$defs/L"}}
    value: Any = "3"
    for _ in range(20):
        value = [value]
    assert _fit({"p": value}, _box((), {"L": nested}, p=nested))[0] == {"p": value}
