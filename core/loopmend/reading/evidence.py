"""Meant or only shown? By where a call stands first, then by the words that lead to it.

A call that is quoted, commented out, listed in a table or part of a larger code block is only
shown. One that words introduce is meant if these words announce it in the first person; what
follows it may explain it, go on with the plan or close. Whatever else is said, nobody can be sure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import Final

from loopmend.reading.afterwords import after_closing, is_awaited, leave_it, runs_through, said_in
from loopmend.reading.candidates import Candidate, Found
from loopmend.reading.phrases import (
    BROKEN_OUT,
    ITEM,
    OTHERS,
    UNWANTED,
)
from loopmend.reading.places import Places
from loopmend.reading.plans import declines, plans, withdraws
from loopmend.reading.speech import (
    asks_leave,
    awaits,
    clauses,
    converses,
    forbids,
    is_interjection,
    is_label,
    is_question,
    is_step,
    is_unfinished,
    narrates,
    pauses,
    presents,
    refers,
    refuses,
    reports,
    sentences,
    speaks_of_itself,
    without_emoji,
)
from loopmend.reading.talk import (
    Stand,
    given_to,
    is_at_work,
    is_checked,
    is_on_its_way,
    is_talk,
    reconsiders,
    texts_of,
)

__all__ = ["Around", "Doubt", "merged", "why_not_meant"]

_RUNS_ON: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964][\"')\]\u201d*_`]{0,3}\s*\Z")
_LEADS_ON: Final = (":", "\uff1a", ",", "-", "\u2013", "\u2014")
_SHORT_QUESTION: Final = 4
_NEAR: Final = 3
_MOST: Final = 4000


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

    def reconsidered(self, start: int) -> bool:
        """Tell whether what is thought after a place refuses what was done before it."""
        later = (self.text[low:high] for low, high in self.thoughts if start <= low)
        return any(withdraws(s) for thought in later for s in sentences(thought[:_MOST]))

    def lead(self, start: int, end: int) -> str:
        """Return what is said before a call, with a label right before it that a header hides."""
        said = self.said(start, end)
        line = self.text[max(start, self.start) : end].rstrip().rpartition("\n")[2]
        words = any(sign.isalpha() for sign in line)
        hidden = words and not said.rstrip().endswith(line) and is_label(line)
        return f"{said}\n{line}" if hidden else said


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
    text = around.text
    places = Places(text, around.start)
    tail = around.said(candidates[-1].span[1], around.end)
    last = not said_in(after_closing(tail))
    ends = last or leave_it(tail, planned=False, thought=False)
    awaited = not last and is_awaited(tail)
    lead, names = "", list[str]()
    for candidate in candidates:
        start = candidate.span[0]
        lead = around.lead(places.at, start)
        if (place := places.of(candidate, lead)) is not None:
            return Doubt(f"it is in {place}", placed=True)
        labelled = candidate.form == "react" and text[start - 1 : start] in ("", "\n")
        labelled = labelled or candidate.thought
        headed = candidate.form == "react" or text.startswith(("<|", "<\uff5c"), start)
        headed = headed or candidate.thought
        names = [call.name for call in candidate.calls]
        first = candidate is candidates[0]
        alone = ends and not text[text.rfind("\n", 0, start) + 1 : start].strip()
        told = candidate.form == "react" and _says(candidate, lead)
        about = given_to(candidate)
        if not (
            told or _leads(lead, Stand(names, about, headed or awaited, labelled, alone, first))
        ):
            said = sentences(lead.rstrip()[-_MOST:])
            placed = bool(said) and refers(said[-1])
            return Doubt("the words before it do not announce it", placed=placed)
    whole = not any(candidate.failure for candidate in candidates)
    if whole and BROKEN_OUT.match(text, candidates[-1].span[1]):
        return Doubt("the end of a value is unclear")
    if around.reconsidered(candidates[-1].span[1]):
        return Doubt("the thought after it may take it back")
    planned = not (last or runs_through(lead, tail)) and any(
        plans(s, names) for s in sentences(lead[-_MOST:])[-1:]
    )
    if not leave_it(tail, planned=planned, thought=candidates[-1].thought):
        return Doubt("the words after it may take it back")
    return None


def _says(candidate: Candidate, lead: str) -> bool:
    """Tell whether what is said before a call is what the call itself says to somebody."""
    said = sentences(lead[-_MOST:])
    held = [v for call in candidate.calls for v in texts_of(call.arguments) if len(v) < _MOST]
    return bool(said) and any(all(s in told for s in said[-2:]) for told in map(sentences, held))


def _leads(lead: str, stand: Stand) -> bool:
    """Tell whether the words before a call announce it, or say nothing of it."""
    plain = without_emoji(lead).strip(" \t\n,;*_`-")
    if not plain or (not stand.first and not any(c.isalpha() or c in "/|" for c in plain)):
        return UNWANTED.search(lead) is None
    said = sentences(plain[-_MOST:])
    if UNWANTED.search(lead) or (not stand.first and reconsiders(plain, said)):
        return False
    if not said:
        return True
    last = said[-1]
    planned = plans(last, stand.names) and not (awaits(last) or is_unfinished(last))
    planned = planned and not (refers(last) and any(refuses(s) for s in said[-2:-1]))
    if planned or is_on_its_way(last, stand) or is_at_work(said, stand):
        return True
    if is_label(last, stand.names):
        rest = [s for s in said[:-1] if not is_label(s)]
        return not rest or _is_harmless(rest[-1], stand)
    if is_question(last):
        return _may_be_asked(last, labelled=stand.labelled)
    checked = is_checked(lead)
    if _RUNS_ON.search(plain) is None and not (stand.alone and checked):
        if is_step(last) and plain[-1:] not in _LEADS_ON:
            return True
        if not _is_finished(lead, plain, said, stand):
            return _ends_ready(last, stand)
    return _are_harmless(said, stand, checked=checked, items=_items(lead))


def _items(lead: str) -> set[str]:
    """Return what the items of lists and the rows of tables say: no headings."""
    lines = lead[-_MOST:].split("\n")
    rows = [line for line in lines if ITEM.match(line) or line.lstrip().startswith("|")]
    return set(sentences("\n".join(rows)))


def _are_harmless(said: list[str], stand: Stand, *, checked: bool, items: set[str]) -> bool:
    """Tell whether whole sentences before a call leave it as it is."""
    if not (stand.headed or checked or any(is_talk(s, stand) for s in said[-_NEAR:])):
        return False
    before = [s for s in said[-2:-1] if s not in items]
    return not any(_hands_over(s, stand) for s in before) and _is_harmless(said[-1], stand)


def _hands_over(sentence: str, stand: Stand) -> bool:
    """Tell whether the last sentence but one asks for leave or about a call, or presents a text."""
    asks = is_question(sentence) and (asks_leave(sentence) or refers(sentence))
    return asks or forbids(sentence) or (stand.alone and presents(sentence))


def _is_finished(lead: str, plain: str, said: list[str], stand: Stand) -> bool:
    """Tell whether the last sentence ends before the call, although no full stop ends it.

    Where a header follows, it does; so it does where somebody just talks, and a blank line follows.
    """
    if plain[-1:] in _LEADS_ON or is_unfinished(said[-1]):
        return False
    own = speaks_of_itself(said[-1])
    if stand.labelled:
        return own or not refers(said[-1])
    talks = own or converses(said[-1]) or is_interjection(clauses(said[0])[0])
    apart = lead[len(lead.rstrip()) :].count("\n") > 1
    return stand.alone and apart and talks and not refers(said[-1])


def _ends_ready(line: str, stand: Stand) -> bool:
    """Tell whether a line comes to `here we go` or `one moment`, whatever it says before that."""
    if is_unfinished(line.rstrip(":\uff1a ")):
        return False
    *before, end = clauses(line)
    ready = pauses(end) or (bool(before) and is_label(end, stand.names))
    return ready and all(_is_harmless(clause, stand) for clause in before)


def _is_harmless(sentence: str, stand: Stand) -> bool:
    """Tell whether a whole sentence before a call leaves it as it is.

    Who only shows a call goes on to say something of it, or points at it beforehand.
    """
    if awaits(sentence):
        return False
    if plans(sentence, stand.names):
        return True
    if is_question(sentence):
        return _may_be_asked(sentence, labelled=True)
    if refuses(sentence) or forbids(sentence) or asks_leave(sentence) or declines(sentence):
        return False
    if stand.alone:
        return not (presents(sentence) or narrates(sentence) or OTHERS.search(sentence))
    if not stand.labelled and reports(sentence):
        return False
    return not refers(sentence) or (stand.labelled and speaks_of_itself(sentence))


def _may_be_asked(question: str, *, labelled: bool) -> bool:
    """Tell whether a question before a call does not ask for leave to make it."""
    own = speaks_of_itself(question) or not question.isascii()  # a verb may hold its person
    if refers(question) or (asks_leave(question) and own):
        return False
    return labelled or (question.isascii() and len(question.split()) < _SHORT_QUESTION)
