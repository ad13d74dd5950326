"""Telling a call that is meant from one that is only shown, quoted or warned of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from loopmend.contracts.actions import ToolCall
from loopmend.reading.turn import Failure, FailurePattern, Turn

__all__ = ["stands_alone", "unless_shown"]

_ASKED_FOR: Final = ("react", "contract", "native")
_LONGEST_LEAD: Final = 200
_FENCE: Final = re.compile(r"`{1,3}\w{0,20}\s*\Z")
# What closes a call without being part of it: fences, tags, special tokens, punctuation.
_CLOSING: Final = re.compile(r"(?:\s|[`;,.\])}>]|</[\w:]{1,60}>|<[|\uff5c][^>\n]{1,60}>)*")
_ONLY_SHOWN: Final = re.compile(
    r"\b(?:not|never|no|nothing|cannot|without|example|e\.g|such as|like this|would|could|should"
    r"|shall|may|might|confirm|dry run|says?|said|wrote|reads|quotes?d?|page|document|refuse"
    r"|instead of|avoid|means?|looks? like|if)\b|n['\u2019]t\b|[?\uff1f]|^[ \t]*>",
    re.IGNORECASE | re.MULTILINE,
)


def unless_shown(text: str, turn: Turn) -> Turn:
    """Return a turn, or a failed one if its calls may only be shown.

    Where calls are asked for in the text, one in the form that was asked for is meant. In
    another form it is so only if it is all that was said: then it is better to ask.

    >>> from loopmend import read_turn
    >>> text = 'Never send {"name": "wipe", "arguments": {}} to the host.'
    >>> unless_shown(text, read_turn(text, tools=["wipe"])).failure.message
    'It is not sure whether the call of `wipe` is meant or only shown.'
    """
    call = next((action for action in turn.actions if isinstance(action, ToolCall)), None)
    if call is None:
        return turn
    asked_for = turn.dialect in _ASKED_FOR
    if (asked_for or stands_alone(text, turn.span)) and not _is_transcript(text, turn.span):
        return turn
    message = f"It is not sure whether the call of `{call.name[:80]}` is meant or only shown."
    failure = Failure(FailurePattern.MALFORMED, message, turn.span, call.name)
    return replace(turn, actions=(), failure=failure, fidelity="exact")


def _is_transcript(text: str, span: tuple[int, int]) -> bool:
    """Tell whether an action stands in a fence that words introduce and follow."""
    before = text[: span[0]]
    if before.count("```") % 2 == 0:
        return False
    lead = before[: before.rfind("```")].strip()
    _, fence, rest = text[span[0] :].partition("```")
    return bool(lead) and "Thought:" not in lead and bool(fence) and bool(rest.strip())


def stands_alone(text: str, span: tuple[int, int]) -> bool:
    """Tell whether a call is all that a text says, but for a short lead-in.

    What is quoted, forbidden, explained or asked about has words around it.

    Args:
        text: What the model emitted.
        span: Where in it the call stands.

    >>> stands_alone('Sure: {"name": "f"}', (6, 19))
    True
    >>> stands_alone('Never send {"name": "f"} to the host.', (11, 24))
    False
    """
    lead = _FENCE.sub("", text[: span[0]]).strip()
    if len(lead) > _LONGEST_LEAD or _ONLY_SHOWN.search(lead):
        return False
    tail = text[span[1] :]
    closing = _CLOSING.match(tail)
    return closing is not None and closing.end() == len(tail)
