"""Checking a value by a JSON Schema."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from loopmend.reading.coercion import Coercion
from loopmend.reading.problem import Path, Problem, kind_of, place

__all__ = [
    "DATES",
    "DIGITS",
    "UNCHECKED",
    "Checker",
    "holds_unchecked",
    "mappings_in",
    "options_of",
    "problems_by_jsonschema",
    "verify_schema",
]

UNCHECKED: Final = frozenset(
    {
        *("not", "if", "then", "else", "contains", "uniqueItems", "propertyNames"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
    }
)
"""Keywords that `Checker` does not know."""

_MOST_PROBLEMS: Final = 20
DATES: Final = frozenset({"date-time", "date", "time"})
"""Formats of text for which a validator may take digits, counted from 1970."""
DIGITS: Final = "digits alone"
"""What came where a date or a time was wanted: nobody knows whether it is a year or seconds."""

_DIGITS: Final = re.compile(r"\s*[-+]?\d+(?:\.\d*)?\s*")
_ARTICLES: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_MOST: Final = 20
_MOST_OPTIONS: Final = 8
_Holds = Callable[[Any, Any], bool]
_BOUNDS: Final[tuple[tuple[str, str, _Holds], ...]] = (
    ("minimum", "{} or more", lambda v, b: v >= b),
    ("maximum", "{} or less", lambda v, b: v <= b),
    ("exclusiveMinimum", "more than {}", lambda v, b: v > b),
    ("exclusiveMaximum", "less than {}", lambda v, b: v < b),
    ("multipleOf", "a multiple of {}", lambda v, b: not b or v % b == 0),
)
_SIZES: Final[tuple[tuple[type[Any], str, str, _Holds], ...]] = (
    (str, "minLength", "at least {} characters", lambda n, b: n >= b),
    (str, "maxLength", "at most {} characters", lambda n, b: n <= b),
    (list, "minItems", "at least {} items", lambda n, b: n >= b),
    (list, "maxItems", "at most {} items", lambda n, b: n <= b),
    (dict, "minProperties", "at least {} keys", lambda n, b: n >= b),
    (dict, "maxProperties", "at most {} keys", lambda n, b: n <= b),
)


class Checker(Coercion):
    """Checks values by the keywords of JSON Schema that say what a value may be.

    It knows types, `enum`, `const`, `required`, nesting, alternatives, references, bounds, sizes
    and patterns; `UNCHECKED` lists what it does not.
    """

    __slots__ = ("_seen",)

    def __init__(self, definitions: Mapping[str, Any], *, raw: bool = False) -> None:
        super().__init__(definitions, raw=raw)
        # What is known of an object or an array: alternatives within alternatives ask again.
        # Each entry keeps its value alive, so that no other takes its identity.
        self._seen: dict[tuple[int, int], tuple[list[Problem], Any, Any]] = {}

    def problems(self, value: Any, schema: Any) -> list[Problem]:
        """Return the first problems of a value, in the order of the schema."""
        self._seen.clear()
        return self._check(value, schema, ())[:_MOST]

    def fits(self, value: Any, schema: Any) -> bool:
        """Tell whether a value has no problem; what it learns stays known to the next question."""
        return not self._check(value, schema, ())

    def expected(self, schema: dict[str, Any]) -> str:
        """Return in a few words what a schema takes."""
        schema = self.resolved(schema)
        if (options := options_of(schema)) is not None:
            shown = [json.dumps(o, ensure_ascii=False, default=str) for o in options]
            rest = " or another option" if len(shown) > _MOST_OPTIONS else ""
            return " or ".join(shown[:_MOST_OPTIONS]) + rest
        kinds = self.kinds(schema)
        if not kinds or "any" in kinds:
            return "a value"
        return " or ".join(_ARTICLES.get(kind, kind) for kind in sorted(kinds))

    def _check(self, value: Any, schema: Any, path: Path) -> list[Problem]:
        if not isinstance(value, (dict, list)):
            return list(self._found(value, schema, path))
        key = id(value), id(schema)
        known = self._seen.get(key)
        if known is None:
            known = self._seen[key] = list(self._found(value, schema, path)), value, schema
        return known[0]

    def _found(self, value: Any, schema: Any, path: Path) -> Iterator[Problem]:
        if schema is False:
            yield Problem(path, "", kind_of(value))
        if not isinstance(schema, dict):
            return
        schema = self.resolved(schema)
        yield from self._whole(value, schema, path)
        if isinstance(value, dict):
            yield from self._members(value, schema, path)
        elif isinstance(value, list):
            first = schema.get("prefixItems")
            first = first if isinstance(first, list) else []
            for at, item in enumerate(value):
                inner = first[at] if at < len(first) else schema.get("items")
                yield from self._check(item, inner, (*path, at))

    def _whole(self, value: Any, schema: dict[str, Any], path: Path) -> Iterator[Problem]:
        options = options_of(schema)
        if options is not None and not any(_same(value, option) for option in options):
            yield Problem(path, self.expected(schema), kind_of(value))
            return
        kinds = self.kinds({"type": schema.get("type")})
        if kinds and not any(_is(value, kind) for kind in kinds):
            yield Problem(path, self.expected(schema), kind_of(value))
            return
        for key in ("anyOf", "oneOf"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                yield from self._alternatives(value, choices, path)
        yield from _limits(value, schema, path)

    def _alternatives(self, value: Any, choices: list[Any], path: Path) -> list[Problem]:
        """Return the problems with the alternative that a value comes closest to."""
        best: list[Problem] | None = None
        digits: list[Problem] = []
        for choice in choices:
            found = self._check(value, choice, path)
            if not found:
                return found
            digits += [problem for problem in found if problem.came == DIGITS]
            inside = [problem for problem in found if problem.path != path]
            if len(inside) == len(found) and (best is None or len(found) < len(best)):
                best = found
        if best is None:
            best = digits or [Problem(path, self.expected({"anyOf": choices}), kind_of(value))]
        return best

    def _members(
        self, value: dict[str, Any], schema: dict[str, Any], path: Path
    ) -> Iterator[Problem]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        patterns = schema.get("patternProperties")
        patterns = patterns if isinstance(patterns, dict) else {}
        required = schema.get("required")
        for name in required if isinstance(required, (list, tuple)) else ():
            if name not in value:
                wanted = properties.get(name)
                words = self.expected(wanted) if isinstance(wanted, dict) else "a value"
                yield Problem((*path, name), words, "nothing")
        for key, item in value.items():
            inner = [properties[key]] if key in properties else []
            inner += [s for pattern, s in patterns.items() if re.search(pattern, key)]
            if not inner and "additionalProperties" in schema:
                inner = [schema["additionalProperties"]]
            for each in inner:
                yield from self._check(item, each, (*path, key))


_PARTS: Final = frozenset(
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]
)
_CHOICES: Final = frozenset(["anyOf", "oneOf", "allOf", "prefixItems"])
_LISTS: Final = frozenset({*_CHOICES, "required", "enum"})
_INNER: Final = frozenset(
    ["items", "additionalProperties", "not", "if", "then", "else", "contains"]
)


def verify_schema(schema: Mapping[str, Any]) -> None:
    """Refuse what is broken as a JSON Schema, before a value meets it.

    Raises:
        ValueError: A keyword holds what it cannot hold, or a pattern is not a regular expression.

    >>> verify_schema({"properties": {"a": {"pattern": "("}}})
    Traceback (most recent call last):
        ...
    ValueError: `schema` is invalid: `properties.a.pattern` is not a regular expression
    """
    left: list[tuple[Path, Any]] = [((), schema)]
    while left:
        path, part = left.pop()
        if not isinstance(part, Mapping):
            continue
        for key, held in part.items():
            at = (*path, str(key))
            if (key in _PARTS and not isinstance(held, Mapping)) or (
                key in _LISTS and not isinstance(held, (list, tuple))
            ):
                raise _broken(at, "has a value of the wrong type")
            for pattern in (
                held if key == "patternProperties" else [held] if key == "pattern" else ()
            ):
                if not isinstance(pattern, str) or not _compiles(pattern):
                    raise _broken(at, "is not a regular expression")
            if key in _PARTS and isinstance(held, Mapping):
                left += [((*at, str(name)), inner) for name, inner in held.items()]
            elif key in _CHOICES:
                left += [((*at, nth), inner) for nth, inner in enumerate(held)]
            elif key in _INNER:
                left.append((at, held))


def _broken(path: Path, words: str) -> ValueError:
    return ValueError(f"`schema` is invalid: `{place(path)}` {words}")


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def options_of(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the fixed set of values that a schema takes, if it is one."""
    if "const" in schema:
        return [schema["const"]]
    options = schema.get("enum")
    return options if isinstance(options, list) else None


