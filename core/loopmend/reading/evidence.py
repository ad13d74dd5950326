"""Meant or only shown? By where a call stands first, then by how the words around it weigh.

A call that is quoted, commented out, listed in a table or part of a larger code block is only
shown. Of any other the words before and after it decide; if these leave a doubt, it is not made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from loopmend.reading.candidates import Candidate, Found
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.places import Places
from loopmend.reading.weighing import DENIED, SHOWN, TAIL, Words, lean

__all__ = ["Around", "Doubt", "merged", "why_not_meant"]

_NEAR: Final = 40
# How far words have to lean towards a call: the less, the more its own form announces it. Behind a
# header the frameworks' own parsers take any words.
_HEADED: Final = -1.5
_HEADED_AND_FOLLOWED: Final = -0.7
_MARKED: Final = -0.3
_BARE: Final = 0.2
_BEFORE: Final = "the words before it do not announce it"
_AFTER: Final = "the words after it may take it back"
# What closes a call, or says nothing behind it: an empty object, fenced or not.
_CLOSING: Final = re.compile(
    r"(?:\s|<\w[\w\-]{0,40}\|>|[`;,.*_\]})>~\"'\u201d]|</[\w:\-|\uff5c]{0,60}(?:>|\s*\Z)|<[|\uff5c][\w:\-\u2581]{1,60}[|\uff5c]?>"
    r"|(?:json)?\s{0,5}\{\s{0,5}\})*"
)
# A word that a call is written on to, as in `functools[{…}]` and `call:f{…}`.
_PREFIX: Final = re.compile(r"\s*([A-Za-z_]+)(:?)")
_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?]+|\n+|\Z)\s*")
_TAG: Final = re.compile(r"<([\w:\-]{1,60})>")
# End tags that are left over behind a call: a value of it held them.
_BROKEN_OUT: Final = re.compile(
    r"\s{0,20}</(?:parameter|param|arg_value|arg)>\s{0,20}</", re.IGNORECASE
)
# What limits what a call is given, right behind it.
_LIMITS: Final = re.compile(
    r"[ \t,;]{0,9}(?:except|unless|only|but|if|or|not|without|until)\b", re.IGNORECASE
)


class Around:
    """What is said beside the calls: the text without thinking, tokens and the calls."""

    def __init__(self, text: str, found: Found, start: int, end: int) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.hidden = merged([*found.noise, *found.thoughts])
        self.thoughts = found.thought_texts
        if found.afterthought is not None:
            self.thoughts = [*self.thoughts, found.afterthought]

    def said(self, start: int, end: int) -> str:
        """Return what is said between two places."""
        start, end = max(start, self.start), min(end, self.end)
        pieces = []
        at = start
        first = max(0, bisect_right(self.hidden, (start, start)) - 1)
        for low, high in islice(self.hidden, first, None):
            if low >= end:
                break
            if high > at:
                pieces.append(self.text[at : max(low, at)])
                at = high
        if at < end:
            pieces.append(self.text[at:end])
        return "".join(pieces)

    def thought(self, start: int, end: int) -> str:
        """Return what is thought between two places."""
        return "\n".join(self.text[low:high] for low, high in self.thoughts if start <= low < end)


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, without overlaps."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a call may only be shown."""

    why: str
    placed: bool = False
    """Whether its place, or words that point at it, say that it is shown."""


