"""What a sentence does: announce, refer, refuse, ask leave. One place for all words of speech.

A model that is about to act speaks in the first person, of now or of what comes. Everything here
looks at one sentence; who asks decides which sentence counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from loopmend.reading import phrases
from loopmend.reading.lexicon import Role, role_of, words_of

__all__ = [
    "announces",
    "asks_for_more",
    "asks_leave",
    "awaits",
    "clauses",
    "closes",
    "declines",
    "explains",
    "goes_on",
    "is_interjection",
    "is_label",
    "is_question",
    "is_remark",
    "is_step",
    "is_unfinished",
    "negates",
    "pauses",
    "plans",
    "presents",
    "refers",
    "refuses",
    "sentences",
    "speaks_of_itself",
    "supposes",
    "takes_back",
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


def announces(sentence: str, about: Collection[str] = ()) -> bool:
    """Tell whether a sentence leads to what its speaker is about to do.

    >>> announces("Let me look that up:"), announces("The page says:")
    (True, False)
    """
    return is_label(sentence, about) or plans(sentence, about)


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
    if is_question(sentence) or phrases.PERCEIVES.search(sentence):
        return False
    if phrases.HANDS_OVER.search(sentence) or _is_caption(sentence):
        return False
    while (start := phrases.START.match(sentence)) and is_interjection(start[1]):
        sentence = sentence[start.end() :]
    clause = _planned(sentence, {stem(word) for name in about for word in words_of(name)})
    if clause is None:
        return False
    if phrases.TEXT_OF_A_CALL.search(clause) and stem(plain_words(clause)[0]) in phrases.ON_TEXT:
        return False  # it is the text that is worked on
    # What is said before the plan does not change it; what is said after it may.
    clause = phrases.NOT_THE_REST.sub("", clause)
    return not (negates(clause) or supposes(clause) or phrases.FOREIGN_SAYING.search(sentence))


def _planned(sentence: str, about: set[str]) -> str | None:
    """Return the clause of a sentence that says what its speaker does, from its verb on."""
    if (clause := _of_the_speaker(sentence, about)) is not None:
        return clause
    words = plain_words(phrases.NO_PROBLEM.sub("sure", sentence))
    while words and (words[0] in phrases.ADVERB_WORDS or words[0] in phrases.INTERJECTION):
        words.pop(0)
    if words and words[0].endswith("ing") and _is_doing(words[0], about):
        return sentence
    if (doing := _doing_clause(sentence, about)) is not None:
        return doing
    step = phrases.STEP.match(sentence)
    if step and _does(step["rest"], about, progressive=False):
        return step["rest"]
    # Most other languages deny a verb before they name it.
    return sentence if phrases.FOREIGN.search(sentence) else None


def _of_the_speaker(sentence: str, about: set[str]) -> str | None:
    """Return the last clause that says with `I` or `let me` what is done."""
    for pattern in (phrases.PLAN, phrases.PROGRESS, phrases.PRESENT):
        found = None
        for match in _overlapping(pattern, sentence):
            rest = next(group for group in match.groups() if group is not None)
            if pattern is phrases.PRESENT and _is_past(rest):
                continue
            if _does(rest, about, progressive=pattern is phrases.PROGRESS and not match["while"]):
                found = rest
        if found is not None:
            return found
    return None


def _is_past(rest: str) -> bool:
    """Tell whether the first words of a phrase are a verb in the past."""
    words = plain_words(rest[: phrases.NEAR])
    while words and words[0] in phrases.ADVERB_WORDS:
        words.pop(0)
    return not words or words[0].endswith("ed") or words[0] in ("read", "set", "hit")


def _doing_clause(sentence: str, about: set[str]) -> str | None:
    """Return the last clause of a sentence if it says what is being done, as in `Fine, wiping`.

    What is said before it must be next to nothing, or about the speaker: else somebody else may be
    doing it.
    """
    *before, last = clauses(sentence)
    words = plain_words(last)
    if not before or not words or not words[0].endswith("ing") or not _is_doing(words[0], about):
        return None
    alone = all(
        len(plain_words(part)) <= phrases.NEXT_TO_NOTHING or speaks_of_itself(part)
        for part in before
    )
    return last if alone and not (refers(sentence) or negates(sentence)) else None


def _overlapping(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Yield all matches of a pattern that runs to the end of the sentence."""
    at = 0
    while match := pattern.search(sentence, at):
        yield match
        at = max(match.start() + 1, match.start(match.lastindex or 0))


def _does(rest: str, about: set[str], *, progressive: bool) -> bool:
    """Tell whether the verb that a phrase begins with is one of doing."""
    words = plain_words(rest[: phrases.NEAR])
    while words and words[0] in phrases.ADVERB_WORDS and not _stands_as_verb(words):
        words.pop(0)
    if not words or (progressive and not words[0].endswith("ing")):
        return False
    return _is_doing(words[0], about)


def _stands_as_verb(words: list[str]) -> bool:
    """Tell whether `use`, `go`, `try` or `start` is the verb, not a way to another one."""
    if words[0] not in ("use", "go", "try", "start", "begin", "proceed"):
        return False
    leads_on = words[1:2] and words[1] in ("to", "by", "and", "ahead")
    return not leads_on and words[1:3] != ["this", "to"]


