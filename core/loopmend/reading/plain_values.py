"""Values without brackets: literals, and strings that may hold an encoded value."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from loopmend.reading.lenient import Scanner
from loopmend.reading.pairs import TwiceError, quick_value
from loopmend.reading.scalars import LenientError
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value, shifted

__all__ = ["plain_value"]

_QUOTED: Final = frozenset("\"'`\u201c\u2018")
_LONGEST: Final = 60
_FENCED: Final = re.compile(
    r"(?:\A|\n)[ \t]*(?:`{3,}|~{3,})[\w+\-.]*[ \t]*\n(?P<body>[^\n`]{1,200})\n[ \t]*(?:`{3,}|~{3,})"
)


def plain_value(text: str) -> Value | None:
    """Return the scalar or the encoded value that is all of a text, in a fence or not."""
    start = len(text) - len(text.lstrip())
    plain = text.strip()
    if plain[:1] in ("{", "["):
        return None
    if plain[:1] in _QUOTED and not plain.startswith("```"):
        return _quoted(plain, start)
    if plain[:1] == "(":
        return _tuple(plain, start)
    fenced = _FENCED.search(text)
    if fenced and not text[fenced.end() :].count("```"):
        body = fenced["body"].strip()
        start, plain = fenced.start("body"), body
    return _literal(plain, start)


def _literal(plain: str, start: int) -> Value | None:
    if not plain or len(plain) > _LONGEST or "{" in plain or "[" in plain:
        return None
    scanner = Scanner(plain)
    try:
        value = scanner.bare()
    except LenientError:
        return None
    if plain[scanner.at :] == ",":
        scanner.mend("trailing comma", scanner.at)
    elif scanner.at != len(plain) or isinstance(value, str):
        return None
    return _value_of(value, scanner, start, len(plain))


def _quoted(plain: str, start: int) -> Value | None:
    """Read a string; one that holds an object or an array was encoded twice."""
    scanner = Scanner(plain)
    try:
        value: Any = scanner.string()
    except LenientError:
        return None
    if scanner.at != len(plain) or not value:
        return None
    found = _value_of(value, scanner, start, len(plain))
    inner = None if scanner.torn else _encoded(value)
    if inner is None:
        return found
    repair = Repair("encoded twice", (start, found.end))
    repairs = (*found.repairs, repair)
    return replace(found, value=inner.value, repairs=repairs, twice=inner.twice)


def _encoded(value: str) -> Value | None:
    plain = value.strip()
    if plain[:1] not in ("{", "[", '"'):
        return None
    try:
        found = quick_value(plain)
        return _encoded(found) if isinstance(found, str) else Value(found, 0, len(plain))
    except TwiceError as error:
        return Value(None, 0, len(plain), twice=error.key)
    except ValueError:
        return None


def _tuple(plain: str, start: int) -> Value | None:
    scanner = Scanner(plain)
    try:
        value = scanner.value()
    except LenientError:
        return None
    if scanner.torn or plain[scanner.at :].strip():
        return None
    return _value_of(value, scanner, start, len(plain))


def _value_of(value: Any, scanner: Scanner, start: int, length: int) -> Value:
    found = Value(value, 0, length, tuple(scanner.repairs), scanner.torn, scanner.twice)
    return shifted(found, start) if start else found
