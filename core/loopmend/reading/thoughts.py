"""Where a reply only thinks: the tags and tokens that open a thought, and what closes it."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.lexicon import Role, role_of

__all__ = ["THOUGHT_MARK", "begins_token", "closer_of"]

_CHANNEL: Final = "<|channel|>"
# Tokens of models whose thoughts have no tags. The next channel ends a thought of gpt-oss.
_CLOSERS: Final = {
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|channel>thought": "<channel|>",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    "analysis<|message|>": _CHANNEL,
    f"{_CHANNEL}analysis<|message|>": _CHANNEL,
}
_TOKENS: Final = [*_CLOSERS, *sorted({*_CLOSERS.values()} - {_CHANNEL})]
THOUGHT_MARK: Final = (
    rf"(?P<token>{'|'.join(map(re.escape, _TOKENS))})"
    r"|<(?P<close>/?)(?P<tag>[A-Za-z][\w:.\-]{0,40})(?:\s[^<>]{0,200})?>"
)
"""A pattern for what may open or close a thought, and for any other tag."""


def closer_of(mark: re.Match[str]) -> str | None:
    """Return what closes the thought that a mark opens; nothing if the mark closes one itself.

    >>> closer_of(re.search(THOUGHT_MARK, "so <think>")), closer_of(re.search(THOUGHT_MARK, "<p>"))
    ('</think>', None)
    """
    if mark["token"]:
        return _CLOSERS.get(mark["token"], "")
    if not mark["tag"] or role_of(mark["tag"], every=False) is not Role.THINK:
        return None
    return "" if mark["close"] else f"</{mark['tag']}>"


def begins_token(end: str) -> bool:
    """Tell whether a text may go on as a token.

    >>> begins_token("[THI"), begins_token("[1")
    (True, False)
    """
    return any(token.startswith(end) for token in _TOKENS)
