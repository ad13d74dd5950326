"""What a sentence does: point, refuse, ask, wait, close. Each function looks at one sentence.

Who asks decides which sentence counts. What its speaker is about to do is told by `plans`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from loopmend.reading import attitudes, languages, phrases, verbs
from loopmend.reading.lexicon import Role, role_of

__all__ = [
    "asks_for_more",
    "asks_leave",
    "awaits",
    "clauses",
    "converses",
    "forbids",
    "is_caption",
    "is_foreign",
    "is_interjection",
    "is_label",
    "is_question",
    "is_remark",
    "is_step",
    "is_unfinished",
    "narrates",
    "negates",
    "pauses",
    "plain_words",
    "presents",
    "refers",
    "refuses",
    "sentences",
    "speaks_of_itself",
    "supposes",
    "takes_back",
    "takes_part",
    "without_emoji",
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


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence, as far as marks part them."""
    return phrases.WITHIN.split(sentence.rstrip(":\uff1a "))


def without_emoji(text: str) -> str:
    """Return a text without pictures."""
    return phrases.EMOJI.sub(" ", text)


def plain_words(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case."""
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", sentence.lower())


def is_interjection(sentence: str) -> bool:
    """Tell whether a sentence says no more than `Sure`."""
    words = plain_words(attitudes.NO_PROBLEM.sub("sure", sentence))
    return bool(words) and all(word in phrases.INTERJECTION for word in words)


def is_step(sentence: str) -> bool:
    """Tell whether a line names the next step, as a heading does."""
    label, colon, _ = sentence.partition(":")
    words = plain_words(label)
    return bool(colon and words) and "step" in words and is_label(label)


def speaks_of_itself(sentence: str) -> bool:
    """Tell whether a sentence is about its speaker."""
    return phrases.SELF.search(sentence) is not None


def is_label(sentence: str, about: Collection[str] = ()) -> bool:
    """Tell whether a sentence is only a label or an interjection, such as `Tool call:`.

    Args:
        sentence: The sentence.
        about: Names that a label may hold.

    >>> is_label("Sure!"), is_label("Here is the tool call:"), is_label("Example:")
    (True, True, False)
    >>> is_label("Calling wipe:"), is_label("Calling wipe:", ["wipe"])
    (False, True)
    """
    for name in about:
        if name not in sentence:
            continue
        sentence = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "tool", sentence)
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


def is_unfinished(line: str) -> bool:
    """Tell whether a line stops where its sentence must go on.

    >>> is_unfinished("The line that breaks it is"), is_unfinished("The folder is full of files")
    (True, False)
    """
    *before, end = clauses(line)
    lone = len(plain_words(end)) == 1 and not end.endswith("ing")
    hangs = bool(before) and lone and not is_label(end)
    return hangs or phrases.UNFINISHED.search(line) is not None


def asks_leave(sentence: str) -> bool:
    """Tell whether a sentence asks for leave to act."""
    plain = attitudes.GIVEN.sub("", sentence)
    return attitudes.LEAVE.search(plain) is not None and not attitudes.THANKS.match(sentence)


def asks_for_more(sentence: str) -> bool:
    """Tell whether a sentence asks what else there is to do.

    >>> asks_for_more("Anything else?"), asks_for_more("Shall I?")
    (True, False)
    """
    return is_question(sentence) and attitudes.ANYTHING_ELSE.search(sentence) is not None


def forbids(sentence: str) -> bool:
    """Tell whether a sentence tells somebody not to do something."""
    return attitudes.FORBIDS.match(sentence) is not None


def refuses(sentence: str) -> bool:
    """Tell whether a sentence says that something is not, or should not, be done."""
    return attitudes.REFUSES.search(attitudes.NOT_THE_REST.sub("", sentence)) is not None


def awaits(sentence: str) -> bool:
    """Tell whether what a sentence announces waits for a word of the user."""
    return attitudes.AWAITS.search(attitudes.GIVEN.sub("", sentence)) is not None


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


def reports(sentence: str) -> bool:
    """Tell whether a sentence says of something beside it where it comes from."""
    return phrases.REPORTS.search(sentence) is not None


def converses(sentence: str) -> bool:
    """Tell whether a sentence is one of a conversation: its speaker's, or about who is spoken to.

    >>> converses("You want it gone."), converses("Our intern pastes the line every morning.")
    (True, False)
    """
    return phrases.CONVERSES.search(sentence) is not None


def is_foreign(sentence: str) -> bool:
    """Tell whether a sentence is in another language, as far as its letters and words tell.

    >>> is_foreign("Der Ordner ist voll."), is_foreign("Denied!")
    (True, False)
    """
    if languages.OTHER_LANGUAGE.search(sentence) is None:
        return False
    return languages.ENGLISH.search(sentence) is None


def narrates(sentence: str) -> bool:
    """Tell whether a sentence is a story: what somebody else did, not what a step brought.

    >>> narrates("The bot emptied the wrong volume."), narrates("The search returned the page.")
    (True, False)
    >>> narrates("The user asked me to check the folder."), narrates("Backup verified.")
    (False, False)
    """
    if phrases.INVOLVED.search(sentence) or not phrases.NARRATES.search(sentence):
        return False
    return bool(verbs.TEXT_OF_A_CALL.search(sentence)) or not phrases.OUTCOME.search(sentence)


def reports_state(sentence: str) -> bool:
    """Tell whether a sentence says how the things at hand stand, or what a step brought.

    >>> reports_state("The job is stopped."), reports_state("The query returned 0 rows.")
    (True, True)
    >>> reports_state("Our intern runs it."), reports_state("The command is short.")
    (False, False)
    """
    if (
        refers(sentence)
        or verbs.TEXT_OF_A_CALL.search(sentence)
        or verbs.SOMEBODYS.search(sentence)
    ):
        return False
    return bool(phrases.STATES.search(sentence) or phrases.OUTCOME.search(sentence))


def refers(sentence: str) -> bool:
    """Tell whether a sentence points at a text or a call beside it."""
    return phrases.REFERENCE.search(phrases.TO_DO_SO.sub("", sentence)) is not None


def presents(sentence: str) -> bool:
    """Tell whether a finished sentence hands over a text that follows it.

    What is done for this, with this or about this is the task, not a text.

    >>> presents("Someone sent me this."), presents("I have the rights for this.")
    (True, False)
    """
    few = len(plain_words(sentence)) <= phrases.SHORT and not phrases.PARTNER.search(sentence)
    named = (few or is_caption(sentence)) and refers(sentence)
    return named or phrases.POINTS.search(sentence) is not None


def is_caption(sentence: str) -> bool:
    """Tell whether a sentence begins like a caption, with a number that is not a step's."""
    return bool(phrases.CAPTION.match(sentence)) and not phrases.STEP.match(sentence)


def takes_back(sentence: str, *, planned: bool = False) -> bool:
    """Tell whether a sentence after a call denies it; what it says of a result does not.

    Args:
        sentence: The sentence.
        planned: Whether a plan led to the call: then only a refusal to act takes it back.

    >>> takes_back("Do not run it."), takes_back("Then I'll check that nothing is left.")
    (True, False)
    >>> takes_back("Nothing is lost."), takes_back("Nothing is lost.", planned=True)
    (True, False)
    """
    main = attitudes.REASON.sub("", sentence)
    if planned:
        return refuses(main)
    return negates(attitudes.THAT.sub("", main) if speaks_of_itself(main) else main)


def pauses(sentence: str) -> bool:
    """Tell whether a sentence only asks to wait, thanks or takes leave.

    >>> pauses("One moment."), pauses("One moment, I did not run it.")
    (True, False)
    """
    parts = clauses(sentence)
    closing = [phrases.CLOSES.match(part) is not None for part in parts]
    led = closing[0] or (any(closing) and phrases.WHEN_DONE.match(sentence) is not None)
    return (
        led
        and not takes_part(sentence)
        and all(
            closed or speaks_of_itself(part) or is_label(part) or phrases.WHEN_DONE.match(part)
            for closed, part in zip(closing, parts, strict=True)
        )
    )


def takes_part(sentence: str) -> bool:
    """Tell whether a sentence takes a call back, or waits for the user."""
    return takes_back(sentence) or asks_leave(sentence) or awaits(sentence)
