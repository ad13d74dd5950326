"""Which specialists a message asks for, told by its words alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from loopmend._arguments import not_text
from loopmend.planning.asking import ROLES, Sentence, is_address, is_request, read_sentences, words

__all__ = ["RosterMatch", "match_specialists"]

_READ: Final = 8_000  # characters; who asks for a specialist says so early
_LONGEST_NAME: Final = 100  # characters; nobody spells out a longer one
_SHORTEST_NAME: Final = 3  # letters; shorter ones are words of any sentence
_MOST_PARTS: Final = 6
_NAME_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+|[^\W\d_]+")
_WORDS: Final = re.compile(r"[^\W\d_]{4,}")
_COMMON: Final = words(
    """
    about agent also answer anything assistant could does each from give have help into just
    know like make more need only other please question should some something specialist task
    tell than that their them then there these they thing this user using want what when where
    which will with work would your
    """
)
# A role word makes a specialist of a thing ("the data agent"), but not of these ("the agent").
_NO_NAMES: Final = words(
    """
    a an and another any anybody anyone everybody everyone he her him i me my no one or our
    she some somebody someone that the them these they this those to us we you your
    """
)
_DEPARTMENTS: Final = words(
    """
    accounting billing engineering finance hr legal marketing operations pr qa sales security
    support tax
    """
)
_THINGS: Final = words(
    """
    analysis analytics answer api app audio book booking browser calculation calendar chat code
    coding computer content data database default design doc docs document documents email
    english file files flight flights french general german help history home hotel image images
    info internet japanese knowledge law log logs mail main map maps math mathematics maths
    medicine memory menu model money music news number office order orders paper payment
    payments photo physics plan planning policy product python question questions refund refunds
    report reports research review science search service shell shipping shopping spanish
    spreadsheet sql story summary system table task tasks test testing tests text time tool
    tools translation travel user video weather web website work world writing
    """
)
# These are no specialists of a roster, whatever it says of them.
_OUTSIDERS: Final = words("actual estate human insurance live literary my real travel")
_ANY: Final = words("a an some another the your our")
_LISTED: Final = words("and or then also plus the your our")


@dataclass(frozen=True, slots=True)
class RosterMatch:
    """The specialists that a message asks for.

    >>> RosterMatch(explicit=True, names=("writer",)).names
    ('writer',)
    """

    explicit: bool = False
    """Whether the message asks for a specialist in so many words."""
    names: tuple[str, ...] = ()
    """Those that fit, the best first."""


@dataclass(frozen=True, slots=True)
class _Index:
    """The names of a roster by how they are spelt when nothing but the letters counts."""

    whole: dict[str, list[str]] = field(default_factory=dict)
    stems: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    initials: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Found:
    """The words of a sentence that name somebody."""

    names: tuple[str, ...]
    kind: str
    start: int
    end: int
    owns: bool = False


def match_specialists(text: str, roster: Mapping[str, str]) -> RosterMatch:
    """Find the specialists that a message asks for by name, or whose description it is about.

    A request is an English sentence whose object is a specialist: "ask the writer", "let the
    writer do it", "hand this over to a specialist"; or a mention such as `@writer`, in any
    language. A sentence that denies, quotes, reports or wonders about one is none, and a name
    that is also an ordinary word needs more: "the data agent". Without a request, those whose
    description shares words with the message fit all the same, but nobody asked for them.

    Args:
        text: The user's message.
        roster: What each specialist does, by name.

    Raises:
        TypeError: `text` is not a `str`.

    >>> roster = {"ResearchAgent": "Looks things up.", "writer": "Writes poems and reports."}
    >>> match_specialists("Please ask the research agent about Oslo.", roster)
    RosterMatch(explicit=True, names=('ResearchAgent',))
    >>> match_specialists("Why did you ask the research agent?", roster).explicit
    False
    >>> match_specialists("I need a poem about Oslo. Could a specialist do it?", roster)
    RosterMatch(explicit=False, names=('writer',))
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    read = text[:_READ]
    sentences = read_sentences(read)
    asked = _asked_for(sentences, _index(roster))
    if asked:
        return RosterMatch(explicit=True, names=tuple(name for name in roster if name in asked))
    return RosterMatch(any(map(_asks_for_anybody, sentences)), _about(read, roster))


def _index(roster: Mapping[str, str]) -> _Index:
    """Return the names of a roster, ready to be looked up."""
    index = _Index()
    for name in roster:
        parts = [] if len(name) > _LONGEST_NAME else _NAME_PARTS.findall(name)
        spelt = [part.casefold() for part in parts]
        if not spelt:
            continue
        whole = "".join(spelt)
        index.initials.add(whole[0])
        index.whole.setdefault(whole, []).append(name)
        index.kinds.setdefault(whole, _kind(spelt))
        if len(spelt) > 1 and spelt[-1] in ROLES:
            index.stems.setdefault("".join(spelt[:-1]), []).append(name)
    return index


