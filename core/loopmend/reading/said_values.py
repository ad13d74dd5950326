"""Values that a reply says in words, where a schema takes a text, a number or one of a few."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from loopmend.reading.alignment import YES_AND_NO, folded
from loopmend.reading.checker import options_of
from loopmend.reading.lenient import Scanner
from loopmend.reading.lexicon import WORDS, Role, words_of
from loopmend.reading.scalars import LenientError
from loopmend.reading.schema import Schema
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["said_value"]

# A label, and its value behind a colon or a form of "to be"; a tag; a box; a heading.
_IS: Final = (
    r"[*_]{0,3}[ \t]*[:\uff1a][*_]{0,3}|[ \t]*(?:\u662f|\u306f)"
    r"|[ \t]+(?:is|ist|es|est|\u00e9|\u00e8)(?=[ \t])"
)
_STATED: Final = re.compile(
    rf"[*_]{{0,3}}(?P<label>[^\W\d_][^\n:=<>]{{0,40}}?)(?:{_IS})[ \t]*(?P<value>[^\s:=].{{0,80}})"
    r"|<(?P<tag>[A-Za-z][\w.\-]{0,40})>(?P<inner>[^<>]{1,80})</(?P=tag)>"
    r"|(?:\$|\\\(|[ \t])*\\boxed\{(?P<boxed>[^{}]{1,80})\}(?:\$|\\\)|[ \t.])*"
)
_TAGGED: Final = re.compile(r"<([A-Za-z][\w.\-]{0,40})>\s{0,9}([^<>\n]{1,80}?)\s{0,9}</\1>")
_HEADING: Final = re.compile(r"(?:#{1,6}[ \t]+[*_]*|[*_]{2})([^\W\d_][^:=<>*_]{0,40})[*_:]*")
_BOXED: Final = re.compile(r"\\boxed\{([^{}\n]{1,80})\}")
_PARTS: Final = (("label", "value"), ("tag", "inner"), ("", "boxed"))
_LABELS: Final = frozenset({Role.ANSWER, Role.VALUE})
_NUMBERS: Final = frozenset({"integer", "number"})
# Texts without blanks.
_FORMATS: Final = frozenset(
    {"date", "time", "date-time", "duration", "uuid", "email", "uri", "ipv4", "ipv6"}
)
_MARKS: Final = dict(zip("\"'`*_$\u201c\u2018", "\"'`*_$\u201d\u2019", strict=True))
_MOST_MARKS: Final = 8
_THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
_BLANK: Final = re.compile(r"\s")
_WORDS: Final = re.compile(r"\w(?:[\w \-]*\w)?!?")
_NO_WORD: Final = re.compile(r"[\d\W]*")
_LONGEST: Final = 4000
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
        if chosen is _NOTHING:
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
    """Return the one value that a reply is, or calls its answer in its last line.

    Any other line that gives another value, or a line before that goes on in it, makes it unclear.
    """
    whole = read(said)
    if whole is not _NOTHING:
        return whole
    lines = [line.strip() for line in _TAGGED.sub(r"<\1>\2</\1>", said).splitlines()]
    *above, last = [line for line in lines if line] or [""]
    label, value = _stated(last, read)
    if value is _NOTHING and above:
        heading = _HEADING.fullmatch(above.pop())
        label, value = (heading[1], read(last)) if heading else ("", _NOTHING)
    if value is _NOTHING or (label is not None and not _is_answer(label, wanted)):
        return _NOTHING
    if above and above[-1].rstrip("*_ ").endswith((":", "\uff1a")):
        return _NOTHING
    for line in above:
        label, other = _stated(line, read)
        if other is _NOTHING and label is not None and _is_answer(label, wanted):
            return _NOTHING  # an answer that cannot be read
        if any(each not in (_NOTHING, value) for each in (other, read(line))):
            return _NOTHING
    return value


def _stated(line: str, read: Callable[[str], Any]) -> tuple[str | None, Any]:
    """Return what a line says that something is, and what that is called: a box has no name."""
    called: str | None = ""
    for part in (line, _undecorated(line)):
        if (match := _STATED.fullmatch(part)) is not None:
            label, value = next(names for names in _PARTS if match[names[1]] is not None)
            called = match[label] if label else None
            if (found := read(match[value])) is not _NOTHING:
                return called, found
    return called, _NOTHING


def _is_answer(label: str, wanted: Schema) -> bool:
    name = wanted.json.get("title") or wanted.name
    if name and folded(label) == folded(str(name)):
        return True
    roles = {WORDS.get(word) for word in words_of(label)}
    return bool(roles & _LABELS) and roles <= {*_LABELS, Role.FILLER}


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
    """Return a text without the marks around it, one full stop, and a box."""
    plain = text.strip()
    stop = False
    for _ in range(_MOST_MARKS):
        if not stop and plain.endswith("."):
            plain, stop = plain[:-1], True
        elif len(plain) > 1 and _MARKS.get(plain[0]) == plain[-1]:
            plain = plain[1:-1].strip()
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


def _named(said: str, options: list[str], wanted: Schema) -> Any:
    """Return the option that a reply is, or calls its answer, if it names no other."""
    read = partial(_option, options=options)
    whole = read(said)
    if whole is not _NOTHING:
        return whole
    words = " ".join(folded(word) for word in re.findall(r"[\w.\-]+", said[:_LONGEST]))
    named = [o for o in options if re.search(rf"(?<!\w){re.escape(folded(o))}(?!\w)", words)]
    return _only(said, wanted, read) if len(named) == 1 else _NOTHING


def _option(text: str, options: list[str]) -> Any:
    """Return the option that all of a text is; a sign beside a number is a part of it."""
    plain = _undecorated(text)
    if _WORDS.fullmatch(plain) and not _NO_WORD.fullmatch(plain):
        found = [option for option in options if folded(option) == folded(plain)]
    else:
        found = [option for option in options if option.casefold() == plain.casefold()]
    return found[0] if len(found) == 1 else _NOTHING
