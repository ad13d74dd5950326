"""The action parser: strictness, order of checks, and errors that say where."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from loopmend import FinalAnswer, ToolCall
from loopmend.contracts import (
    ActionParseError,
    InvalidJson,
    MissingField,
    UnknownType,
    parse_action,
)

FENCE = "```"


def tool_call(arguments: str) -> str:
    """Return the text of a tool call with the given arguments."""
    return f'{{"type":"tool_call","name":"n","arguments":{arguments}}}'


@pytest.mark.parametrize(
    "text",
    [
        f'{FENCE}json{{"type":"final","content":"x"}}{FENCE}',
        f'{FENCE}json\n{{"type":"final","content":"x"}}',
        f'\u3000{FENCE}\n{{"type":"final","content":"x"}}\n{FENCE}\xa0',
        '{"type":"unknown","type":"final","content":"x","extra":1}',
    ],
)
def test_accepts(text: str) -> None:
    """Fences, Unicode white space, extra and repeated keys do not matter."""
    assert parse_action(text) == FinalAnswer("x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x1c",
        f'{FENCE}JSON\n{{"type":"final","content":"x"}}\n{FENCE}',
        f'{FENCE}json5\n{{"type":"final","content":"x"}}\n{FENCE}',
        '~~~\n{"type":"final","content":"x"}\n~~~',
        'Here: {"type":"final","content":"x"}',
        '{"type":"final","content":"x"} {"type":"final","content":"x"}',
        '\ufeff{"type":"final","content":"x"}',
        "{'type':'final','content':'x'}",
        '{"type":"final","content":"x",}',
        '{"type":"final","content":"a\nb"}',
        '{"type":"explode","payload":NaN}',
        tool_call("-Infinity"),
        tool_call("1e309"),
        tool_call("9" * 401),
        tool_call("1.7976931348623158e308"),
        tool_call('"\\ud800"'),
        tool_call('{"\\udc00":1}'),
        tool_call('"\\ud800","arguments":1'),
        tool_call("[" * 127 + "]" * 127),
    ],
)
def test_rejects_as_invalid_json(text: str) -> None:
    """What serde_json refuses is refused, also where `json.loads` would not."""
    with pytest.raises(InvalidJson):
        parse_action(text)


def test_nesting_up_to_127_levels_is_accepted() -> None:
    """The outer object counts as the first level, and brackets in strings do not count."""
    deepest = "[" * 126 + '"[[[[\\"{{{{"' + "]" * 126
    assert isinstance(parse_action(tool_call(deepest)), ToolCall)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("-0", -0.0),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", float(-(2**63))),
        ("1e2", 100.0),
        ("1.79e308", 1.79e308),
        ("1e308", 1e308),
        ("1797e305", 1.797e308),
        ("1.797e308", 1.797e308),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("-1.7976931348623157e+0308", -1.7976931348623157e308),
        ("17976931348623150" + "0" * 292, 1.797693134862315e308),
        ("0." + "0" * 400 + "17976931348623157e709", 1.7976931348623157e308),
        ("17976931348623158.8e292", 1.7976931348623157e308),
        ("-17976931348623158.8e292", -1.7976931348623157e308),
        ("1e-999999999999999999999", 0.0),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\\\ud800"', "\\ud800"),
    ],
)
def test_values(literal: str, value: object) -> None:
    """Numbers become what serde_json makes of them, by type and sign."""
    action = parse_action(tool_call(literal))
    assert isinstance(action, ToolCall)
    assert repr(action.arguments) == repr(value)


def test_overflow_is_decided_as_serde_json_does() -> None:
    """A hair below the largest double serde_json gives up, and so does the parser."""
    for literal in ("1.7976931348623158e308", "-1.7976931348623158e308", "1e99999999999999999999"):
        with pytest.raises(InvalidJson, match="out of range"):
            parse_action(tool_call(literal))


@pytest.mark.parametrize(
    "text", ["[1]", '"final"', "null", "{}", '{"type":null}', '{"type":["final"]}']
)
def test_missing_type(text: str) -> None:
    """JSON that is no object with a string `type` lacks the field."""
    with pytest.raises(MissingField) as caught:
        parse_action(text)
    assert (caught.value.field, caught.value.text) == ("type", text)


@pytest.mark.parametrize("kind", ["", " final", "FinalAnswer", "final\u0000", "tool"])
def test_unknown_type(kind: str) -> None:
    """The type is compared exactly, before any other field is looked at."""
    text = json.dumps({"type": kind})
    with pytest.raises(UnknownType) as caught:
        parse_action(text)
    assert (caught.value.type, caught.value.text) == (kind, text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type":"final"}', "missing field `content`"),
        ('{"type":"final","content":4}', "field `content` must be a string"),
        ('{"type":"tool_call","arguments":{}}', "missing field `name`"),
        ('{"type":"tool_call","name":null,"arguments":{}}', "field `name` must be a string"),
        ('{"type":"tool_call","name":"n"}', "missing field `arguments`"),
        ('{"type":"ask_user"}', "missing field `question`"),
    ],
)
def test_wrong_fields_are_named(text: str, reason: str) -> None:
    """A missing or ill-typed field is an `InvalidJson` without a position."""
    with pytest.raises(InvalidJson) as caught:
        parse_action(text)
    error = caught.value
    assert (error.reason, error.category) == (reason, "data")
    assert (error.position, error.line, error.column) == (None, None, None)
    assert str(error) == f"invalid JSON: {reason}"


@pytest.mark.parametrize(
    ("text", "position", "line", "column"),
    [
        ("oops", 0, 1, 1),
        ("  oops", 2, 1, 3),
        (f"{FENCE}json\n\n oops\n{FENCE}", 10, 3, 2),
        (f" {FENCE}\noops", 5, 2, 1),
        (tool_call("NaN"), 43, 1, 44),
        (tool_call('"NaN",\n"x":NaN'), 54, 2, 5),
        (tool_call('["1e999", 1e999]'), 53, 1, 54),
        (tool_call("NaNs"), 43, 1, 44),
        (tool_call('NaNs,"x":NaN'), 43, 1, 44),
        (tool_call("1e999x"), 43, 1, 44),
        (tool_call('"\\ud800"'), 44, 1, 45),
        (tool_call("[" * 200), 43 + 126, 1, 170),
        (tool_call('"\\"[[["' + "[" * 200), 43 + 7 + 126, 1, 177),
        ('\\"' + "[" * 200, 0, 1, 1),
        ('{"type":"final","content":"x"} tail', 30, 1, 31),
    ],
)
def test_errors_say_where(text: str, position: int, line: int, column: int) -> None:
    """Positions count in the text as it was given, fences and blanks included."""
    with pytest.raises(InvalidJson) as caught:
        parse_action(text)
    error = caught.value
    assert (error.position, error.line, error.column) == (position, line, column)
    assert error.text is text
    assert f"at line {line} column {column}" in str(error)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ('{"type":"final","content":"x', "eof"),
        ('{"type":', "eof"),
        ("", "eof"),
        ('{"a": tru', "eof"),
        ('{"a": -', "eof"),
        ('{"a": 1.', "eof"),
        ('{"a": 1e+', "eof"),
        ('{"a": "\\u00', "eof"),
        ('{"a": "\\u00zz"}', "syntax"),
        ("true tru", "syntax"),
        ('{"a": x}', "syntax"),
        ('{"a": 1} and a long tail', "syntax"),
    ],
)
def test_truncated_text_is_told_from_broken_text(text: str, category: str) -> None:
    """A text that stops in the middle is `eof`, one that goes wrong is `syntax`."""
    with pytest.raises(InvalidJson) as caught:
        parse_action(text)
    assert caught.value.category == category


@pytest.mark.parametrize("text", ["oops", "[]", '{"type":"x"}'])
def test_errors_survive_pickling_and_copying(text: str) -> None:
    """Errors cross process boundaries with their fields."""
    with pytest.raises(ActionParseError) as caught:
        parse_action(text)
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(again) is type(caught.value)
        assert vars(again) == vars(caught.value)
        assert str(again) == str(caught.value)


def test_errors_are_value_errors() -> None:
    """Code that catches `ValueError`, as for `json`, catches these too."""
    with pytest.raises(ValueError, match="invalid JSON"):
        parse_action("oops")


def test_model_order_of_arguments_is_kept() -> None:
    """Arguments keep the order in which the model wrote them."""
    action = parse_action(tool_call('{"b":1,"a":2}'))
    assert isinstance(action, ToolCall)
    assert list(action.arguments) == ["b", "a"]
