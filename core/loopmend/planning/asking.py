"""The grammar of a request for a specialist: what may stand before a name, and what after it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["ROLES", "Sentence", "Word", "is_address", "is_request", "read_sentences", "words"]


def words(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(words("to for"))
    ['for', 'to']
    """
    return frozenset(text.split())


ROLES: Final = words("agent assistant bot expert specialist team")
_STRAIGHT: Final = str.maketrans("\u2018\u2019", "''")
_LONGEST_GAP: Final = 8  # characters
_LEFT: Final = 12  # words; who asks for somebody names them soon

# Nothing that is quoted is the user's own request.
_QUOTED: Final = re.compile(
    r"(?s:```.*?(?:```|\Z))|`[^`\n]*`|\"[^\"]*\"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」"
    r"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)|^[ \t]*>[^\n]*",
    re.MULTILINE,
)
# Scripts without spaces are read character by character.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD: Final = re.compile(
    rf"(?P<at>(?<![\w.])@)?(?P<word>[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+"
    rf"(?:'(?:(?![{_UNSPACED}])[^\W_])+)*)"
)
_SENTENCE_END: Final = re.compile(r"[.!?][^\w\s]{0,2}\s|[\n\u3002\uff01\uff1f]")
_ENDS: Final = re.compile(r"[.!?\n\u3002\uff01\uff1f]")
_CLAUSE_END: Final = re.compile(r"[\s*#()]*(?:[,;()\u2013\u2014\uff0c]|\s-+\s)[\s*#()]*")
_COLON: Final = re.compile(r"[\s*]*[:\uff1a][\s*]*")

# What holds on a condition is for the model to weigh.
_NOT_ASKED: Final = words(
    """
    avoid called cannot did does dont expression had has hasnt how idiom if mean means neither
    never nor not paraphrase phrase proofread rephrase said say saying says sentence stop titled
    translate unless was were what when whenever where which who whom whose why without wont
    """
)
_REPORTS: Final = words("said say says wrote")
_NOT_ASKED_PAIRS: Final = frozenset(
    ("have you", "have we", "have i", "have they", "instead of", "rather than", "no longer")
)
_OTHERS: Final = words("i we you he she they it people users someone")

_LEAD: Final = (
    r"(?:[, ](?:and|then|but|so) |,)"
    r"(?:(?:and|then|but|so|please|pls|kindly|just|now|first|next|also|finally|maybe|perhaps|ok|okay"
    r"|yes|hi|hello|hey|rather|instead|simply|do|go ahead and|feel free to|make sure to|be sure to"
    r"|(?:can|could|would|will) (?:you|someone|somebody)|(?:can|could) we|let's"
    r"|(?:(?:i|we) (?:want|need|would (?:like|love))|(?:i|we)'d (?:like|love|want)) you to) ){0,4}"
)
# Who wants to give something to the writer may do so; who wants to talk to them is to be led there.
_MYSELF: Final = (
    r"(?:let (?:me|us)|(?:can|could|may|might) i|(?:i|we)'d (?:like|love|want) to"
    r"|(?:i|we) (?:want|need|wish|would (?:like|love)) to)"
)
_MY: Final = (
    r"(?:(?:this|it|that|these|those|them|everything|all|me|us|the|my|our|over|off|on|along|task"
    r"|question|request|problem|issue|matter|job|work|rest|ticket|conversation) )"
)
_ARTICLE: Final = r"(?:(?:the|your|our|a|an|some) )?"
_STRONG: Final = re.compile(
    _LEAD + r"(?:ask|consult(?: with)?|involve|check with|work with|(?:bring|loop|pull|call) in"
    rf"|(?:{_MYSELF} )?(?:talk|speak)(?: directly)? (?:to|with)"
    rf"|(?:delegate|hand|hand[ -]?off|hand[ -]?over|assign|escalate|transfer|forward|route) {_MY}"
    rf"{{0,4}}to|(?:pass|send|give|redirect) {_MY}{{1,4}}to|connect (?:me|us|this) (?:with|to)"
    r"|put (?:me|us) (?:through to|in touch with)|refer (?:me|us|this|it) to) " + _ARTICLE + "$"
)
# One also switches to a language, and uses a thing.
_SWITCH: Final = re.compile(_LEAD + r"switch (?:(?:me|us|over) ){0,2}to (?:the|your|our) $")
_USE: Final = re.compile(_LEAD + r"(?:use|switch (?:(?:me|us|over) ){0,2}to) " + _ARTICLE + "$")
_LET: Final = re.compile(_LEAD + r"(?:let|have) " + _ARTICLE + "$")
_CAN: Final = re.compile(r",(?:(?:please|and|hi|hello|hey) )?(?:can|could) (?:the|your|our) $")
_TELL: Final = re.compile(_LEAD + r"tell " + _ARTICLE + "$")
_WANT: Final = re.compile(
    rf"(?:{_LEAD}get|,(?:(?:i|we) (?:want|need|would (?:like|love))|(?:i|we)'d (?:like|love|want)))"
    rf" {_ARTICLE}$"
)
_GET: Final = re.compile(_LEAD + r"get " + _ARTICLE + "$")
_BRING: Final = re.compile(_LEAD + r"(?:bring|loop|pull|call) " + _ARTICLE + "$")
_MENTION: Final = re.compile(_LEAD + "$")
# A department is a person on the telephone only where it stands without an article.
_PERSONAL: Final = re.compile(r"[ ,](?:ask|consult|in|to|with) $")
_GREETED: Final = re.compile(r",(?:(?:hey|hi|hello|ok|okay|dear) )?$")

