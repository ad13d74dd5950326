"""What a speaker says it does: now or next, in the first person, by a verb of doing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from loopmend.reading import attitudes, languages, phrases, verbs
from loopmend.reading.lexicon import words_of
from loopmend.reading.speech import (
    clauses,
    is_caption,
    is_interjection,
    is_question,
    narrates,
    negates,
    pauses,
    plain_words,
    refers,
    speaks_of_itself,
    supposes,
    takes_part,
)

__all__ = [
    "acts_by",
    "closes",
    "declines",
    "explains",
    "goes_on",
    "plans",
    "promises",
    "stem",
    "withdraws",
    "withholds",
]


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
    if is_question(sentence) or verbs.PERCEIVES.search(sentence):
        return False
    if phrases.HANDS_OVER.search(sentence) or is_caption(sentence):
        return False
    if phrases.THIS_IS.match(sentence):
        return False  # it is the text of what may be done
    if phrases.WHEN_DONE.match(sentence) and not phrases.WHEN_IT_WAS.match(sentence):
        return False  # something else comes first
    while (start := phrases.START.match(sentence)) and is_interjection(start[1]):
        sentence = sentence[start.end() :]
    clause = _planned(sentence, {stem(word) for name in about for word in words_of(name)})
    if clause is None:
        return False
    if phrases.GOES_ON.search(clause):
        return False  # what was announced is said behind the colon
    if attitudes.PUT_OFF.search(clause) or phrases.HANGS.search(sentence):
        return False
    if _is_on_text(clause, {stem(word) for name in about for word in words_of(name)}):
        return False
    # What is said before the plan does not change it; what is said after it may.
    clause = attitudes.NOT_THE_REST.sub("", clause)
    return not (negates(clause) or supposes(clause) or languages.FOREIGN_SAYING.search(sentence))


def _is_on_text(clause: str, about: set[str]) -> bool:
    """Tell whether a clause, from its verb on, says what is done to the text of a call."""
    words = _from_verb(clause)
    verb = stem(words[0]) if words else ""
    if not verb or verb in about:
        return False
    held = verbs.TEXT_OF_A_CALL.search(" ".join(words[1 : phrases.SHORT + 1]))
    held = held or verbs.SOMEBODYS.search(" ".join(words[1 : phrases.SHORT]))
    return (held is not None and verb not in verbs.MAKING) or (
        verb in verbs.KEEPING and verbs.IT.match(" ".join(words)) is not None
    )


def _planned(sentence: str, about: set[str]) -> str | None:
    """Return the clause of a sentence that says what its speaker does, from its verb on."""
    if (clause := _of_the_speaker(sentence, about)) is not None:
        return clause
    led = phrases.FIRST_WORD.match(sentence)
    if led and led[1].lower() in phrases.INTERJECTION:  # `alright let's go`
        clause = _of_the_speaker(sentence[led.end() :], about)
        if clause is not None:
            return clause
    words = plain_words(attitudes.NO_PROBLEM.sub("sure", sentence))
    while words and (words[0] in verbs.ADVERB_WORDS or words[0] in phrases.INTERJECTION):
        words.pop(0)
    if words and words[0].endswith("ing") and _is_doing(words[0], about):
        return None if phrases.GERUND.match(sentence) else sentence
    if (doing := _doing_clause(sentence, about)) is not None:
        return doing
    step = phrases.STEP.match(sentence)
    if step and _does(step["rest"], about, progressive=False):
        return step["rest"]
    # Most other languages deny a verb before they name it.
    named = languages.FOREIGN.search(sentence) and not languages.FOREIGN_THIS.search(sentence)
    return sentence if named else None


def _of_the_speaker(sentence: str, about: set[str]) -> str | None:
    """Return the last clause that says with `I` or `let me` what is done."""
    for pattern in (phrases.PLAN, phrases.PROGRESS, phrases.PRESENT):
        found = None
        for match in _overlapping(pattern, sentence):
            rest = next(group for group in match.groups() if group is not None)
            if pattern is phrases.PRESENT and _is_past(rest):
                continue
            now = pattern is phrases.PROGRESS and not match["while"]
            spared = phrases.SPARES.match(rest)
            if _does(spared["rest"] if spared else rest, about, progressive=now):
                found = rest
        if found is not None:
            return found
    return None


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


def _is_past(rest: str) -> bool:
    """Tell whether the first words of a phrase are a verb in the past."""
    words = plain_words(rest[: phrases.NEAR])
    while words and words[0] in verbs.ADVERB_WORDS:
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
        len(plain_words(part)) <= phrases.NEXT_TO_NOTHING
        or speaks_of_itself(part)
        or phrases.ACCORDING_TO.match(part)
        for part in before
    )
    ahead = phrases.GOES_AHEAD.match(last) is not None
    alone = alone or (ahead and not any(narrates(part) for part in before))
    return last if alone and not (refers(sentence) or negates(sentence)) else None


def _overlapping(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Yield all matches of a pattern that runs to the end of the sentence."""
    at = 0
    while match := pattern.search(sentence, at):
        yield match
        at = max(match.start() + 1, match.start(match.lastindex or 0))


