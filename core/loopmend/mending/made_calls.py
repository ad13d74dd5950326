"""The calls since the user's last message, which a host keeps while its messages come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from loopmend.mending.call_results import CallResult, short
from loopmend.mending.messages import Message

__all__ = ["MadeCalls", "calls_made", "calls_of"]


class MadeCalls(TypedDict):
    """The calls since a question of the user's, as plain data that a host can keep.

    >>> calls_made(Message("user", "Where is Oslo?"), [])
    {'question': 'Where is Oslo?', 'asked': 'Where is Oslo?', 'calls': {}}
    """

    question: str
    """Which message it is."""
    asked: str
    """What it says."""
    calls: dict[str, list[Any]]


def calls_made(
    asked: Message | None,
    messages: Sequence[Message],
    known: MadeCalls | None = None,
    window: int | None = None,
) -> MadeCalls:
    """Return the latest answered calls since the user's last message, oldest first.

    Args:
        asked: The user's last message; `None` if the conversation no longer contains it.
        messages: The conversation after it.
        known: The calls known before, because a summary may remove calls from the messages.
        window: How many calls to keep.

    >>> from loopmend.mending import NativeCall
    >>> call = Message("assistant", calls=(NativeCall("search", {"query": "Oslo"}, "1"),))
    >>> made = calls_made(Message("user", "?"), [call, Message("tool", "in Norway", call_id="1")])
    >>> [seen.result for seen in calls_of(made)]
    ['in Norway']
    """
    found = _answered(messages)
    told = "" if asked is None else short(asked.content)
    question = "" if asked is None else asked.id or told
    gone: dict[str, list[Any]] = {}
    if known is not None and (asked is None or question == known["question"]):
        question, told = known["question"], known["asked"]
        # What is no longer there is older than what is.
        gone = {key: call for key, call in known["calls"].items() if key not in found}
    last = slice(None if window is None else -window, None)
    kept = {key: _plain(call) for key, call in list(found.items())[last]}
    calls = dict([*gone.items(), *kept.items()][last])
    return {"question": question, "asked": told, "calls": calls}


def calls_of(made: MadeCalls) -> list[CallResult]:
    """Return the calls as a `LoopPolicy` takes them.

    >>> calls_of({"question": "", "asked": "", "calls": {"a": ["search", {}, "found"]}})[0].name
    'search'
    """
    return [CallResult(*call) for call in made["calls"].values()]


def _plain(call: CallResult) -> list[Any]:
    few = call.shortened()
    return [few.name, few.arguments, few.result, few.failed, few.handoff]


def _answered(messages: Sequence[Message]) -> dict[str, CallResult]:
    """Return the answered calls, each by a key that it keeps: servers use ids of calls again."""
    turns: list[tuple[Message, dict[str | None, Message]]] = []
    for message in messages:
        if message.role == "assistant":
            turns.append((message, {}))
        elif message.role == "tool" and turns:
            turns[-1][1][message.call_id] = message
    found: dict[str, CallResult] = {}
    taken_over: dict[tuple[str | None, str], str] = {}
    for at, (reply, answers) in enumerate(turns):
        following = turns[at + 1][0].name if at + 1 < len(turns) else None
        made: list[CallResult] = []
        for call in reply.calls:
            answer = answers.get(call.id)
            if answer is None:
                continue
            handoff = None
            if len(reply.calls) == 1:
                handoff = _handoff(reply.name, call.name, following, taken_over)
            one = CallResult(call.name, call.arguments, answer.content, answer.failed, handoff)
            # The same call twice in one reply is made at once, not again and again.
            if one not in made:
                made.append(one)
                found[f"{reply.id}:{call.id}"] = one
    return found


def _handoff(
    speaker: str | None,
    tool: str,
    following: str | None,
    taken_over: dict[tuple[str | None, str], str],
) -> str | None:
    """Return who took over after a call: another agent spoke next.

    After the latest call nobody has spoken yet; there it is whom the same call brought in before.
    """
    if speaker and following and following != speaker:
        taken_over[speaker, tool] = following
        return following
    return None if following else taken_over.get((speaker, tool))
