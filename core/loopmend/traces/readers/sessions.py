"""Sessions as their hosts stream them, an event a line: what was said, and how it ended.

Claude Code's `stream-json` and its session files, Codex's `exec --json`, OpenHands' and AG-UI's
events, Letta's messages, and LangChain's `astream_events`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from loopmend.traces.readers.conversation import read_messages
from loopmend.traces.readers.endings import reason_in
from loopmend.traces.readers.host_events import end_of, is_bare_error, is_note, reader_of
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.spans import error_of
from loopmend.traces.readers.talk import joined, logged_in
from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, first
from loopmend.traces.trace import Trace

__all__ = ["events_in", "is_event", "is_silent", "read_session", "session_of"]

Messages = Iterator[Mapping[str, Any]]
_UNNAMED: Final = ("error", "")
"""An error that its host does not name: one that was told before it does."""

_SAYS_NOTHING: Final = (
    *("system", "result", "summary", "session", "queue-operation", "progress"),
    "file-history-snapshot",
)
_NOTED: Final = frozenset({"leafUuid", "snapshot"})
_CODEX: Final = ("thread.", "turn.", "item.")
_SESSION: Final = ("session_id", "sessionId")
# What OpenHands notes beside what the agent does and sees.
_NOTES: Final = frozenset({"message", "system", "recall", "think", "change_agent_state", "null"})
_PIECES: Final = ("TEXT_MESSAGE_", "TOOL_CALL_")
_AG_UI: Final = (*_PIECES, "RUN_", "STEP_")
_PLACED: Final = frozenset({"messageId", "toolCallId", "runId", "threadId", "stepName", "message"})
_LETTA: Final = {
    "user_message": "user",
    "system_message": "system",
    "reasoning_message": "assistant",
    "assistant_message": "assistant",
    "tool_call_message": "assistant",
    "tool_return_message": "tool",
}
_DOINGS: Final = ({"action", "args"}, {"observation", "content"})
_KEPT: Final = ("history", "events", "trajectory", "data")
_RESULTS: Final = ("aggregated_output", "result", "changes", "output")


def is_event(row: Any) -> bool:
    """Tell whether a row is an event of a session.

    >>> is_event({"type": "turn.completed"}), is_event({"type": "text", "text": "Hi."})
    (True, False)
    """
    return logged_in(row) is not None or _reader_of(row) is not None


def events_in(value: Any) -> list[Any]:
    """Return the events that a row keeps of its run, or none."""
    listed = (as_list(as_map(value).get(key)) for key in _KEPT)
    # OpenHands kept what was done and what was seen of it as pairs.
    flat = (
        [one for each in held for one in (each if type(each) is list else [each])]
        for held in listed
    )
    return next((each for each in flat if each and all(map(is_event, each))), [])


def is_silent(row: Any) -> bool:
    """Tell whether an event only notes something beside what is said.

    >>> is_silent({"type": "summary", "summary": "A chat.", "leafUuid": "1"})
    True
    """
    told_by = _reader_of(row)
    silent = told_by is not None and logged_in(row) is None and _end_in(row) is None
    return silent and not any(True for _ in told_by(row))  # type: ignore[misc]


def session_of(row: Any) -> str:
    """Return the session that an event belongs to; what works aside has its own."""
    told = as_map(row)
    aside = " (aside)" if told.get("isSidechain") else ""
    thread = told.get("thread_id") if "object" in told else None
    return f"{first(told, 'sessionId', 'session_id') or thread or ''}{aside}"


def read_session(rows: Iterable[Any], options: ReadOptions) -> Trace:
    """Read the events of one session into a trace.

    >>> said = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    >>> read_session([said, {"type": "turn.completed"}], ReadOptions()).answer
    'Done.'
    """
    said: list[Any] = []
    end: tuple[str, str] | None = None
    rows = list(rows)
    for row in _whole(_in_time(rows)):
        inner, told_by = logged_in(row), _reader_of(row)
        new = [inner or row] if told_by is None or inner is not None else [*told_by(as_map(row))]
        new = [each for each in new if not is_note(row, each)]
        # What is followed by more was not the end.
        told = _end_in(row)
        named = told == _UNNAMED and end is not None and end[0] == "error"
        end = end if named else told or (None if new else end)
        said += new
    trace = read_messages(joined(said), options)
    if not said and (end is None or all(map(is_bare_error, rows))):
        return replace(trace, unreadable=trace.framework)
    return _ended(trace, end)


def _in_time(rows: list[Any]) -> list[Any]:
    """Return rows in the order of time: OpenAI lists the newest one first."""
    times = [as_map(row).get("created_at") for row in rows]
    if all(type(time) is int for time in times) and "object" in as_map(rows[0] if rows else None):
        return sorted(rows, key=lambda row: int(row["created_at"]))
    return rows


def _whole(rows: Iterable[Any]) -> Iterator[Any]:
    """Yield events, of AG-UI's those that come in pieces as one message each."""
    open_ones: dict[str, dict[str, Any]] = {}
    for row in rows:
        kind = as_map(row).get("type")
        if not (isinstance(kind, str) and kind.startswith(_PIECES)):
            if isinstance(kind, str) and kind.startswith("RUN_"):  # no piece comes after it
                yield from open_ones.values()
                open_ones.clear()
            yield row
            continue
        id, piece = as_text(first(row, "toolCallId", "messageId")), as_text(row.get("delta"))
        if kind.endswith("_START"):
            call = {"id": id, "name": row.get("toolCallName"), "arguments": ""}
            made = {"tool_calls": [call]} if "toolCallId" in row else {}
            open_ones[id] = {"role": "assistant", "content": "", **made}
        elif kind.endswith("_RESULT"):
            yield {"role": "tool", "tool_call_id": id, "content": row.get("content")}
        elif kind.endswith("_END"):
            yield open_ones.pop(id, None)
        elif id in open_ones:
            calls = open_ones[id].get("tool_calls")
            held, key = (calls[0], "arguments") if calls else (open_ones[id], "content")
            held[key] += piece
    yield from open_ones.values()


