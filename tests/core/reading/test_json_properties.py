"""What holds for every text: totality, one reading on each path, one reading for each chunking."""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any, Literal, Union

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from loopmend import JsonReader, ReadingConfig, read_json
from loopmend.reading.decoding import scanned_value
from loopmend.reading.json_reading import fit_value
from loopmend.reading.pairs import Codec, codec_at_hand, quick_value
from loopmend.reading.rewriting import rewritten_value
from loopmend.reading.scalars import LenientError
from loopmend.reading.values import Value


class Model(BaseModel):
    """A schema with a part of each kind."""

    a: int
    b: Union[list[str], None] = None
    name: Literal["x", "y"] = "x"


PIECES = (
    *("{", "}", "[", "]", '"', "'", ":", ",", "a", "b", "1", "2.5", "-", "true", "None", "null"),
    *("...", "//x\n", "/*y*/", "#z\n", "\n", " ", "\\", '\\"', "```", "json", "<think>", "="),
    *("</think>", "\u201c", "\u201d", "(", ")", "+", "\u00e9", '"a"', '"b":', "name", '{"a": 1}'),
    *('"""', "\ud800", "\ufeff", "<", "\u2026", "{a: 1,}", "['x']"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40)
schemas = st.sampled_from(
    [
        *(None, Model, int, str, bool, list[int], dict[str, str], Union[Model, str]),
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"enum": ["a", "b"]},
        {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
    ]
)
configs = st.sampled_from(
    [ReadingConfig(), ReadingConfig(salvage=True), ReadingConfig(strict=True)]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=15)
)
names = st.text("abc\u00e9 _-", max_size=6)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=15,
)
structures = st.lists(values, max_size=4) | st.dictionaries(names, values, max_size=4)


@given(texts, schemas, configs)
def test_reading_is_total(text: str, schema: Any, config: ReadingConfig) -> None:
    """Every text gives a reading whose spans lie in the text; a value is sure or salvaged."""
    reading = read_json(text, schema, config=config)
    for start, end in [reading.span, *(repair.span for repair in reading.repairs)]:
        assert 0 <= start <= end <= len(text)
    assert reading.whole or not reading.ok
    assert reading.ok or reading.fidelity == "salvaged" or reading.value is None


@given(structures, st.sampled_from([None, 1]), st.booleans())
def test_json_is_read_as_json_does(value: Any, indent: int | None, ascii_only: bool) -> None:  # noqa: FBT001
    """The decoder of broken JSON reads JSON itself as `json` does."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = scanned_value(text, 0)
    assert (found.value, found.end, bool(found.torn)) == (value, len(text), False)


@given(texts)
def test_rewriting_reads_what_the_decoder_reads(text: str) -> None:
    """What is rewritten and decoded by `json` is what the slow decoder reads."""
    for start, char in enumerate(text):
        quick = rewritten_value(text, start) if char in "{[" else None
        if quick is not None:
            assert _outline(quick) == _outline(scanned_value(text, start))


def _outline(found: Value) -> str:
    return repr((_typed(found.value), found.end, found.twice, found.torn))


def _typed(value: Any) -> Any:
    """The value with the type of each of its strings, which may be a variable's name."""
    if isinstance(value, dict):
        return {key: _typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in value]
    return (type(value).__name__, value)


NEARLY_JSON = (
    '{"query": "line one\nline two", "limit": 3, "rest": {"a": "b", "c": ["d", "{"]}}',
    '{"say": "he said "hello" to them", "n": 1 /* why */, "m": 2 // so\n}',
    '{"query": "rust", "limit": [1, 2,], "nested": {"deep": [1, 2, 3,],},}',
    "{'q': 'x', limit: 5, 'e': True, l: None, t: [a, b]}",
    "{'q': data_dir, limit: a-b, 'e': [_, __, c_, d--e, None], l: None}",
    '{"a": "x", "d": "he said "hi there" and "bye, you" to us", "b": ["y", {"c": "]"}]}',
    '[{"a": 1}, {"b": [true, null, 1.5e3], "c": "\\"d\\""}]',
)
cut = st.tuples(st.integers(0, 90), st.integers(0, 4), st.sampled_from(["", *PIECES]))


