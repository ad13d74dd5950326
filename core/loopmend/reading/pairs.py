"""Objects with an eye on keys that come twice, and values that nest too deep."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from math import isinf
from typing import Any, Final, NoReturn

from loopmend._json import MAX_DEPTH, too_deep

__all__ = ["Codec", "TwiceError", "nests_too_deep", "quick_value", "strict_value"]

# What strict JSON starts with. For what is none, `json` counts the lines of all that went before.
_STRICT: Final = re.compile(
    r"\{\s*(?:\}|\"(?:[^\"\\\n]|\\.){0,200}\"\s*:)|\[\s*(?:[\[{\]\"]|-?\d[\d.eE+\-]{0,40}\s*[,\]]|[tfn])"
)
_NOT_BRACKETS: Final = bytes(code for code in range(256) if chr(code) not in "[]{}")


Codec = tuple[Callable[[str], Any], Callable[[Any], bytes]]
"""What reads JSON, and what writes it; a key that comes twice is read as if it came once."""


class TwiceError(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def quick_value(text: str, codec: Codec | None = None) -> Any:
    """Return the JSON value that is all of a text.

    Args:
        text: The text.
        codec: What reads and writes JSON in no time, if that is at hand.

    Raises:
        TwiceError: An object in it has a key twice.
        ValueError: It is not strict JSON, or nests too deep.

    >>> quick_value('{"a": [1]}')
    {'a': [1]}
    """
    if codec is not None and (counted := _counted(text, *codec)) is not None:
        return counted
    if nests_too_deep(text):
        msg = "nested too deep"
        raise ValueError(msg)
    try:
        value, end = _SCAN(text, 0)
    except (StopIteration, RecursionError):
        msg = "no value"
        raise ValueError(msg) from None
    if end != len(text):
        msg = "more than a value"
        raise ValueError(msg)
    return value


def _counted(text: str, read: Callable[[str], Any], write: Callable[[Any], bytes]) -> Any:
    """Return the value of a text if it says for sure all that the text says, else `None`.

    Written again it has as many colons, unless it lost a key that came twice, with the colon
    behind it. To count them is quicker than to look at each object.
    """
    if "\\" in text and "\\u" in text:  # it may stand for a colon
        return None
    try:
        value = read(text)
        written = write(value)
    except (ValueError, TypeError):  # the other way says why
        return None
    colons = text.count(":")
    if written.count(b":") != colons or b"Infinity" in written:
        return None
    # An object within another stands behind a colon: fewer signs cannot nest deeper.
    flat = colons + text.count("[") < MAX_DEPTH or not nests_too_deep(text)
    return value if flat else None


def strict_value(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON object or array at a place and where it ends; `None` if there is none.

    One that has a key twice or nests too deep is none either.

    >>> strict_value('see {"a": 1}, so', 4)
    ({'a': 1}, 12)
    """
    if not _STRICT.match(text, start):
        return None
    try:
        value, end = _SCAN(text, start)
    except (ValueError, StopIteration, RecursionError):
        return None
    return None if nests_too_deep(text[start:end]) else (value, end)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TwiceError(_twice(pairs))
    return found


def _twice(pairs: list[tuple[str, Any]]) -> str:
    return Counter(key for key, _ in pairs).most_common(1)[0][0]


def _no_number(literal: str) -> NoReturn:
    raise ValueError(literal)


def _finite(literal: str) -> float:
    """Return a number; one too large for a float is left to those who note that it changes."""
    number = float(literal)
    return _no_number(literal) if isinf(number) else number


_DECODER: Final[Any] = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_number
)
_SCAN: Final = _DECODER.scan_once


def nests_too_deep(text: str) -> bool:
    """Tell whether a text nests deeper than is read.

    Taking out empty pairs again and again is quick for what is not deep at all.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    brackets = text.encode("utf-8", "surrogatepass").translate(None, _NOT_BRACKETS)
    for _ in range(8):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return too_deep(text)
