"""Values without brackets: literals, and options that a reply names in words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from loopmend.reading.alignment import YES_AND_NO, folded
from loopmend.reading.checker import options_of
from loopmend.reading.lenient import Scanner
from loopmend.reading.pairs import TwiceError, quick_value
from loopmend.reading.scalars import LenientError
from loopmend.reading.schema import Schema
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value, shifted

__all__ = ["plain_value", "said_value"]

_QUOTED: Final = frozenset("\"'`\u201c\u2018")
_LONGEST: Final = 60
_FENCED: Final = re.compile(
    r"(?:\A|\n)[ \t]*(?:`{3,}|~{3,})[\w+\-.]*[ \t]*\n(?P<body>[^\n`]{1,200})\n[ \t]*(?:`{3,}|~{3,})"
)
_DECORATION: Final = " \t\r\n\"'`*_.!\u201c\u201d\u2018\u2019"
_LABELLED: Final = re.compile(r"[^\n:=]{1,80}[:=][ \t]*(?P<value>[^\n:=]{1,200})\Z")
_LEADING: Final = re.compile(
    r"(?P<value>[^\n]{1,200}?)(?:[ \t]+[-\u2013\u2014][ \t]|[:.]?[ \t]*\n)"
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


def said_value(text: str, begin: int, wanted: Schema) -> Value | None:
    """Return the value that words stand for, where a schema takes a text or one of a few values."""
    said = text[begin:].strip()
    types = wanted.checker
    schema = types.resolved(wanted.json)
    options = _options(schema, wanted)
    start = begin + len(text[begin:]) - len(text[begin:].lstrip())
    span = (start, start + len(said))
    if options:
        chosen = _named(said, options)
        if chosen is None:
            return None
        return Value(chosen, *span, (Repair("answer in words", span),))
    if not types.kinds(schema) & {"object", "array"} and types.fits(said, schema):
        return Value(said, *span, (Repair("text without quotes", span),))
    return None


def _options(schema: dict[str, Any], wanted: Schema) -> list[str]:
    """Return the words that a schema takes, if it takes only a few."""
    options = options_of(schema)
    if options is None and wanted.checker.kinds(schema) == {"boolean"}:
        options = list(YES_AND_NO)
    for key in ("anyOf", "oneOf"):
        for choice in schema.get(key) or ():
            if isinstance(choice, dict):
                inner = _options(wanted.checker.resolved(choice), wanted)
                options = [*(options or []), *inner]
    return [str(option) for option in options or () if isinstance(option, (str, int))]


def _named(said: str, options: list[str]) -> str | None:
    """Return the option that a reply gives: all of it, after a label, or before an explanation."""
    whole = _option(said, options)
    if whole is not None:
        return whole
    others = " ".join(folded(word) for word in re.findall(r"[\w.\-]+", said[:4000]))
    named = [o for o in options if re.search(rf"(?<!\w){re.escape(folded(o))}(?!\w)", others)]
    if len(named) != 1:
        return None
    last = said.rpartition("\n")[2]
    for pattern, part in ((_LABELLED, last), (_LEADING, said)):
        found = pattern.match(part)
        chosen = _option(found["value"], options) if found else None
        if chosen is not None:
            return chosen
    return None


def _option(text: str, options: list[str]) -> str | None:
    fold = folded(text.strip(_DECORATION))
    found = [option for option in options if folded(option) == fold]
    return found[0] if len(found) == 1 else None