@given(st.sampled_from(NEARLY_JSON), st.lists(cut, max_size=3), st.integers(20, 200))
@example(NEARLY_JSON[0], [], 58)
@example(NEARLY_JSON[1], [], 200)
@example(NEARLY_JSON[2], [], 72)
@example('{"a": "[", "b": 1,}', [], 200)
@example('{"a": ["b", {"c": "d"', [], 200)
@example('{"a": ["b"}, "c": ["d"', [], 200)
@example('{"a": ["b", 1, {]', [], 200)
@example("{'a': data_dir, b: ['c', d-e, _]}", [], 200)
def test_rewriting_of_what_is_nearly_json(
    text: str, cuts: list[tuple[int, int, str]], length: int
) -> None:
    """So is what has a few faults or stops, down to whether it stops."""
    for at, size, piece in cuts:
        text = text[:at] + piece + text[at + size :]
    text = text[:length]
    quick = rewritten_value(text, 0) if text[:1] in ("{", "[") else None
    if quick is not None:
        try:
            slow = scanned_value(text, 0)
        except LenientError:
            # The decoder does not know of a comment between a key and its colon.
            assert any(repair.what == "comment left out" for repair in quick.repairs)
        else:
            assert _outline(quick) == _outline(slow)


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}, ["trailing comma"] * 2),
        ('{"a": ",}",}', {"a": ",}"}, ["trailing comma"]),
        ('{"a": "say "hi" to me"}', {"a": 'say "hi" to me'}, ["unescaped quote in a string"] * 2),
        ('{"a": {"b": "c"', {"a": {"b": "c"}}, ["closed at the end of the text"] * 2),
        ('[{"a": ["b"', [{"a": ["b"]}], ["closed at the end of the text"] * 3),
    ],
)
def test_what_rewriting_puts_right(text: str, value: Any, repairs: list[str]) -> None:
    """The commonest faults need no slow decoder, and each is noted."""
    found = rewritten_value(text, 0)
    assert found is not None
    assert (found.value, [repair.what for repair in found.repairs]) == (value, repairs)


@pytest.mark.parametrize("text", ['{"a": "["  // [\n}', '{"a": "{", b: 1}', '["a", {"b": "c"]'])
def test_brackets_that_only_seem_to_be_open(text: str) -> None:
    """A bracket in a string or in a comment, or a wrong one, is for the slow decoder."""
    assert rewritten_value(text, 0) is None
    assert read_json(text).ok


@given(structures, schemas)
def test_text_and_data_are_read_alike(value: Any, schema: Any) -> None:
    """A reply that is clean JSON is read as its decoded data is fitted."""
    text = json.dumps(value)
    read, fitted = read_json(text, schema), fit_value(value, schema)
    assert (read.value, read.ok) == (fitted.value, fitted.ok)


@given(texts, schemas, configs, st.lists(st.integers(0, 60), max_size=8))
def test_every_chunking_ends_in_the_same_reading(
    text: str, schema: Any, config: ReadingConfig, cuts: list[int]
) -> None:
    """However a reply is cut into chunks, closing gives the reading of the whole."""
    reader = JsonReader(schema, config=config)
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        reader.feed(text[start:end])
    assert repr(reader.close()) == repr(read_json(text, schema, config=config))


@given(structures, st.lists(st.integers(0, 300), max_size=9), st.booleans())
def test_the_last_partial_value_is_the_value(value: Any, cuts: list[int], ascii_only: bool) -> None:  # noqa: FBT001
    """When JSON has arrived, the partial value is the value."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    reader = JsonReader()
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    found = [reader.feed(text[a:b]) for a, b in itertools.pairwise(places)]
    assert found[-1] == value


def test_a_flag_written_as_a_number() -> None:
    """1 and 0 are flags where the schema wants a flag and no number."""
    flag = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    assert read_json('{"a": 1}', flag).value == {"a": True}
    assert not read_json('{"a": 2}', flag).ok


PARTS = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"a"',
    '"b:"',
    "1",
    "1.5",
    "1e999",
    "true",
    "null",
    " ",
    "\\u003a",
]


def _read_quickly(text: str, codec: Codec | None) -> str:
    try:
        return repr(quick_value(text, codec))
    except ValueError as error:
        return repr(error)


@given(st.lists(st.sampled_from(PARTS), max_size=14).map(lambda parts: "".join(parts).strip()))
@example('{"a": 1, "a": 2}')
@example('{"a": {"b": 1, "b": 1}}')
@example('{"a": "\\u003a", "a": ""}')
@example('["\ud800"]')
@example("[1e999 2]")
@example('{"a":{"a":1,"a":2} 1')
@example(f"[{'9' * 5000}")
@example(f"[{'9' * 5000}]")
@example("[NaN]")
def test_the_codec_reads_what_json_reads(text: str) -> None:
    """What reads quickly with pydantic says the same as what looks at each object, errors too."""
    assert _read_quickly(text, codec_at_hand(load=True)) == _read_quickly(text, None)


def test_the_codec_is_not_loaded_for_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads without a type does not wait for pydantic, but uses it if it is there."""
    assert codec_at_hand() is not None
    monkeypatch.delitem(sys.modules, "pydantic_core")
    assert codec_at_hand() is None
