"""Events by which more hosts tell a session: OpenHands' SDK, Copilot, Assistants, LangGraph, ADK.

Each function yields what an event says as messages; `end_of` tells how a host says that the
session ended, and `is_note` what it wrote in the user's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from loopmend.traces.readers.adk_events import error_in, is_adk_event, messages_of
from loopmend.traces.readers.endings import reason_in
from loopmend.traces.readers.parts import text_of
from loopmend.traces.readers.roles import is_tagged, role_of
from loopmend.traces.readers.values import as_list, as_map, as_text, first

__all__ = ["end_of", "is_bare_error", "is_note", "reader_of"]

Messages = Iterator[Mapping[str, Any]]
End = tuple[str, str]

_CODEX: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_COPILOT: Final = ("user.message", "assistant.", "tool.", "session.", "system.", "hook.")
_RUN: Final = {"cancelled": "cancelled", "expired": "timeout", "requires_action": "interrupted"}
_STATES: Final = {"stuck": "stuck", "paused": "interrupted"}
_CUT: Final = "[Request interrupted by user"
"""What Claude Code writes in the user's place."""
# Words that a row keeps a whole run under, and that are no node of a graph.
_WORDS: Final = frozenset(
    {"data", "values", "state", "input", "inputs", "output", "outputs", "request", "response"}
    | {"result", "channel_values", "run", "trace", "conversation", "sample", "update"}
)


def reader_of(row: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Messages] | None:
    """Return what reads an event, or none if it is no event of these hosts."""
    kind, object_ = row.get("type"), row.get("object")
    if (kind in _CODEX and "payload" in row) or "record_type" in row:
        return _nothing  # what is said in it was taken out before
    if isinstance(row.get("kind"), str) and "source" in row and "id" in row:
        return _openhands if row["kind"].endswith(("Event", "Observation")) else None
    if isinstance(kind, str) and kind.startswith(_COPILOT) and isinstance(row.get("data"), Mapping):
        return _copilot
    if isinstance(object_, str) and object_.startswith("thread."):
        return _assistants
    if is_bare_error(row):
        return _nothing
    if is_adk_event(row):
        return messages_of
    return _updates if _is_update(row) else None


def end_of(row: Mapping[str, Any]) -> End | None:
    """Return what an event tells of the end: a reason or an error."""
    payload = as_map(row.get("payload"))
    if payload.get("type") == "turn_aborted":  # Codex
        return "reason", "cancelled"
    if payload.get("type") == "error" and payload.get("message"):
        return "error", as_text(payload["message"])
    if row.get("isApiErrorMessage") is True:  # Claude Code
        return "error", f"APIError: {text_of(as_map(row.get('message')).get('content'))}"
    if _text_of(row).startswith(_CUT):
        return "reason", "cancelled"
    if "__interrupt__" in row:  # LangGraph
        return "reason", "interrupted"
    if row.get("kind") == "ConversationErrorEvent":  # OpenHands
        return "error", f"{first(row, 'code') or 'Error'}: {as_text(row.get('detail'))}"
    if row.get("key") == "execution_status" and row.get("value") in _STATES:
        return "reason", _STATES[row["value"]]
    failed = _failed_in(row)
    if failed is not None:
        return "error", failed
    return _end_of_run(row) if row.get("object") == "thread.run" else None


def is_bare_error(row: Any) -> bool:
    """Tell whether an event is an error and nothing else, as Codex writes it.

    >>> is_bare_error({"type": "error", "message": "stream disconnected"})
    True
    """
    told = as_map(row)
    message = told.get("message")
    return told.keys() == {"type", "message"} and told["type"] == "error" and type(message) is str


def _failed_in(row: Mapping[str, Any]) -> str | None:
    """Return what an event says that failed: Codex's, an older OpenHands' or ADK's."""
    if is_bare_error(row):
        return as_text(row["message"])
    seen, extras = row.get("observation"), as_map(row.get("extras"))
    if seen == "agent_state_changed" and extras.get("agent_state") == "error":
        return as_text(extras.get("reason"))
    if seen == "error" and row.get("cause") is None and "source" in row:
        return as_text(row.get("content"))  # one with a cause is a tool's result
    return error_in(row)


def _end_of_run(row: Mapping[str, Any]) -> End | None:
    told, status = as_map(row.get("last_error")), str(row.get("status"))
    if status == "failed":
        return "error", f"APIError: {as_text(told.get('code'))} {as_text(told.get('message'))}"
    if status == "incomplete":
        why = as_text(as_map(row.get("incomplete_details")).get("reason"))
        return "reason", reason_in(why) or "max_iterations"
    return ("reason", _RUN[status]) if status in _RUN else None


