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
from loopmend.reading.weighing import Words, lean

__all__ = ["Around", "Doubt", "merged", "why_not_meant"]

_MOST: Final = 4000
_FAR: Final = 400
_NEAR: Final = 40
# How far words have to lean towards a call: the less, the more its own form announces it. Behind a
# header the frameworks' own parsers take any words.
_HEADED: Final = -1.0
_MARKED: Final = 0.0
_BARE: Final = 0.3
# What leans so far the other way takes a call back, or is no call in doubt but one that is shown.
_DENIED: Final = -1.0
_SHOWN: Final = -3.0
_BEFORE: Final = "the words before it do not announce it"
_AFTER: Final = "the words after it may take it back"
_WORD: Final = re.compile(r"[^\W_]{3,}")
# What closes a call, or says nothing behind it: an empty object, fenced or not.
_CLOSING: Final = re.compile(
    r"(?:\s|[`;,.*_\]})>~]|</?[\w:\-|\uff5c]{1,60}>|<[|\uff5c][^>\n]{1,60}>|(?:json)?\s{0,5}\{\s{0,5}\}|</[\w:\-|\uff5c]{0,60}\s*\Z)*"
)
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

    def thought_after(self, start: int) -> str:
        """Return what is thought after a place."""
        return "\n".join(self.text[low:high][:_MOST] for low, high in self.thoughts if start <= low)


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
        leads.append(around.said(places.at, candidate.span[0]))
        if (place := places.of(candidate, leads[-1])) is not None:
            return Doubt(f"it is in {place}", placed=True)
    end = candidates[-1].span[1]
    whole = not any(candidate.failure for candidate in candidates)
    if whole and _BROKEN_OUT.match(around.text, end):
        return Doubt("the end of a value is unclear")
    if lean(Words("", around.thought_after(end))) < _DENIED:
        return Doubt("the thought after it may take it back")
    tail = _after_closing(around.said(end, around.end)).rstrip()
    goes_on = tail[:1] in ("{", "[") or _LIMITS.match(around.text, end) is not None
    if len(tail) > _MOST or (whole and goes_on):
        return Doubt(_AFTER)  # nobody looks that far
    for at, candidate in enumerate(candidates):
        between = None if at + 1 == len(leads) else _after_closing(leads[at + 1])
        lead = "" if _is_echo(leads[at]) or _says(leads[at], candidate) else leads[at]
        words = Words(lead, tail if between is None else "", given_to(candidate))
        least = _least(candidate, words)
        if (leaning := lean(words)) < least:
            before = lean(Words(lead, "", words.given)) < least
            return Doubt(_BEFORE if before else _AFTER, placed=leaning < _SHOWN)
        if between is not None and _takes_back(between):
            return Doubt(_AFTER)
    return None


def _least(candidate: Candidate, words: Words) -> float:
    """Return how far words have to lean."""
    if candidate.thought or (candidate.form == "react" and not words.after):
        return _HEADED
    return _MARKED if candidate.form in ("react", "tags") else _BARE


def _takes_back(between: str) -> bool:
    """Tell whether what stands between two calls takes the first back, or makes up its result."""
    if between and not any(sign.isalpha() for sign in between):
        return "/" in between or "|" in between  # one or the other
    labels = (line.partition(":") for line in between.split("\n"))
    told = any(colon and role_of(label) is Role.OBSERVATION for label, colon, _ in labels)
    return told or lean(Words("", between)) < _MARKED


def _is_echo(lead: str) -> bool:
    """Tell whether all that stands before a call is the question, as the prompt has it."""
    label, colon, question = lead.strip().partition(":")
    return bool(colon) and role_of(label) is Role.ASK and "\n" not in question


def _after_closing(tail: str) -> str:
    """Return what stands after a call and what closes it."""
    closing = _CLOSING.match(tail)
    return tail[closing.end() :] if closing else tail


def _says(before: str, candidate: Candidate) -> bool:
    """Tell whether what is said before a call is what the call itself says to somebody."""
    end = " ".join(before.split())[-_NEAR:]
    texts = (" ".join(text.split()) for text in _texts(candidate) if len(text) <= _MOST)
    return len(end) == _NEAR and any(end in text for text in texts)


def given_to(candidate: Candidate) -> frozenset[str]:
    """Return the words of the tools' names and of what they are given."""
    texts = [call.name for call in candidate.calls]
    folded = [text[:_FAR].lower() for text in (*texts, *_texts(candidate))]
    return frozenset(word for text in folded for word in (text, *_WORD.findall(text)))


def _texts(candidate: Candidate) -> Iterator[str]:
    """Yield the texts that calls are given."""
    for call in candidate.calls:
        values = call.arguments.values() if isinstance(call.arguments, dict) else (call.arguments,)
        yield from (value for value in values if isinstance(value, str))