def _limits(value: Any, schema: dict[str, Any], path: Path) -> Iterator[Problem]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for keyword, words, holds in _BOUNDS:
            bound = schema.get(keyword)
            if isinstance(bound, (int, float)) and not holds(value, bound):
                yield Problem(path, words.format(bound), "this number")
        return
    for kind, keyword, words, holds in _SIZES:
        bound = schema.get(keyword)
        if isinstance(value, kind) and isinstance(bound, int) and not holds(len(value), bound):
            yield Problem(path, words.format(bound), f"{len(value)}")
    if isinstance(value, str) and schema.get("format") in DATES and _DIGITS.fullmatch(value):
        yield Problem(path, "a date or a time", DIGITS)
    pattern = schema.get("pattern")
    if isinstance(value, str) and isinstance(pattern, str) and not re.search(pattern, value):
        yield Problem(path, f"text that matches {pattern}", "this one")


def _is(value: Any, kind: str) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        whole = isinstance(value, float) and value.is_integer()
        return (isinstance(value, int) and not isinstance(value, bool)) or whole
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    types = {"string": str, "array": list, "object": dict}
    return kind not in types or isinstance(value, types[kind])


def _same(value: Any, option: Any) -> bool:
    return value == option and isinstance(value, bool) is isinstance(option, bool)


