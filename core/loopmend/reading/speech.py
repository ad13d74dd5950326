"""What a sentence does: announce, refer, refuse, ask leave. One place for all words of speech.

A model that is about to act speaks in the first person, of now or of what comes. Everything here
looks at one sentence; who asks decides which sentence counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from loopmend.reading import phrases
from loopmend.reading.lexicon import Role, role_of, words_of

__all__ = [
    "announces",
    "asks_leave",
    "awaits",
    "closes",
    "explains",
    "is_interjection",
    "is_label",
    "is_question",
    "is_remark",
    "is_step",
    "negates",
    "plans",
    "refers",
    "refuses",
    "sentences",
    "speaks_of_itself",
    "supposes",
    "without_emoji",
]


_LABELS: Final = frozenset(
    {Role.CALL, Role.NAME, Role.ARGUMENTS, Role.FORMAT, Role.ANSWER, Role.SAY, Role.FILLER, Role.ID}
)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without their decoration."""
    plain = phrases.QUOTED.sub("X", phrases.EMOJI.sub(" ", text.replace("\u2019", "'")))
    return [s for part in phrases.SENTENCE.split(plain) if (s := part.strip(phrases.DECORATION))]


def without_emoji(text: str) -> str:
    """Return a text without pictures."""
    return phrases.EMOJI.sub(" ", text)


