"""LangChain's messages as the core's, and the core's as LangChain's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompt_values import PromptValue

from loopmend import Ask, Done, GaveUp, Reply, StopReason
from loopmend.adapting import finish_in, written
from loopmend.mending import MadeCalls, Message, NativeCall, OnFailure, calls_made, constrained

__all__ = [
    "ENDED",
    "as_messages",
    "as_reply",
    "as_text",
    "asked_of",
    "constrained_to",
    "core_messages",
    "ended_by",
    "has_media",
    "is_users",
    "is_whole",
    "made_in",
    "mended",
    "messages_of",
    "put_together",
    "question_of",
    "reply_of",
    "reply_of_generation",
    "said_by",
    "settled",
    "text_of",
    "with_calls",
    "without_calls",
]

ENDED: Final = "loopmend_ended"
"""Where the metadata of an answer say why loopmend, not the model, ended the run."""

_BESIDE: Final = ("audio", "refusal")
_RAW_CALLS: Final = frozenset({"tool_calls", "function_call"})
_CALL_BLOCKS: Final = frozenset({"tool_use", "function_call", "tool_call", "invalid_tool_call"})
# What a conversation of words and calls says or loses nothing by.
_TEXTUAL: Final = _CALL_BLOCKS | {"text", "reasoning", "thinking", "redacted_thinking"}


def text_of(message: Any) -> str:
    """Return what a message says, without reasoning blocks."""
    if not isinstance(message, BaseMessage):
        return str(message)
    return message.content if isinstance(message.content, str) else str(message.text)


def has_media(messages: Iterable[BaseMessage]) -> bool:
    """Tell whether a conversation holds more than text, which a constrained one could not show."""
    return any(
        isinstance(block, dict) and block.get("type", "text") not in _TEXTUAL
        for message in messages
        if isinstance(message.content, list)
        for block in message.content
    )


def reply_of_generation(generation: Generation) -> Reply:
    """Return what a chain passes to a parser as the core takes it."""
    message = generation.message if isinstance(generation, ChatGeneration) else None
    if isinstance(message, AIMessage):
        return reply_of(message)
    return Reply(generation.text, finish_reason=finish_in(generation.generation_info))


def reply_of(message: BaseMessage | str) -> Reply:
    """Return a model's reply as the core takes it."""
    if not isinstance(message, AIMessage):
        return Reply(text_of(message))
    beside = message.additional_kwargs
    calls: Sequence[Any] = message.tool_calls
    broken: Sequence[Any] = message.invalid_tool_calls
    # To ask a class of pydantic's about its instances takes long, and most are none of a stream's.
    chunk = type(message) is not AIMessage and isinstance(message, AIMessageChunk)
    arrived = cast("AIMessageChunk", message).tool_call_chunks if chunk else []
    if arrived:
        # While it streams, LangChain completes arguments that were cut off.
        calls = [c for c in arrived if c["name"] and is_whole(c["args"])]
        broken = [c for c in arrived if c not in calls]
    told, content = message.response_metadata, message.content
    # Most steps come by here, so that what is not there is not looked at.
    return Reply(
        content if isinstance(content, str) else str(message.text),
        _natives(calls) if calls else (),
        _natives(broken) if broken else (),
        finish_in(told) if told else None,
        None,
        bool(beside and any(beside.get(key) for key in _BESIDE))
        or (isinstance(content, list) and has_media([message])),
    )


def _natives(calls: Iterable[Any]) -> tuple[NativeCall, ...]:
    return tuple([NativeCall(call["name"], call["args"], call["id"]) for call in calls])


