"""Slots that nobody filled in, and schemas where values belong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.reading.lexicon import role_of, words_of

__all__ = ["is_placeholder", "is_schema"]

# A slot of a template: several words in angle brackets, or in capitals for somebody to fill in.
_SLOT: Final = re.compile(
    r"\s*(?:<[A-Za-z]+[_\-][\w\-]+>|<[A-Za-z]+(?:[ ,.;:'\u2019]{1,3}[\w\-]+)+>"
    r"|\$\{[^{}\n]{1,80}\}|\{\{[^{}\n]{1,80}\}\}"
    r"|\[(?:insert|your|the) [\w \-]{1,80}\]|YOUR_[A-Z_]+|[A-Z]+_[A-Z_]*HERE|PLACEHOLDER)\s*"
)
_UNFILLED: Final = frozenset(
    ("...", "\u2026", "<...>", "[...]", "{...}", "value", "<value>", "string", "<string>")
)
_FEW_WORDS: Final = re.compile(r"[^\W_]+(?:[ _\-][^\W_]+){1,5}")


def is_placeholder(key: str, value: str) -> bool:
    """Tell whether a value is an unfilled slot: dots, `value`, or the key itself in brackets."""
    plain = value.strip().lower()
    if plain in _UNFILLED:
        return True
    marked = plain[:1] == "<" and " " not in plain and role_of(plain.strip("<>")) is not None
    if _SLOT.fullmatch(value) and not marked:
        return True
    inner = plain.strip("<>{}[] ")
    if plain[:1] in ("<", "{", "[") and inner == key.lower():
        return True
    if plain[:1] + plain[-1:] not in ("<>", "{}", "[]") or not _FEW_WORDS.fullmatch(inner):
        return False
    # `[city name]` says what belongs to `name`, and is not it.
    named = set(words_of(key))
    return bool(named) and named <= set(words_of(inner))


def is_schema(value: Mapping[str, Any]) -> bool:
    """Tell whether a value describes values, as the parts of a JSON Schema do."""
    return "properties" in value or (
        value.get("type") in ("string", "integer", "number", "boolean", "array", "object", "str")
        and set(value) <= {"type", "description", "title", "default", "enum", "items", "format"}
    )