def _is_doing(word: str, about: set[str]) -> bool:
    found = stem(word)
    return found in _DOING or found in about


def stem(word: str) -> str:
    """Return a verb without its ending, roughly.

    >>> stem("wiping"), stem("wipes"), stem("running"), stem("wipe")
    ('wip', 'wip', 'run', 'wip')
    """
    word = f"{word[:-3]}y" if word.endswith("ies") else word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 1:
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:  # noqa: PLR2004
        word = word[:-1]
    return word


_DOING: Final = frozenset(map(stem, phrases.DOING))
_NOT_DOING: Final = frozenset(map(stem, phrases.HOLDING_BACK | phrases.SHOWING))


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
    words = plain_words(phrases.PURPOSE.sub("", phrases.NO_PROBLEM.sub("sure", sentence)))
    if not words:
        return not any(c.isalpha() or c in "[]{}" for c in sentence)
    if all(word in phrases.INTERJECTION for word in words):
        return True
    if len(words) > phrases.LONGEST_LABEL:
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
    return phrases.NEGATION.search(phrases.NO_PROBLEM.sub("", sentence)) is not None


def supposes(sentence: str) -> bool:
    """Tell whether a sentence speaks of what might be."""
    plain = phrases.NOT_SUPPOSED.sub("want to", sentence)
    return phrases.SUPPOSES.search(plain) is not None


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks."""
    return phrases.QUESTION.search(sentence) is not None


def is_unfinished(line: str) -> bool:
    """Tell whether a line stops where its sentence must go on.

    >>> is_unfinished("The line that breaks it is"), is_unfinished("The folder is full of files")
    (True, False)
    """
    *before, end = clauses(line)
    hangs = bool(before) and len(plain_words(end)) == 1 and not is_label(end)
    return hangs or phrases.UNFINISHED.search(line) is not None


def asks_leave(sentence: str) -> bool:
    """Tell whether a sentence asks for leave to act."""
    return phrases.LEAVE.search(sentence) is not None


def asks_for_more(sentence: str) -> bool:
    """Tell whether a sentence asks what else there is to do.

    >>> asks_for_more("Anything else?"), asks_for_more("Shall I?")
    (True, False)
    """
    return is_question(sentence) and phrases.ANYTHING_ELSE.search(sentence) is not None


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


def declines(sentence: str) -> bool:
    """Tell whether a sentence says in a few words that its speaker does not, or does otherwise.

    >>> declines("I won't."), declines("I am cancelling."), declines("DRY RUN")
    (True, True, True)
    >>> declines("No problem."), declines("I am happy to help."), declines("I'm not sure.")
    (False, False, False)
    """
    words = plain_words(sentence)
    unreal = any(word in phrases.NOT_REAL for word in words)
    if len(words) <= phrases.SHORT and (unreal or phrases.DECLINES.search(sentence)):
        return True
    progress = phrases.PROGRESS.search(sentence)
    does = plain_words(progress["rest"] or "") if progress else []
    while does and does[0] in phrases.ADVERB_WORDS:
        does.pop(0)
    return bool(does) and does[0].endswith("ing") and stem(does[0]) in _NOT_DOING


def reports(sentence: str) -> bool:
    """Tell whether a sentence says of something beside it where it comes from."""
    return phrases.REPORTS.search(sentence) is not None


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
    named = (few or _is_caption(sentence)) and refers(sentence)
    return named or phrases.POINTS.search(sentence) is not None


def _is_caption(sentence: str) -> bool:
    """Tell whether a sentence begins like a caption, with a number that is not a step's."""
    return bool(phrases.CAPTION.match(sentence)) and not phrases.STEP.match(sentence)


def explains(sentence: str) -> bool:
    """Tell whether a sentence explains what a call beside it does.

    >>> explains("This empties the folder."), explains("This fails to parse.")
    (True, False)
    """
    does = phrases.DOES.match(sentence)
    explained = phrases.EXPLAINS.match(sentence) or (does and _is_doing(does["verb"], set()))
    main = phrases.REASON.sub("", sentence)
    return bool(explained) and not negates(main) and not supposes(main)


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
    main = phrases.REASON.sub("", sentence)
    if planned:
        return refuses(main)
    return negates(phrases.THAT.sub("", main) if speaks_of_itself(main) else main)


def pauses(sentence: str) -> bool:
    """Tell whether a sentence only asks to wait, thanks or takes leave.

    >>> pauses("One moment."), pauses("One moment, I did not run it.")
    (True, False)
    """
    return phrases.CLOSES.match(sentence) is not None and not _takes_part(sentence)


def closes(sentence: str) -> bool:
    """Tell whether a sentence only ends a message, or says what comes after the call."""
    looks_on = phrases.OUTLOOK.match(sentence) is not None and not _takes_part(sentence)
    return looks_on or pauses(sentence)


def goes_on(sentence: str) -> bool:
    """Tell whether a sentence after a call goes on with its speaker's own plan.

    >>> goes_on("Then I'll check the size."), goes_on("This text, which we'll take apart, is long.")
    (True, False)
    """
    return plans(sentence) and not phrases.OF_OTHERS.match(sentence)


def _takes_part(sentence: str) -> bool:
    """Tell whether a sentence takes a call back, or waits for the user."""
    return takes_back(sentence) or asks_leave(sentence) or awaits(sentence)
