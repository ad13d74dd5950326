"""Exceptions that say that a call could not be decoded, or that a schema is not taken."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_protocol_error", "refuses_schema"]

_PROTOCOL_ERROR: Final = re.compile(
    r"error parsing tool call|failed to parse tool call|tool_use_failed|malformed.function.call",
    re.IGNORECASE,
)
_SCHEMA: Final = re.compile(
    r"response_?format|json[_ ]?schema|structured.?output|output_(?:format|config)|response_?schema"
    r"|guided_json|extra inputs|argument '?format"
    r"|(?:invalid|unsupported) (?:format|schema|grammar)",
    re.IGNORECASE,
)
_REFUSED: Final = frozenset({400, 404, 415, 422, 501})
_LONGEST: Final = 2000


def is_protocol_error(error: Exception) -> bool:
    """Tell whether an exception only says that the model's call could not be decoded.

    Some servers and clients then raise instead of returning the reply: Ollama and Groq say
    so in words, and langchain-openai fails to validate arguments that are no object.

    >>> is_protocol_error(ValueError("error parsing tool call: raw='{'"))
    True
    """
    if _is_interrupt(error):
        return False
    if _PROTOCOL_ERROR.search(str(error)[:_LONGEST]):
        return True
    title = getattr(error, "title", None)  # pydantic's, without importing it
    return isinstance(error, ValueError) and title in ("AIMessage", "AIMessageChunk")


def refuses_schema(error: Exception) -> bool:
    """Tell whether a provider or a client refuses a request that holds a JSON schema.

    A status that refuses the request is enough: loopmend tries once more without the schema.

    >>> refuses_schema(TypeError("create() got an unexpected keyword argument 'response_format'"))
    True
    """
    if _is_interrupt(error):
        return False
    response = getattr(error, "response", None)
    statuses = (
        getattr(error, "status_code", None),
        getattr(error, "code", None),
        getattr(response, "status_code", None),
    )
    return any(status in _REFUSED for status in statuses if isinstance(status, int)) or (
        _SCHEMA.search(str(error)[:_LONGEST]) is not None
    )


def _is_interrupt(error: Exception) -> bool:
    """Tell whether an exception is how LangGraph interrupts a run, whatever it says."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)
