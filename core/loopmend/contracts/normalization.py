"""Contract 2: did the turn break the tool protocol, and what to tell the model?

The rules are three case-insensitive patterns and a brace count over the whole text.
They are searched with `str.find` on lower-cased text rather than with `re.IGNORECASE`,
which is some twenty times slower and, unlike Rust, lets the Turkish i without and with
a dot (U+0131, U+0130) match `i`.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from loopmend._arguments import not_text, require_int
from loopmend._text import WHITESPACE, is_word_char

__all__ = [
    "MAX_NORMALIZATION_RETRIES",
    "NormalizationPattern",
    "build_normalization_retry_prompt",
    "detect_normalization_failure",
]

MAX_NORMALIZATION_RETRIES: Final = 2
"""How often a turn is corrected before giving up.

>>> MAX_NORMALIZATION_RETRIES
2
"""


class NormalizationPattern(str, Enum):
    """The ways in which a turn can break the tool protocol.

    >>> NormalizationPattern("EmptyAction") is NormalizationPattern.EMPTY_ACTION
    True
    """

    MALFORMED_TOOL_CALL = "MalformedToolCall"
    """The turn announces a tool call, but its JSON is missing or unbalanced."""
    NARRATED_TOOL_USE = "NarratedToolUse"
    """The model says what it would do instead of doing it."""
    EMPTY_ACTION = "EmptyAction"
    """Nothing at all, or nothing after `Action:`."""

    __str__ = str.__str__


_NARRATIONS: Final = (
    "i would use",
    "i'll run",
    "let me use the",
    "i should call",
    "i need to invoke",
)
_WRITTEN_OUT: Final = tuple(phrase for phrase in _NARRATIONS if "'" not in phrase)
_BLANKS: Final = re.compile(f"[{WHITESPACE}]+")
_SPACED_ACTION: Final = re.compile(f"action[{WHITESPACE}]+:")

# Looking a member up in its class is slow enough to show in the shortest calls.
_MALFORMED: Final = NormalizationPattern.MALFORMED_TOOL_CALL
_NARRATED: Final = NormalizationPattern.NARRATED_TOOL_USE
_EMPTY: Final = NormalizationPattern.EMPTY_ACTION


def detect_normalization_failure(content: str) -> NormalizationPattern | None:
    r"""Return the first pattern that `content` shows, or `None` if it looks well-formed.

    It looks for empty, malformed and narrated turns, in this order. If the text contains
    `Action:` or `tool_call` anywhere, it does not look for narration.

    Raises:
        TypeError: `content` is not a `str`.

    >>> detect_normalization_failure("I would use web_search to find it.").value
    'NarratedToolUse'
    >>> detect_normalization_failure('Action: search\nAction Input: {"q": "x"').value
    'MalformedToolCall'
    >>> detect_normalization_failure("The answer is 42.") is None
    True
    """
    if not isinstance(content, str):
        raise not_text(content, "content")
    end = content.rstrip(WHITESPACE)
    if not end or (end[-1] == ":" and _is_bare_action(end)):
        return _EMPTY
    folded = content.lower()
    if _announces_call(folded):
        return _MALFORMED if _has_broken_json(content) else None
    return _NARRATED if _narrates(folded) else None


def build_normalization_retry_prompt(pattern: NormalizationPattern | str, tool_count: int) -> str:
    """Return the instruction that steers the model back to the protocol.

    Only the prompt for narration states `tool_count`.

    Raises:
        ValueError: `pattern` names no pattern, or `tool_count` is negative.
        TypeError: `pattern` is not a `str`, or `tool_count` not an `int`.

    >>> print(build_normalization_retry_prompt(NormalizationPattern.NARRATED_TOOL_USE, 7)[-27:])
    You have 7 tools available.
    """
    require_int(tool_count, "tool_count")
    if tool_count < 0:
        msg = f"`tool_count` must not be negative: {tool_count}"
        raise ValueError(msg)
    if not isinstance(pattern, str):
        raise not_text(pattern, "pattern")
    if not isinstance(pattern, NormalizationPattern):
        pattern = NormalizationPattern(pattern)
    if pattern is _MALFORMED:
        return (
            "Your previous response contained a malformed tool call. "
            "Please retry using the correct JSON format:\n"
            "Action: tool_name\n"
            'Action Input: {"param": "value"}'
        )
    if pattern is _NARRATED:
        return (
            "You described what you would do instead of doing it. "
            "Use the Action/Action Input format to actually invoke the tool. "
            f"You have {tool_count} tools available."
        )
    return (
        "Your previous response was empty. "
        "Please provide either a direct answer or use a tool via "
        "Action/Action Input format."
    )


def _is_bare_action(end: str) -> bool:
    """Tell whether the word before the last colon is `Action`."""
    return end[:-1].rstrip(WHITESPACE)[-6:].lower() == "action"


def _announces_call(folded: str) -> bool:
    # One sign is found some thirty times as fast as a word, and long prose often has none of it.
    if "_" in folded and "tool_call" in folded:
        return True
    if ":" not in folded or "action" not in folded:
        return False
    return "action:" in folded or _SPACED_ACTION.search(folded) is not None


def _has_broken_json(content: str) -> bool:
    opened = content.count("{")
    return opened == 0 or opened != content.count("}")


def _narrates(folded: str) -> bool:
    if not folded.isascii():  # the long s folds to s, but is a lower-case letter of its own
        folded = folded.replace("\u017f", "s")
    for phrase in _NARRATIONS if "'" in folded else _WRITTEN_OUT:
        if phrase in folded and _names_something(folded, phrase):
            return True
    return False


def _names_something(folded: str, phrase: str) -> bool:
    """Tell whether white space and then a word character follow the phrase somewhere."""
    start = folded.find(phrase)
    while start != -1:
        start += len(phrase)
        blanks = _BLANKS.match(folded, start)
        if blanks and blanks.end() < len(folded) and is_word_char(folded[blanks.end()]):
            return True
        start = folded.find(phrase, start)
    return False
