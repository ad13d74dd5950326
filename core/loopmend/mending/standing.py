"""What a model stands by when nobody asks it again: an answer, if it is more than a broken call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.contracts.actions import ToolCall, parse_action
from loopmend.errors import ActionParseError
from loopmend.mending.corrections import Form
from loopmend.mending.messages import Reply
from loopmend.reading.pairs import whole_value
from loopmend.reading.turn import Failure, FailurePattern

__all__ = ["CALLS_AT_FAULT", "echo_in", "insisted", "said_last", "standing"]

P: Final = FailurePattern
CALLS_AT_FAULT: Final = frozenset({P.UNKNOWN_TOOL, P.BAD_ARGUMENTS})
"""What is wrong with a whole call: whoever runs it gets an error that the model can read."""
# What holds a call that is broken or not finished.
_BROKEN: Final = frozenset({P.EMPTY, P.MALFORMED, P.MISSING_INPUT, P.TRUNCATED})
# Where calls are asked for as text, these are what is left of one.
_FORMAL: Final = _BROKEN | CALLS_AT_FAULT | {P.ACTION_AND_ANSWER, P.TEMPLATE_ECHO}
_ACTION: Final = re.compile(r"^[^\w\n]*Action(?: Input)? *:", re.MULTILINE | re.IGNORECASE)
_LABEL: Final = re.compile(r"\s*(?:Thought|(?:Final )?Answer):", re.IGNORECASE)
_ECHO: Final = Failure(P.TEMPLATE_ECHO, "The reply repeats the correction.", (0, 0))
_ECHOED: Final = "You repeated the correction instead of following it."
_BY_CHANCE: Final = 20
# What a user can do nothing with: an empty fence, or our own words.
_NOTHING_TO_TELL: Final = frozenset({P.EMPTY, P.TEMPLATE_ECHO})


def standing(reply: Reply, failure: Failure, form: Form) -> str:
    r"""Return the words of a refused reply that are an answer all the same; empty if none are.

    >>> failure = Failure(FailurePattern.NARRATED, "Nothing is called.", (0, 0))
    >>> standing(Reply("Thought: I would look in Norway."), failure, "react")
    'I would look in Norway.'
    """
    text, pattern = reply.text, failure.pattern
    if reply.calls or reply.broken_calls:
        return ""
    if form != "react":
        return "" if pattern in _BROKEN or _is_call(text, pattern) else text
    if pattern in _FORMAL or _ACTION.search(text):
        return ""
    label = _LABEL.match(text)
    return text[label.end() if label else 0 :].strip()


def insisted(reply: Reply, told: Failure) -> list[str]:
    """Return the texts in native calls that come again, although they were taken for slots.

    Whoever is told so, and writes the same, means it.

    Args:
        reply: What the model says again, word for word.
        told: What it was told of it the last time.
    """
    if told.pattern is not P.TEMPLATE_ECHO:
        return []
    left, found = [_decoded(call.arguments) for call in reply.calls], []
    while left:
        given = left.pop()
        if isinstance(given, str):
            found.append(given)
        elif isinstance(given, Mapping):
            left += given.values()
        elif isinstance(given, (list, tuple)):
            left += given
    return found


def _decoded(arguments: Any) -> Any:
    """Return arguments that arrived as text as what they stand for, if they are JSON."""
    return (isinstance(arguments, str) and whole_value(arguments)) or arguments


def echo_in(reply: Reply, told: str | None) -> tuple[Failure, str] | None:
    r"""Return what is wrong with a reply that repeats its correction, and what to tell the model.

    As an answer it would tell the user what is meant for the model.

    >>> echo_in(Reply("Your reply was empty. Call a tool."), "Your reply was empty.")[1]
    'You repeated the correction instead of following it.\nYour reply was empty.'
    """
    told = (told or "").removeprefix(f"{_ECHOED}\n")
    said = map(_sentence, told.split("\n")[:2])
    if not any(len(words) >= _BY_CHANCE and words in reply.text for words in said):
        return None
    return _ECHO, f"{_ECHOED}\n{told}"


def _sentence(line: str) -> str:
    """Return the first sentence of a line, or the line if anybody may write that by chance."""
    first = line.partition(". ")[0]
    return first if len(first) >= _BY_CHANCE else line


def said_last(reply: Reply, failure: Failure, *, decoded: bool) -> str:
    """Return the words of a refused reply to end with; empty if they tell nobody anything.

    Args:
        reply: The reply.
        failure: What is wrong with it.
        decoded: Whether it was to be the contract's JSON.

    >>> said_last(Reply("[]"), Failure(P.EMPTY, "The reply is empty.", (0, 2)), decoded=False)
    ''
    """
    text = reply.text.strip()
    is_json = decoded and text.startswith("{")
    return "" if is_json or failure.pattern in _NOTHING_TO_TELL else text


def _is_call(text: str, pattern: FailurePattern) -> bool:
    """Tell whether a text is nothing but the contract's JSON of a call that does not fit."""
    try:
        return pattern in CALLS_AT_FAULT and isinstance(parse_action(text), ToolCall)
    except ActionParseError:
        return False
