"""Conversations: each reply of the model is a step, and what the tools return belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from loopmend.contracts.actions import ToolCall
from loopmend.reading.reader import read_turn
from loopmend.traces.readers.draft import Draft, maker
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.messages import messages_in
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.roles import by_name, is_turned, turned
from loopmend.traces.readers.said import Said
from loopmend.traces.trace import Observation, Trace, TraceCall
from loopmend.traces.unread import may_hold_call

__all__ = ["drafts_of", "read_messages", "textual_calls"]


def read_messages(
    messages: Iterable[Any], options: ReadOptions, *, framework: str = "messages"
) -> Trace:
    """Read a conversation into a trace.

    >>> trace = read_messages(
    ...     [
    ...         {"role": "user", "content": "Where is Oslo?"},
    ...         {"role": "assistant", "content": "In Norway."},
    ...     ],
    ...     ReadOptions(),
    ... )
    >>> trace.question, trace.answer
    ('Where is Oslo?', 'In Norway.')
    """
    given = list(messages)
    said = messages_in(given)
    if given and not any(each.role == "assistant" for each in said):
        said = messages_in(by_name(given))
    elif is_turned(given):
        said = messages_in(turned(given))
    asked = [each.text for each in said if each.role == "user" and each.text]
    drafts = drafts_of(said)
    # Who spoke last without a reply has asked something that the record does not answer.
    waits = bool(drafts) and said[-1].role == "user" and bool(said[-1].text.strip())
    waits = waits and _returned(said[-1], said[-2]).role == "user"
    return ended(
        drafts,
        Trace(
            question=asked[0] if asked else None,
            framework=framework,
            metadata={"user_message_lengths": [len(text) for text in asked]} if asked else {},
            unreadable=framework if given and not said else None,
        ),
        options,
        talks=not waits,
        waits=waits,
    )


def drafts_of(said: Sequence[Said]) -> list[Draft]:
    """Return the steps of a conversation."""
    said = [
        _returned(each, said[at - 1] if at else None) if each.role == "user" else each
        for at, each in enumerate(said)
    ]
    drafts: list[Draft] = []
    request = 0
    for at, each in enumerate(said):
        if each.role == "assistant":
            drafts.append(_draft(each, said[at + 1] if at + 1 < len(said) else None))
            drafts[-1].request = request
        else:
            if each.role == "user" and each.text and drafts:
                request = drafts[-1].request + 1
            _observe(drafts, each)
    return drafts


def _returned(each: Said, before: Said | None) -> Said:
    """Return a user's message as a tool's, if it answers a ReAct action as its host does."""
    text = each.text.lstrip()
    if not text.startswith("Observation") or before is None or "Action" not in before.text:
        return each
    return Said("tool", results=[Observation(text.partition(":")[2].strip())])


def _draft(each: Said, following: Said | None) -> Draft:
    draft = Draft.of(each)
    # A call in the text was made if the next message is what a tool returned.
    if not draft.calls and following is not None and following.role == "tool":
        draft.calls = textual_calls(draft.text)
        draft.executed_text = bool(draft.calls)
    return draft


def textual_calls(text: str) -> list[TraceCall]:
    """Return the calls that a text asks for, where the host is known to have made them."""
    if not (may_hold_call(text) or text.lstrip().startswith("[")):
        return []
    actions = read_turn(text).actions
    return [TraceCall(a.name, a.arguments) for a in actions if isinstance(a, ToolCall)]


def _observe(drafts: list[Draft], each: Said) -> None:
    if each.results and not drafts:
        drafts.append(Draft())  # what came before was not recorded
    for result in each.results:
        made = maker(drafts, result.call_id) or drafts[-1]
        made.observe(result if result.tool or not each.name else replace(result, tool=each.name))
