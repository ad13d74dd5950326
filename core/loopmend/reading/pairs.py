"""Objects with an eye on keys that come twice, and values that nest too deep."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import isinf
from string import ascii_letters
from typing import Any, Final, NoReturn

from loopmend._json import MAX_DEPTH, too_deep

__all__ = [
    "NO_JSON",
    "NO_KEY",
    "RAW_ESCAPE",
    "Codec",
    "NoJsonError",
    "TwiceError",
    "codec_at_hand",
    "holds_command",
    "likely_value",
    "nests_too_deep",
    "quick_value",
    "strict_value",
    "sure_value",
    "value_or_none",
    "whole_value",
]

# What strict JSON starts with. For what is none, `json` counts the lines of all that went before.
_STRICT: Final = re.compile(
    r"\{\s*(?:\}|\"(?:[^\"\\\n]|\\.){0,200}\"\s*:)|\[\s*(?:[\[{\]\"]|-?\d[\d.eE+\-]{0,40}\s*[,\]]|[tfn])"
)
# What is a form feed or a backspace for JSON, and for its writer starts a command (`\\frac{`,
# `\\beta`) or is the edge of a word in a pattern (`\\b(a|b)\\b`): signs of one stand beside it. A
# form feed parts two pages and a backspace follows what it strikes; else JSON's own word counts.
RAW_ESCAPE: Final = (
    r"(?:f(?=[a-z]{1,20}\{)|(?<=[\"'$(=^_{+]\\)f(?=[a-z])|(?<![^\W\d]\\)b(?=[a-z])"
    r"|b(?=[(\[|)^$])|(?<=[)\]+*?}]\\)b|(?<![\"\\]\\)b(?=\"))"
)
"""What follows the backslash of a raw command or pattern that JSON takes for an escape."""
_COMMAND: Final = re.compile(rf"(?<!\\)(?:\\\\)*\\{RAW_ESCAPE}")
_CAPITAL_I: Final = ord("I")
_CAPITAL_N: Final = ord("N")
_COLON: Final = ord(":")
_BRACKET: Final = ord("[")
_NOT_BRACKETS: Final = bytes(code for code in range(256) if chr(code) not in "[]{}")
NO_KEY: Final = frozenset(f"'{ascii_letters}_")
"""What no object of JSON starts with, and what most of the broken ones do."""
# To look at each object of a short text is quicker than to write its value again.
_SHORT: Final = 150
NO_JSON: Final = object()
"""What a text is read as that does not start with strict JSON."""
# What any value starts with, and `NaN` and `Infinity`, which only `json` takes for numbers.
_FIRST: Final = frozenset('{["-0123456789tfnNI')
# What the codec says of a text that does not start with JSON: `json` would say so, too, but takes
# several times as long. What the codec says in other words costs time and nothing else.
_SURELY_NONE: Final = (
    *("key must be a string", "trailing comma", "expected `", "EOF while parsing"),
    "control character",
)

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

    return from_json, to_json


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
    value = value_or_none(text, codec)
    if value is NO_JSON:
        raise NoJsonError
    return value


def value_or_none(text: str, codec: Codec | None = None) -> Any:
    """Return the same, or `NO_JSON` if it does not start with strict JSON.

    To raise an error and to catch it takes as long as to read a short text.

    >>> value_or_none("{'a': [1]}") is NO_JSON
    True
    """
    if text[:2] != '{"' and (text[:1] not in _FIRST or (text[:1] == "{" and text[1:2] in NO_KEY)):
        return NO_JSON
    if "\\" in text:
        if holds_command(text):
            return NO_JSON
        if "\\u003" in text:  # it may be a colon
            codec = None
    if codec is not None:
        read, write = codec
        try:
            value = read(text)
            written = write(value)
        except (ValueError, TypeError) as error:
            # Other errors have more to say: text that follows, a number that JSON lacks.
            if str(error.args[0]).startswith(_SURELY_NONE) and not nests_too_deep(text):
                return NO_JSON
        else:
            # It has as many colons, unless it lost a key that came twice, with the colon behind
            # it. To count them is quicker than to look at each object. An object within another
            # stands behind a colon: fewer signs cannot nest deeper.
            colons = text.count(":")
            if (
                written.count(_COLON) == colons
                and (_CAPITAL_I not in written or b"Infinity" not in written)
                and (_CAPITAL_N not in written or b"NaN" not in written)
                and (
                    colons + written.count(_BRACKET) < MAX_DEPTH
                    or not _nest(written)
                    or not nests_too_deep(text)
                )
            ):
                return value
    return _scanned(text)


def _scanned(text: str) -> Any:
    """Return the JSON value that is all of a text or `NO_JSON`, with a look at each object."""
    if nests_too_deep(text):
        msg = "nested too deep"
        raise ValueError(msg)
    try:
        value, end = _SCAN(text, 0)
    except (StopIteration, RecursionError, json.JSONDecodeError):
        return NO_JSON
    except ValueError:
        if not _has_form(text):
            return NO_JSON
        raise
    if end != len(text):
        msg = "more than a value"
        raise ValueError(msg)
    return value


def sure_value(text: str) -> Any:
    """Return the value of a text that has the form of a flat object.

    Raises:
        ValueError: A key comes twice, or a number begins with 0.

    >>> sure_value('{"a": 1}')
    {'a': 1}
    """
    return _SCAN(text, 0)[0]


def whole_value(text: str) -> Any:
    """Return the JSON object or array that is all of a text; `None` if there is none.

    >>> whole_value('{"a": 1}'), whole_value('{"a": 1, "a": 2}')
    ({'a': 1}, None)
    """
    if len(text) < _SHORT:
        found = likely_value(text, 0)
        return None if found is None or found[1] != len(text) else found[0]
    try:
        value = value_or_none(text, codec_at_hand())
    except ValueError:
        return None
    return None if value is NO_JSON else value


def _has_form(text: str) -> bool:
    """Tell whether a text has the form of JSON: else what else is wrong does not matter."""
    try:
        _FORM(text, 0)
    except (StopIteration, json.JSONDecodeError):
        return False
    except ValueError:  # an integer that Python does not read
        pass
    return True


def strict_value(text: str, start: int) -> tuple[Any, int] | None:
    r"""Return the JSON object or array at a place and where it ends; `None` if there is none.

    One that has a key twice, nests too deep, or holds a raw command as `\frac` is none either.

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
    if end - start > MAX_DEPTH and nests_too_deep(text[start:end]):
        return None
    if text.find("\\", start, end) != -1 and holds_command(text[start:end]):
        return None
    return value, end


def holds_command(text: str) -> bool:
    r"""Tell whether JSON holds a form feed or a backspace that is surely no such sign.

    >>> holds_command(r'["\frac{1}{2}"]'), holds_command(r'["one\ftwo", "\f"]')
    (True, False)
    """
    return ("\\f" in text or "\\b" in text) and _COMMAND.search(text) is not None


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
_FORM: Final[Any] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def nests_too_deep(text: str) -> bool:
    """Tell whether a text nests deeper than is read."""
    if len(text) <= MAX_DEPTH or text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    return _nest(text.encode("utf-8", "surrogatepass")) and too_deep(text)


def _nest(text: bytes) -> bool:
    """Tell whether a text may nest deeper than is read.

    Taking out empty pairs again and again is quick for what is not deep at all.
    """
    brackets = text.translate(None, _NOT_BRACKETS)
    for _ in range(8):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return True