_AFTER: Final = words(
    """
    about again also and because before but concerning directly first for here how if instead it
    next now on once or please regarding so thanks then this to what when where whether which
    why
    """
)
_AFTER_ANYBODY: Final = _AFTER | words("that who with in from")
_AFTER_DEPARTMENT: Final = words("to about for please and or if whether then")
_AFTER_MENTION: Final = words(
    "and are had has is or posted said says that tweeted was were which who wrote"
)
_HELP: Final = words("help advice input opinion view assistance")
_WORK: Final = words(
    """
    add advise analyse analyze answer assist begin book build calculate check clarify collect
    compare compose compute confirm create deal debug decide describe design do draft edit
    examine explain find finish fix gather generate give handle help improve investigate join
    list look make plan please prepare process produce proofread provide query read recommend
    reply research resolve respond review revise rewrite search send solve step suggest
    summarise summarize take tell test translate try update verify weigh write
    """
)
# "Can the editor edit PDF files?" wonders, "Can the editor look at it?" asks.
_MINE: Final = words("it this that these at into me us my our with care")
_TEXT_WORK: Final = words(
    """
    below check correct edit email following improve message paraphrase paste proofread quote
    rephrase reply rewrite shorten summarise summarize summary text this translate translation
    """
)
_POLITE: Final = _WORK | {"can", "could", "would", "will"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence, and how it hangs together with the one before.

    >>> Word("writer", gap=" ").text
    'writer'
    """

    text: str
    """The word, case-folded."""
    gap: str
    """What stands before: " " or "-" within a clause, "," or ":" at its start, else "|"."""
    at: bool = False
    """Whether it is a mention, such as `@writer`."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence, and how far a request may reach into it.

    >>> read_sentences("Ask the writer.")[0].words[2].text
    'writer'
    """

    words: tuple[Word, ...]
    first: bool
    """Whether the message starts with it."""
    refused_from: int
    """Where the first word stands after which nothing is a request."""
    others_from: int
    """Where the first word stands after which somebody else may be the one who asks."""

    def gap(self, index: int) -> str:
        """Return what stands before a word, or a clause's end after the last."""
        return self.words[index].gap if index < len(self.words) else ","

    def after(self, index: int) -> str:
        """Return a word of the clause that goes on, or nothing where it has ended."""
        return self.words[index].text if self.gap(index) == " " else ""

    def ends(self, index: int) -> bool:
        """Tell whether the clause has ended before a word."""
        return self.gap(index) == ","

    def before(self, index: int) -> str:
        """Return the words before a word, as the patterns read them."""
        near = self.words[max(0, index - _LEFT) : index]
        return "".join(word.gap + word.text for word in near) + self.words[index].gap


def read_sentences(text: str) -> list[Sentence]:
    """Read the sentences of a text, without what it quotes.

    >>> [len(sentence.words) for sentence in read_sentences("Ask. Say 'no' to it!")]
    [1, 3]
    """
    found: list[list[Word]] = []
    told = False
    end = 0
    plain = _QUOTED.sub('"', text.translate(_STRAIGHT))
    for match in _WORD.finditer(plain):
        between = plain[end : match.start()]
        end = match.end()
        starts = not found or _SENTENCE_END.search(between) is not None
        told = told or (bool(found) and _tells(between, found[-1], starts=starts))
        if starts:
            found.append([])
        gap = _gap_at_start(between) if starts else _gap(between)
        gap = "|" if told and gap == "," else gap
        found[-1].append(Word(match["word"].casefold(), gap, match["at"] is not None))
    return [_sentence(tuple(said), first=not index) for index, said in enumerate(found)]


def _tells(between: str, before: list[Word], *, starts: bool) -> bool:
    """Tell whether what follows is a text to work on, which asks nothing of who reads it."""
    if ":" not in between:
        return False
    return starts or any(word.text in _TEXT_WORK for word in before)


def _gap_at_start(between: str) -> str:
    """Return what stands before the first word of a sentence."""
    return "|" if '"' in _ENDS.split(between)[-1] else ","


def _gap(between: str) -> str:
    """Return how two words of a sentence hang together."""
    if not between or between in "_-":
        return "-" if between else " "
    if not between.strip(" \t\r*_"):
        return " "
    if len(between) > _LONGEST_GAP:
        return "|"
    if _CLAUSE_END.fullmatch(between):
        return ","
    return ":" if _COLON.fullmatch(between) else "|"


def _sentence(said: tuple[Word, ...], *, first: bool) -> Sentence:
    """Return a sentence with what keeps it from being a request."""
    texts = [word.text for word in said]
    pairs = [f"{one} {two}" for one, two in zip(texts, [*texts[1:], ""], strict=True)]
    refused = (i for i, t in enumerate(texts) if _refuses(t) or pairs[i] in _NOT_ASKED_PAIRS)
    others = (i for i, text in enumerate(texts) if text.partition("'")[0] in _OTHERS)
    # "Ask the writer, she said" is somebody else's request.
    reported = texts[-1] in _REPORTS and any(word.gap == "," for word in said[-4:])
    refused_from = -1 if reported else next(refused, len(said))
    return Sentence(said, first, refused_from, next(others, len(said)))


def _refuses(text: str) -> bool:
    """Tell whether nothing after a word is a request."""
    return text.endswith("n't") or text.partition("'")[0] in _NOT_ASKED


def is_request(said: Sentence, start: int, end: int, kind: str, *, owns: bool = False) -> bool:
    """Tell whether the words from `start` to `end`, which name somebody, are asked for.

    Args:
        said: The sentence.
        start: Where the name starts.
        end: Where what stands after the name starts.
        kind: "distinct" (no other thing is called so), "plain", "department" (a person only
            on the telephone), "thing" (hardly ever a person), or "anybody" (no name at all).
        owns: Whether the name is a genitive, such as "the writer's".

    >>> said = read_sentences("Please ask the writer for a poem.")[0]
    >>> is_request(said, 3, 4, "plain"), is_request(said, 3, 4, "thing")
    (True, False)
    """
    if said.refused_from < start:
        return False
    before = said.before(start)
    if said.words[start].at and _mentioned(said, before, end):
        return True
    if kind == "thing":
        return False
    if owns:
        return bool(_WANT.search(before)) and said.after(end) in _HELP
    if kind == "department":
        fits = said.ends(end) or said.after(end) in _AFTER_DEPARTMENT
        return fits and bool(_PERSONAL.search(before)) and _asked(said, _STRONG, before, start)
    return _goes_to(said, before, start, end, kind) or _is_set_to_work(
        said, before, start, end, kind
    )


def is_address(said: Sentence, start: int, end: int) -> bool:
    """Tell whether a message starts with a name, and then asks for something.

    >>> is_address(read_sentences("Writer, please write a poem.")[0], 0, 1)
    True
    """
    if not said.first or said.gap(end) not in (",", ":") or end == len(said.words):
        return False
    return bool(_GREETED.fullmatch(said.before(start))) and said.words[end].text in _POLITE


def _mentioned(said: Sentence, before: str, end: int) -> bool:
    """Tell whether a mention is spoken to, or the object of a request."""
    if said.after(end) in _AFTER_MENTION or said.gap(end) == "|":
        return False
    return bool(_MENTION.search(before) or _STRONG.search(before))


def _asked(said: Sentence, pattern: re.Pattern[str], before: str, start: int) -> bool:
    """Tell whether a pattern stands before a name, and whether it is the user that asks."""
    match = pattern.search(before)
    if match is None:
        return False
    # "They come and ask the writer" asks nobody, unlike "Look it up and ask the writer".
    asks_at = start - len(re.findall(r"[ ,-](?=\w)", match[0]))
    return match[0].startswith(",") or said.others_from >= asks_at


def _goes_to(said: Sentence, before: str, start: int, end: int, kind: str) -> bool:
    """Tell whether something is asked of somebody or handed over to them."""
    after = _AFTER_ANYBODY if kind == "anybody" else _AFTER
    nxt = said.after(end)
    if not (said.ends(end) or nxt in after or nxt > "\u0250"):
        return nxt in ("in", "into") and _asked(said, _BRING, before, start)
    patterns = (_STRONG, _USE if kind == "distinct" else _SWITCH)
    return any(_asked(said, pattern, before, start) for pattern in patterns)


def _is_set_to_work(said: Sentence, before: str, start: int, end: int, kind: str) -> bool:
    """Tell whether somebody is let, told or wanted to do something."""
    nxt, then = said.after(end), said.after(end + 1)
    if nxt in _WORK:
        fits = kind == "distinct" or (kind == "plain" and then in _MINE)
        return (fits and _CAN.search(before) is not None) or _asked(said, _LET, before, start)
    if nxt == "on":
        return then in ("it", "this", "that") and _asked(said, _GET, before, start)
    if nxt != "to":
        return False
    if kind != "anybody" and then and _asked(said, _TELL, before, start):
        return True
    return then in _WORK and _asked(said, _WANT, before, start)