def plain_words(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case."""
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", sentence.lower())


def announces(sentence: str, about: Iterable[str] = ()) -> bool:
    """Tell whether a sentence leads to what its speaker is about to do.

    >>> announces("Let me look that up:"), announces("The page says:")
    (True, False)
    """
    return is_label(sentence) or plans(sentence, about)


def plans(sentence: str, about: Iterable[str] = ()) -> bool:
    """Tell whether a sentence says in the first person what is done now or next.

    Args:
        sentence: The sentence.
        about: Names of what may be done; their words are verbs of doing, too.

    >>> plans("I'll check the weather."), plans("I will not run it."), plans("I checked it.")
    (True, False, False)
    >>> plans("I'll frobnicate it."), plans("I'll frobnicate it.", ["frobnicate"])
    (False, True)
    """
    if is_question(sentence):
        return False
    while (start := phrases.START.match(sentence)) and is_interjection(start[1]):
        sentence = sentence[start.end() :]
    clause = _planned(sentence, {stem(word) for name in about for word in words_of(name)})
    if clause is None:
        return False
    # What is said before the plan does not change it; what is said after it may.
    return not (negates(clause) or supposes(clause) or phrases.FOREIGN_SAYING.search(sentence))


def _planned(sentence: str, about: set[str]) -> str | None:
    """Return the clause of a sentence that says what its speaker does, from its verb on."""
    for pattern in (phrases.PLAN, phrases.PROGRESS):
        found = None
        for match in _overlapping(pattern, sentence):
            rest = next(group for group in match.groups() if group is not None)
            if _does(rest, about, progressive=pattern is phrases.PROGRESS and not match["while"]):
                found = rest
        if found is not None:
            return found
    words = plain_words(sentence)
    while words and (words[0] in phrases.ADVERB_WORDS or words[0] in phrases.INTERJECTION):
        words.pop(0)
    if words and words[0].endswith("ing") and _is_doing(words[0], about):
        return sentence
    other = phrases.DO_IT.search(sentence) or phrases.FOREIGN.search(sentence)
    return sentence[other.start() :] if other else None


def _overlapping(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Yield all matches of a pattern that runs to the end of the sentence."""
    at = 0
    while match := pattern.search(sentence, at):
        yield match
        at = max(match.start() + 1, match.start(match.lastindex or 0))


def _does(rest: str, about: set[str], *, progressive: bool) -> bool:
    """Tell whether the verb that a phrase begins with is one of doing."""
    words = plain_words(rest)
    while words and words[0] in phrases.ADVERB_WORDS and not _stands_as_verb(words):
        words.pop(0)
    if not words or (progressive and not words[0].endswith("ing")):
        return False
    return _is_doing(words[0], about)


def _stands_as_verb(words: list[str]) -> bool:
    """Tell whether `use`, `go`, `try` or `start` is the verb, not a way to another one."""
    return words[0] in ("use", "go", "try", "start", "begin", "proceed") and not (
        len(words) > 1 and words[1] in ("to", "by", "and", "ahead", "this")
    )


def _is_doing(word: str, about: set[str]) -> bool:
    found = stem(word)
    return found in phrases.DOING or found in about


def stem(word: str) -> str:
    """Return a verb without its ending, roughly.

    >>> stem("wiping"), stem("wipes"), stem("running"), stem("wipe")
    ('wip', 'wip', 'run', 'wip')
    """
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 1:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:  # noqa: PLR2004
        word = word[:-1]
    return word


def is_interjection(sentence: str) -> bool:
    """Tell whether a sentence says no more than `Sure`."""
    words = plain_words(phrases.NO_PROBLEM.sub("sure", sentence))
    return bool(words) and all(word in phrases.INTERJECTION for word in words)


def is_step(sentence: str) -> bool:
    """Tell whether a line names the next step, as a heading does."""
    label, colon, _ = sentence.partition(":")
    words = plain_words(label)
    return bool(colon and words) and "step" in words and is_label(label)


def speaks_of_itself(sentence: str) -> bool:
    """Tell whether a sentence is about its speaker."""
    return phrases.SELF.search(sentence) is not None


def is_label(sentence: str) -> bool:
    """Tell whether a sentence is only a label or an interjection, such as `Tool call:`.

    >>> is_label("Sure!"), is_label("Here is the tool call:"), is_label("Example:")
    (True, True, False)
    """
    words = plain_words(phrases.PURPOSE.sub("", phrases.NO_PROBLEM.sub("sure", sentence)))
    if not words:
        return not any(c.isalpha() or c in "[]{}" for c in sentence)
    if all(word in phrases.INTERJECTION for word in words):
        return True
    if len(words) > phrases.LONGEST_LABEL:
        return False
    known = all(
        word in phrases.LABEL_WORDS or word in phrases.INTERJECTION or role_of(word) in _LABELS
        for word in words
    )
    return known and words[0] not in ("use", "run", "execute") and not is_question(sentence)


def negates(sentence: str) -> bool:
    """Tell whether a sentence denies, refuses or warns."""
    return phrases.NEGATION.search(phrases.NO_PROBLEM.sub("", sentence)) is not None


def supposes(sentence: str) -> bool:
    """Tell whether a sentence speaks of what might be."""
    plain = phrases.NOT_SUPPOSED.sub("want to", sentence)
    return phrases.SUPPOSES.search(plain) is not None


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks."""
    return phrases.QUESTION.search(sentence) is not None


def asks_leave(sentence: str) -> bool:
    """Tell whether a sentence asks for leave to act."""
    return phrases.LEAVE.search(sentence) is not None


def refuses(sentence: str) -> bool:
    """Tell whether a sentence says that something is not, or should not, be done."""
    return phrases.REFUSES.search(sentence) is not None


def awaits(sentence: str) -> bool:
    """Tell whether what a sentence announces waits for a word of the user."""
    return phrases.AWAITS.search(sentence) is not None


def is_remark(note: str) -> bool:
    """Tell whether words in parentheses describe something and set no condition.

    >>> is_remark("(add two numbers)"), is_remark("(only after the user has agreed)")
    (True, False)
    """
    plain = note.strip("() \t")
    if any(role_of(word) is Role.SHOWN for word in plain_words(plain)):
        return False
    return not (
        negates(plain) or supposes(plain) or asks_leave(plain) or phrases.CONDITION.search(plain)
    )


def reports(sentence: str) -> bool:
    """Tell whether a sentence says of something beside it where it comes from."""
    return phrases.REPORTS.search(sentence) is not None


def refers(sentence: str) -> bool:
    """Tell whether a sentence points at a text or a call beside it."""
    return phrases.REFERENCE.search(phrases.TO_DO_SO.sub("", sentence)) is not None


def explains(sentence: str) -> bool:
    """Tell whether a sentence explains what a call beside it does."""
    return (
        phrases.EXPLAINS.match(sentence) is not None
        and not negates(sentence)
        and not supposes(sentence)
    )


def closes(sentence: str) -> bool:
    """Tell whether a sentence only ends a message, or says what comes after the call."""
    if negates(sentence) or asks_leave(sentence) or awaits(sentence):
        return False
    return phrases.CLOSES.match(sentence) is not None or phrases.OUTLOOK.match(sentence) is not None
