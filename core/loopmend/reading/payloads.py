"""Values inside text, decoded strictly if possible and leniently if not."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from loopmend._json import decode, too_deep
from loopmend.reading.lenient import LenientError, decode_at
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Repair

__all__ = ["Value", "decode_value", "scan_values"]

_OPENER: Final = re.compile(r"[{\[]")
_OBJECT_START: Final = re.compile(r"""\{\s*["'\w\u201c]|\[\s*\{|\[\s*["']""")
_STRICT: Final = json.JSONDecoder()
_NOT_JSON: Final = frozenset("'abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Work is budgeted, so that text full of brackets costs no more than text without.
_WORK_PER_CHARACTER: Final = 4
# The strict decoder counts the lines before each error: worth it a few times only.
_STRICT_TRIES: Final = 50
# Rebuilding is slow, so it is tried for the first few objects and up to a size only.
_REBUILD_TRIES: Final = 3
_MOST_REBUILT: Final = 10_000
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Value:
    """A value that was found in a text."""

    value: Any
    start: int
    end: int
    repairs: tuple[Repair, ...] = ()
    torn: Tear = Tear.WHOLE
    """Whether the text stops before the value does, or is too broken to be sure."""


def decode_value(
    text: str, start: int, stop: int | None = None, *, strictly: bool = True, rebuild: bool = True
) -> Value:
    """Decode the value that starts at a place, strictly if possible.

    Args:
        text: Where it stands.
        start: Where it starts.
        stop: Where to stop looking.
        strictly: Whether to try the strict decoder first.
        rebuild: Whether to have a value rebuilt that even the lenient decoder gives up on.

    Raises:
        LenientError: If there is none.
    """
    if stop is not None and stop < len(text):
        return _shifted(decode_value(text[start:stop], 0), start)
    if not strictly or text[start + 1 : start + 2] in _NOT_JSON:
        return _lenient(text, start, rebuild=rebuild)
    try:
        value, end = _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        return _lenient(text, start, rebuild=rebuild)
    try:
        decode(text[start:end])
    except ValueError:
        return Value(value, start, end, (Repair("number or escape that JSON lacks", (start, end)),))
    return Value(value, start, end)


def scan_values(text: str) -> Iterator[Value]:
    """Yield the objects and arrays in a text, outermost first, in linear time."""
    work = _WORK_PER_CHARACTER * (len(text) + 100)
    at = tries = 0
    while (opener := _OPENER.search(text, at)) and work > 0:
        begin = opener.start()
        tries += 1
        try:
            value = decode_value(
                text, begin, strictly=tries <= _STRICT_TRIES, rebuild=tries <= _REBUILD_TRIES
            )
        except LenientError as error:
            work -= max(error.position - begin, 1)
            at = error.position if error.too_deep else begin + 1
            continue
        work -= value.end - begin
        at = value.end
        if value.torn and not _OBJECT_START.match(text, begin):
            at = begin + 1  # a bracket in prose, not a value
            continue
        yield value


def _lenient(text: str, start: int, *, rebuild: bool) -> Value:
    try:
        found = decode_at(text, start)
    except LenientError as error:
        rebuilt = _rebuilt(text, start) if rebuild and not error.too_deep else None
        if rebuilt is None:
            raise
        return rebuilt
    repairs = tuple([Repair(what, (at, min(at + 1, len(text)))) for what, at in found.repairs])
    return Value(found.value, start, found.end, repairs, found.torn)


def _rebuilt(text: str, start: int) -> Value | None:
    """Let json_repair make what it can of an object that reaches to its last brace."""
    part = text[start : start + _MOST_REBUILT]
    end = part.rfind("}") + 1
    if not part.startswith("{") or not end or too_deep(part):
        return None
    from json_repair import loads

    try:
        value = loads(part[:end])
    except Exception as error:  # noqa: BLE001 - hostile text trips even its own assertions
        _LOG.debug("json_repair gave up: %r", error)
        return None
    if not isinstance(value, dict) or not value:
        return None
    span = (start, start + end)
    # What was rebuilt is as unsure as what is cut off: only a tool's schema can vouch for it.
    return Value(value, *span, (Repair("rebuilt by json_repair", span),), torn=Tear.OPEN)


def _shifted(found: Value, by: int) -> Value:
    repairs = tuple([Repair(r.what, (r.span[0] + by, r.span[1] + by)) for r in found.repairs])
    return Value(found.value, found.start + by, found.end + by, repairs, found.torn)
