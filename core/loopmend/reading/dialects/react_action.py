"""Actions that hold their own input: `Search[x]`, `search(q="x")`, `search {"q": "x"}`."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.described import Answered
from loopmend.reading.dialects.react_sections import Section
from loopmend.reading.found import Call
from loopmend.reading.lenient import LenientError
from loopmend.reading.payloads import Value, decode_value
from loopmend.reading.pythonic import read_call
from loopmend.reading.turn import Repair

__all__ = ["call_style", "clean_name"]

_STYLE: Final = re.compile(r"[\s`*]*(?P<name>[A-Za-z_][\w.\- ]*?)\s{0,20}(?=[\[({])")
_BLANKS: Final = re.compile(r"\s*")
_FINISH: Final = frozenset({"finish", "final answer", "final_answer"})


def clean_name(written: str) -> str:
    """Take quotes, bold type and punctuation off a name."""
    return written.strip().strip("`*\"'").strip().rstrip(".,:;")


def call_style(text: str, section: Section, repairs: list[Repair]) -> list[Call] | Answered | None:
    """Read an action that holds its own input, or return `None`."""
    match = _STYLE.match(text, section.start, section.end)
    if match is None:
        return None
    label, at = match["name"].strip(), match.end()
    span = (section.header, section.end)
    if text[at] == "[":
        return _bracketed(text, label, at, span)
    if text[at] == "(":
        return _parenthesised(text, match, span, repairs)
    value = _decode(text, at, section.end)
    return [Call(label, value.value, span, torn=value.torn)] if value is not None else None


def _bracketed(
    text: str, label: str, at: int, span: tuple[int, int]
) -> list[Call] | Answered | None:
    end = text.rfind("]", at, span[1])
    if end == -1:
        return None
    inner = text[at + 1 : end]
    return Answered(inner) if label.lower() in _FINISH else [Call(label, inner, span)]


def _parenthesised(
    text: str, match: re.Match[str], span: tuple[int, int], repairs: list[Repair]
) -> list[Call] | None:
    label, at = match["name"].strip(), match.end()
    value = _decode(text, _BLANKS.match(text, at + 1).end(), span[1])  # type: ignore[union-attr]
    if value is not None:
        return [Call(label, value.value, span, torn=value.torn)]
    found = read_call(text[: span[1]], match.start("name"), repairs)
    if found is None:
        return None
    call = found[0]
    return [Call(label, call.arguments, span, call.positional, torn=call.torn)]


def _decode(text: str, at: int, stop: int) -> Value | None:
    """Decode an object; anything else is not an input of this style."""
    if not text.startswith("{", at):
        return None
    try:
        return decode_value(text, at, stop)
    except LenientError:
        return None
