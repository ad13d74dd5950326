"""Slots that nobody filled in, and schemas where values belong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.reading.lexicon import role_of, words_of

__all__ = ["echo_in", "is_placeholder", "is_schema", "stands_in"]

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


def stands_in(value: str, question: str) -> bool:
    """Tell whether a user speaks of a value as it is written, so that it is meant.

    >>> stands_in("${HOME}", "Who reads '${HOME}'?"), stands_in("...", "Wait... Who is it?")
    (True, False)
    """
    if not (plain := value.strip()) or plain not in question:
        return False
    return re.search(rf"(?<![\w.]){re.escape(plain)}(?![\w.])", question) is not None


def is_schema(value: Mapping[str, Any]) -> bool:
    """Tell whether a value describes values, as the parts of a JSON Schema do."""
    return "properties" in value or (
        value.get("type") in ("string", "integer", "number", "boolean", "array", "object", "str")
        and set(value) <= {"type", "description", "title", "default", "enum", "items", "format"}
    )


def echo_in(arguments: Mapping[str, Any], question: str) -> str | None:
    """Return an argument whose value is a placeholder or its own schema."""
    for key, value in arguments.items():
        if isinstance(value, str) and is_placeholder(key, value):
            if stands_in(value, question):
                continue
            return key
        if isinstance(value, dict) and isinstance(value.get("type"), str) and is_schema(value):
            return key
    if is_schema(arguments) and isinstance(arguments.get("type"), str):
        return "properties"
    return None
