"""What a value has to be, however you say it: a model, a type or a JSON Schema."""

from __future__ import annotations

import json
import marshal
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from loopmend.reading.checker import (
    DATES,
    DIGITS,
    Checker,
    holds_unchecked,
    mappings_in,
    problems_by_jsonschema,
    verify_schema,
)
from loopmend.reading.problem import Path, Problem, kind_of
from loopmend.reading.scalars import OddNumber
from loopmend.reading.typed_dicts import TAKEN, retyped

if TYPE_CHECKING:  # loaded with the first type: who reads without one does not pay for it
    from pydantic import TypeAdapter

__all__ = ["Schema", "schema_of"]

_MOST: Final = 20
_LONGEST: Final = 200
_DATE_TYPES: Final = ("datetime_type", "date_type", "time_type")
_INPUT: Final = "Input should be "


class Schema:
    """A type that values are validated by, and its JSON Schema.

    >>> schema = schema_of(dict[str, int])
    >>> schema.validated({"a": "1"})
    ({'a': 1}, ())
    >>> print(*schema.validated({"a": "one"})[1])
    `a` must be an integer, not a string
    """

    __slots__ = (
        *("_by_text", "_checker", "_dated", "_fixed", "_json", "_numbered", "_strict"),
        *("_unchecked", "adapter", "decimal", "name"),
    )

    def __init__(
        self,
        adapter: TypeAdapter[Any] | None,
        json_schema: dict[str, Any] | None = None,
        name: str = "",
    ) -> None:
        """Take what pydantic validates by, or a bare JSON Schema.

        Args:
            adapter: What validates; `None` for a bare JSON Schema.
            json_schema: The schema, if it is known.
            name: What the type is called.
        """
        self.adapter = adapter
        self.name = name
        self._json = json_schema
        self._checker: Checker | None = None
        self._fixed: frozenset[str] | None = None
        self._dated: bool | None = None
        self._numbered: bool | None = None
        self._strict: bool | None = None
        self._unchecked: bool | None = None
        core = {} if adapter is None else adapter.core_schema
        self.decimal = any(part.get("type") == "decimal" for part in mappings_in(core))
        # From plain data that is not converted nobody makes an instance but of a model.
        self._by_text = core.get("type") == "dataclass"

    @property
    def strict(self) -> bool:
        """Whether a part of the type is declared strict: then "1" is no integer."""
        if self._strict is None:
            parts = mappings_in(None if self.adapter is None else self.adapter.core_schema)
            self._strict = any(part.get("strict") is True for part in parts)
        return self._strict

    @property
    def dated(self) -> bool:
        """Whether a part is a date or a time, for which pydantic also takes digits."""
        if self._dated is None:
            self._dated = any(part.get("format") in DATES for part in mappings_in(self.json))
        return self._dated

    @property
    def numbered(self) -> bool:
        """Whether each value, or each item, has a number or a truth value: none is all words."""
        if self._numbered is None:
            self._numbered = self.checker.holds_number(self.json)
        return self._numbered

    @property
    def json(self) -> dict[str, Any]:
        """The JSON Schema; empty if a type has none."""
        if self._json is None:
            self._json = {} if self.adapter is None else _described(self.adapter)
        return self._json

    @property
    def fixed(self) -> frozenset[str]:
        """The texts that the schema itself holds, such as its options."""
        self._fixed = frozenset(_texts(self.json)) if self._fixed is None else self._fixed
        return self._fixed

    @property
    def checker(self) -> Checker:
        """What knows the schema's parts."""
        if self._checker is None:
            known: dict[str, Any] = {}
            for key in ("definitions", "$defs"):
                if isinstance(found := self.json.get(key), Mapping):
                    known.update(found)
            known.setdefault("#", self.json)  # `{"$ref": "#"}` is the schema itself
            self._checker = Checker(known)
        return self._checker

    def clean(self, data: Any, text: str | None = None) -> Any:
        """Return quickly the value of data that fits without any change.

        Args:
            data: What was decoded.
            text: The JSON that it was decoded from, if it is at hand.

        Raises:
            ValueError: It takes a closer look.
        """
        if self.adapter is None or (
            self._dated is not False and self.dated and self._problems(data)
        ):
            raise ValueError
        validator = self.adapter.validator
        try:
            if not self._by_text:
                try:
                    return validator.validate_python(data, strict=True, extra="forbid")
                except ValueError:  # dates and options are text in JSON only
                    pass
            plain = _written(data) if text is None else text
            return validator.validate_json(plain, strict=True, extra="forbid")
        except TypeError:  # before pydantic 2.12
            raise ValueError from None

    def validated(self, value: Any) -> tuple[Any, tuple[Problem, ...]]:
        """Return the value that a decoded value stands for, and what is wrong with it if any."""
        if self.adapter is None:
            return value, self._checked(value)
        try:
            return self.adapter.validator.validate_python(value), ()
        except ValueError as error:  # pydantic's, which is not loaded for its name alone
            return self._from_json(value, error)

    def turned(self, value: Any) -> tuple[list[Path], tuple[Problem, ...]]:
        """Return the parts of a valid value that validation converts, and what that loses.

        >>> schema_of(dict[str, int]).turned({"a": "7.0", "b": 1})
        ([('a',)], ())
        >>> print(*schema_of(dict[str, int]).turned({"a": True})[1])
        `a` must be an integer, not a boolean
        """
        if self.adapter is None:
            return [], ()
        from pydantic import ValidationError
        from pydantic_core import to_json

        errors: list[Any] = []
        try:
            self.adapter.validate_json(to_json(value, inf_nan_mode="constants"), strict=True)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        except ValueError:  # half a surrogate pair: only the schema can tell
            return [], tuple(self._problems(value))
        placed = [(*_place_in(value, error["loc"]), error) for error in errors]
        lost = [e for _, held, e in placed if _is_lost(e) or isinstance(held, OddNumber)]
        dates = self._problems(value) if self.dated else []
        problems = [problem for problem in dates if problem.came == DIGITS]
        paths = list(dict.fromkeys(path for path, _, _ in placed))
        return paths, (*problems, *(self._words(value, lost[:_MOST]) if lost else ()))

    def _from_json(self, value: Any, failed: Any) -> tuple[Any, tuple[Problem, ...]]:
        """Validate a value as JSON: strict models take text for dates and options only there."""
        from pydantic import ValidationError
        from pydantic_core import PydanticSerializationError, to_json

        assert self.adapter is not None
        try:
            return self.adapter.validate_json(to_json(value, inf_nan_mode="constants")), ()
        except ValidationError as error:
            return None, self._words(value, error.errors(include_url=False)[:_MOST])
        except PydanticSerializationError:  # half a surrogate pair
            return None, self._words(value, failed.errors(include_url=False)[:_MOST])

    def _checked(self, value: Any) -> tuple[Problem, ...]:
        found = self._problems(value)
        if self._unchecked is None:
            self._unchecked = holds_unchecked(self.json)
        if found or not self._unchecked:
            return tuple(found)
        return problems_by_jsonschema(value, self.json)

    def _problems(self, value: Any) -> list[Problem]:
        try:
            return self.checker.problems(value, self.json)
        except RecursionError:
            return [Problem((), "less deeply nested", kind_of(value))]

    def _words(self, value: Any, errors: list[Any]) -> tuple[Problem, ...]:
        """Put errors into words: the schema's where it explains them, else the validator's."""
        places = [tuple(each["loc"]) for each in errors]
        found = [
            problem
            for problem in self._problems(value)
            if any(_leads_to(problem.path, place) for place in places)
        ]
        if not found:
            return tuple(_problem(each) for each in errors)
        # What only the validator knows, such as dates, of parts that the schema finds nothing in.
        told = {problem.path[:1] for problem in found}
        keys = {(key,) for key in value} if isinstance(value, dict) else set()
        new = [_problem(e) for e in errors if e["loc"][:1] in keys and e["loc"][:1] not in told]
        return (*found, *new)


