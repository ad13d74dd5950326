"""Replies made anew: with other calls, without any, or as a refused one is shown again."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolCall,
    ToolMessage,
)

from langchain_loopmend.messages import text_of
from loopmend import Failure
from loopmend import ToolCall as CoreCall
from loopmend.words import gave_up

__all__ = ["feedback", "have_ids", "saying_why", "with_calls", "without_calls"]

_SAME: Final = "same"
_NOT_RUN: Final = "Not run, because another call of the same reply could not be used."
_RAW_CALLS: Final = frozenset({"tool_calls", "function_call"})
_CALL_BLOCKS: Final = frozenset({"tool_use", "function_call", "tool_call", "invalid_tool_call"})


def have_ids(calls: Sequence[ToolCall]) -> bool:
    """Tell whether each call has an id of its own; small servers leave them out."""
    ids = {call["id"] for call in calls if call["id"]}
    return len(ids) == len(calls)


def with_calls(reply: AIMessage, calls: list[CoreCall], content: Any) -> AIMessage:
    """Return the reply with these calls; ids are kept where there are any."""
    known = [call["id"] for call in (*reply.tool_calls, *reply.invalid_tool_calls)]
    ids: list[str] = []
    for at in range(len(calls)):
        id = known[at] if at < len(known) else None
        ids.append(f"call_{uuid.uuid4().hex}" if not id or id in ids else id)
    pairs = zip(calls, ids, strict=True)
    made = [ToolCall(name=call.name, args=_arguments(call), id=id) for call, id in pairs]
    return _replaced(reply, content, made)


def _arguments(call: CoreCall) -> dict[str, Any]:
    # LangChain's own name for the one argument of a tool that takes a text.
    return call.arguments if isinstance(call.arguments, dict) else {"__arg1": call.arguments}


def _replaced(
    reply: AIMessage, content: Any, calls: list[ToolCall], *, id: str | None = _SAME
) -> AIMessage:
    """Return the reply with other calls, and without what the provider wrote about the old ones."""
    kept = {k: v for k, v in reply.additional_kwargs.items() if k not in _RAW_CALLS}
    return AIMessage(
        content=_without_blocks(content),
        tool_calls=calls,
        additional_kwargs=kept,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
        id=reply.id if id is _SAME else id,
        name=reply.name,
    )


def _without_blocks(content: Any) -> Any:
    """Leave out what a provider wrote about calls in the content itself; LangChain adds it anew."""
    if not isinstance(content, list):
        return content
    return [b for b in content if not isinstance(b, dict) or b.get("type") not in _CALL_BLOCKS]


def saying_why(reply: AIMessage, failure: Failure) -> AIMessage:
    """Return what was said, without calls that must not be run."""
    said = text_of(reply).strip()
    return _replaced(reply, said or gave_up(failure.message), [])


def without_calls(reply: AIMessage) -> AIMessage:
    """Return a reply with all it holds but its calls."""
    return _replaced(reply, reply.content, [])


def feedback(reply: AIMessage | Exception, failure: Failure, words: str) -> list[BaseMessage]:
    """Return the refused reply and an answer to each of its calls, or the correction alone."""
    if isinstance(reply, Exception):
        return [HumanMessage(words)]
    calls = _shown_calls(reply)
    if not calls:
        said = text_of(reply).strip()
        return [*([AIMessage(said)] if said else []), HumanMessage(words)]
    return [_replaced(reply, reply.content, calls, id=None), *_answers(calls, failure, words)]


def _shown_calls(reply: AIMessage) -> list[ToolCall]:
    """Return the calls as the model is shown them: each id once, and arguments that are JSON.

    Calls without an id cannot be answered, so they are not shown.
    """
    shown: dict[str, ToolCall] = {}
    for call in reply.tool_calls:
        if call["id"]:
            shown.setdefault(call["id"], call)
    for broken in reply.invalid_tool_calls:
        if broken["id"]:
            made = ToolCall(name=broken["name"] or "unknown", args={}, id=broken["id"])
            shown.setdefault(broken["id"], made)
    return list(shown.values())


def _answers(calls: Sequence[ToolCall], failure: Failure, words: str) -> list[BaseMessage]:
    """Answer each call once: the one at fault with the correction, the others in short."""
    named = next((call for call in calls if call["name"] == failure.tool), None)
    at_fault = calls[0] if named is None and len(calls) == 1 else named
    answers: list[BaseMessage] = [
        ToolMessage(
            words if call is at_fault else _NOT_RUN,
            tool_call_id=str(call["id"]),
            name=call["name"],
            status="error",
        )
        for call in calls
    ]
    return answers if at_fault is not None else [*answers, HumanMessage(words)]
