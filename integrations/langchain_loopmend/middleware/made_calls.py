"""The calls since the user's last message, as a graph's messages tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from langchain_loopmend.messages import is_users, text_of
from loopmend._repr import written
from loopmend.mending import CallResult
from loopmend.mending.call_results import short

__all__ = ["Made", "calls_in", "calls_of", "made_in"]


class Made(TypedDict):
    """The calls since a question of the user's, as plain data for the state."""

    question: str
    """Which message it is."""
    asked: str
    """What it says."""
    calls: dict[str, list[Any]]


def calls_of(made: Made) -> list[CallResult]:
    """Return the calls as the core takes them."""
    return [CallResult(*call) for call in made["calls"].values()]


def made_in(messages: Sequence[AnyMessage], known: Made | None, window: int) -> Made:
    """Return the latest answered calls since the user's last message, oldest first.

    Args:
        messages: The conversation.
        known: What was known before; a summary takes calls out of the messages.
        window: How many calls to keep.
    """
    user, found = calls_in(messages)
    asked = "" if user is None else short(text_of(user))
    question = "" if user is None else user.id or asked
    gone: dict[str, list[Any]] = {}
    if known is not None and (user is None or question == known["question"]):
        question, asked = known["question"], known["asked"]
        # What is no longer there is older than what is.
        gone = {key: call for key, call in known["calls"].items() if key not in found}
    kept = {key: _plain(call) for key, call in list(found.items())[-window:]}
    calls = dict([*gone.items(), *kept.items()][-window:])
    return {"question": question, "asked": asked, "calls": calls}


def _plain(call: CallResult) -> list[Any]:
    few = call.shortened()
    return [few.name, few.arguments, few.result, few.failed, few.handoff]


def calls_in(messages: Sequence[AnyMessage]) -> tuple[AnyMessage | None, dict[str, CallResult]]:
    """Return the user's last message if it is still there, and the answered calls behind it.

    Each has a key that it keeps; ids of calls alone will not do, as servers use them again.
    """
    at = next((n for n in range(len(messages) - 1, -1, -1) if is_users(messages[n])), -1)
    replies, results = _turns(messages[at + 1 :])
    found: dict[str, CallResult] = {}
    taken_over: dict[tuple[str | None, str], str] = {}
    for number, (reply, answers) in enumerate(zip(replies, results, strict=True)):
        following = replies[number + 1].name if number + 1 < len(replies) else None
        made: list[CallResult] = []
        for call in reply.tool_calls:
            answer = answers.get(str(call["id"]))
            if answer is None:
                continue
            handoff = None
            if len(reply.tool_calls) == 1:
                handoff = _handoff(reply, call["name"], following, taken_over)
            failed = answer.status == "error"
            one = CallResult(call["name"], call["args"], _told(answer), failed, handoff)
            # The same call twice in one reply is made at once, not again and again.
            if one not in made:
                made.append(one)
                found[f"{reply.id}:{call['id']}"] = one
    return messages[at] if at >= 0 else None, found


def _turns(
    messages: Sequence[AnyMessage],
) -> tuple[list[AIMessage], list[dict[str, ToolMessage]]]:
    """Return the replies, and the answers to the calls of each."""
    replies: list[AIMessage] = []
    results: list[dict[str, ToolMessage]] = []
    for message in messages:
        if isinstance(message, AIMessage):
            replies.append(message)
            results.append({})
        elif isinstance(message, ToolMessage) and results:
            results[-1][message.tool_call_id] = message
    return replies, results


def _handoff(
    reply: AIMessage,
    tool: str,
    following: str | None,
    taken_over: dict[tuple[str | None, str], str],
) -> str | None:
    """Return who took over after a call: another agent spoke next.

    After the latest call nobody has spoken yet; there it is whom the same call brought in before.
    """
    if reply.name and following and following != reply.name:
        taken_over[reply.name, tool] = following
        return following
    return None if following else taken_over.get((reply.name, tool))


def _told(answer: ToolMessage) -> str:
    return answer.content if isinstance(answer.content, str) else written(answer.content)
