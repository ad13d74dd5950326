"""Calls written as in Python: `f(a=1)`, `[f(a=1), g(b="x")]`."""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend.reading.found import Call
from loopmend.reading.lenient import LenientError, Scanner
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Repair

__all__ = ["read_call", "read_calls"]

NAME: Final = re.compile(r"[A-Za-z_][\w\\]*(?:[.\-][A-Za-z_][\w\\]*)*")
_KEYWORD: Final = re.compile(r"\s*([A-Za-z_][\w\\]*)\s*=(?!=)\s*")
_BETWEEN: Final = re.compile(r"[\s,;]*")
_QUOTE: Final = re.compile(r"[\"'\s]*")


def read_calls(text: str, start: int) -> tuple[list[Call], int, list[Repair]] | None:
    """Read one or more calls from a place, in brackets or not; return where they end."""
    at = _BETWEEN.match(text, start).end()  # type: ignore[union-attr]
    bracketed = text.startswith("[", at)
    at += bracketed
    calls: list[Call] = []
    repairs: list[Repair] = []
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        quote = text[at : at + 1]
        quoted = quote in ("'", '"') and NAME.match(text, at + 1) is not None
        found = read_call(text, at + quoted, repairs)
        if found is None:
            break
        call, at = found
        if quoted and text.startswith(quote, at):
            repairs.append(Repair("call in quotes", (at, at + 1)))
            at += 1
        calls.append(call)
    if not calls:
        return None
    if bracketed:
        at = _QUOTE.match(text, at).end()  # type: ignore[union-attr]
        if text.startswith("]", at):
            at += 1
        elif at < len(text.rstrip()):
            return None
        else:
            repairs.append(Repair("missing closing bracket", (at, at)))
    return calls, at, repairs


def read_call(text: str, at: int, repairs: list[Repair]) -> tuple[Call, int] | None:
    """Read one call from a place."""
    name = NAME.match(text, at)
    if not name or not text.startswith("(", name.end()):
        return None
    scanner = Scanner(text, name.end() + 1, parentheses=1)
    named: dict[str, Any] = {}
    positional: list[Any] = []
    torn = Tear.WHOLE
    try:
        while True:
            char = scanner.peek()
            if char == ")":
                scanner.at += 1
                break
            if char == "":
                torn = Tear.OPEN
                break
            if char == ",":
                scanner.at += 1
                continue
            keyword = _KEYWORD.match(text, scanner.at)
            if keyword:
                scanner.at = keyword.end()
                named[keyword[1].replace("\\_", "_")] = scanner.value()
            else:
                positional.append(scanner.value())
            if scanner.peek() not in (",", ")", ""):
                return None
    except LenientError:
        return None
    repairs += [
        Repair(what, (where, min(where + 1, len(text))))
        for what, where in scanner.repairs
        if what not in _PYTHON
    ]
    label = name[0].replace("\\_", "_")
    if label != name[0]:
        repairs.append(Repair("escaped underscore", name.span()))
    return (
        Call(label, named, (at, scanner.at), tuple(positional), torn=max(torn, scanner.torn)),
        scanner.at,
    )


_PYTHON: Final = frozenset(
    {"quotes", "Python literal", "parentheses for brackets", "triple quotes"}
)