def problems_by_jsonschema(value: Any, schema: dict[str, Any]) -> tuple[Problem, ...]:
    """Let jsonschema judge what `Checker` does not know, if it is installed."""
    if importlib.util.find_spec("jsonschema") is None:
        return ()
    validators = importlib.import_module("jsonschema.validators")
    validator = validators.validator_for(schema)(schema)
    try:
        validator.check_schema(schema)
        found = list(validator.iter_errors(value))
    except Exception as error:  # it has a kind of its own for each thing that can be wrong
        msg = f"`schema` is invalid: {type(error).__name__}"
        raise ValueError(msg) from error
    errors = sorted(found, key=lambda e: json.dumps(list(e.absolute_path)))
    return tuple(
        Problem(tuple(e.absolute_path), f"valid by `{e.validator}`", kind_of(e.instance))
        for e in errors[:_MOST_PROBLEMS]
    )


def mappings_in(part: Any) -> Iterator[Mapping[str, Any]]:
    """Return all mappings within one, each once."""
    left, seen = [part], set[int]()
    while left:
        each = left.pop()
        if isinstance(each, (Mapping, list, tuple)) and id(each) not in seen:
            seen.add(id(each))
            left += each.values() if isinstance(each, Mapping) else each
            if isinstance(each, Mapping):
                yield each


def holds_unchecked(schema: Any) -> bool:
    """Tell whether a schema has a keyword that `Checker` does not know."""
    return any(not UNCHECKED.isdisjoint(part) for part in mappings_in(schema))
