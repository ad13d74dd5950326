"""Templates that a model sent back without filling them in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from loopmend.reading.placeholders import is_placeholder, is_schema
from loopmend.reading.problem import Path
from loopmend.reading.schema import Schema

__all__ = ["TYPE_NAMES", "echoes_schema", "may_hold_slot", "placeholder_in"]

TYPE_NAMES: Final = ("string", "integer", "number", "boolean", "array", "object", "null", "any")
"""The words that stand for types in the shape of a value."""

_LONGEST_TEMPLATE: Final = 1000
_NAMES: Final = "|".join(TYPE_NAMES)
# A type, or alternatives of which one is a type.
_TYPE: Final = re.compile(rf"(?:{_NAMES})(?:\s*\|.*)?|.*\|\s*(?:{_NAMES})(?:\s*\|.*)?", re.DOTALL)
_TYPE_NAMES: Final = frozenset(TYPE_NAMES)
_WORDS: Final = _TYPE_NAMES | {"value"}


def placeholder_in(value: Any, text: str) -> Path | None:
    """Return where a value holds an unfilled slot, if it does.

    Args:
        value: The value.
        text: What it was read from.
    """
    if not may_hold_slot(text):
        return None
    for path, leaf in _leaves(value):
        key = next((step for step in reversed(path) if isinstance(step, str)), None)
        if not isinstance(leaf, str) or key is None:
            continue
        # A type's name may be a value, and "value" is the usual example of one.
        if leaf.strip().lower() not in _WORDS and is_placeholder(key, leaf):
            return path
    return None


def may_hold_slot(text: str) -> bool:
    """Tell quickly whether a value may hold an unfilled slot."""
    if ("." in text and "..." in text) or "<" in text or "\u2026" in text:
        return True
    # A single sign is found in no time, so look for it first.
    if "$" in text and "${" in text:
        return True
    if "H" in text and ("HERE" in text or "PLACEHOLDER" in text):
        return True
    if "Y" in text and "YOUR_" in text:
        return True
    if len(text) > _LONGEST_TEMPLATE:
        return False
    if '"{' in text or '"[' in text:
        return True
    return "'" in text and ("'{" in text or "'[" in text)


def _leaves(value: Any) -> Iterator[tuple[Path, Any]]:
    left: list[tuple[Path, Any]] = [((), value)]
    while left:
        path, part = left.pop()
        if isinstance(part, dict):
            left += [((*path, str(key)), inner) for key, inner in part.items()]
        elif isinstance(part, list):
            left += [((*path, at), inner) for at, inner in enumerate(part)]
        else:
            yield path, part


def echoes_schema(value: Any, schema: Schema) -> bool:
    """Tell whether a value is a schema, or its shape, where a value of it was asked for."""
    if isinstance(value, dict) and "properties" in value and _is_schema(value, schema.json):
        return True
    return isinstance(value, (dict, list)) and _is_shape(value, schema)


def _is_schema(value: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    properties, known = value.get("properties"), schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return False
    if isinstance(known, Mapping) and "properties" in known:
        return False
    return all(isinstance(part, dict) and _is_part(part) for part in properties.values())


def _is_part(part: Mapping[str, Any]) -> bool:
    return is_schema(part) or any(key in part for key in ("$ref", "anyOf", "oneOf", "allOf"))


def _is_shape(value: Any, schema: Schema) -> bool:
    """Tell whether each part is the name of a type, but for those that the schema fixes."""
    found = False
    left = [value]
    while left:
        leaf = left.pop()
        if isinstance(leaf, str):
            if "|" in leaf or leaf.strip() in _TYPE_NAMES:
                # Alternatives of which none is a type may be options. "null" alone is a text, too.
                found = found or (leaf != "null" and _TYPE.fullmatch(leaf.strip()) is not None)
            elif leaf not in schema.fixed:
                return False
        elif isinstance(leaf, dict):
            left.extend(leaf.values())
        elif isinstance(leaf, list):
            left.extend(leaf)
        else:
            return False
    return found