def is_note(row: Any, message: Any) -> bool:
    """Tell whether a host wrote a message in the user's name: its surroundings, its commands.

    >>> said = {"role": "user", "content": "<environment_context>/home</environment_context>"}
    >>> is_note({}, said), is_note({}, {"role": "user", "content": "<b>Hi.</b>"})
    (True, False)
    """
    if role_of(message) != "user":
        return False
    told = as_map(row)
    if any(told.get(key) is True for key in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return True
    text = _text_of({"message": message}).strip()
    return text.startswith((_CUT, "# AGENTS.md instructions")) or is_tagged(text)


def _text_of(row: Mapping[str, Any]) -> str:
    """Return what a row's user says, if that is all that he says."""
    message = as_map(row.get("message"))
    content = message.get("content") if message.get("role") == "user" else None
    if isinstance(content, list) and len(content) == 1:
        content = first(content[0], "text")
    return content if isinstance(content, str) else ""


def _nothing(event: Mapping[str, Any]) -> Messages:  # noqa: ARG001 - one of several
    yield from ()


def _openhands(event: Mapping[str, Any]) -> Messages:
    """Yield what the agent did, or what came of it; calls of one reply have its id."""
    kind = event["kind"]
    if kind == "MessageEvent":
        yield as_map(event.get("llm_message"))
    elif kind == "ActionEvent":
        call = as_map(event.get("tool_call"))
        call = call or {"name": event.get("tool_name"), "arguments": event.get("action")}
        call = {"id": event.get("tool_call_id"), **call, "type": "tool_call"}
        thought = {"type": "thinking", "thinking": event.get("reasoning_content")}
        parts = [thought, *as_list(event.get("thought")), call]
        yield {"role": "assistant", "id": event.get("llm_response_id"), "content": parts}
    elif event.get("tool_call_id") is not None:
        seen = as_map(event.get("observation"))
        code = seen.get("exit_code")
        failed = kind != "ObservationEvent" or seen.get("is_error") or seen.get("error") is True
        yield {
            "role": "tool",
            "tool_call_id": event["tool_call_id"],
            "name": event.get("tool_name"),
            "content": first(seen, "content", "output")
            or first(event, "error", "rejection_reason"),
            "is_error": bool(failed) or (type(code) is int and code > 0),
        }


def _copilot(event: Mapping[str, Any]) -> Messages:
    data, kind = event["data"], event["type"]
    if kind == "user.message":
        yield {"role": "user", "content": data.get("content")}
    elif kind == "assistant.message":
        calls = [
            {**as_map(c), "id": get} for c in as_list(data.get("toolRequests")) for get in _id(c)
        ]
        yield {"role": "assistant", "content": data.get("content"), "tool_calls": calls}
    elif kind == "tool.execution_complete":
        told = {key: data[key] for key in ("success", "error") if key in data}
        seen = first(as_map(data.get("result")), "content")
        yield {"role": "tool", "tool_call_id": data.get("toolCallId"), "content": seen, **told}


def _id(call: Any) -> list[Any]:
    return [first(call, "toolCallId", "id")]


def _assistants(event: Mapping[str, Any]) -> Messages:
    """Yield a message of a thread, or the calls of a step with their results."""
    if event["object"] == "thread.message":
        yield event
        return
    details = as_map(event.get("step_details"))
    made = as_map(details.get("message_creation")).get("message_id")
    if made is not None:  # the message may be there as well
        yield {"role": "assistant", "id": made, "content": [], "finish_reason": "stop"}
    asked = as_map(as_map(event.get("required_action")).get("submit_tool_outputs"))
    calls = [
        as_map(each) for each in as_list(first(details, "tool_calls") or asked.get("tool_calls"))
    ]
    if calls:
        made = [{"id": c.get("id"), **as_map(c.get(str(c.get("type"))))} for c in calls]
        named = [{"name": str(c.get("type")), **call} for c, call in zip(calls, made, strict=True)]
        yield {"role": "assistant", "tool_calls": named}
        for call in named:
            seen = first(call, "output", "outputs", "results")
            if seen is not None:
                error = as_map(event.get("last_error")).get("message")
                yield {"role": "tool", "tool_call_id": call["id"], "content": seen, "error": error}


def _is_update(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is what nodes of a graph of LangGraph's added: no user speaks in it."""
    if "__interrupt__" in row and len(row) == 1:
        return True
    if not row or len(row) > _MOST_NODES or not _WORDS.isdisjoint(row):
        return False
    held = [as_list(as_map(each).get("messages")) for each in row.values()]
    spoken = [role_of(message) for messages in held for message in messages]
    return all(held) and all(role in ("assistant", "tool") for role in spoken)


_MOST_NODES: Final = 20


def _updates(event: Mapping[str, Any]) -> Messages:
    for held in event.values():
        yield from as_list(as_map(held).get("messages"))
