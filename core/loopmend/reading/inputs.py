"""Inputs in one line: what `Action Input: usd, yen` means for a tool that takes two things."""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend.reading.pythonic import read_call
from loopmend.reading.tools import ToolSpec, spelling_of

__all__ = ["positional_input", "read_input"]

_KEYED: Final = re.compile(
    r"\s*[\"']?(?P<key>[^\W\d][\w \-]{0,60}?)[\"']?\s*(?P<sign>=|:)\s*"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^,;\n]*)\s*(?P<after>[,;\n]|\Z)"
)
_NOTHING: Final = frozenset(
    {"", "none", "null", "n/a", "na", "{}", "()", "[]", "no input", "empty"}
)
_THOUSANDS: Final = re.compile(r"\d,\d{3}(?!\d)")
_QUOTES: Final = {'"': '"', "'": "'", "\u201c": "\u201d", "`": "`"}
_Found = tuple[dict[str, Any], "str | None"]


def read_input(text: str, spec: ToolSpec) -> _Found | None:
    """Return the arguments that a line of text gives to a tool, and what had to be guessed.

    >>> from loopmend import ToolSpec
    >>> two = {"properties": {"base": {"type": "string"}, "to": {"type": "string"}}}
    >>> spec = ToolSpec.of({"name": "rate", "parameters": {**two, "required": ["base", "to"]}})
    >>> read_input("base='GBP', to=CHF", spec)
    ({'base': 'GBP', 'to': 'CHF'}, 'input by name')
    >>> read_input("usd, yen", spec)
    ({'base': 'usd', 'to': 'yen'}, 'input by position')
    """
    plain = text.strip()
    if not spec.parameters:
        return ({}, None) if _says_nothing(plain) else None
    keyed = _keyed(plain, spec)
    if keyed is not None:
        return (keyed, "input by name") if keyed else None
    called = read_call(plain, 0)
    if called is not None and called[1] == len(plain) and not called[0].torn:
        call = called[0]
        if call.named and not call.positional and all(k in spec.parameters for k in call.named):
            return call.named, "input as a call"
        if len(call.positional) == 1 and isinstance(only := call.positional[0], dict):
            return (only, "input as a call") if not call.named and _knows(spec, only) else None
    return _single(text, spec) or _listed(plain, spec)


def _says_nothing(plain: str) -> bool:
    """Tell whether an input is one of the ways to say that there is none."""
    if plain.lower().strip("\"'") in _NOTHING:
        return True
    called = read_call(plain, 0)
    return called is not None and called[0].positional in ((), ({},)) and not called[0].named


def positional_input(value: Any, spec: ToolSpec) -> _Found | None:
    """Return the arguments that a value that is no object gives to a tool."""
    if isinstance(value, list):
        if not spec.parameters:
            return None if value else ({}, None)
        only = _only(spec)
        if only and _takes(spec, only, "array"):
            return {only: value}, "input without a name"
        if len(value) == 1 and isinstance(value[0], dict) and _knows(spec, value[0]):
            return value[0], "input in a list"
        return None
    only = _only(spec)
    return ({only: value}, "input without a name") if only else None


def _knows(spec: ToolSpec, arguments: dict[str, Any]) -> bool:
    return bool(arguments) and all(key in spec.parameters for key in arguments)


def _takes(spec: ToolSpec, name: str, kind: str) -> bool:
    schema = spec.parameters.get(name)
    return isinstance(schema, dict) and schema.get("type") == kind


def _only(spec: ToolSpec) -> str | None:
    """Return the one parameter that a lone value can be for."""
    names = list(spec.required) if len(spec.required) == 1 else list(spec.parameters)
    return names[0] if len(names) == 1 else None


def _single(text: str, spec: ToolSpec) -> _Found | None:
    only = _only(spec)
    if only is None:
        return None
    return {only: text}, None


def _keyed(plain: str, spec: ToolSpec) -> dict[str, Any] | None:
    """Read `key=value, key=value` if each key is a parameter."""
    spelled = {spelling_of(name): name for name in spec.parameters}
    found: dict[str, Any] = {}
    at = 0
    while at < len(plain):
        match = _KEYED.match(plain, at)
        name = spelled.get(spelling_of(match["key"])) if match else None
        value = match["value"].rstrip() if match else ""
        if match is None or name is None or not value:
            return None
        if name in found:
            return {}  # nobody knows which one is meant
        found[name] = unquoted(value)
        at = match.end()
    return found or None


def _listed(plain: str, spec: ToolSpec) -> _Found | None:
    """Give as many values as a tool requires to its parameters in order."""
    parts = [part.strip() for part in plain.split(",")]
    if "\n" in plain or len(parts) != len(spec.required) or not all(parts):
        return None
    if _THOUSANDS.search(plain):
        return None  # the comma may be part of a number
    if len(spec.required) < 2 or any(mark in plain for mark in "{}[]()=:"):  # noqa: PLR2004
        return None
    values = [unquoted(part) for part in parts]
    return dict(zip(spec.required, values, strict=True)), "input by position"


def unquoted(text: str) -> str:
    """Take one pair of quotes off."""
    close = _QUOTES.get(text[:1])
    inner = text[1:-1]
    if close and len(text) > 1 and text.endswith(close) and close not in inner:
        return inner
    return text
