"""Calls written as in Python: `f(a=1)`, `[f(a=1), g(b="x")]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from loopmend.reading.lenient import LenientError, Scanner
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Repair

__all__ = ["PythonCall", "name_before", "read_call", "read_calls"]

_NAME: Final = re.compile(r"[^\W\d][\w\\]*(?:[.\-:][^\W\d][\w\\]*)*")
_NAME_BEFORE: Final = re.compile(
    r"(?<![\w.\-\\])[^\W\d][\w\\]{0,80}(?:[.\-:][^\W\d][\w\\]{0,80})*\Z"
)
_NAME_BACKWARDS: Final = re.compile(r"[\w.\-:\\]*")
_KEYWORD: Final = re.compile(r"\s*([^\W\d][\w\\\-]*)\s*(?:=(?!=)|:(?!:))\s*")
_BETWEEN: Final = re.compile(r"[\s,;]*")
_QUOTE: Final = re.compile(r"[\"'\s]*")
_PYTHON: Final = frozenset(
    {"quotes", "Python literal", "parentheses for brackets", "triple quotes"}
)
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call as it is written in Python."""

    name: str
    named: dict[str, Any]
    positional: tuple[Any, ...]
    span: tuple[int, int]
    torn: Tear
    twice: str | None
    repairs: tuple[Repair, ...]
    bare: bool
    """Whether an argument is an unquoted word, as a variable would be."""

    @property
    def end_known(self) -> bool:
        """Whether the closing parenthesis was found."""
        return self.torn is Tear.WHOLE


def name_before(text: str, at: int) -> tuple[str, int] | None:
    """Return the name that ends at a place, and where it starts."""
    before = text[max(0, at - _LONGEST_NAME) : at][::-1]
    begin = at - _NAME_BACKWARDS.match(before).end()  # type: ignore[union-attr]
    found = _NAME_BEFORE.search(text[begin:at])
    return (found[0].replace("\\_", "_"), begin + found.start()) if found else None


def read_calls(text: str, start: int) -> tuple[list[PythonCall], int] | None:
    """Read a list of calls in brackets; return where it ends."""
    at = start + 1
    calls: list[PythonCall] = []
    while True:
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        quote = text[at : at + 1]
        quoted = quote in ("'", '"') and _NAME.match(text, at + 1) is not None
        found = read_call(text, at + quoted)
        if found is None:
            break
        call, at = found
        at += quoted and text.startswith(quote, at)
        calls.append(call)
    at = _QUOTE.match(text, at).end()  # type: ignore[union-attr]
    if not calls or (not text.startswith("]", at) and at < len(text)):
        return None
    return calls, min(at + 1, len(text))


def read_call(text: str, at: int) -> tuple[PythonCall, int] | None:
    """Read one call from a place."""
    name = _NAME.match(text, at, at + _LONGEST_NAME)
    if not name or not text.startswith("(", name.end()):
        return None
    scanner = Scanner(text, name.end() + 1, parentheses=1)
    named: dict[str, Any] = {}
    positional: list[Any] = []
    torn, twice = Tear.WHOLE, None
    try:
        while (char := scanner.peek()) != ")":
            if char == "":
                torn = Tear.OPEN
                break
            if char == ",":
                scanner.at += 1
                continue
            keyword = _KEYWORD.match(text, scanner.at)
            if keyword:
                scanner.at = keyword.end()
                key = keyword[1].replace("\\_", "_")
                twice = key if key in named else twice
                named[key] = scanner.value()
            else:
                positional.append(scanner.value())
            if scanner.peek() not in (",", ")", ""):
                return None
    except LenientError:
        return None
    end = min(scanner.at + 1, len(text))
    label = name[0].replace("\\_", "_")
    repairs = [repair for repair in scanner.repairs if repair.what not in _PYTHON]
    if label != name[0]:
        repairs.append(Repair("escaped underscore", name.span()))
    bare = any(repair.what == "unquoted text" for repair in repairs)
    torn = max(torn, scanner.torn)
    call = PythonCall(
        label,
        named,
        tuple(positional),
        (at, end),
        torn,
        twice or scanner.twice,
        tuple(repairs),
        bare,
    )
    return call, end
