"""The events of a session of Google's ADK: what was said, what changed, and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from loopmend.reading.response import is_cut, is_declined
from loopmend.traces.readers.values import as_map, as_text, first

__all__ = ["error_in", "is_adk_event", "messages_of"]

_ADK: Final = frozenset({"invocationId", "invocation_id", "errorCode", "error_code"})


def is_adk_event(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is an event: somebody's words, or what an invocation did without any.

    >>> is_adk_event({"author": "agent", "invocationId": "i", "actions": {}})
    True
    """
    if not isinstance(row.get("author"), str) or "role" in row:
        return False
    content = row.get("content")
    known = content is None or isinstance(content, Mapping)
    return "parts" in as_map(content) or (known and not _ADK.isdisjoint(row))


def messages_of(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what an event says; a reply that its provider withheld has no words but a reason."""
    code = _code(event)
    if as_map(event.get("content")).get("parts"):
        yield event
    elif is_cut(code) or is_declined(code):
        yield {"role": "model", "parts": [], "finishReason": code}


def error_in(event: Mapping[str, Any]) -> str | None:
    """Return what failed, if an event says that something did.

    >>> error_in({"author": "agent", "errorCode": "503", "errorMessage": "try later"})
    '503: try later'
    """
    code = _code(event)
    if not (code and is_adk_event(event)) or is_cut(code) or is_declined(code):
        return None
    message = as_text(first(event, "errorMessage", "error_message"))
    return f"{code}: {message}" if message else code


def _code(event: Mapping[str, Any]) -> str:
    return as_text(first(event, "errorCode", "error_code"))
