"""The lenient decoder: what models get wrong in JSON, put right and listed."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from loopmend.reading.decoding import decode_value, scanned_value
from loopmend.reading.lenient import LenientError, Scanner
from loopmend.reading.scalars import Tear
from loopmend.reading.values import verified


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'b'}", {"a": "b"}),
        ("{a: 1, b-c: x y, d: null}", {"a": 1, "b-c": "x y", "d": None}),
        ('{"a": True, "b": None, "c": undefined}', {"a": True, "b": None, "c": None}),
        ('{"a": "say "hi" there"}', {"a": 'say "hi" there'}),
        ("{'a': 'what's new'}", {"a": "what's new"}),
        ("{\u201ca\u201d: \u2018b\u2019}", {"a": "b"}),
        ('{"a": (1, 2)}', {"a": [1, 2]}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a": 1 /* c */, # d\n "b": 2 // e\n}', {"a": 1, "b": 2}),
        ('{"a": """x "y" z"""}', {"a": 'x "y" z'}),
        ('{"a": `x`}', {"a": "x"}),
        ('{"a"= 1}', {"a": 1}),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ("[,1,,2]", [1, 2]),
        ('{,"a": 1,,"b": 2}', {"a": 1, "b": 2}),
        ("[[1] [2]]", [[1], [2]]),
        ('{"a": 1]}', {"a": 1}),
        ("[+1, 1_000, .5, 5., 1e3, -2]", [1, 1000, 0.5, 5.0, 1000.0, -2]),
        ("[inf, -Infinity]", [inf, -inf]),
        ('["\\d\\_\\x\\n\\u00e9\\ud83d\\ude00\\ud800\\/"]', ["\\d\\_\\x\né😀\ufffd/"]),
        ("[f(x, 1), a[0]]", ["f(x, 1)", "a[0]"]),
        ("[" + "9" * 400 + ",]", [int("9" * 400)]),
    ],
)
def test_mended(text: str, value: Any) -> None:
    """Each malformation is put right, noted, and the value is whole."""
    found = scanned_value(text, 0)
    assert (found.value, found.torn, found.end) == (value, Tear.WHOLE, len(text))
    assert found.repairs


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": {"b": [1', {"a": {"b": [1]}}),
        ('{"a": "b', {"a": "b"}),
        ('{"a": "b", "c', {"a": "b"}),
        ('{"a": "b", "c":', {"a": "b"}),
        ('{"a": """b', {"a": "b"}),
        ('["a\\', ["a"]),
        ("[abc", ["abc"]),
    ],
)
def test_cut(text: str, value: Any) -> None:
    """A value that stops in the middle is marked as cut: nobody can know the rest."""
    found = scanned_value(text, 0)
    assert (found.value, found.torn) == (value, Tear.CUT)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": {"b": [1]', {"a": {"b": [1]}}),
        ('{"a": "b"', {"a": "b"}),
        ('[{"a": true', [{"a": True}]),
    ],
)
def test_open(text: str, value: Any) -> None:
    """Where only brackets are missing the value is open, but what is there is whole."""
    found = scanned_value(text, 0)
    assert (found.value, found.torn) == (value, Tear.OPEN)


@pytest.mark.parametrize(
    "text",
    ["", "{]x", "{]", "{1 2}", '{"a" "b"}', "{-: 1}", "[" * 128, "[,", "  ", '{"a": , "b": 1}'],
)
def test_hopeless(text: str) -> None:
    """Where there is no value, that is said with its place."""
    try:
        found = scanned_value(text, 0)
    except LenientError as error:
        assert 0 <= error.position <= len(text)
        assert error.reason
    else:
        assert found.torn


def test_a_wrong_bracket_loses_nothing() -> None:
    """A bracket that closes something else leaves nothing of the value over, or there is none."""
    assert scanned_value('[{"a": 1]', 0).value == [{"a": 1}]
    with pytest.raises(LenientError, match="brackets that do not match"):
        scanned_value('[{"a": 1], 2]', 0)


