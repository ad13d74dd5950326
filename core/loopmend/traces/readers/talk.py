"""Conversations in whatever rows, requests and logs keep them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loopmend.traces.readers.kept_steps import steps_in
from loopmend.traces.readers.messages import is_message, messages_in
from loopmend.traces.readers.roles import speaks
from loopmend.traces.readers.values import as_list, as_map, blocks, decoded, finish_in

__all__ = ["REPLIES", "is_talk", "joined", "latest_in", "logged_in", "talk_in"]

_TALKS: Final = (
    "messages",
    "conversations",
    "chat_messages",
    "conversation",
    "traj",
    "contents",
    "history",
    "turns",
    "trajectory",
    "steps",
    "entries",
)
# What a row may keep a run in, besides the run itself.
_AROUND: Final = (
    "data",
    "values",
    "channel_values",
    "state",
    "request",
    "request_body",
    "result",
    "input",
    "inputs",
)
REPLIES: Final = (
    *("response", "completion", "output", "outputs", "result", "response_body", "message"),
    "request_response",
)
"""What a row may keep a reply in."""
_INSIDE: Final = ("body", "outputBodyJson", "output", "message")
"""What a client or a batch wraps a reply in."""
_DEEPEST: Final = 3
_MOST_KEYS: Final = 100
"""A row has fewer keys; what has more holds runs under their names."""
# What a session's log wraps each message in: Claude Code, Codex.
_LOGGED: Final = ("message", "payload")


def is_talk(value: Any) -> bool:
    """Tell whether a value is a whole conversation, or keeps one."""
    if isinstance(value, list):
        said = all(is_message(each) or speaks(each) for each in value)
        said = said and any(map(is_message, value))
        return bool(value) and (said or bool(steps_in({"steps": value})))
    return isinstance(value, Mapping) and talk_in(value) is not None


def latest_in(value: Any) -> Any:
    """Return the latest state of each thread, if a value lists LangGraph's states of threads.

    >>> states = [{"values": {}, "next": [], "config": {}, "metadata": {"step": n}} for n in (1, 0)]
    >>> len(latest_in(states)), latest_in([1])
    (1, [1])
    """
    listed = as_list(value)
    if len(listed) < 2 or not all({"values", "next"} <= as_map(each).keys() for each in listed):  # noqa: PLR2004
        return value
    latest: dict[str, tuple[Any, Any]] = {}
    for state in listed:
        place = as_map(as_map(state.get("config")).get("configurable"))
        thread, step = str(place.get("thread_id")), as_map(state.get("metadata")).get("step")
        step = step if type(step) is int else -1
        if thread not in latest or step > latest[thread][0]:
            latest[thread] = (step, state)
    return [state for _, state in latest.values()]


def talk_in(value: Mapping[str, Any], depth: int = 0) -> list[Any] | None:
    """Return the messages that a value holds: listed, wrapped, or as a question and its answer."""
    for key in _TALKS:
        listed = _unwrapped(decoded(value.get(key)))
        if isinstance(listed, list) and listed and any(map(is_message, listed)):
            # A row may keep the last reply once more.
            last = messages_in(listed[-1])
            done = bool(last) and last[-1].role == "assistant"
            return listed if done else [*listed, *_reply_in(value)]
    reply = _reply_in(value)
    for key in _AROUND:
        held = decoded(value.get(key))
        asked = held if isinstance(held, list) and held and any(map(is_message, held)) else None
        if isinstance(held, Mapping) and depth < _DEEPEST:
            asked = talk_in(held, depth + 1)
        if asked is not None:
            return [*asked, *reply]
    if reply and isinstance(value.get("input"), str):
        return [{"role": "user", "content": value["input"]}, *reply]
    return reply or steps_in(value) or _only_talk_in(value, depth)


def _unwrapped(listed: Any) -> Any:
    """Return messages without what Continue keeps around each."""
    inner = [as_map(each).get("message") for each in listed] if isinstance(listed, list) else []
    return inner if inner and all(map(is_message, inner)) else listed


def _only_talk_in(value: Mapping[str, Any], depth: int) -> list[Any] | None:
    """Return the one conversation that stands under a key that nobody knows."""
    found: list[list[Any]] = []
    for held in map(decoded, value.values() if len(value) <= _MOST_KEYS else ()):
        if isinstance(held, list) and len(held) > 1 and all(map(is_message, held)):
            found.append(held)
        elif isinstance(held, Mapping) and depth < _DEEPEST:
            found += [inner] if (inner := talk_in(held, depth + 1)) is not None else []
    return found[0] if len(found) == 1 else None


def _reply_in(value: Mapping[str, Any], depth: int = 0) -> list[Any]:
    """Return the reply that stands beside what was asked: a message, or a provider's response."""
    if blocks(value):  # there is no reply in it
        return [{"role": "assistant", "content": "", "finish_reason": finish_in(value)}]
    if _is_response(value):
        return [{key: held for key, held in value.items() if key not in _TALKS}]
    for key in REPLIES:
        held = decoded(value.get(key))
        if isinstance(held, list) and held and any(map(is_message, held)):
            return held
        if isinstance(held, Mapping):
            if blocks(held):
                return _reply_in(held)
            if is_message(held) or _is_response(held):
                return _finished([held], value)
            inside = (held[key] for key in _INSIDE if key in held and depth < _DEEPEST)
            replies = (_reply_in({"output": inner}, depth + 1) for inner in inside)
            found = next((reply for reply in replies if reply and _is_reply(reply)), None)
            if found is not None:
                return _finished(found, value)
    return []


def _finished(reply: list[Any], row: Mapping[str, Any]) -> list[Any]:
    """Return a reply with the reason for its end that stands beside it: Bedrock's, Strands'."""
    finish, last = finish_in(row), reply[-1]
    told = finish is not None and isinstance(last, Mapping) and is_message(last)
    return [*reply[:-1], {"stop_reason": finish, **last}] if told else reply


def _is_reply(reply: list[Any]) -> bool:
    """Tell whether the last of some messages is the model's."""
    said = messages_in(reply, "assistant")
    return bool(said) and said[-1].role == "assistant"


def _is_response(value: Mapping[str, Any]) -> bool:
    """Tell whether a value is what a provider returned: choices of words are none."""
    listed = [as_list(value.get(key)) for key in ("choices", "candidates")]
    listed += [as_list(value.get("output"))] if value.get("object") == "response" else []
    return any(each and isinstance(each[0], Mapping) for each in listed)


def logged_in(value: Any) -> Mapping[str, Any] | None:
    """Return the message in a line of a session's log, which tells its type and its time."""
    told = as_map(value)
    placed = any(key in told for key in ("timestamp", "sessionId", "session_id"))
    if not (placed and isinstance(told.get("type"), str)) and "message_id" not in told:
        return None
    held = (told.get(key) for key in _LOGGED)
    return next((each for each in held if isinstance(each, Mapping) and is_message(each)), None)


def joined(rows: list[Any]) -> list[Any]:
    """Return the messages of a log, in which several lines may tell one reply."""
    whole: list[Any] = []
    for row in rows:
        last, id = as_map(whole[-1] if whole else None), as_map(row).get("id")
        parts = last.get("content"), as_map(row).get("content")
        if id is not None and last.get("id") == id and all(isinstance(p, list) for p in parts):
            whole[-1] = {**last, "content": [*as_list(parts[0]), *as_list(parts[1])]}
        else:
            whole.append(row)
    return whole
