"""Turning values into the types that a schema takes, where nothing is lost by it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.scalars import OddNumber
from loopmend.reading.values import verified

__all__ = ["DEEPEST", "Coercion", "JsonText", "alike", "guess", "structure"]

_INTEGER: Final = re.compile(r"[-+]?\d{1,300}")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_ALIASES: Final = {
    "float": "number",
    "double": "number",
    "int": "integer",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
    "tuple": "array",
}
# What tools that turn text into truth values take it for.
_TRUTH: Final = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
_PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {"object": (dict,), "array": (list,)}
_SCALARS: Final = frozenset({"integer", "number", "boolean"})
DEEPEST: Final = 12
"""How deep references and alternatives of a schema are followed."""


class JsonText(str):
    """Text that says of itself that it is JSON."""

    __slots__ = ()


class Coercion:
    """Knows what the parts of a schema take."""

    __slots__ = ("definitions", "raw")

    def __init__(self, definitions: Mapping[str, Any], *, raw: bool = False) -> None:
        self.definitions = definitions
        """Schemas that other schemas refer to."""
        self.raw = raw
        """Whether values are text that only a schema can turn into values."""

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Follow references and take what is combined as one."""
        for _ in range(DEEPEST):
            ref = schema.get("$ref")
            if not isinstance(ref, str):
                break
            target = self.definitions.get(ref.rpartition("/")[2])
            if not isinstance(target, dict):
                break
            schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
        combined = [part for part in schema.get("allOf") or () if isinstance(part, dict)]
        for part in combined[:DEEPEST]:
            schema = {**self.resolved(part), **{k: v for k, v in schema.items() if k != "allOf"}}
        return schema

    def kinds(self, schema: dict[str, Any], depth: int = 0) -> set[str]:
        """Return the names of the types that a schema takes; empty if it does not say."""
        schema = self.resolved(schema)
        kind = schema.get("type")
        kinds = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else set()
        kinds = {_ALIASES.get(name, name) for name in kinds if isinstance(name, str)}
        for key in ("anyOf", "oneOf"):
            for option in schema.get(key) or ():
                if isinstance(option, dict) and depth < DEEPEST:
                    inner = self.kinds(option, depth + 1)
                    kinds |= inner or {"any"}
        return kinds

    def holds_number(self, schema: dict[str, Any]) -> bool:
        """Tell whether each object that a schema takes, or each item, has to hold a scalar.

        That is a number or a truth value, so that no such object is all words.
        """
        schema = self.resolved(schema)
        items = schema.get("items")
        if self.kinds(schema) == {"array"} and isinstance(items, dict):
            schema = self.resolved(items)
        known, required = schema.get("properties"), schema.get("required")
        if not isinstance(known, dict) or not isinstance(required, list):
            return False
        parts = [known[name] for name in required if isinstance(known.get(name), dict)]
        return any(kinds and kinds <= _SCALARS for kinds in map(self.kinds, parts))

    def coerced(self, value: Any, schema: dict[str, Any], depth: int = 0) -> Any:
        """Turn a value into the type that a schema takes, where nothing is lost by it."""
        schema = self.resolved(schema)
        kinds = self.kinds(schema)
        if isinstance(value, str):
            value = self.from_text(value, kinds)
        if self.raw and isinstance(value, dict) and len(value) == 1 and kinds == {"array"}:
            value = next(iter(value.values()))  # `<tags><item>a</item></tags>`
            value = value if isinstance(value, list) else [value]
        if depth > DEEPEST:
            return value
        if isinstance(value, float) and kinds & {"integer"} and "number" not in kinds:
            return int(value) if value.is_integer() else value
        if isinstance(value, dict) and isinstance(inner := schema.get("properties"), dict):
            return {
                k: self.coerced(v, inner[k], depth + 1) if isinstance(inner.get(k), dict) else v
                for k, v in value.items()
            }
        if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
            return [self.coerced(item, items, depth + 1) for item in value]
        return value

    def from_text(self, value: str, kinds: set[str]) -> Any:
        """Return what a text stands for, if these types say that it is no text."""
        if isinstance(value, OddNumber):
            return value
        text = value.strip()
        raw = self.raw or isinstance(value, JsonText)
        nothing = raw and text in ("null", "None")
        if "string" in kinds and not (nothing and "null" in kinds):
            return value
        if "integer" in kinds and _INTEGER.fullmatch(text):
            return int(text)
        if "number" in kinds and _NUMBER.fullmatch(text):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        if "boolean" in kinds and text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        if nothing or ("null" in kinds and text in ("null", "None")):
            return None
        wanted = tuple(t for kind in kinds for t in _PYTHON_TYPES.get(kind, ()))
        if wanted:
            found = structure(text)
            return found if isinstance(found, wanted) else value
        return guess(value) if raw and not kinds else value


def alike(value: str, options: list[Any]) -> str | None:
    """Return the one of a fixed set of values that is meant but for its case."""
    fold = value.strip().lower()
    found = [o for o in options if isinstance(o, str) and o.lower() == fold]
    return found[0] if len(found) == 1 else None


def structure(text: str) -> Any:
    """Return the object or array that is all of a text, or `None`."""
    for candidate in (text, text.replace('\\"', '"') if '\\"' in text else text):
        try:
            found = verified(candidate, decode_value(candidate, 0))
        except LenientError:
            continue
        if not found.torn and not found.twice and not candidate[found.end :].strip():
            if candidate is not text:
                try:
                    return json.loads(json.loads(f'"{text}"'))
                except (ValueError, RecursionError):
                    return found.value
            return found.value
    return None


def guess(value: Any) -> Any:
    """Return what a text is as JSON, or the text itself."""
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return value