@pytest.mark.parametrize("text", ["'a\tb'", r"'a	\tb'"])
def test_python_takes_tabs(text: str) -> None:
    """A raw tab in a string of a Python call needs no repair."""
    scanner = Scanner(text, parentheses=1)
    scanner.string()
    assert [repair.what for repair in scanner.repairs] == ["quotes"]


def test_repairs_are_bounded() -> None:
    """A text with a thousand faults does not list them all."""
    assert len(scanned_value("[" + "'a'," * 1000 + "1]", 0).repairs) == 100


def test_strict_json_needs_no_repair() -> None:
    """What is JSON stays untouched, and stops where it stops."""
    found = decode_value('x {"a": [1, "b"]} y', 2)
    assert (found.value, found.end, found.repairs) == ({"a": [1, "b"]}, 17, ())


def test_a_part_is_decoded_at_its_place() -> None:
    """Positions count in the whole text, also when only a part may be looked at."""
    found = decode_value("xx {'a': 1} yy", 3, 11)
    assert (found.start, found.end, found.repairs[0].span) == (3, 11, (4, 7))


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ('{"a": 1, "a": 2}', "a"),
        ('{"a": 1, "a": 1}', "a"),
        ("{'a': 1, 'a': 2}", "a"),
        ('[{"b": {"c": 1, "c": 2,}}]', "c"),
        ('{"a": {"b": 1}, "b": 1}', None),
        ('{"a": 1, "A": 2}', None),
    ],
)
def test_keys_that_come_twice(text: str, twice: str | None) -> None:
    """Nobody knows which one is meant, so that is told, however the object was decoded."""
    assert verified(text, decode_value(text, 0)).twice == twice


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1e999}'])
def test_what_json_lacks_is_a_repair(text: str) -> None:
    """What the quick decoder lets pass is told all the same."""
    found = verified(text, decode_value(text, 0))
    assert [repair.what for repair in found.repairs] == [
        "number or escape that JSON does not allow"
    ]


def test_what_is_verified_stays() -> None:
    """A value in strict JSON is unchanged, and one that was mended has been looked at already."""
    for text in ('{"a": [1, "b"]}', "{'a': 1}"):
        found = decode_value(text, 0)
        again = verified(text, found)
        assert (again.value, again.end, again.repairs) == (found.value, found.end, found.repairs)
        assert verified(text, again) == again


@pytest.mark.parametrize(
    "text", ["[1 : ", '{"a" ', '{"a" "b"}', '{"a": }', "{" * 200 + "}", '{"a" [' + "{" * 200 + "}"]
)
def test_nothing_is_rebuilt(text: str) -> None:
    """What is too broken, or nested too deeply, is no value or a torn one."""
    try:
        found = decode_value(text, 0)
    except LenientError as error:
        assert error.reason
    else:
        assert found.torn


def test_dots_are_no_comment() -> None:
    """Of what was left out nobody knows what it is."""
    assert decode_value('{"a": [1, 2, ...]}', 0).torn is Tear.CUT


def test_a_missing_comma_before_a_key() -> None:
    """A string ends where the next key begins, also if the comma between them is missing."""
    found = decode_value('{"a": "x" "b": 1}', 0)
    assert found.value == {"a": "x", "b": 1}
    assert [repair.what for repair in found.repairs] == ["missing comma"]


@pytest.mark.parametrize("blanks", ["", "  ", "\n", "\r\n"])
@pytest.mark.parametrize("text", ['{"tool": h]', '{"a": word', '["a"'])
def test_blanks_at_the_end_close_nothing(text: str, blanks: str) -> None:
    """What stops in the middle does so with blanks behind it, too."""
    assert scanned_value(text + blanks, 0).torn is scanned_value(text, 0).torn is not Tear.WHOLE


def test_too_many_quotes_are_no_part_of_a_string() -> None:
    """A string may hold a page with quotes in it, but not thousands of them."""
    assert len(decode_value('{"a": "' + 'x "y" z ' * 200 + 'end"}', 0).value["a"]) == 1603
    with pytest.raises(LenientError, match="two ways"):
        decode_value('{"a": "' + 'x "y" z ' * 1500 + 'end"}', 0)
