"""Values that a reply says in words, where a schema takes a text, a number or one of a few."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

from loopmend.reading.alignment import YES_AND_NO, folded
from loopmend.reading.checker import options_of
from loopmend.reading.lenient import Scanner
from loopmend.reading.lexicon import Role, role_of, words_of
from loopmend.reading.scalars import LenientError
from loopmend.reading.schema import Schema
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["said_value"]

_DECORATION: Final = " \t\r\n\"'`*_.!\u201c\u201d\u2018\u2019"
_LABELLED: Final = re.compile(r"[^\n:=]{1,80}[:=][ \t]*(?P<value>[^\n:=]{1,200})\Z")
_LEADING: Final = re.compile(
    r"(?P<value>[^\n]{1,200}?)(?:[ \t]+[-\u2013\u2014][ \t]|[:.]?[ \t]*\n)"
)
# A label and what it is of: behind a sign or a form of "to be", below a heading, in a tag or box.
_IS: Final = (
    r"[ \t]*[*_]*[:=\uff1a][*_]*|[ \t]*(?:\u662f|\u306f)"
    r"|[ \t]+(?:is|ist|es|est|\u00e9|\u00e8)(?=[ \t])"
)
_STATED: Final = re.compile(
    rf"^[ \t>*_#-]*(?P<label>[^\W\d_][^\n:=<>]{{0,40}}?)(?:{_IS})[ \t]*"
    r"(?=(?P<value>[^\s:=][^\n]{0,80})$)"
    r"|^[ \t]*(?:#{1,6}[ \t]+[*_]*|[*_]{2})(?P<heading>[^\W\d_][^\n:=<>*_]{0,40})[*_:]*[ \t]*\n"
    r"\s*(?P<below>[^\s#][^\n]{0,80})$"
    r"|<(?P<tag>[A-Za-z][\w.\-]{0,40})>(?P<inner>[^<>\n]{1,80}|\n[^<>\n]{1,80}\n)</(?P=tag)>"
    r"|\\boxed\{(?P<boxed>[^{}\n]{1,80})\}",
    re.MULTILINE,
)
_BOXED: Final = re.compile(r"\\boxed\{([^{}\n]{1,80})\}")
_PARTS: Final = (("label", "value"), ("heading", "below"), ("tag", "inner"), ("", "boxed"))
_LABELS: Final = frozenset({Role.ANSWER, Role.VALUE, Role.OBSERVATION, Role.SAY})
_FAILED: Final = frozenset({"error", "errors"})
_NUMBERS: Final = frozenset({"integer", "number"})
# Texts without blanks.
_FORMATS: Final = frozenset(
    {"date", "time", "date-time", "duration", "uuid", "email", "uri", "ipv4", "ipv6"}
)
_MARKS: Final = " \t\r\n\"'`*_\u201c\u201d\u2018\u2019"
_THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
_DIGIT: Final = re.compile(r"\d")
_BLANK: Final = re.compile(r"\s")
_MOST: Final = 64
_NOTHING: Final = object()


def said_value(text: str, begin: int, wanted: Schema) -> Value | None:
    """Return the value that words stand for, where a schema takes a text or one of a few values."""
    said = text[begin:].strip()
    types = wanted.checker
    schema = types.resolved(wanted.json)
    kinds = types.kinds(schema)
    options = _options(schema, wanted)
    start = begin + len(text[begin:]) - len(text[begin:].lstrip())
    span = (start, start + len(said))
    if options:
        chosen = _named(said, options, wanted)
        if chosen is None:
            return None
        return Value(chosen, *span, (Repair("answer in words", span),))
    if kinds & {"object", "array"}:
        return None
    formal = schema.get("format") in _FORMATS
    found = _NOTHING
    if formal or (kinds & _NUMBERS and not _takes_text(said, schema, wanted)):
        found = _only(said, wanted, _formal if formal else partial(_number, kinds=kinds))
    if found is not _NOTHING:
        return Value(found, *span, (Repair("answer in words", span),))
    if types.fits(said, schema):
        return Value(said, *span, (Repair("text without quotes", span),))
    return None


def _takes_text(said: str, schema: dict[str, Any], wanted: Schema) -> bool:
    """Tell whether a schema of numbers takes a text as it is; that of a `Decimal` may seem to."""
    return wanted.checker.fits(said, schema) and not wanted.validated(said)[1]


def _only(said: str, wanted: Schema, read: Callable[[str], Any]) -> Any:
    """Return the one value that a reply is, or calls its answer."""
    whole = read(said)
    if whole is not _NOTHING:
        return whole
    stated = list(_stated(said, wanted))
    found = [read(each) for each, _ in stated]
    # What follows may correct it.
    if not found or _DIGIT.search(said, stated[-1][1]):
        return _NOTHING
    return found[0] if all(each == found[0] for each in found) else _NOTHING


def _stated(said: str, wanted: Schema) -> Iterator[tuple[str, int]]:
    """Return what a reply calls its answer, each time that it does, and where that ends."""
    for match in islice(_STATED.finditer(said), _MOST):
        label, value = next(part for part in _PARTS if match[part[1]] is not None)
        if not label or _is_answer(match[label], wanted):
            yield match[value], match.end(value)


def _is_answer(label: str, wanted: Schema) -> bool:
    name = wanted.json.get("title") or wanted.name
    if name and folded(label) == folded(str(name)):
        return True
    return role_of(label) in _LABELS and not _FAILED.intersection(words_of(label))


def _number(text: str, kinds: set[str]) -> Any:
    """Return the number or the literal that all of a text is, but for its decoration."""
    plain = _undecorated(text)
    # Elsewhere than in JSON a dot may part thousands.
    if _THOUSANDS.fullmatch(plain) and ("number" not in kinds or plain[-1] == "0"):
        return _NOTHING
    scanner = Scanner(plain)
    try:
        value = scanner.bare()
    except LenientError:
        return _NOTHING
    return _NOTHING if scanner.at != len(plain) or isinstance(value, str) else value


def _formal(text: str) -> Any:
    """Return the one word that all of a text is."""
    plain = _undecorated(text)
    return plain if plain and not _BLANK.search(plain) else _NOTHING


def _undecorated(text: str) -> str:
    plain = text.strip(_MARKS)
    if plain[-1:] in (".", "!"):
        plain = plain[:-1].rstrip(_MARKS)
    if plain[:1] == plain[-1:] == "$":
        plain = plain.strip("$")
    boxed = _BOXED.fullmatch(plain)
    return plain if boxed is None else boxed[1]


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


def _named(said: str, options: list[str], wanted: Schema) -> str | None:
    """Return the option that a reply gives: all of it, after a label, or before an explanation."""
    whole = _option(said, options)
    if whole is not None:
        return whole
    others = " ".join(folded(word) for word in re.findall(r"[\w.\-]+", said[:4000]))
    named = [o for o in options if re.search(rf"(?<!\w){re.escape(folded(o))}(?!\w)", others)]
    if len(named) != 1:
        return None
    last = said.rpartition("\n")[2]
    for each, _ in _stated(said, wanted):
        if (chosen := _option(each, options)) is not None:
            return chosen
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