def _ended(trace: Trace, end: tuple[str, str] | None) -> Trace:
    """Return a trace with the end that its host tells."""
    if end is None:
        return trace
    kind, told = end
    if kind == "reason":
        return replace(trace, reason=told, answer=None)
    if kind == "error":
        return replace(trace, error=error_of(told, "unknown"), answer=None)
    return replace(trace, answer=trace.answer or told or None)


def _end_in(row: Any) -> tuple[str, str] | None:
    """Return what an event tells of the end: a reason, an error, or an answer."""
    told = as_map(row)
    kind = told.get("type")
    end = end_of(told)
    if end is not None:
        return end
    if kind == "result":  # Claude Code
        reason = reason_in(told.get("subtype"))
        if reason is not None:
            return "reason", reason
        said = as_text(told.get("result")) or "\n".join(map(as_text, as_list(told.get("errors"))))
        failed = told.get("is_error") is True
        return ("error", said or as_text(told.get("subtype"))) if failed else ("answer", said)
    if kind == "turn.completed":  # Codex got over the errors before it
        return "answer", ""
    if kind in ("turn.failed", "RUN_ERROR"):  # Codex, AG-UI
        said = as_text(as_map(told.get("error")).get("message") or told.get("message"))
        return ("error", said) if said else None
    return None


def _reader_of(row: Any) -> Callable[[Mapping[str, Any]], Messages] | None:
    """Return what reads an event, or none if it is no event that is known."""
    if not isinstance(row, Mapping):
        return None
    kind = row.get("type")
    if isinstance(kind, str) and kind.startswith(_CODEX):
        return _codex
    if isinstance(kind, str) and kind.startswith(_AG_UI) and not _PLACED.isdisjoint(row):
        return _nothing  # put together before
    placed = not _NOTED.isdisjoint(row) or first(row, *_SESSION, "cwd") is not None
    if kind in _SAYS_NOTHING and placed:
        return _nothing
    if row.get("message_type") in _LETTA:
        return _letta
    if {"id", "source"} <= row.keys() and any(each <= row.keys() for each in _DOINGS):
        return _openhands
    told_by = reader_of(row)
    if told_by is not None:
        return told_by
    streams = "run_id" in row and isinstance(row.get("data"), Mapping)
    if streams and str(row.get("event")).startswith("on_"):
        return _streamed
    return None