def _does(rest: str, about: set[str], *, progressive: bool) -> bool:
    """Tell whether the verb that a phrase begins with is one of doing."""
    words = _from_verb(rest)
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


_DOING: Final = frozenset(map(stem, verbs.DOING))
_NOT_DOING: Final = frozenset(map(stem, verbs.HOLDING_BACK | verbs.SHOWING))
_STAYING: Final = frozenset(map(stem, verbs.STAYING))
_STAYING_NOW: Final = _STAYING | frozenset(map(stem, verbs.STAYING_NOW))
_LIGHT: Final = frozenset(map(stem, verbs.LIGHT))
_HOLDING_BACK: Final = frozenset(map(stem, verbs.HOLDING_BACK - verbs.TELLING))
_COMING: Final = _DOING | frozenset(map(stem, verbs.SHOWING | verbs.TELLING))


def withdraws(sentence: str) -> bool:
    """Tell whether a thought after a call takes it back; what it says of a result does not.

    >>> withdraws("Scratch that."), withdraws("I will not run it."), withdraws("I leave it alone.")
    (True, True, True)
    >>> withdraws("I should not go on until I see the result."), withdraws("It is done.")
    (False, False)
    """
    if declines(sentence) or attitudes.NOT_IT.search(sentence):
        return True
    held = (words for rest in _own_verbs(sentence) if (words := _from_verb(rest)))
    return any(
        stem(words[0]) in _HOLDING_BACK and verbs.IT.match(" ".join(words)) for words in held
    )


def _own_verbs(sentence: str) -> Iterator[str]:
    """Yield what a speaker does, or tells itself to do, from each verb on."""
    yield sentence
    for pattern in (phrases.COMING, phrases.PRESENT):
        yield from (match["rest"] for match in _overlapping(pattern, sentence))


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

    >>> declines("I won't."), declines("I am cancelling."), declines("DRY RUN")
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


def explains(sentence: str) -> bool:
    """Tell whether a sentence explains what a call beside it does.

    >>> explains("This empties the folder."), explains("This fails to parse.")
    (True, False)
    """
    does = phrases.DOES.match(sentence)
    explained = phrases.EXPLAINS.match(sentence) or (does and _is_doing(does["verb"], set()))
    main = attitudes.REASON.sub("", sentence)
    return bool(explained) and not negates(main) and not supposes(main)


def closes(sentence: str) -> bool:
    """Tell whether a sentence only ends a message, or says what comes after the call.

    >>> closes("Once it is done, I will tell you."), closes("I will skip this.")
    (True, False)
    """
    if takes_part(sentence):
        return False
    if phrases.AFTERWARDS.match(sentence) and not verbs.PAST.search(sentence):
        return _comes_next(sentence)
    return (bool(phrases.OUTLOOK.match(sentence)) and _comes_next(sentence)) or pauses(sentence)


def _comes_next(sentence: str) -> bool:
    """Tell whether what a speaker does next is something to do, or to tell."""
    verbs = [stem(words[0]) for rest in _said_next(sentence) if (words := _from_verb(rest))]
    own = phrases.SELF.match(sentence) or sentence[:4].lower() == "let "
    if own and not phrases.LATER.search(sentence):
        return all(verb in _COMING for verb in verbs)
    return _HOLDING_BACK.isdisjoint(verbs)


def _said_next(sentence: str) -> Iterator[str]:
    for match in _overlapping(phrases.COMING, sentence):
        yield match["rest"]


def _from_verb(rest: str) -> list[str]:
    words = plain_words(rest[: phrases.NEAR])
    while words and words[0] in verbs.ADVERB_WORDS and not _stands_as_verb(words):
        words.pop(0)
    return words


def goes_on(sentence: str) -> bool:
    """Tell whether a sentence after a call goes on with its speaker's own plan.

    >>> goes_on("Then I'll check the size."), goes_on("This text, which we'll take apart, is long.")
    (True, False)
    """
    return plans(sentence) and not phrases.OF_OTHERS.match(sentence)
