"""What is said after a call: whether it leaves the call as it is."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.attitudes import LIMITS, OPPOSES
from loopmend.reading.phrases import AFTER_IT, NEXT
from loopmend.reading.plans import closes, explains, goes_on
from loopmend.reading.speech import (
    asks_for_more,
    asks_leave,
    awaits,
    is_interjection,
    is_question,
    is_remark,
    refers,
    sentences,
    speaks_of_itself,
    takes_back,
)

__all__ = ["after_closing", "is_awaited", "leave_it", "runs_through", "said_in"]

_MOST: Final = 4000
# What closes a call, or says nothing behind it: an empty object, fenced or not.
_CLOSING: Final = re.compile(
    r"(?:\s|[`;,.*_\]})>~]|</?[\w:\-|\uff5c]{1,60}>|<[|\uff5c][^>\n]{1,60}>|(?:json)?\s{0,5}\{\s{0,5}\}|</[\w:\-|\uff5c]{0,60}\s*\Z)*"
)
# A remark in parentheses that is all there is.
_REMARK: Final = re.compile(r"\([^()\n]{1,200}\)\s*")


def _asks_beside(sentence: str) -> bool:
    """Tell whether a question is asked while the call is under way, so about something else."""
    return is_question(sentence) and AFTER_IT.match(sentence) is not None


def is_awaited(tail: str) -> bool:
    """Tell whether the words after a call say what its speaker does once it is done."""
    said = said_in(after_closing(tail))
    later = AFTER_IT.search(said[0]) or NEXT.search(said[0])
    return later is not None and speaks_of_itself(said[0]) and closes(said[0])


def after_closing(tail: str) -> str:
    """Return what stands after a call and what closes it."""
    closing = _CLOSING.match(tail)
    return tail[closing.end() :] if closing else tail


def said_in(rest: str) -> list[str]:
    """Return the sentences of a text that hold words."""
    return [s for s in sentences(rest[:_MOST]) if any(c.isalpha() for c in s)]


def runs_through(lead: str, tail: str) -> bool:
    """Tell whether one sentence goes on through a call, which is then a part of what it says.

    Who writes a sentence with a capital goes on with a small letter only within it.
    """
    begun = lead.rstrip()
    first = begun[max(begun.rfind(sign) for sign in ".!?\n") + 1 :].lstrip()
    ended = not begun or not begun[-1].isalnum()
    return not ended and first[:1].isupper() and after_closing(tail)[:1].islower()


def leave_it(tail: str, *, planned: bool, thought: bool) -> bool:
    """Tell whether the words after a call leave it as it is.

    Where a plan or a thought led to it, they need not explain it.
    """
    rest = after_closing(tail)
    if len(rest.rstrip()) > _MOST:
        return False  # nobody looks that far
    said = said_in(rest)
    if not said:
        return not any(c.isalnum() for c in rest)
    if _REMARK.fullmatch(rest):
        return is_remark(rest) and not refers(rest)
    first = said[0]
    apart = "\n" in tail[: len(tail) - len(rest)] or not rest[:1].isalpha()
    explained = explains(first) or closes(first) or goes_on(first)
    explained = explained or (apart and is_interjection(first))
    if not (planned or thought or explained) or OPPOSES.match(first):
        return False
    beside = after_closing(tail.split("\n", 1)[0])
    if not explained and (LIMITS.search(beside) or rest[:1] in ("{", "[")):
        return False  # it goes on with what the call was given
    said = [s for s in said if not (asks_for_more(s) or _asks_beside(s))]
    return not any(
        takes_back(s, planned=planned) or asks_leave(s) or awaits(s) or is_question(s) for s in said
    )
