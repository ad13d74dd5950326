"""LangChain's messages as the core reads them."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompt_values import PromptValue

from loopmend import ReadingConfig, Turn, read_response
from loopmend.reading.response import Protocol
from loopmend.reading.tools import Toolbox

__all__ = [
    "as_messages",
    "as_text",
    "finish_reason",
    "has_other_content",
    "is_whole",
    "put_together",
    "read_generation",
    "read_message",
    "text_of",
]

_REASONS: Final = ("finish_reason", "stop_reason", "done_reason")
_BESIDE: Final = ("audio", "refusal")
_TEXTUAL: Final = frozenset({"text", "reasoning", "thinking", "redacted_thinking", "tool_use"})


def text_of(message: BaseMessage | str) -> str:
    """Return what a message says, without reasoning blocks."""
    return message if isinstance(message, str) else str(message.text)


def finish_reason(info: dict[str, Any] | None) -> str | None:
    """Return why the provider stopped, under whatever name it says so."""
    found = (info[name] for name in _REASONS if info and isinstance(info.get(name), str))
    return next(found, None)


def has_other_content(message: AIMessage) -> bool:
    """Tell whether a message holds more than words and calls, such as an image or a refusal."""
    if any(message.additional_kwargs.get(key) for key in _BESIDE):
        return True
    blocks = message.content if isinstance(message.content, list) else []
    return any(isinstance(b, dict) and b.get("type", "text") not in _TEXTUAL for b in blocks)


def read_generation(
    generation: Generation, tools: Toolbox | None, config: ReadingConfig
) -> tuple[str, Turn]:
    """Read what a chain passes to a parser; calls in the text are what was asked for."""
    message = generation.message if isinstance(generation, ChatGeneration) else None
    if isinstance(message, AIMessage):
        return text_of(message), read_message(message, tools, config, "text")
    text = generation.text
    reason = finish_reason(generation.generation_info)
    return text, read_response(
        text, finish_reason=reason, tools=tools, protocol="text", config=config
    )


def read_message(
    message: AIMessage, tools: Toolbox | None, config: ReadingConfig, protocol: Protocol
) -> Turn:
    """Read a chat model's reply."""
    calls, broken = _calls(message)
    return read_response(
        text_of(message),
        calls=calls,
        broken_calls=broken,
        finish_reason=finish_reason(message.response_metadata),
        tools=tools,
        protocol=protocol,
        config=config,
    )


def _calls(message: AIMessage) -> tuple[list[Any], list[Any]]:
    """Return the calls that are whole, and those that are not.

    While it streams, LangChain completes arguments that were cut off, so for a message that
    was put together from chunks what really arrived is looked at.
    """
    if isinstance(message, AIMessageChunk) and message.tool_call_chunks:
        chunks: list[Any] = list(message.tool_call_chunks)
        whole = [bool(chunk["name"]) and is_whole(chunk["args"]) for chunk in chunks]
        calls = [c for c, ok in zip(chunks, whole, strict=True) if ok]
        return calls, [c for c, ok in zip(chunks, whole, strict=True) if not ok]
    return list(message.tool_calls), list(message.invalid_tool_calls)


def is_whole(arguments: str | None) -> bool:
    """Tell whether the text of arguments is a whole object."""
    try:
        return isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False


def as_messages(input: LanguageModelInput) -> list[BaseMessage]:
    """Return what a model is asked as messages."""
    if isinstance(input, str):
        return [HumanMessage(input)]
    return list(
        input.to_messages() if isinstance(input, PromptValue) else convert_to_messages(input)
    )


def as_text(input: LanguageModelInput) -> str:
    """Return what a model is asked as one text."""
    if isinstance(input, str):
        return input
    if isinstance(input, PromptValue):
        return input.to_string()
    return "\n\n".join(text_of(message) for message in convert_to_messages(input))


def put_together(chunks: list[Any]) -> str | BaseMessage:
    """Put a stream together."""
    if not chunks or isinstance(chunks[0], str):
        return "".join(chunks)
    first, *rest = chunks
    return cast("BaseMessage", first + rest if rest else first)
