"""Values to JSON and back.

Every value of the core is a frozen dataclass with plain fields, so it also works as a
field of a pydantic model and with `pydantic.TypeAdapter`. The four functions here are
the short way. pydantic is imported by the first call that reads, not by
`import loopmend`, because importing it costs more than all of the core.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar, overload

from loopmend._arguments import not_text
from loopmend._json import MAX_DEPTH, too_deep

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema

__all__ = ["from_data", "from_json", "to_data", "to_json"]

T = TypeVar("T")

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"


class Tagged:
    """Marks a union as discriminated by one field, without importing pydantic.

    pydantic calls the method when it first builds a schema for the union.
    """

    def __init__(self, field: str) -> None:
        self.field = field

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        from pydantic import Discriminator

        return Discriminator(self.field).__get_pydantic_core_schema__(source, handler)


def to_data(value: Any) -> Any:
    """Turn a value of the core into dicts, lists and scalars, under its wire names.

    Floats that JSON cannot express become `"NaN"`, `"inf"` and `"-inf"`; a float field reads
    them back, the arguments of a tool call keep the text.

    Raises:
        ValueError: If the value is nested deeper than 127 levels.

    >>> from loopmend import FinalAnswer
    >>> to_data(FinalAnswer("4"))
    {'content': '4', 'type': 'final'}
    """
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if isfinite(value) else "NaN" if value != value else str(value)
    is_value = is_dataclass(value) and not isinstance(value, type)
    if not is_value and not isinstance(value, (tuple, list, dict)):
        return value
    if depth == MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name), depth + 1) for f in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    return [_plain(item, depth + 1) for item in value]


def to_json(value: Any, *, indent: int | None = None) -> str:
    r"""Turn a value of the core into JSON text, pure ASCII, lone surrogates kept.

    Raises:
        ValueError: If the value is nested deeper than 127 levels.

    >>> from loopmend import ToolCall
    >>> to_json(ToolCall("search", {"q": "naïve"}))
    '{"name": "search", "arguments": {"q": "na\\u00efve"}, "type": "tool_call"}'
    """
    return json.dumps(to_data(value), indent=indent, allow_nan=False)


@overload
def from_data(kind: type[T], data: object) -> T: ...
@overload
def from_data(kind: Any, data: object) -> Any: ...
def from_data(kind: Any, data: object) -> Any:
    """Build a value of `kind` (a class or a union such as `AgentAction`) from plain data.

    Raises:
        pydantic.ValidationError: If the data does not describe such a value.

    >>> from loopmend.contracts import AgentAction
    >>> from_data(AgentAction, {"type": "ask_user", "question": "Which file?"})
    AskUser(question='Which file?', type='ask_user')
    """
    return _adapter(kind).validate_python(data)


@overload
def from_json(kind: type[T], text: str) -> T: ...
@overload
def from_json(kind: Any, text: str) -> Any: ...
def from_json(kind: Any, text: str) -> Any:
    """Build a value of `kind` from the text that `to_json` wrote.

    Raises:
        ValueError: If the text is not JSON, is nested deeper than 127 levels, or does
            not describe such a value (then it is a `pydantic.ValidationError`).

    >>> from loopmend.contracts import MetaSignal
    >>> from_json(MetaSignal, '{"kind": "Thinking", "direction": "outline first"}')
    Thinking(direction='outline first', estimated_steps=None, kind='Thinking')
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    if too_deep(text):
        raise ValueError(_TOO_DEEP)
    return from_data(kind, json.loads(text))


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
