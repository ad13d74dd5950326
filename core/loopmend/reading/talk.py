"""The words around a call as part of a talk: who speaks, what comes next, what it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from loopmend.reading.attitudes import CORRECTS
from loopmend.reading.candidates import Candidate
from loopmend.reading.languages import ENGLISH
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.phrases import (
    INVOLVED,
    ITEM,
    ITEM_OF_WORK,
    NEXT_HEADING,
    NEXT_THING,
    NEXT_UP,
    OTHERS,
    POINTS_ON,
    PROGRESS_MARK,
    SETS_A_TIME,
    THEIRS,
    UNDER_WAY,
    YOUR_TURN,
)
from loopmend.reading.plans import plans
from loopmend.reading.speech import (
    asks_leave,
    awaits,
    clauses,
    converses,
    forbids,
    is_foreign,
    is_interjection,
    is_label,
    is_question,
    is_unfinished,
    narrates,
    negates,
    pauses,
    plain_words,
    presents,
    refers,
    refuses,
    reports,
    reports_state,
    sentences,
    supposes,
)
from loopmend.reading.verbs import SOMEBODYS, TEXT_OF_A_CALL

__all__ = [
    "Stand",
    "given_to",
    "is_at_work",
    "is_checked",
    "is_on_its_way",
    "is_talk",
    "reconsiders",
    "texts_of",
]

_MOST: Final = 4000
_ITEMS: Final = 5
_SHORT: Final = 2
_FAR: Final = 400
_NEAR: Final = 3


@dataclass(frozen=True, slots=True)
class Stand:
    """What is known of a call beside the words before it."""

    names: list[str]
    about: tuple[str, ...]
    """What it is given, and longer words of that."""
    headed: bool
    """Whether more than words before it says that it is made: it is ReAct's or in control tokens,
    which no prose holds, or a thought leads to it, or words after it await it."""
    labelled: bool
    """Whether a header of its own, such as `Action:`, announces it: then words need not."""
    alone: bool
    """Whether it stands on a line of its own and nothing is said after it: likewise."""
    first: bool


def given_to(candidate: Candidate) -> tuple[str, ...]:
    """Return what a call is given, and the words of that which mean something."""
    texts = [v for call in candidate.calls for v in texts_of(call.arguments) if len(v) < _FAR]
    words = (w for text in texts for w in plain_words(text))
    return (
        *(text for text in texts if len(text) > _SHORT),
        *(word for word in words if len(word) > _SHORT and not ENGLISH.fullmatch(word)),
    )


def texts_of(arguments: object) -> list[str]:
    """Return the texts among what a call is given."""
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return [value for value in values if isinstance(value, str)]


def reconsiders(plain: str, said: list[str]) -> bool:
    """Tell whether words between two calls take the first back, or give it a made-up result."""
    if not any(c.isalpha() for c in plain):
        return True  # `/` or `||`: one or the other
    labels = (sentence.partition(":") for sentence in said)
    told = any(colon and role_of(label) is Role.OBSERVATION for label, colon, _ in labels)
    return told or any(CORRECTS.search(sentence) for sentence in said)


def is_on_its_way(sentence: str, stand: Stand) -> bool:
    """Tell whether a sentence says what comes next, of who talks or of what the call is given."""
    own = converses(sentence) or INVOLVED.search(sentence) or names_given(sentence, stand)
    following = NEXT_THING.match(sentence)
    own = own or not (TEXT_OF_A_CALL.search(sentence) or SOMEBODYS.search(sentence))
    label, _, rest = sentence.partition(":")
    labelled = is_label(label) and names_given(rest, stand)
    under_way = UNDER_WAY.search(sentence) and not negates(sentence)
    labelled = labelled or bool(under_way and names_given(sentence, stand))
    if not (labelled or following or (NEXT_UP.match(sentence) and own)):
        return False
    return not (
        YOUR_TURN.match(sentence)
        or refers(sentence)
        or presents(sentence)
        or narrates(sentence)
        or supposes(sentence)
        or awaits(sentence)
        or refuses(sentence)
        or forbids(sentence)
        or asks_leave(sentence)
    )


def is_checked(lead: str) -> bool:
    """Tell whether the last lines before a call are a list of the speaker's own progress."""
    lines = [line for line in lead[-_MOST:].split("\n") if line.strip()]
    marked = [at for at, line in enumerate(lines[-_ITEMS:]) if PROGRESS_MARK.match(line)]
    if not marked:
        return False
    first = next((at for at, line in enumerate(lines) if ITEM.match(line)), 0)
    heading = sentences("\n".join(lines[:first]))
    return not heading or is_label(heading[-1]) or converses(heading[-1])


def names_given(sentence: str, stand: Stand) -> bool:
    """Tell whether a sentence names what a call is given."""
    return any(
        part in sentence and re.search(rf"(?<!\w){re.escape(part)}(?!\w)", sentence)
        for part in stand.about
    )


def is_talk(sentence: str, stand: Stand) -> bool:
    """Tell whether a sentence belongs to a conversation in which the call is made.

    Its speaker talks, acts or asks to wait, or it is about what the call is given.
    """
    return (
        names_given(sentence, stand)
        or converses(sentence)
        or is_foreign(sentence)  # nobody here can tell
        or reports_state(sentence)
        or pauses(sentence)
        or is_label(sentence, stand.names)
        or (is_interjection(clauses(sentence)[0]) and not NEXT_UP.match(sentence))
        or plans(sentence, stand.names)
    )


def is_at_work(said: list[str], stand: Stand) -> bool:
    """Tell whether the last words before a call that stands alone are of somebody at work.

    Who only shows a call says so: points at it, calls it a text, tells of somebody, denies,
    supposes, asks, puts off or hands over. Words that do nothing of this, and speak of the task, of
    its steps or of how its things stand, lead to the call, however they are put.
    """
    if not (stand.alone and stand.first):
        return False
    near = said[-_NEAR:]
    following = len(near) > 1 and NEXT_HEADING.match(near[-1])
    of_work = following or any(_is_of_work(s, stand) for s in near)
    return bool(of_work) and all(_is_innocent(s, stand) for s in near[-2:])


def _is_of_work(sentence: str, stand: Stand) -> bool:
    return bool(
        names_given(sentence, stand)
        or converses(sentence)
        or reports_state(sentence)
        or ITEM_OF_WORK.search(sentence)
        or plans(sentence, stand.names)
    )


def _is_innocent(sentence: str, stand: Stand) -> bool:
    """Tell whether a sentence does nothing of what a sentence does that comes with a shown call."""
    told = presents(sentence) or narrates(sentence) or reports(sentence) or refers(sentence)
    named = TEXT_OF_A_CALL.search(sentence) or SOMEBODYS.search(sentence)
    open_end = sentence[-1:] not in ".!?" and is_unfinished(sentence)
    if told or named or open_end or YOUR_TURN.match(sentence):
        return False
    if negates(sentence) or supposes(sentence) or is_question(sentence) or asks_leave(sentence):
        return False
    if awaits(sentence) or refuses(sentence) or forbids(sentence):
        return False
    if plans(sentence, stand.names):
        return True
    return not (
        SETS_A_TIME.search(sentence)
        or THEIRS.search(sentence)
        or POINTS_ON.search(sentence)
        or OTHERS.search(sentence)
    )
