"""Calls that came outside the text, in the shapes of the common clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.turn import Failure, FailurePattern
from loopmend.reading.written_calls import Call

__all__ = ["name_of", "native_calls_in"]


def native_calls_in(calls: Sequence[Any], length: int) -> tuple[list[Call], Failure | None]:
    """Read OpenAI's, LangChain's and LlamaIndex's calls, and why one cannot be read."""
    span = (length, length)
    found = [_decoded(Call(*_named(call), span)) for call in calls]
    return found, next((fault for call in found if (fault := _fault(call)) is not None), None)


def _decoded(call: Call) -> Call:
    """Return a call whose arguments came as text that is a value, but no object, with that value.

    Its quotes and brackets are no part of what a tool gets. Nothing stands for no arguments.
    """
    text = call.arguments.strip() if isinstance(call.arguments, str) else ""
    if not text or text[0] == "{":
        return call
    try:
        value = decode_value(text, 0)
    except LenientError:
        return call
    whole = not value.torn and value.end == len(text)
    quoted = isinstance(value.value, str) and text[0] in "\"'"
    if not whole or (isinstance(value.value, str) and not quoted):
        return call
    nothing = value.value is None or value.value == ""
    return replace(call, arguments={} if nothing else value.value)


def _fault(call: Call) -> Failure | None:
    """Return why arguments that came as text are no whole object, if they start like one."""
    if not isinstance(call.arguments, (str, list, Mapping)):
        message = f"The arguments of `{call.name[:80]}` are not an object."
        return Failure(FailurePattern.MALFORMED, message, call.span, call.name)
    text = call.arguments.strip() if isinstance(call.arguments, str) else ""
    if not text.startswith(("{", "[")):
        return None
    try:
        value = decode_value(text, 0)
    except LenientError:
        message = f"The arguments of `{call.name[:80]}` cannot be parsed."
        return Failure(FailurePattern.MALFORMED, message, call.span, call.name)
    if value.torn:
        message = f"The arguments of `{call.name[:80]}` are truncated or malformed."
        return Failure(FailurePattern.TRUNCATED, message, call.span, call.name)
    if text[value.end :].strip():
        message = f"There is extra text after the arguments of `{call.name[:80]}`."
        return Failure(FailurePattern.MALFORMED, message, call.span, call.name)
    return None


def name_of(call: Any) -> Any:
    """Return the name in a call, whatever it is."""
    return _first(_inner(call), "name", "tool_name")


def _inner(call: Any) -> Any:
    inner = _get(call, "function")
    return call if inner is None or isinstance(inner, str) else inner


def _named(call: Any) -> tuple[str, Any]:
    name = name_of(call)
    call = _inner(call)
    arguments = _first(call, "args", "arguments", "tool_kwargs", "input")
    if not isinstance(name, str):
        msg = f"a native call needs a name: {call!r:.200}"
        raise TypeError(msg)
    if isinstance(arguments, Mapping) and not all(isinstance(key, str) for key in arguments):
        arguments = {str(key): value for key, value in arguments.items()}
    return name, {} if arguments is None or arguments == "" else arguments


def _get(call: Any, key: str) -> Any:
    return call.get(key) if isinstance(call, Mapping) else getattr(call, key, None)


def _first(call: Any, *keys: str) -> Any:
    return next((found for key in keys if (found := _get(call, key)) is not None), None)