def _place_in(value: Any, steps: Path) -> tuple[Path, Any]:
    """Return where an error's steps lead in a value, without names of alternatives; and to what."""
    path: Path = ()
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):  # the name of an alternative
            continue
        path = (*path, step)
    return path, value


def _is_lost(error: Mapping[str, Any]) -> bool:
    """Tell whether what strict validation refuses says something else once it is converted.

    A truth value is no number, and of a number nobody knows whether it is a year or seconds.
    """
    if isinstance(error["input"], bool):
        return True
    return isinstance(error["input"], (int, float)) and error["type"] in _DATE_TYPES


def schema_of(schema: Any) -> Schema | None:
    """Return the schema that something describes; `None` if nothing does.

    Raises:
        TypeError: It describes no type.
        ValueError: It is a JSON Schema that is broken.

    >>> schema_of({"type": "integer"}).validated("one")[1][0].expected
    'an integer'
    """
    if schema is None or isinstance(schema, Schema):
        return schema
    try:
        return _known_json(marshal.dumps(schema, 2)) if type(schema) is dict else _known(schema)
    except (TypeError, ValueError):  # cannot be hashed or written, or is none
        return _made(schema)


@lru_cache(maxsize=256)
def _known(schema: Any) -> Schema:
    return _made(schema)


