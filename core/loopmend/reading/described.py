"""Calls that a decoded value describes, under the many names that models give the parts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Union

from loopmend.reading.found import Call
from loopmend.reading.lenient import LenientError
from loopmend.reading.payloads import Value, decode_value
from loopmend.reading.tools import Toolbox

__all__ = ["Answered", "calls_in"]

_NAMES: Final = (
    *("name", "tool_name", "tool", "function_name", "function"),
    *("action", "func", "recipient_name"),
)
_ARGUMENTS: Final = (
    *("arguments", "args", "parameters", "params", "action_input", "tool_input", "input"),
    *("kwargs", "tool_args", "tool_arguments", "Arguments", "argument"),
)
_LISTS: Final = ("tool_calls", "calls", "tools", "function_calls", "actions", "tool_uses")
_WRAPPERS: Final = ("tool_call", "function_call", "response", "call", "tool_use", "function")
_FINAL_NAMES: Final = frozenset(
    {"final answer", "final_answer", "finish", "respond", "final", "answer"}
)
_ANSWERS: Final = (
    *("content", "answer", "response", "message", "output", "text", "final_answer"),
    *("input", "action_input", "result"),
)
_NOT_ARGUMENTS: Final = frozenset({"type", "id", "tool_call_id", "index"})
_MAX_WRAPPERS: Final = 6
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer or a question in the shape of a call."""

    text: str
    question: bool = False


_Result = Union[list[Call], Answered, None]


def calls_in(found: Value, tools: Toolbox | None, *, marked: bool = False) -> _Result:
    """Return the calls, or the answer, that a decoded value describes.

    Args:
        found: The value.
        tools: What is on offer, if known.
        marked: Whether markup around the value says that it is a call.
    """
    return _Description(found, tools).read(found.value, marked=marked)


class _Description:
    def __init__(self, found: Value, tools: Toolbox | None) -> None:
        self.span = (found.start, found.end)
        self.torn = found.torn
        self.tools = tools
        self.depth = 0

    def read(self, value: Any, *, marked: bool) -> _Result:
        """Read a value, through its wrappers."""
        self.depth += 1
        if self.depth > _MAX_WRAPPERS:
            return None
        try:
            if isinstance(value, str):
                return self._encoded(value, marked=marked)
            if isinstance(value, list):
                return self._listed(value, marked=marked)
            return self._object(value, marked=marked) if isinstance(value, dict) else None
        finally:
            self.depth -= 1

    def _object(self, value: dict[str, Any], *, marked: bool) -> _Result:
        for key in _LISTS:
            if isinstance(value.get(key), list) and (
                found := self._listed(value[key], marked=True)
            ):
                return found
        return (
            self._typed(value)
            or self._named(value, marked=marked)
            or self._wrapped(value, marked=marked)
        )

    def _typed(self, value: dict[str, Any]) -> _Result:
        """Read the contract's form with other field names, or a tool's name as the type."""
        kind = value.get("type")
        if not isinstance(kind, str):
            return None
        if kind in ("final", "ask_user"):
            keys = ("question", *_ANSWERS) if kind == "ask_user" else _ANSWERS
            text = next((value[key] for key in keys if isinstance(value.get(key), str)), None)
            return None if text is None else Answered(text, question=kind == "ask_user")
        if not self._knows(kind) or any(key in value for key in _NAMES):
            return None
        key = next((key for key in _ARGUMENTS if key in value), None)
        rest = {name: item for name, item in value.items() if name != "type"}
        return [self._call(kind, rest if key is None else value[key])]

    def _named(self, value: dict[str, Any], *, marked: bool) -> _Result:
        name_key = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
        if name_key is None or not value[name_key].strip():
            return None
        name = value[name_key]
        key = next((key for key in _ARGUMENTS if key in value and key != name_key), None)
        if key is None:
            rest = value.keys() - _NOT_ARGUMENTS - {name_key}
            return [self._call(name, {})] if marked and not rest else None
        answer = self._final_answer(name, value[key])
        return Answered(answer) if answer is not None else [self._call(name, value[key])]

    def _call(self, name: str, arguments: Any) -> Call:
        return Call(name, arguments, self.span, torn=self.torn)

    def _final_answer(self, name: str, arguments: Any) -> str | None:
        """Return the answer if the name means that this is one and no tool has it."""
        plain = name.strip().lower()
        if plain not in _FINAL_NAMES or (plain != "final answer" and self._knows(name)):
            return None
        if isinstance(arguments, dict) and len(arguments) == 1:
            key, only = next(iter(arguments.items()))
            if isinstance(only, str) and key in _ANSWERS:
                return only
        if isinstance(arguments, str):
            return arguments
        if plain != "final answer":
            return None
        # Whatever stands beside these words is the answer, text or not.
        return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)

    def _knows(self, name: str) -> bool:
        return self.tools is not None and self.tools.find(name)[0] is not None

    def _wrapped(self, value: dict[str, Any], *, marked: bool) -> _Result:
        for key in _WRAPPERS:
            inner = value.get(key)
            if isinstance(inner, str) and key == "tool_call":
                arguments: Any = next((value[k] for k in _ARGUMENTS if k in value), {})
                return [self._call(inner, arguments)]
            if isinstance(inner, dict) and (found := self.read(inner, marked=True)):
                return found
            if isinstance(inner, str) and (found := self._encoded(inner, marked=marked)):
                return found
        if len(value) == 1:
            name, arguments = next(iter(value.items()))
            nameless = name in _WRAPPERS or self.tools is not None
            believed = self._knows(name) or (marked and not nameless)
            if isinstance(arguments, dict) and believed:
                return [self._call(name, arguments)]
        return None

    def _listed(self, value: list[Any], *, marked: bool) -> _Result:
        if len(value) == _PAIR and isinstance(value[0], str) and isinstance(value[1], dict):
            return [self._call(value[0], value[1])] if self._knows(value[0]) else None
        calls: list[Call] = []
        for item in value:
            found = self.read(item, marked=marked)
            if isinstance(found, Answered) and len(value) == 1:
                return found
            if not isinstance(found, list):
                return None
            calls += found
        return calls or None

    def _encoded(self, value: str, *, marked: bool) -> _Result:
        text = value.strip()
        if not text.startswith(("{", "[")):
            return None
        try:
            inner = decode_value(text, 0)
        except LenientError:
            return None
        return None if inner.torn else self.read(inner.value, marked=marked)
