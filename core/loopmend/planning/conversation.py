"""What a planner can know from a conversation alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, Union

from loopmend._arguments import not_text
from loopmend.contracts.synthesis import (
    REPETITION_STREAK,
    extract_echo_fragments,
    runs_of_words,
)
from loopmend.contracts.task_input import RetrievalMetrics, TaskStateInput, ToolSearchStats
from loopmend.mending.messages import Message, Reply
from loopmend.planning.notes import Issue
from loopmend.reading.turn import ReadingConfig

__all__ = ["latest_issue", "observe_conversation", "response_skeleton"]

_RECENT: Final = 5
_SHORT: Final = 60
_CODE: Final = re.compile(r"^\s{0,3}```", re.MULTILINE)
_LIST: Final = re.compile(r"^\s{0,8}(?:[-*+]|\d{1,3}[.)])\s", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}\s", re.MULTILINE)
# Where nobody knows how well retrieval went, there is no gap to look into.
_UNKNOWN_RECALL: Final = RetrievalMetrics(budget_utilization=1.0)
_TABLE: Final = re.compile(r"^\s{0,3}\|.*\|\s*$", re.MULTILINE)
# These forms come from what is told: flights are listed each time, figures go into a table.
_FORMED: Final = frozenset({"heading", "list", "table", "code"})
_QUIET: Final = ReadingConfig(detect_signals=False)


def response_skeleton(text: str) -> str:
    r"""Return the structure of a reply, without its content.

    Raises:
        TypeError: `text` is not a `str`.

    >>> response_skeleton("Two ways:\n- wait\n- retry\nWhich one?")
    'narrative+list+question'
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    said = text.strip()
    parts = {
        "heading": _HEADING.search(said),
        "narrative": said and not said.startswith(("#", "-", "*", "|", "`")),
        "list": _LIST.search(said),
        "table": _TABLE.search(said),
        "code": _CODE.search(said),
        "question": said.endswith(("?", "\uff1f")),
    }
    return "+".join(name for name, found in parts.items() if found) or "empty"


def observe_conversation(
    user_messages: Sequence[str],
    replies: Sequence[str] = (),
    *,
    tool_count: int = 0,
    **known: Any,
) -> TaskStateInput:
    """Return the planner's input from a conversation and from what the host adds.

    A turn with tools counts as a task, one without tools as conversation, unless the host passes
    the intents itself.

    Args:
        user_messages: The user's messages, oldest first.
        replies: The model's replies, oldest first, without their tool calls.
        tool_count: How many tools the model has.
        known: Any field of `TaskStateInput` that the host knows better.

    Raises:
        TypeError: A message is not a `str`, or `known` names an unknown field.

    >>> observed = observe_conversation(["book a flight"], tool_count=3, authority="Creator")
    >>> observed.intents, observed.authority
    (('execution',), 'Creator')
    """
    recent = replies[-_RECENT:]
    # Short replies are all alike in their structure, which says nothing.
    long = [reply for reply in recent if len(reply) > _SHORT]
    skeletons = [response_skeleton(reply) for reply in long]
    # Replies of one structure are nothing to vary, and messages that get shorter are answers or a
    # goodbye, unless the model goes round in circles: so many as set off a rule are told only then.
    told = _RECENT if _repeats(long, skeletons) else REPETITION_STREAK - 1
    fields: dict[str, Any] = {
        "user_content": user_messages[-1] if user_messages else "",
        "intents": ("execution",) if tool_count else (),
        "retrieval_metrics": _UNKNOWN_RECALL,
        "tool_search_stats": ToolSearchStats(tool_count, tool_count) if tool_count else None,
        "recent_response_skeletons": skeletons[-told:],
        "recent_user_message_lengths": [len(message) for message in user_messages[-told:]],
        "self_echo_fragments": extract_echo_fragments(recent),
    }
    return TaskStateInput(**{**fields, **known})


def latest_issue(messages: Iterable[Union[Message, Reply]]) -> Issue:
    """Return what was wrong with the model's latest reply, and how often in a row one was wrong.

    Args:
        messages: The conversation, newest first; what the model said are its replies. It is read
            back to the first reply in order, or to a tool's result.

    >>> latest_issue([Reply("Let me search."), Message("user", "Where is Oslo?")])
    ('narrated', 1)
    """
    pattern, streak = None, 0
    for said in messages:
        if isinstance(said, Reply):
            failure = said.read(None, "native", _QUIET).failure
            if failure is None:
                break
            pattern, streak = pattern or failure.pattern.value, streak + 1
        elif said.role == "tool":
            break
    return pattern, streak


def _repeats(replies: Sequence[str], skeletons: Sequence[str]) -> bool:
    """Tell whether the latest replies are prose, each with a phrase of the one before."""
    last = replies[-REPETITION_STREAK:]
    formed = (_FORMED.intersection(each.split("+")) for each in skeletons[-REPETITION_STREAK:])
    if len(last) < REPETITION_STREAK or any(formed):
        return False
    return all(earlier & later for earlier, later in pairwise(map(runs_of_words, last)))