@lru_cache(maxsize=256)
def _known_json(written: bytes) -> Schema:
    """Return a JSON Schema by all that it says: its owner may change it."""
    return _made(marshal.loads(written))  # noqa: S302 - written by us, just now


def _described(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    from pydantic.errors import PydanticUserError

    try:
        return adapter.json_schema()
    except PydanticUserError:  # a type that JSON cannot describe
        return {}


def _made(schema: Any) -> Schema:
    if isinstance(schema, Mapping):
        verify_schema(schema)
        return Schema(None, dict(schema), str(schema.get("title") or ""))
    if isinstance(schema, str):
        msg = "`schema` must be a type or a JSON Schema, not a str"
        raise TypeError(msg)
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    if isinstance(schema, TypeAdapter):
        return Schema(schema, name=getattr(schema._type, "__name__", ""))  # noqa: SLF001
    try:
        adapter = TypeAdapter(schema if TAKEN else retyped(schema))
    except PydanticUserError as error:
        msg = f"not a type that pydantic knows: {schema!r} ({error.message})"
        raise TypeError(msg) from error
    return Schema(adapter, name=getattr(schema, "__name__", ""))


def _leads_to(path: Path, place: tuple[str | int, ...]) -> bool:
    """Tell whether a path is a place but for the names of alternatives in between."""
    steps = iter(place)
    return all(step in steps for step in path)


def _problem(error: Mapping[str, Any]) -> Problem:
    """Return an error of the validator as a problem, without what it repeats of the value."""
    path, kind = tuple(error["loc"]), error["type"]
    if kind == "missing":
        return Problem(path, "a value", "nothing")
    if kind.startswith("union_tag"):
        told = error["ctx"]
        path = (*path, told["discriminator"].strip("'"))
        if kind == "union_tag_not_found":
            return Problem(path, "a value", "nothing")
        return Problem(path, f"one of {told['expected_tags']}", "another one")
    words = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    plain = words.removeprefix(_INPUT)
    if plain == words:
        return Problem(path, f"valid ({words[:_LONGEST]})", kind_of(error["input"]))
    what, _, why = plain.partition(", ")
    parsed = isinstance(error["input"], str) and kind.endswith("_parsing")
    if why:
        plain = what if "`" in why else f"{what} ({why})"
    return Problem(path, plain[:_LONGEST], "this text" if parsed else kind_of(error["input"]))


def _written(data: Any) -> str:
    try:
        return json.dumps(data)
    except (TypeError, RecursionError):
        raise ValueError from None


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, (dict, list)):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _texts(inner)
