"""Objects with an eye on keys that come twice, and values that nest too deep."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from math import isinf
from string import ascii_letters
from typing import Any, Final, NoReturn

from loopmend._json import MAX_DEPTH, too_deep

__all__ = [
    "Codec",
    "NoJsonError",
    "TwiceError",
    "codec_at_hand",
    "likely_value",
    "nests_too_deep",
    "quick_value",
    "strict_value",
]

# What strict JSON starts with. For what is none, `json` counts the lines of all that went before.
_STRICT: Final = re.compile(
    r"\{\s*(?:\}|\"(?:[^\"\\\n]|\\.){0,200}\"\s*:)|\[\s*(?:[\[{\]\"]|-?\d[\d.eE+\-]{0,40}\s*[,\]]|[tfn])"
)
_NOT_BRACKETS: Final = bytes(code for code in range(256) if chr(code) not in "[]{}")
# What no object of JSON starts with, and what most of the broken ones do.
_NO_KEY: Final = frozenset(f"'{ascii_letters}_")

Codec = tuple[Callable[[str], Any], Callable[[Any], bytes]]
"""What reads JSON, and what writes it; a key that comes twice is read as if it came once."""


def codec_at_hand(*, load: bool = False) -> Codec | None:
    """Return what reads and writes JSON in no time; it comes with what validates.

    Args:
        load: Whether to load it if nobody has: that takes longer than most texts.
    """
    return _codec() if load or sys.modules.get("pydantic_core") is not None else None


@cache
def _codec() -> Codec:
    from pydantic_core import from_json, to_json

    return partial(from_json, allow_inf_nan=False), to_json


class NoJsonError(ValueError):
    """A text does not start with strict JSON."""


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
        NoJsonError: It does not start with strict JSON.
        ValueError: More text follows, it nests too deep, or it has a number that JSON lacks.

    >>> quick_value('{"a": [1]}')
    {'a': [1]}
    """
    if text[1:2] in _NO_KEY and text[0] == "{":
        msg = "no key"
        raise NoJsonError(msg)
    if codec is not None and ("\\" not in text or "\\u" not in text):  # it may stand for a colon
        try:
            value = codec[0](text)
            written = codec[1](value)
        except (ValueError, TypeError):  # the other way says why
            pass
        else:
            if _says_all(text, written):
                return value
    if nests_too_deep(text):
        msg = "nested too deep"
        raise ValueError(msg)
    try:
        value, end = _SCAN(text, 0)
    except (StopIteration, RecursionError, json.JSONDecodeError):
        msg = "no JSON"
        raise NoJsonError(msg) from None
    if end != len(text):
        msg = "more than a value"
        raise ValueError(msg)
    return value


def _says_all(text: str, written: bytes) -> bool:
    """Tell whether a value, written again, says for sure all that its text says.

    It has as many colons, unless it lost a key that came twice, with the colon behind it. To count
    them is quicker than to look at each object.
    """
    colons = text.count(":")
    if written.count(b":") != colons or (b"I" in written and b"Infinity" in written):
        return False
    # An object within another stands behind a colon: fewer signs cannot nest deeper.
    return colons + text.count("[") < MAX_DEPTH or not nests_too_deep(text)


def strict_value(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON object or array at a place and where it ends; `None` if there is none.

    One that has a key twice or nests too deep is none either.

    >>> strict_value('see {"a": 1}, so', 4)
    ({'a': 1}, 12)
    """
    return likely_value(text, start) if _STRICT.match(text, start) else None


def likely_value(text: str, start: int) -> tuple[Any, int] | None:
    """Return the same of a text that is likely to be JSON: of any other it counts the lines."""
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
