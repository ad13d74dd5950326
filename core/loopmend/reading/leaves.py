"""What stands in an element that holds no other: text, JSON, or elements of its own."""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend.reading.coercion import JsonText
from loopmend.reading.lexicon import Role
from loopmend.reading.nodes import Node
from loopmend.reading.values import LenientError, decode_value, verified

__all__ = ["begins_with_element", "content_of", "object_of"]

_CHILD: Final = re.compile(r"\s*<([^\W\d][\w.\-]{0,60})>")
_DEEPEST: Final = 20


def content_of(text: str, leaf: Node, attributes: dict[str, str] | None) -> Any:
    """Return what stands in an element as it is written, less the line ends at its tags."""
    raw = text[leaf.begin : leaf.stop]
    if raw.startswith("\n"):
        raw = raw.removeprefix("\n").removesuffix("\n")
    if attributes and (
        attributes.get("string") == "false"
        or attributes.get("type", "string") not in ("string", "str")
    ):
        return JsonText(raw)
    if leaf.role is Role.ARGUMENTS and leaf.label is None:
        return object_of(raw)
    return raw


def object_of(raw: str) -> Any:
    """Return the object that a text is, as JSON or as elements, or the text."""
    plain = raw.strip().strip("`").removeprefix("json").strip()
    if plain.startswith("{"):
        try:
            value = verified(plain, decode_value(plain, 0))
        except LenientError:
            return raw.strip()
        whole = not value.torn and not value.twice and not plain[value.end :].strip()
        return value.value if whole else raw.strip()
    found = _elements(raw) if plain.startswith("<") else None
    return raw.strip() if found is None else found


def _elements(raw: str, depth: int = 0) -> dict[str, Any] | None:
    """Return the elements that a text consists of, or `None` if it is anything else."""
    found: dict[str, list[Any]] = {}
    at = 0
    while (child := _CHILD.match(raw, at)) and depth < _DEEPEST:
        close = raw.find(f"</{child[1]}>", child.end())
        if close == -1:
            return None
        inner = raw[child.end() : close]
        if inner.startswith("\n"):
            inner = inner.removeprefix("\n").removesuffix("\n")
        nested = _elements(inner, depth + 1) if inner.lstrip().startswith("<") else None
        found.setdefault(child[1], []).append(inner if nested is None else nested)
        at = close + len(child[1]) + 3
    if raw[at:].strip() or not found:
        return None
    return {key: items[0] if len(items) == 1 else items for key, items in found.items()}


def begins_with_element(raw: str) -> bool:
    """Tell whether a text begins with a start tag without attributes."""
    return _CHILD.match(raw) is not None
