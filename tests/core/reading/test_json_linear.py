"""Reading a value costs time in proportion to the text, whatever is repeated and wherever."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from loopmend import JsonReader, ReadingConfig, read_json
from loopmend.reading.schema import schema_of
from tests.core.reading.test_linear import _cost, _is_linear, _undisturbed  # noqa: F401

SCHEMA = schema_of(
    {
        "title": "Part",
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "array", "items": {"type": "integer"}},
            "c": {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "null"}]},
        },
        "required": ["a"],
    }
)
OPTIONS = schema_of({"enum": ["yes", "no", "maybe"]})


def _stream(text: str) -> Any:
    reader = JsonReader()
    step = max(1, len(text) // 64)
    for at in range(0, len(text), step):
        reader.feed(text[at : at + step])
    return reader.close()


READERS: dict[str, Callable[[str], Any]] = {
    "value": read_json,
    "schema": partial(read_json, schema=SCHEMA, config=ReadingConfig(salvage=True)),
    "options": partial(read_json, schema=OPTIONS),
    "number": partial(read_json, schema=int),
    "stream": _stream,
}
MARKS = (
    *(
        '"',
        "'",
        "`",
        "\u201c",
        "\u201d",
        "\u2018",
        "\u2019",
        '"""',
        "'''",
        '""',
        '\\"',
        "\\",
        "\\n",
    ),
    *("\\u", "{", "}", "[", "]", "(", ")", ",", ":", "=", "#", "//", "/*", "*/", "...", "\u2026"),
    *(
        "```",
        "~~~",
        "```json\n",
        "\n",
        "\t",
        " ",
        "<think>",
        "</think>",
        "<a>",
        '<|"|>',
        "<escape>",
    ),
    *("[THINK]", "<|channel|>", "\u00ab", "\u201e", "C:\\"),
    *("+", "|", "$", "<", "-", "_", "0", "1", "0.", "1e", "e", "a", "or", "null", "a:", '"a":'),
    *("'a':", "[1,", "{a:", "\u200b", "\uff08", "\uff0c", "\uff1a"),
)
PLACES = (
    *(("", ""), ("{", ""), ("[", ""), ('{"a": "', ""), ('["', ""), ('{"a": ', ""), ("x ", "")),
    *(("```json\n{", "\n```"), ('{"a": "', '"}'), ('["', '"]'), ("{'a': '", "'}")),
    *(('{"a": 1} ', ""), ('{"a": 1,', "}"), ('{"a": """', "")),
)
PAIRS = [one + other for one, other in product(MARKS, MARKS) if one != other]
MEMBERS = (
    *(
        '"a":\\u\u2026 \uff1a ',
        '|"""or\t"a":',
        '\uff0c\t"a":',
        "-{{",
        "\t'a':\\\"",
        '... "\uff1a\\n',
    ),
    *(
        "'a':+null:# ",
        '\u200ba:a "a":null',
        "'a':a\t\t ",
        ' "a":0or',
        '{"a": 1}, ',
        '"a": "b" ',
        "{x ",
    ),
    *(
        "```json\n{\n```\n",
        "~~~\n[x\n~~~\n",
        "[a](b) ",
        '{\\"a\\": ',
        "1,000,",
        "u'a' or ",
        "[[1}, ",
    ),
    *("a: x\n", "a: 'x',\n", "Part(a=1, ", "Part(a=", "Answer: 1\n", "\\boxed{1} ", "## a\n"),
)


@pytest.mark.parametrize("reader", list(READERS))
def test_marks_are_linear_everywhere(reader: str) -> None:
    """Any quote, bracket, separator, comment, escape, fence or tag, repeated anywhere, is linear."""
    read, nth = READERS[reader], list(READERS).index(reader)
    tried = [*product(MARKS, PLACES)][nth :: len(READERS)]
    assert [each for each in tried if not _is_linear(read, *each)] == []


@pytest.mark.parametrize("reader", list(READERS))
def test_pairs_of_marks_are_linear(reader: str) -> None:
    """So is any two of them in turn; each reader tries its share of them."""
    read, nth = READERS[reader], list(READERS).index(reader)
    some = list(enumerate(PAIRS))[nth :: len(READERS)]
    tried = [(piece, PLACES[at % len(PLACES)]) for at, piece in some]
    assert [each for each in tried if not _is_linear(read, *each)] == []


@pytest.mark.parametrize("place", PLACES)
def test_parts_of_values_are_linear(place: tuple[str, str]) -> None:
    """So are members, items and remarks of which a reader may look at the rest each time."""
    tried = [(read, piece) for read in READERS.values() for piece in MEMBERS]
    assert [piece for read, piece in tried if not _is_linear(read, piece, place)] == []


@pytest.mark.parametrize(
    "piece", ['{"', '"', "{", "['a', ", "{a: x ", "[x ", '{"a": "b" c" ', "```\n{"]
)
def test_a_megabyte_of_anything(piece: str) -> None:
    """A megabyte is read in a second or two, or in a few on a machine that is busy."""
    assert _cost(read_json, piece * (1_000_000 // len(piece))) < 8
