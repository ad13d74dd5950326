"""Which specialists a message asks for, told by its words alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from loopmend._arguments import not_text

__all__ = ["RosterMatch", "match_specialists"]

_READ: Final = 8_000  # characters; who asks for a specialist says so early
_SENTENCE: Final = re.compile(r"[.!?\n\u3002\uff01\uff1f]+(?:\s|$)")
# "Tell me" and "let us" are asked of the one who reads it.
_ASKS: Final = re.compile(
    r"\b(?:(?:ask|have|let|tell)\b(?!\s{1,4}(?:me|us)\b)"
    r"|(?:assign|connect|consult|delegate|escalate|forward|get|hand|handoff|involve|pass|refer"
    r"|route|speak|switch|talk|transfer|use)\b)",
    re.IGNORECASE,
)
_ROLE: Final = r"(?:agent|assistant|bot|expert|specialist|team)"
_SOME_ROLE: Final = re.compile(rf"\b{_ROLE}s?\b", re.IGNORECASE)
_NAME_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+|[^\W\d_]+")
_WORDS: Final = re.compile(r"[^\W\d_]{4,}")
_COMMON_WORDS: Final = """
    about agent also answer anything assistant could does each from give have help into just
    know like make more need only other please question should some something specialist task
    tell than that their them then there these they thing this user using want what when where
    which will with work would your
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class RosterMatch:
    """The specialists that a message asks for.

    >>> RosterMatch(explicit=True, names=("writer",)).names
    ('writer',)
    """

    explicit: bool = False
    """Whether the message asks for a specialist in so many words."""
    names: tuple[str, ...] = ()
    """Those that fit, the best first."""


def match_specialists(text: str, roster: Mapping[str, str]) -> RosterMatch:
    """Find the specialists that a message asks for by name, or whose description it is about.

    A request is a sentence that asks, hands over or the like, and then names a specialist
    or some specialist. Without one, those whose description shares words with the message fit
    all the same, but nobody asked for them.

    Args:
        text: The user's message.
        roster: What each specialist does, by name.

    Raises:
        TypeError: `text` is not a `str`.

    >>> roster = {"ResearchAgent": "Looks things up.", "writer": "Writes poems and reports."}
    >>> match_specialists("Please ask the research agent about Oslo.", roster)
    RosterMatch(explicit=True, names=('ResearchAgent',))
    >>> match_specialists("I need a poem about Oslo. Could a specialist do it?", roster)
    RosterMatch(explicit=False, names=('writer',))
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    read = text[:_READ]
    requests = [rest for sentence in _SENTENCE.split(read) if (rest := _request(sentence))]
    named = tuple(n for n in roster if any(_names(rest, n) for rest in requests))
    if named:
        return RosterMatch(explicit=True, names=named)
    explicit = any(_SOME_ROLE.search(rest) for rest in requests)
    return RosterMatch(explicit, _about(read, roster))


def _request(sentence: str) -> str:
    """Return what stands after the word that asks for something, if there is one."""
    asks = _ASKS.search(sentence)
    return "" if asks is None else sentence[asks.end() :]


def _names(rest: str, name: str) -> bool:
    """Tell whether a text names a specialist, however the name is spelt."""
    parts = [part.lower() for part in _NAME_PARTS.findall(name)]
    if not parts:
        return False
    whole = r"[\s_-]?".join(map(re.escape, parts))
    last_is_role = len(parts) > 1 and re.fullmatch(_ROLE, parts[-1])
    stem = r"[\s_-]?".join(map(re.escape, parts[:-1] if last_is_role else parts))
    found = rf"(?<!\w)(?:{whole}|{stem}[\s_-]?{_ROLE})(?!\w)"
    return re.search(found, rest, re.IGNORECASE) is not None


def _about(text: str, roster: Mapping[str, str]) -> tuple[str, ...]:
    """Return the specialists whose name or description shares words with a text."""
    if not roster:
        return ()
    said = _stems(text)
    shared = {name: len(said & _stems(f"{name} {does}")) for name, does in roster.items()}
    return tuple(sorted((n for n in roster if shared[n]), key=shared.__getitem__, reverse=True))


def _stems(text: str) -> set[str]:
    """Return the telling words of a text, without the endings that most of them change."""
    words = {word.lower() for word in _WORDS.findall(text)} - _COMMON
    return {re.sub(r"(?:ing|ers?|ed|es|s)$", "", word) for word in words}