def why_not_meant(around: Around, candidates: list[Candidate]) -> Doubt | None:
    """Return why calls may only be shown, or `None` if they are surely meant."""
    places = Places(around.text, around.start)
    leads = []
    for candidate in candidates:
        lead = around.said(places.at, candidate.span[0])
        leads.append("" if _is_echo(lead, candidate) else lead)
        if (place := places.of(candidate, lead)) is not None:
            return Doubt(f"it is in {place}", placed=True)
    end = candidates[-1].span[1]
    whole = not any(candidate.failure for candidate in candidates)
    if whole and _BROKEN_OUT.match(around.text, end):
        return Doubt("the end of a value is unclear")
    tail = _after_closing(around.said(end, around.end)).rstrip()
    goes_on = tail[:1] in ("{", "[") or _LIMITS.match(around.text, end) is not None
    if len(tail) > TAIL or (whole and goes_on):
        return Doubt(_AFTER)  # nobody looks that far
    starts = [*(candidate.span[0] for candidate in candidates[1:]), len(around.text)]
    for at, (candidate, start) in enumerate(zip(candidates, starts, strict=True)):
        if lean(Words("", around.thought(candidate.span[1], start))) < DENIED:
            return Doubt("the thought after it may take it back")
        last = candidate is candidates[-1]
        words = Words(_before(leads[at], candidate), tail if last else "")
        least = _least(candidate, words)
        if words and (leaning := lean(words)) <= least:
            before = lean(Words(words.before, "")) <= least
            return Doubt(_BEFORE if before else _AFTER, placed=leaning < SHOWN)
        if not last and _takes_back(_after_closing(_before(leads[at + 1], candidates[at + 1]))):
            return Doubt(_AFTER)
    return None


def _before(lead: str, candidate: Candidate) -> str:
    """Return what is said before a call, without what the call itself says or the prompt asks."""
    if lead.isspace():
        return ""
    prefix = _PREFIX.fullmatch(lead)
    if prefix and role_of(prefix[1]) in ((Role.CALL,) if prefix[2] else (Role.CALL, None)):
        return ""
    return _unsaid(lead, [text for text in _texts(candidate) if _NEAR <= len(text) <= TAIL])


def _is_echo(lead: str, candidate: Candidate) -> bool:
    """Tell whether all that is said before a call is the prompt's line with the user's question.

    What stands behind a thought after it answers it; else it might ask the user before a call.
    """
    label, colon, question = lead.strip().partition(":")
    if not colon or "\n" in question or role_of(label) is not Role.ASK:
        return False
    if candidate.thought:
        return True
    return candidate.form == "react" and lean(Words(question, "")) >= DENIED


def _unsaid(lead: str, texts: list[str]) -> str:
    """Return what is said before a call, up to where it goes on with a text that the call holds."""
    told = [" ".join(text.split()) for text in texts]
    end = len(lead)
    begin = max(0, end - TAIL)
    for sentence in reversed(list(_SENTENCE.finditer(lead, begin)) if told else []):
        if not any(" ".join(sentence[0].split()) in text for text in told):
            break
        end = sentence.start()
    return lead[:end] if len(lead[end:].strip()) >= _NEAR else lead


def _least(candidate: Candidate, words: Words) -> float:
    """Return how far words have to lean."""
    if candidate.thought or candidate.form == "react":
        return _HEADED if candidate.thought or not words.after else _HEADED_AND_FOLLOWED
    return _MARKED if candidate.form == "tags" else _BARE


def _takes_back(between: str) -> bool:
    """Tell whether what stands between two calls takes the first back, or makes up its result."""
    if between and not any(sign.isalpha() for sign in between):
        return "/" in between or "|" in between  # one or the other
    labels = (line.partition(":") for line in between.split("\n"))
    told = any(colon and role_of(label) is Role.OBSERVATION for label, colon, _ in labels)
    return told or lean(Words("", between)) < _MARKED


def _after_closing(tail: str) -> str:
    """Return what stands after a call and what closes it, or opens what is still to come."""
    at = 0
    while True:
        closing = _CLOSING.match(tail, at)
        at = closing.end() if closing else at
        tag = _TAG.match(tail, at)
        if tag is None or role_of(tag[1], every=False) in (None, Role.SHOWN):
            return tail[at:]
        at = tag.end()


def _texts(candidate: Candidate) -> Iterator[str]:
    """Yield the texts that calls are given."""
    for call in candidate.calls:
        values = call.arguments.values() if isinstance(call.arguments, dict) else (call.arguments,)
        yield from (value for value in values if isinstance(value, str))
