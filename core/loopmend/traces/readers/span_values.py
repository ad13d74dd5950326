"""What spans got and returned: a question, an answer, a tool's arguments and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from loopmend.traces.readers.messages import is_message, messages_in
from loopmend.traces.readers.parts import result_of
from loopmend.traces.readers.said import Said, last_user
from loopmend.traces.readers.spans import NOTHING
from loopmend.traces.readers.values import as_map, as_text, decoded, first
from loopmend.traces.trace import Observation

__all__ = [
    "answer_of",
    "is_talk",
    "last_word",
    "results_in",
    "task_in",
    "tool_input",
]

_IN_TOOLS: Final = frozenset({"sanitize_inputs_outputs"})
_ANSWERS: Final = ("output", "answer", "final_output", "result", "content", "text", "raw", "joke")
_TASKS: Final = ("task", "input", "question", "query", "prompt", "new_message")


def is_talk(value: Any) -> bool:
    """Tell whether what a run returned are its messages."""
    value = decoded(value)
    if isinstance(value, list):
        return bool(value) and all(map(is_message, value))
    return isinstance(as_map(value).get("messages"), list) or is_message(value)


def last_word(said: Any) -> str | None:
    """Return what the last message says, if it asks for nothing."""
    spoken = messages_in(said, "assistant")
    last = spoken[-1] if spoken else Said("user")
    if last.role == "user" or last.calls:
        return None
    return (last.text or (last.results[-1].text if last.results else "")) or None


def task_in(given: Any) -> str | None:
    """Return what a run was asked: text, messages, or a field that is named like a question."""
    value = decoded(given)
    if isinstance(value, str):
        return value or None
    if isinstance(value, Mapping):
        task = first(value, *_TASKS)
        if isinstance(task, str):
            return task or None
        value = task if isinstance(task, (Mapping, list)) else value
    return last_user(messages_in(value))


def answer_of(said: Any) -> str | None:
    """Return an answer that stands by itself or in a field that is named like one."""
    if isinstance(said, Mapping):
        reply = messages_in(said, "assistant")
        if reply and (reply[-1].calls or reply[-1].text):
            return reply[-1].text or None
        said = first(said, *_ANSWERS)
    elif isinstance(said, list):
        reply = messages_in(said, "assistant")
        return reply[-1].text or None if reply and not reply[-1].calls else None
    text = as_text(said)
    return None if text in NOTHING else text


def results_in(value: Any) -> Iterator[Observation]:
    """Yield the tools' results in what LangChain returns, however they are wrapped."""
    if isinstance(value, str):
        told = '"tool_call_id"' in value or '"origin"' in value
        value = decoded(value) if told else None
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, list):
            stack += reversed(each)
        elif isinstance(each, Mapping):
            named = isinstance(each.get("tool_call_id"), str) and "content" in each
            if named or (isinstance(each.get("origin"), Mapping) and "result" in each):  # Haystack
                yield result_of(each)
            else:
                stack += reversed([*each.values()])


def tool_input(value: Any) -> Any:
    """Return a tool's arguments, without what a framework adds to them."""
    given = decoded(value)
    if not isinstance(given, Mapping):
        return given
    plain = {k: v for k, v in given.items() if k not in _IN_TOOLS and v not in ({}, [])}
    if set(plain) <= {"args", "kwargs"} and len(plain) == 1:
        return next(iter(plain.values()))
    return plain
