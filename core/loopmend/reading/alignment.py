"""Aligning a value with a schema: names, types and wrappers, where nothing is lost by it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

from loopmend.reading.checker import Checker, options_of
from loopmend.reading.lexicon import Role, role_of, words_of
from loopmend.reading.problem import Path, place

__all__ = ["YES_AND_NO", "Alignment", "by_fold", "folded", "the_one"]

YES_AND_NO: Final = {"true": True, "false": False, "yes": True, "no": False}
"""The words for a boolean."""
_MOST_STEPS: Final = 50_000
# A wrapper of such a name says that what it holds is not the value.
_FAILED: Final = frozenset(
    ["error", "errors", "exception", "failure", "failures", "fault", "refusal", "warning"]
)
_SCALARS: Final = frozenset({"integer", "number", "boolean"})
_RESULTS: Final = frozenset({Role.ANSWER, Role.OBSERVATION})
_NOT_MEANT: Final = frozenset({Role.SHOWN, Role.THINK, Role.ASK})


def folded(name: str) -> str:
    """Return a name without case, accents and separators.

    >>> folded(" Número-Total ") == folded("numero_total")
    True
    """
    plain = unicodedata.normalize("NFKD", name)
    return "".join(char for char in plain if char.isalnum()).casefold() or name


def the_one(name: str, names: Iterable[Any]) -> str | None:
    """Return the only one of some names that another is a spelling of.

    >>> the_one("first name", ["firstName", "lastName"]), the_one("a", ["A", "a "])
    ('firstName', None)
    """
    return by_fold(names).get(folded(name))


def by_fold(names: Iterable[Any]) -> dict[str, str | None]:
    """Return names by what is left of them without case and separators, if that is of one only."""
    found: dict[str, str | None] = {}
    for name in names:
        if isinstance(name, str):
            fold = folded(name)
            found[fold] = None if fold in found else name
    return found


class Alignment:
    """Aligns one value; says what it changed."""

    def __init__(
        self, checker: Checker, *, strict: bool = False, written: Mapping[int, str] | None = None
    ) -> None:
        """Take a schema's parts.

        Args:
            checker: What knows them.
            strict: Whether the schema's owner wants no scalar of one type turned into another.
            written: How integers are written that JSON would not write so, such as `+47`.
        """
        self.types = checker
        self.strict = strict
        self.written = written or {}
        self.repairs: list[str] = []
        self.clashes: list[Path] = []
        """Where two keys are spellings of one name, so that nobody knows which one is meant."""
        self._steps = 0
        self._folds: dict[int, tuple[dict[str, str | None], Any]] = {}

    def aligned(self, value: Any, schema: Any, path: Path = ()) -> Any:
        """Return a value as a schema takes it, as far as nothing is lost by it."""
        self._steps += 1
        if not isinstance(schema, dict) or self._steps > _MOST_STEPS:
            return value
        schema = self.types.resolved(schema)
        if (options := options_of(schema)) is not None:
            return self._option(value, options, path)
        for key in ("anyOf", "oneOf"):
            if isinstance(choices := schema.get(key), list) and choices:
                return self._alternative(value, choices, path)
        new = self._typed(value, schema, path)
        if type(new) is not type(value):
            self.note("type", path)
        if isinstance(new, dict):
            return self._object(new, schema, path)
        if isinstance(new, list):
            return self._array(new, schema, path)
        return new

    def _typed(self, value: Any, schema: dict[str, Any], path: Path) -> Any:
        kinds = self.types.kinds(schema)
        new = self._scalar(value, kinds)
        if kinds and not kinds & {"object", "array", "any"} and isinstance(new, dict):
            return self._unwrapped_scalar(new, schema, path)
        if "array" in kinds and not kinds & {"object", "any"}:
            return self._listed(new, schema, path)
        if "object" in kinds and "array" not in kinds and isinstance(new, list) and len(new) == 1:
            return new[0] if isinstance(new[0], dict) else new
        return new

    def note(self, what: str, path: Path) -> None:
        """Note what was changed where."""
        self.repairs.append(f"{what} of `{place(path)}`" if path else f"{what} of the value")

    def _option(self, value: Any, options: list[Any], path: Path) -> Any:
        if value in options:
            return value
        if (only := _only(value, path)) is not None:
            inner = self._option(only, options, path)
            if inner in options:
                self.note("wrapper", path)
                return inner
        if not isinstance(value, str):
            return value
        meant = the_one(value.strip().strip("\"'`*"), options)
        if meant is None:
            numbers = [o for o in options if not isinstance(o, str) and str(o) == value.strip()]
            meant = numbers[0] if len(numbers) == 1 else None
        if meant is None:
            return value
        self.note("spelling", path)
        return meant

    def _alternative(self, value: Any, choices: list[Any], path: Path) -> Any:
        """Return the value as the first alternative takes it that takes it at all."""
        for choice in choices:
            if self.types.fits(value, choice):
                if isinstance(value, dict) and isinstance(choice, dict):
                    self._renamed(value, self.types.resolved(choice), path)
                return value
        kept = len(self.repairs), len(self.clashes)
        for choice in choices:
            new = self.aligned(value, choice, path)
            if self.types.fits(new, choice):
                return new
            del self.repairs[kept[0] :], self.clashes[kept[1] :]
        return value

    def _scalar(self, value: Any, kinds: set[str]) -> Any:
        if self.strict:
            kinds = kinds - _SCALARS if isinstance(value, str) else {"any"}
        if isinstance(value, str):
            plain = value.strip().lower()
            if "boolean" in kinds and "string" not in kinds and plain in YES_AND_NO:
                return YES_AND_NO[plain]
            return self.types.from_text(value, kinds)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return value
        if "integer" in kinds and isinstance(value, float) and value.is_integer():
            return int(value)
        if kinds & {"integer", "number", "any"}:
            return value
        if "boolean" in kinds and value in (0, 1):
            return bool(value)
        # Of a float, the digits that were written are no longer known.
        if "string" not in kinds or isinstance(value, float):
            return value
        return self.written.get(value, str(value))

    def _unwrapped_scalar(self, value: dict[str, Any], schema: dict[str, Any], path: Path) -> Any:
        inner = self._scalar(_only(value, path), self.types.kinds(schema))
        return value if inner is None or not self.types.fits(inner, schema) else inner

    def _listed(self, value: Any, schema: dict[str, Any], path: Path) -> Any:
        """Put a lone item into a list; a text may itself be a list in words, so it is not."""
        items = schema.get("items")
        if isinstance(value, (list, str)) or value is None or not isinstance(items, dict):
            return value
        if isinstance(path[-1] if path else None, int):
            return value  # items of a list of lists may all belong to one list
        kept = len(self.repairs)
        item = self.aligned(value, items, path)
        del self.repairs[kept:]  # the list's own turn comes
        if isinstance(item, dict) is isinstance(value, dict) and self.types.fits(item, items):
            return [value]
        if isinstance(value, dict) and len(value) == 1 and _is_meant(next(iter(value))):
            only = next(iter(value.values()))
            return only if isinstance(only, list) else value  # `{"items": […]}` for the list alone
        return value

    def _array(self, value: list[Any], schema: dict[str, Any], path: Path) -> list[Any]:
        first = schema.get("prefixItems")
        first = first if isinstance(first, list) else []
        items = schema.get("items")
        return [
            self.aligned(item, first[at] if at < len(first) else items, (*path, at))
            for at, item in enumerate(value)
        ]

    def _object(self, value: dict[str, Any], schema: dict[str, Any], path: Path) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return self._mapping(value, schema, path)
        value = self._unwrapped(value, schema, properties, path)
        required = schema.get("required") or ()
        found: dict[str, Any] = {}
        for key, name in self._renamed(value, schema, path).items():
            item = value[key]
            if name != key:
                self.note("name", (*path, key))
            wanted = properties.get(name)
            if wanted is None:
                wanted = self._other(name, schema)
            if item is None and name not in required and self._refuses_null(wanted):
                self.note("null", (*path, key))  # it may be left out, and was
                continue
            found[name] = self.aligned(item, wanted, (*path, name))
        return found

    def _renamed(
        self, value: Mapping[str, Any], schema: Mapping[str, Any], path: Path
    ) -> dict[str, str]:
        """Return for each key the name that it spells, and note where two keys spell one."""
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            properties = {}
        known = self._folded(properties)
        names: dict[str, str] = {}
        taken = {key for key in value if key in properties}
        for key in value:
            meant = None if key in properties else known.get(folded(key))
            if meant in taken and not schema.get("additionalProperties"):
                self.clashes.append((*path, key))
            names[key] = key if meant is None or meant in taken else meant
            taken.add(names[key])
        return names

    def _folded(self, properties: Mapping[str, Any]) -> dict[str, str | None]:
        known = self._folds.get(id(properties))
        if known is None:
            known = self._folds[id(properties)] = by_fold(properties), properties
        return known[0]

    def _refuses_null(self, schema: Any) -> bool:
        kinds = self.types.kinds(schema) if isinstance(schema, dict) else set()
        return bool(kinds) and not kinds & {"null", "any"}

    def _mapping(self, value: dict[str, Any], schema: dict[str, Any], path: Path) -> dict[str, Any]:
        return {
            key: self.aligned(item, self._other(key, schema), (*path, key))
            for key, item in value.items()
        }

    def _other(self, key: str, schema: Mapping[str, Any]) -> Any:
        patterns = schema.get("patternProperties")
        for pattern, inner in patterns.items() if isinstance(patterns, dict) else ():
            if re.search(pattern, key):
                return inner
        return schema.get("additionalProperties")

    def _unwrapped(
        self,
        value: dict[str, Any],
        schema: dict[str, Any],
        properties: Mapping[str, Any],
        path: Path,
    ) -> dict[str, Any]:
        """Take off a wrapper that the schema does not know, such as its own name."""
        wrapped = _called(value, schema)
        if isinstance(value.get("properties"), dict) and "properties" not in properties:
            wrapped = {"properties": value["properties"]}  # the schema's own form, filled in
        if len(wrapped) != 1 or any(key in properties for key in wrapped):
            return value
        name, inner = next(iter(wrapped.items()))
        if isinstance(inner, str):
            inner = self.types.from_text(inner, {"object"})
        vouched = wrapped is not value or folded(name) == folded(str(schema.get("title")))
        if isinstance(inner, dict) and inner and (vouched or self._holds(name, inner, schema)):
            self.note("wrapper", path)
            return inner
        return value

    def _holds(self, name: str, inner: dict[str, Any], schema: dict[str, Any]) -> bool:
        """Tell whether what stands under a name that the schema does not know is all of a value."""
        names = self._folded(schema["properties"])
        known = {names.get(folded(key)) or key for key in inner}
        if not known <= set(schema["properties"]):
            return False
        if not (schema.get("required") or role_of(name)) or not _is_meant(name):
            return False
        kept = len(self.repairs), len(self.clashes)
        fits = self.types.fits(self.aligned(inner, schema), schema)
        del self.repairs[kept[0] :], self.clashes[kept[1] :]
        return fits


def _is_meant(name: str) -> bool:
    """Tell whether a name leaves open that what stands under it is meant."""
    return not _FAILED.intersection(words_of(name)) and role_of(name) not in _NOT_MEANT


def _only(value: Any, path: Path) -> Any:
    """Return the scalar in an object that says of it no more than its place does.

    Any other name says what the scalar is, and that may be something else than what is wanted.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None
    name, only = next(iter(value.items()))
    neutral = folded(name) in ("value", folded(str(path[-1])) if path else "")
    result = not path and role_of(name) in _RESULTS and _is_meant(name)
    return only if neutral or result else None


def _called(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of what is written as a call that names the schema, else the value."""
    name = schema.get("title")
    if len(value) != 2 or not isinstance(name, str):  # noqa: PLR2004 - a name and arguments
        return value
    rest = {k: v for k, v in value.items() if not isinstance(v, str) or folded(v) != folded(name)}
    return rest if len(rest) == 1 else value
