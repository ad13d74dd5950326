"""What a speaker says it does: now or next, in the first person, by a verb of doing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from loopmend.reading import attitudes, languages, phrases, verbs
from loopmend.reading.speech import (
    plain_words,
)

__all__ = [
    "acts_by",
    "declines",
    "promises",
    "stem",
    "withholds",
]


def promises(sentence: str) -> bool:
    """Tell whether a sentence says that its speaker acts now or next, by any verb of doing.

    Where no call is there, it need not be one of doing with tools: `plans` is stricter.

    >>> promises("I'll frobnicate it."), promises("I'll keep it."), promises("I should ask.")
    (True, False, False)
    """
    matches = (*_overlapping(phrases.PROMISE, sentence), *_overlapping(phrases.PROGRESS, sentence))
    for match in matches:
        now = match.re is phrases.PROGRESS and not match["while"]
        if acts_by(next(group for group in match.groups() if group is not None), now=now):
            return True
    return languages.FOREIGN_PROMISE.search(sentence) is not None


def acts_by(rest: str, *, now: bool = False) -> bool:
    """Tell whether what a speaker says of itself is something to do, not to be, hope or say.

    Args:
        rest: What is said, from about its verb on.
        now: Whether it must be going on.
    """
    words = plain_words(rest[: phrases.NEAR])
    while words and words[0] in verbs.ADVERBS:
        words.pop(0)
    if not words or (now and not words[0].endswith("ing")):
        return False
    if stem(words[0]) in _LIGHT and words[1:2] in (["to"], ["by"], ["and"]):
        return acts_by(" ".join(words[2:]))
    if verbs.STAYING_PHRASE.match(" ".join(words)):
        return False
    return stem(words[0]) not in (_STAYING_NOW if now else _STAYING)


def _overlapping(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Yield all matches of a pattern that runs to the end of the sentence."""
    at = 0
    while match := pattern.search(sentence, at):
        yield match
        at = max(match.start() + 1, match.start(match.lastindex or 0))


def stem(word: str) -> str:
    """Return a verb without its ending, roughly.

    >>> stem("wiping"), stem("wipes"), stem("running"), stem("wipe"), stem("proceed")
    ('wip', 'wip', 'run', 'wip', 'proceed')
    """
    word = f"{word[:-3]}y" if word.endswith(("ies", "ied")) else word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 1 and not word.endswith("eed"):
            word = word.removesuffix(ending)
            word = word.removesuffix("e") if ending == "ing" else word  # `deleteing`
            break
    if len(word) > 3 and word[-1] == word[-2]:  # noqa: PLR2004
        word = word[:-1]
    return word


_NOT_DOING: Final = frozenset(map(stem, verbs.HOLDING_BACK | verbs.SHOWING))
_STAYING: Final = frozenset(map(stem, verbs.STAYING))
_STAYING_NOW: Final = _STAYING | frozenset(map(stem, verbs.STAYING_NOW))
_LIGHT: Final = frozenset(map(stem, verbs.LIGHT))


def withholds(words: Sequence[str]) -> bool:
    """Tell whether the words of a key say that a call is held back, or only shown.

    >>> withholds(["denied", "calls"]), withholds(["skip"]), withholds(["content", "blocks"])
    (True, True, False)
    """
    if len(words) == 1 and words[0] in verbs.HOLDING_BACK | verbs.SHOWING:
        return True
    return any(stem(word) in _NOT_DOING for word in words if word.endswith("ed"))


def declines(sentence: str) -> bool:
    """Tell whether a sentence says in a few words that its speaker does not, or does otherwise.

    >>> declines("I won't."), declines("I am now cancelling."), declines("DRY RUN")
    (True, True, True)
    >>> declines("No problem."), declines("I am happy to help."), declines("I'm not sure.")
    (False, False, False)
    """
    words = plain_words(sentence)
    unreal = any(word in attitudes.NOT_REAL for word in words)
    plain = attitudes.NO_PROBLEM.sub("sure", sentence)
    denies = attitudes.DECLINES.search(plain) or attitudes.STOPS.match(plain)
    if len(words) <= phrases.SHORT and (unreal or denies):
        return True
    progress = phrases.PROGRESS.search(sentence)
    does = plain_words(progress["rest"] or "") if progress else []
    while does and does[0] in verbs.ADVERB_WORDS:
        does.pop(0)
    return bool(does) and does[0].endswith("ing") and stem(does[0]) in _NOT_DOING