def _nothing(event: Mapping[str, Any]) -> Messages:  # noqa: ARG001 - one of several
    yield from ()


def _codex(event: Mapping[str, Any]) -> Messages:
    """Yield a command, or another piece of work, with what it returned when it is done."""
    item = as_map(event.get("item"))
    kind = first(item, "type", "item_type")
    if event.get("type") != "item.completed" or not isinstance(kind, str):
        return
    if kind in ("agent_message", "assistant_message"):
        yield {"role": "assistant", "content": item.get("text")}
    elif any(key in item for key in _RESULTS) or kind == "web_search":
        id = as_text(item.get("id"))
        given = first(item, "arguments", "command", "changes", "query")
        name = as_text(first(item, "tool") or kind)
        yield {"role": "assistant", "tool_calls": [{"id": id, "name": name, "arguments": given}]}
        returned = first(item, *_RESULTS)
        returned = as_map(returned).get("content") or returned
        yield {"role": "tool", "tool_call_id": id, "content": returned} | {
            key: item[key] for key in ("status", "error") if key in item
        }


def _openhands(event: Mapping[str, Any]) -> Messages:
    """Yield what the agent did, or what it saw of what it did."""
    given, action = as_map(event.get("args")), event.get("action")
    if event.get("observation") is not None:
        if event.get("cause") is not None and event["observation"] not in _NOTES:
            failed = event["observation"] == "error"
            yield {
                "role": "tool",
                "tool_call_id": f"event {event['cause']}",
                "content": event.get("content"),
                "is_error": failed,
            }
        return
    said = as_text(first(given, "content", "thought", "final_thought"))
    role = "user" if event.get("source") == "user" else "assistant"
    call = {"id": f"event {event['id']}", "name": action}
    if action == "finish":
        yield {"role": role, "tool_calls": [{**call, "arguments": {"answer": said}}]}
    elif action == "message":
        yield {"role": role, "content": said}
    elif action not in _NOTES and role == "assistant":
        rest = {key: held for key, held in given.items() if key != "thought"}
        yield {"role": role, "content": said, "tool_calls": [{**call, "arguments": rest}]}


def _letta(event: Mapping[str, Any]) -> Messages:
    """Yield a message; a thought belongs to what follows it, under the same id."""
    told, role = event["message_type"], _LETTA[event["message_type"]]
    if told == "reasoning_message":
        part = {"type": "thinking", "thinking": event.get("reasoning")}
        yield {"role": role, "id": event.get("id"), "content": [part]}
    elif told == "tool_call_message":
        part = {"type": "tool_call", **as_map(event.get("tool_call"))}
        yield {"role": role, "id": event.get("id"), "content": [part]}
    elif told == "tool_return_message":
        keys = ("tool_call_id", "status")
        yield {"role": role, "content": event.get("tool_return"), **{k: event.get(k) for k in keys}}
    else:
        part = {"type": "text", "text": event.get("content")}
        yield {"role": role, "id": event.get("id"), "content": [part]}


def _streamed(event: Mapping[str, Any]) -> Messages:
    """Yield what a model or a tool of LangChain's returned, and what the outermost run got."""
    data, kind = as_map(event.get("data")), event["event"]
    if kind in ("on_chat_model_end", "on_llm_end"):
        yield {"role": "assistant", **as_map(decoded(data.get("output")))}
    elif kind in ("on_tool_end", "on_tool_error"):
        returned = data.get("output")
        whole = dict(returned) if isinstance(returned, Mapping) else {"content": returned}
        told = {"error": as_text(data["error"])} if data.get("error") is not None else {}
        yield {**whole, "role": "tool", "name": event.get("name"), **told}
    elif kind == "on_chain_start" and not event.get("parent_ids"):
        given = data.get("input")
        yield from as_list(as_map(given).get("messages")) or [{"role": "user", "content": given}]