def is_whole(arguments: str | None) -> bool:
    """Tell whether the text of arguments is a whole object."""
    try:
        return isinstance(json.loads(arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False


def said_by(message: BaseMessage) -> Message | Reply:
    """Return a message as the core takes it: what the model says is a reply."""
    return reply_of(message) if isinstance(message, AIMessage) else _core_message(message)


def core_messages(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return a conversation as the core takes it."""
    return list(map(_core_message, messages))


def _core_message(message: BaseMessage) -> Message:
    known: dict[str, Any] = {"name": message.name, "id": message.id}
    if isinstance(message, ToolMessage):
        # A picture is told apart from another one, and from nothing.
        text = written(message.content) if has_media([message]) else text_of(message)
        known |= {"call_id": message.tool_call_id, "failed": message.status == "error"}
        return Message("tool", text, **known)
    if isinstance(message, AIMessage):
        return Message("assistant", text_of(message), _natives(message.tool_calls), **known)
    system = isinstance(message, SystemMessage)
    return Message("system" if system else "user", text_of(message), **known)


def constrained_to(messages: Iterable[BaseMessage], step: Ask, tools: Any) -> list[BaseMessage]:
    """Return a conversation for a model that decodes by a step's schema of actions."""
    return messages_of(constrained([*core_messages(messages), *step.messages], tools))


def messages_of(messages: Iterable[Message], heard: Sequence[AIMessage] = ()) -> list[BaseMessage]:
    """Return the core's messages as LangChain's; replies that were heard keep their blocks.

    Providers insist on a model's thoughts beside its calls.
    """
    blocks = {text_of(reply): reply for reply in heard if isinstance(reply.content, list)}
    return [_message(message, blocks) for message in messages]


def _message(message: Message, blocks: dict[str, AIMessage]) -> BaseMessage:
    if message.role == "tool":
        return ToolMessage(message.content, tool_call_id=str(message.call_id), status="error")
    if message.role == "assistant":
        calls = _tool_calls(message.calls)
        known = blocks.get(message.content)
        return with_calls(known, calls) if known else AIMessage(message.content, tool_calls=calls)
    return (SystemMessage if message.role == "system" else HumanMessage)(message.content)


def _tool_calls(calls: Iterable[NativeCall]) -> list[ToolCall]:
    return [ToolCall(name=c.name, args=_arguments(c.arguments), id=c.id) for c in calls]


def _arguments(given: Any) -> dict[str, Any]:
    # LangChain's own name for the one argument of a tool that takes a text.
    return given if isinstance(given, dict) else {"__arg1": given}


def as_reply(reply: Any) -> AIMessage:
    """Return what a model of either kind replied as a message."""
    return reply if isinstance(reply, AIMessage) else AIMessage(text_of(reply))


def is_users(message: BaseMessage) -> bool:
    """Tell whether the user said it, and not LangChain in their place, as a summary is."""
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


def question_of(messages: Sequence[BaseMessage]) -> str:
    """Return what the user said last."""
    return next((text_of(m) for m in reversed(messages) if is_users(m)), "")


def made_in(
    messages: Sequence[BaseMessage], known: MadeCalls | None = None, window: int | None = None
) -> MadeCalls:
    """Return the calls since the user's last message, see `calls_made`."""
    at = next((n for n in range(len(messages) - 1, -1, -1) if is_users(messages[n])), -1)
    asked = _core_message(messages[at]) if at >= 0 else None
    return calls_made(asked, core_messages(messages[at + 1 :]), known, window)


def asked_of(
    messages: Sequence[BaseMessage], shown: Sequence[BaseMessage] | None = None
) -> dict[str, Any]:
    """Return what `Mending.start` wants to know of a conversation, of which others may be shown."""
    answered = bool(messages) and isinstance(messages[-1], ToolMessage)
    return {
        "question": question_of(messages),
        "after_tool_result": answered,
        "holds_more": has_media(messages if shown is None else shown),
        "conversation": _all_of(messages, shown or ()),
    }


def _all_of(messages: Sequence[BaseMessage], shown: Sequence[BaseMessage]) -> Iterator[Message]:
    """Yield a conversation and what else is shown; only who writes a call makes somebody look."""
    yield from map(_core_message, messages)
    known = set(map(id, messages))
    yield from (_core_message(message) for message in shown if id(message) not in known)


def mended(reply: AIMessage, done: Done) -> AIMessage:
    """Return the reply that a verdict stands for; the reply itself if it is right."""
    if done.calls is None and done.content is None:
        return reply
    return with_calls(reply, _tool_calls(done.calls or ()), done.content)


def settled(
    reply: AIMessage | None, gave_up: GaveUp, on_failure: OnFailure, error: Any = None
) -> AIMessage:
    """Return what to use after giving up, as an `on_failure` option says.

    By itself that is the last reply, without calls and with a mark for whoever reads the trace.

    Raises:
        TypeError: A function returned something else.
    """
    made = reply is None or reply.tool_calls or reply.invalid_tool_calls
    if reply is None or made or text_of(reply).strip() != gave_up.answer:
        reply = with_calls(reply or AIMessage(""), [], gave_up.answer)
    metadata = {**reply.response_metadata, ENDED: StopReason.PARSE_FAIL.value}
    marked = reply.model_copy(update={"response_metadata": metadata})
    chosen = gave_up.concluded(on_failure, marked, error)
    if not isinstance(chosen, AIMessage):
        msg = f"`on_failure` must return an AIMessage, not {type(chosen).__name__}"
        raise TypeError(msg)
    return chosen


def ended_by(reason: StopReason, answer: str) -> AIMessage:
    """Return an answer in the model's place, with a mark for whoever reads the trace."""
    return AIMessage(answer, response_metadata={ENDED: reason.value})


def without_calls(reply: AIMessage) -> AIMessage:
    """Return a reply with all it holds but its calls."""
    return with_calls(reply, [])


def with_calls(reply: AIMessage, calls: list[Any], text: str | None = None) -> AIMessage:
    """Return the reply with other calls, and without what the provider wrote about the old ones.

    Args:
        reply: The reply.
        calls: The calls.
        text: What to say instead; thoughts and whatever else it holds in blocks stay.
    """
    kept = {k: v for k, v in reply.additional_kwargs.items() if k not in _RAW_CALLS}
    return AIMessage(
        content=_saying(reply.content, text),
        tool_calls=calls,
        additional_kwargs=kept,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
        id=reply.id,
        name=reply.name,
    )


def _saying(content: Any, text: str | None) -> Any:
    """Leave out what a provider wrote about calls in the content itself; LangChain adds it anew."""
    if not isinstance(content, list):
        return content if text is None else text
    kinds = [block.get("type") if isinstance(block, dict) else "text" for block in content]
    kept = [b for b, kind in zip(content, kinds, strict=True) if kind not in _CALL_BLOCKS]
    if text is None:
        return kept
    others = [b for b in kept if isinstance(b, dict) and b.get("type") != "text"]
    return [*others, {"type": "text", "text": text}] if others and text else others or text


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
