"""What a sentence does: point, refuse, ask, wait, close. Each function looks at one sentence.

Who asks decides which sentence counts. What its speaker is about to do is told by `plans`.
"""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading import attitudes, phrases
from loopmend.reading.lexicon import Role, role_of

__all__ = [
    "asks_leave",
    "is_interjection",
    "is_label",
    "is_question",
    "is_remark",
    "negates",
    "plain_words",
    "refuses",
    "sentences",
    "supposes",
]


_LABELS: Final = frozenset(
    {Role.CALL, Role.NAME, Role.FORMAT, Role.ANSWER, Role.SAY, Role.FILLER, Role.ID}
)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without their decoration."""
    plain = phrases.EMOJI.sub(" ", text.replace("\u2019", "'"))
    plain = phrases.CONTRACTED.sub(lambda short: "'".join(filter(None, short.groups())), plain)
    if '"' in plain or "'" in plain or "\u201c" in plain:
        plain = phrases.QUOTED.sub(_unquoted, plain)
    return [s for part in phrases.SENTENCE.split(plain) if (s := part.strip(phrases.DECORATION))]


def _unquoted(quotation: re.Match[str]) -> str:
    """Return what stands for a quotation; a sentence that ends in it ends there."""
    end = quotation[0][-2]
    return f"X{end}" if end in ".!?" else "X"


def plain_words(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case."""
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", sentence.lower())


def is_interjection(sentence: str) -> bool:
    """Tell whether a sentence says no more than `Sure`."""
    words = plain_words(attitudes.NO_PROBLEM.sub("sure", sentence))
    return bool(words) and all(word in phrases.INTERJECTION for word in words)


def is_label(sentence: str) -> bool:
    """Tell whether a sentence is only a label or an interjection, such as `Tool call:`.

    >>> is_label("Sure!"), is_label("Here is the tool call:"), is_label("Example:")
    (True, True, False)
    """
    words = plain_words(phrases.PURPOSE.sub("", attitudes.NO_PROBLEM.sub("sure", sentence)))
    if not words:
        return not any(c.isalpha() or c in "[]{}" for c in sentence)
    if all(word in phrases.INTERJECTION for word in words):
        return True
    if len(words) > phrases.LONGEST_LABEL or phrases.YOUR_TURN.match(sentence):
        return False
    known = all(
        word in phrases.LABEL_WORDS
        or word in phrases.SPEAKERS
        or word.removesuffix("s") in phrases.LABEL_WORDS
        or word in phrases.INTERJECTION
        or role_of(word) in _LABELS
        for word in words
    )
    return known and words[0] not in ("use", "run", "execute") and not is_question(sentence)


def negates(sentence: str) -> bool:
    """Tell whether a sentence denies, refuses or warns."""
    return attitudes.NEGATION.search(attitudes.NO_PROBLEM.sub("", sentence)) is not None


def supposes(sentence: str) -> bool:
    """Tell whether a sentence speaks of what might be."""
    plain = attitudes.NOT_SUPPOSED.sub("want to", sentence)
    return attitudes.SUPPOSES.search(plain) is not None


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks."""
    return phrases.QUESTION.search(sentence) is not None


def asks_leave(sentence: str) -> bool:
    """Tell whether a sentence asks for leave to act."""
    plain = attitudes.GIVEN.sub("", sentence)
    return attitudes.LEAVE.search(plain) is not None and not attitudes.THANKS.match(sentence)


def refuses(sentence: str) -> bool:
    """Tell whether a sentence says that something is not, or should not, be done."""
    return attitudes.REFUSES.search(attitudes.NOT_THE_REST.sub("", sentence)) is not None


def is_remark(note: str) -> bool:
    """Tell whether words in parentheses describe something and set no condition.

    >>> is_remark("(add two numbers)"), is_remark("(only after the user has agreed)")
    (True, False)
    """
    plain = note.strip("() \t")
    words = plain_words(plain)
    if any(role_of(word) is Role.SHOWN for word in words):
        return False
    if words and words[0].endswith("ed") and words[0] != "used":
        return False  # what was done to the tool, not what it does
    return not (
        negates(plain) or supposes(plain) or asks_leave(plain) or attitudes.CONDITION.search(plain)
    )
