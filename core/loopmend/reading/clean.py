"""The short way for turns that keep the ReAct form to the letter.

Well-behaved models write most turns so, and then there is nothing to weigh: one pattern
over single lines without any markup reads the same turn that the dialects would.
"""

from __future__ import annotations

import re
from typing import Final as Constant
from typing import NamedTuple

from loopmend.contracts.actions import Final, ToolCall
from loopmend.contracts.signal_detection import STUCK_PHRASES, UNCERTAINTY_PHRASES
from loopmend.reading.turn import Turn

__all__ = ["CleanParts", "clean_parts", "read_clean"]

# Lines without anything that could be markup. U+FF1A is the full-width colon.
_MARKUP: Constant = r"\n<`*{}\[\]\uff1a"
_LINE: Constant = rf"[^\s{_MARKUP}](?:[^{_MARKUP}]*[^\s{_MARKUP}])?"
_INPUT: Constant = rf"[^\s{_MARKUP}\"](?:[^{_MARKUP}\"]*[^\s{_MARKUP}\"])?"
_REACT: Constant = re.compile(
    rf"Thought: (?P<thought>{_LINE})[ ]?\n"
    rf"(?:Action: (?P<name>\w[\w.\-]*)[ ]?\nAction Input: (?P<input>{_INPUT})"
    rf"|Final Answer: (?P<answer>{_LINE}))\s*"
)
_REFUSED: Constant = frozenset({"none", "null", "na", "finish", "respond", "nothing"})
_PHRASES: Constant = (*STUCK_PHRASES, *UNCERTAINTY_PHRASES)


class CleanParts(NamedTuple):
    """What a turn in plain lines consists of."""

    thought: str
    name: str | None
    """The tool's name; `None` for an answer."""
    content: str
    """The input or the answer."""


def clean_parts(text: str) -> CleanParts | None:
    """Return the parts of a text that is one thought and one action or answer, in plain lines."""
    if not text.startswith("Thought: "):
        return None
    match = _REACT.fullmatch(text)
    if match is None:
        return None
    thought, name, given, answer = match.groups()
    if answer is not None:
        return CleanParts(thought, None, answer)
    return None if name.lower() in _REFUSED else CleanParts(thought, name, given)


def read_clean(text: str, *, phrases: bool = True) -> Turn | None:
    """Return the turn if it is one thought and one action or answer, in plain lines."""
    parts = clean_parts(text)
    if parts is None or (phrases and _may_signal(text)):
        return None
    thought, name, content = parts
    action = Final(content) if name is None else ToolCall(name, content)
    return Turn((action,), thought, dialect="react", span=(text.index("\n") + 1, len(text)))


def _may_signal(text: str) -> bool:
    """Tell whether a phrase of doubt may stand in the text."""
    if "\u2019" in text:
        return True
    folded = text.lower()
    for phrase in _PHRASES:  # noqa: SIM110 - a generator costs as much as the search
        if phrase in folded:
            return True
    return False
