"""Values while they arrive."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from loopmend import JsonReader, read_json
from loopmend.reading.growth import Growth


def _partials(*chunks: str) -> list[Any]:
    reader = JsonReader()
    return [reader.feed(chunk) for chunk in chunks]


def test_each_chunk_adds_to_the_value() -> None:
    """Strict JSON is known up to the last character: keys with a value, and strings so far."""
    chunks = ("```json\n", "{", '"a', '": ', '"x', 'y"', ', "b": [', "1", "2", ", tru", "e", "]}")
    assert _partials(*chunks, "\n```") == [
        None,
        {},
        {},
        {},
        {"a": "x"},
        {"a": "xy"},
        {"a": "xy", "b": []},
        {"a": "xy", "b": []},
        {"a": "xy", "b": []},
        {"a": "xy", "b": [12]},
        {"a": "xy", "b": [12]},
        {"a": "xy", "b": [12, True]},
        {"a": "xy", "b": [12, True]},
    ]


def test_nesting_and_empty_parts() -> None:
    """Parts that open are there before they hold anything."""
    assert _partials('[{"a": {', "}", ', "b": "', '"}', ", [[", "], null", "]]") == [
        [{"a": {}}],
        [{"a": {}}],
        [{"a": {}, "b": ""}],
        [{"a": {}, "b": ""}],
        [{"a": {}, "b": ""}, [[]]],
        [{"a": {}, "b": ""}, [[]]],
        [{"a": {}, "b": ""}, [[], None]],
    ]


def test_a_partial_value_stays_as_it_is() -> None:
    """What was returned before does not change when more arrives."""
    reader = JsonReader()
    first = reader.feed('{"a": [1, ')
    reader.feed('2], "b": 3}')
    assert first == {"a": [1]}


def test_escapes_are_complete_before_they_count() -> None:
    """Half an escape is no character, half a pair is none either."""
    assert _partials('["a\\', "n", "\\u00", "e9\\ud83d", "\\ude00", '\\ud800x"]') == [
        ["a"],
        ["a\n"],
        ["a\n"],
        ["a\n\u00e9"],
        ["a\n\u00e9\U0001f600"],
        ["a\n\u00e9\U0001f600\ud800x"],
    ]


def test_thinking_and_remarks_come_first() -> None:
    """What is only thought, and brackets in a sentence, are not the value."""
    chunks = ("<thi", 'nk>{"a": 1}', "</thi", "nk> For [x] see <b>", 'it:\n{"a": ', "2}")
    assert _partials(*chunks) == [None, None, None, None, {}, {"a": 2}]


def test_thinking_between_tokens_comes_first() -> None:
    """So is what stands between tokens, however they are cut; a bracket is none of them."""
    assert _partials("[TH", "INK]", '{"a": 1}', "[/TH", "INK]", '{"a": 2}') == [
        *[None] * 5,
        {"a": 2},
    ]
    assert _partials("[", "Tr") == [None, []]


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 'x', 'b': [1, 2, 3], 'c': 'a longer text'}",
        '{"a": "x", b: [1, 2, 3], "c": "a longer text"}',
        '{"a": "x", "b": [1, 2, 3,], "c": "a longer text"}',
        '{"a": "x", "b": [1, 2, 3}, "c": "a longer text"}',
        '{"a": "x" "b": [1, 2, 3] "c": "a longer text"}',
        '{"a": "\\x", "b": [1, 2, 3], "c": "a longer text"}',
        '{"a": "x", "b": [1, 2, 3], // why\n"c": "a longer text"}',
        '{"a": "x", "b": [01, 2, 3], "c": "a longer text"}',
        '{"a": "x", "b": [yes, 2, 3], "c": "a longer text"}',
        '{"a": "x", "b": [' + "1" * 500 + ', 2], "c": "a longer text"}',
        '{"a": "x", "b": [1, 2, 3], "c" = "a longer text"}',
        '{"a": "x", "b": [1, ;2, 3], "c": "a longer text"}',
    ],
)
def test_what_is_not_strict_is_followed_too(text: str) -> None:
    """Where the text needs repair, partial values come less often, and the end is the same."""
    reader = JsonReader()
    found = [reader.feed(char) for char in text]
    assert any(each and each.get("a") for each in found)
    assert reader.close() == read_json(text)


def _grows(old: Any, new: Any) -> bool:
    if isinstance(old, dict):
        return isinstance(new, dict) and all(k in new and _grows(v, new[k]) for k, v in old.items())
    if isinstance(old, list):
        return isinstance(new, list) and len(old) <= len(new) and all(map(_grows, old, new))
    return new.startswith(old) if isinstance(old, str) else old is None or repr(old) == repr(new)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 123.5e1, "b": [12, -345], "c": "x"}',
        "{'a': 123.5e1, 'b': [12, -345], 'c': 'x'} // done",
        '{"a": "he said "so" twice", "n": 12345, "b": "c, "d": [true, 77]}',
        'For [1, 2, 34] see below, and {name}:\n{"a": [1, 2, 34], b: "and so on, and on"}',
        "{\"a\": 'x', \"b\": [1, 22, 333, 4444,], 'c': {'d': 12345678}}",
        '{"a": [truename, NaN, falsely, 12a], "b": nullable, c: "and so on, and on"}',
        '[{"a": 1, b: 20}, {"a": 300, b: 4000}, {"a": 50000, b: 600000}]',
    ],
)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_partial_values_only_grow(text: str, size: int) -> None:
    """A number is there once it has ended, and nothing that was there goes away or changes."""
    reader = JsonReader()
    last: Any = None
    for at in range(0, len(text), size):
        found = reader.feed(text[at : at + size])
        assert _grows(last, found)
        last = found
    assert repr(reader.close()) == repr(read_json(text))


def test_a_partial_value_is_not_taken_back() -> None:
    """Where a later look reads it another way, the partial value stays and closing decides."""
    reader = JsonReader()
    first = reader.feed("['a long text that starts here' ")
    assert first == ["a long text that starts here"]
    assert reader.feed("and goes on 'there' until it ends', 7]") == first


def test_a_key_twice_is_followed_no_further() -> None:
    """A key that comes twice is left to the reading of the whole."""
    reader = JsonReader()
    assert reader.feed('{"a": 1, "a": 2') is None
    assert not reader.close().ok


def test_too_deep_is_followed_no_further() -> None:
    """Hostile nesting stops being followed."""
    growth = Growth()
    growth.feed("[" * 200)
    assert growth.lost
    growth.feed("]")
    assert growth.lost


def test_after_the_value() -> None:
    """What follows a complete value changes nothing."""
    growth = Growth()
    growth.feed('{"a": 1} and then {"b"')
    assert growth.done
    growth.feed(": 2}")
    assert growth.snapshot() == {"a": 1}


def test_prose_is_no_value() -> None:
    """As long as no value has started there is none."""
    reader = JsonReader(int)
    assert reader.feed("It is ") is None
    assert reader.text == "It is "
    assert reader.feed("7") is None
    assert reader.close() == read_json("It is 7", int)
    assert JsonReader().close() == read_json("")


@pytest.mark.parametrize("size", [1, 7, 500])
def test_a_value_without_its_opening_bracket_comes_at_the_end(size: int) -> None:
    """What a first key belongs to shows at the end: no part of it is given as if it were all."""
    text = '"name": {"first": "Ada"}, "tags": ["x"]}'
    reader = JsonReader()
    parts = [reader.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert set(map(repr, parts)) == {"None"}
    assert reader.close().value == {"name": {"first": "Ada"}, "tags": ["x"]}


def test_chunks_are_text() -> None:
    """A chunk that is no text is a `TypeError`."""
    with pytest.raises(TypeError, match="`chunk` must be a str"):
        JsonReader().feed(b"{")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit", ['{"a": [1, "text", null]}, ', '"' + "x" * 40 + '", ', "{'a': 1}, ", "<b> {x} word "]
)
def test_a_stream_is_linear(unit: str) -> None:
    """A stream that is four times as long takes about four times as long, chunk by chunk."""

    def taken(size: int) -> float:
        text = "[" + unit * (size // len(unit))
        reader = JsonReader()
        start = time.thread_time()
        for at in range(0, len(text), 16):
            reader.feed(text[at : at + 16])
        return time.thread_time() - start

    assert any(taken(200_000) < 12 * taken(50_000) + 0.05 for _ in range(3))


def test_a_long_string_arrives_in_pieces() -> None:
    """Of a very long string, partial values come less often but never stop."""
    reader = JsonReader()
    sizes = [len(reader.feed(piece)["a"]) for piece in ('{"a": "', *["x" * 50] * 2000)]
    assert sizes[-1] > 80_000
    assert sizes == sorted(sizes)
    assert json.loads(reader.text + '"}') == {"a": "x" * 100_000}
