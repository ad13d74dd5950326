"""Calls that came outside the text, in the shapes of the common clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopmend.reading.found import Call, Found

__all__ = ["read_native"]


def read_native(calls: Sequence[Any], length: int) -> Found:
    """Read OpenAI's, LangChain's and LlamaIndex's calls, as dicts or objects."""
    span = (length, length)
    return Found(span, [Call(*_named(call), span) for call in calls])


def _named(call: Any) -> tuple[str, Any]:
    inner = _get(call, "function")
    if inner is not None and not isinstance(inner, str):
        call = inner
    name = _first(call, "name", "tool_name")
    arguments = _first(call, "args", "arguments", "tool_kwargs", "input")
    if not isinstance(name, str):
        msg = f"a native call needs a name: {call!r:.200}"
        raise TypeError(msg)
    return name, {} if arguments is None or arguments == "" else arguments


def _get(call: Any, key: str) -> Any:
    return call.get(key) if isinstance(call, Mapping) else getattr(call, key, None)


def _first(call: Any, *keys: str) -> Any:
    return next((found for key in keys if (found := _get(call, key)) is not None), None)