def _kind(spelt: list[str]) -> str:
    """Return how likely the parts of a name are to mean a specialist."""
    word = spelt[-1]
    ordinary = word in _THINGS or word in _DEPARTMENTS or word in _NO_NAMES or word.isdigit()
    if len(spelt) == 1 and word in _DEPARTMENTS:
        return "department"
    if len(whole := "".join(spelt)) < _SHORTEST_NAME and whole.isascii():
        return "thing"
    if len(spelt) > 1:
        return "plain" if ordinary else "distinct"
    return "thing" if ordinary else "plain"


def _asked_for(sentences: list[Sentence], index: _Index) -> set[str]:
    """Return the names that sentences ask for."""
    asked: set[str] = set()
    for said in sentences:
        last, here = -1, set[str]()
        for found in _named(said, index):
            # Who was asked for is not looked at again: a sentence may name them at every word.
            if not here.issuperset(found.names) and _is_asked_for(said, last, found):
                here.update(found.names)
                last = found.end
        asked |= here
    return asked


def _is_asked_for(said: Sentence, last: int, found: _Found) -> bool:
    """Tell whether a name is asked for, given where the one that was asked for last ends."""
    if last >= 0 and _goes_on(said, last, found):
        return True
    if is_request(said, found.start, found.end, found.kind, owns=found.owns):
        return True
    speaks_to = found.kind in ("distinct", "plain") and not found.owns
    return speaks_to and is_address(said, found.start, found.end)


def _goes_on(said: Sentence, last: int, found: _Found) -> bool:
    """Tell whether a name goes on with a list of those asked for, as in "the writer and tax"."""
    if said.refused_from < found.start or found.kind == "thing" or found.owns:
        return False
    between = said.words[last : found.start]
    ends = said.ends(found.end) or said.after(found.end) in ("to", "about", "for", "and", "or")
    whole = all(word.gap in " ," and word.text in _LISTED for word in between)
    gaps = {word.gap for word in said.words[last : found.start + 1]}
    joined = "," in gaps or any(word.text in ("and", "or", "then") for word in between)
    return ends and whole and joined


def _named(said: Sentence, index: _Index) -> Iterator[_Found]:
    """Yield where a sentence names somebody, the longest name at each place."""
    start = 0
    while start < len(said.words):
        may_be = said.words[start].text[0] in index.initials
        found = _named_at(said, start, index) if may_be else None
        if found is not None:
            yield found
        start = start + 1 if found is None else found.end


def _named_at(said: Sentence, start: int, index: _Index) -> _Found | None:
    """Return the longest name that starts at a word."""
    best = None
    spelt = ""
    for at in range(start, min(start + _MOST_PARTS, len(said.words))):
        word = said.words[at]
        if at > start and (word.gap not in (" ", "-") or word.at):
            break
        spelt += word.text
        best = _spelt(said, spelt, start, at + 1, index) or best
    return best


def _spelt(said: Sentence, spelt: str, start: int, end: int, index: _Index) -> _Found | None:
    """Return whom a spelling names, with the role that may stand after it."""
    spelt, owns = spelt.removesuffix("'s"), spelt.endswith("'s")
    has_role = said.gap(end) in (" ", "-") and said.words[end].text in ROLES
    if has_role and spelt not in _NO_NAMES and not owns:
        names = (*index.whole.get(spelt, ()), *index.stems.get(spelt, ()))
        return _Found(names, "distinct", start, end + 1) if names else None
    if spelt not in index.whole and index.kinds.get(spelt[:-1]) == "plain" and spelt[-1] == "s":
        spelt = spelt[:-1]
    if spelt not in index.whole or said.gap(end) == "-":
        return None
    return _Found(tuple(index.whole[spelt]), index.kinds[spelt], start, end, owns)


def _asks_for_anybody(said: Sentence) -> bool:
    """Tell whether a sentence asks for some specialist, whoever it is."""
    return any(
        word.text in ROLES and word.text != "team" and _asks_for_some(said, at)
        for at, word in enumerate(said.words)
    )


def _asks_for_some(said: Sentence, at: int) -> bool:
    """Tell whether the role at a place is asked for, be it with a word on what it is for."""
    texts = [word.text for word in said.words[max(0, at - 2) : at]]
    if texts[-1:] and texts[-1] in _ANY:
        return is_request(said, at, at + 1, "anybody")
    described = len(texts) > 1 and texts[0] in _ANY and texts[1] not in _OUTSIDERS
    joined = said.gap(at) in (" ", "-")
    return described and joined and is_request(said, at - 1, at + 1, "anybody")


def _about(text: str, roster: Mapping[str, str]) -> tuple[str, ...]:
    """Return the specialists whose name or description shares words with a text."""
    if not roster:
        return ()
    said = _stems(text)
    shared = {name: len(said & _stems(f"{name} {does}")) for name, does in roster.items()}
    return tuple(sorted((n for n in roster if shared[n]), key=shared.__getitem__, reverse=True))


def _stems(text: str) -> set[str]:
    """Return the telling words of a text, without the endings that most of them change."""
    telling = {word.lower() for word in _WORDS.findall(text)} - _COMMON
    return {re.sub(r"(?:ing|ers?|ed|es|s)$", "", word) for word in telling}
