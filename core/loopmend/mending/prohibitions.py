"""Tools that a user forbids by name: "do not use wipe", "without delete_all"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final

__all__ = ["forbidden_in"]

_REACH: Final = 300
_BEYOND: Final = 120
_PLAIN: Final = str.maketrans({**dict.fromkeys("<>", "`"), **dict.fromkeys("\u201c\u201d", '"')})
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019", "'") | {"*": None})
_JOINT: Final = re.compile(r"[_\-.]|(?<=[a-z])(?=[A-Z])")
_GAP: Final = r"[\s`'\":]{1,3}"
_USE: Final = (
    r"(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|execut(?:e|ing)|trigger(?:ing)?"
    r"|touch(?:ing)?|employ(?:ing)?|make|making|do|doing|try(?:ing)?|rely(?:ing)? on)"
)
_THE: Final = (
    r"(?:the|a|an|any|my|your|this|these|those|following|of|calls? (?:to|of)|tools?|functions?"
    r"|commands?|called|named)"
)
# What somebody does not do is no order to anybody else; what one cannot do is none either.
_OTHERS: Final = r"(?<!\bi )(?<!\bwe )(?<!\bthey )"
_ORDER: Final = (
    rf"{_OTHERS}\b(?:do not|don't|dont)"
    r"|\b(?:do not|don't) want (?:you|it|this|anyone)(?: to)?"
    r"|\b(?:must|should|shall|may)(?: not|n't)|\byou (?:cannot|can't|can not)(?= use| call| run)"
    r"|\bnot (?:allowed|permitted) to|\bnot to|\bnever|\bunder no circumstances|\bneither"
    r"|(?:(?:[,;:.!?]|\b(?:but|and|please))\s|^)(?:not|no)"
)
# Behind a "not" these ask for what they name.
_BUT: Final = (
    r"\bwithout|\bexcept(?:ing)?(?: for)?|\bexcluding|\bother than|\bapart from"
    r"|\b(?:anything|everything|any|every|all)(?: \w{1,20})? but|\bno more"
    r"|\bavoid|\bskip|\bstop|\brefrain from|\bstay away from|\binstead of|\brather than"
    r"|\b(?:forbid|prohibit|ban|disallow)(?:s|ding|ning|ed|den|ned)?"
)
_NEGATED: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|cannot|nor)\b|n't\b|\bhow (?:do|can|to)\b",
    re.IGNORECASE,
)
_ABROAD: Final = (
    r"\b(?:nicht|niemals|ohne|ne|jamais|sans|sin|nunca|não|sem|senza|mai|non|niet|nooit|zonder"
    r"|не|без|никогда)(?:\s(?!que\b)[^\s.,;:!?]{1,20}){0,2}"
    r"|\bn'\w{1,20} (?:pas|jamais|plus)"
    r"|\bno (?:us|utili[cz]|llam|ejecut|invo[cq])\w{0,12}"
)
_EAST: Final = r"(?:不要|别|別|不得|不能|不可|请勿|請勿|勿|禁止|避免)[^。\uff01\uff1f\n]{0,10}?"
_AFTER: Final = (
    r"[`'\"]?(?:(?: tools?| function)?(?:"
    r" (?:must|may|should|shall|can|is|are|is to|are to)(?: not|n't| never) (?:to )?(?:be )?"
    r"(?:us|call|run|invok|execut|trigger|touch|employ)\w{0,9}"
    r"|(?:'s| is| are) (?:off[- ]limits|forbidden|prohibited|banned|not allowed|taboo|disallowed)"
    r"| (?:nicht|niet|auf keinen fall)\b)"
    r"|[^。\uff01\uff1f\n\x00-\u02ff]{0,10}?(?:ない|せず|なし|禁止|지 ?마|않|말))"
)
# Who says not to forget a tool, or that one has to use it, wants it.
_WANTED: Final = re.compile(
    r"forget|vergiss|vergess|vergeet|oubli|olvid|dimentic|esque[cç]|забу|忘|なければ|なくては",
    re.IGNORECASE,
)
# Who says how often or when to use a tool does not forbid it; who wants to be asked first does.
_LIMIT: Final = (
    r"[\s`'\"]{1,3}(?:tool )?(?:more (?:than|often)|too (?:often|many|much)|over \d|twice|once|as\b"
    r"|(?:without|unless|until|before|except|if|when|while)\b"
    r"(?!(?:\s\S{1,20}){0,3}?\s(?:i|me|my|we|us|our)\b))"
)
_AND: Final = (
    r"[`'\"]?\s{0,2}(?:[,/]\s{0,2}(?:(?:or|and|nor) )?|\s(?:or|and|nor|oder|und|ou|et|o|y) )"
)
# A name that is a word, too, is the tool's where nothing else is said of it: "do not use search",
# "no search tool", "never `pay`", but neither "no search results" nor "never pay too much", nor
# "never edit, move or delete tests".
_NO_WORD: Final = re.compile(r"[_\d.\-]|[a-z][A-Z]")
_LAST: Final = (
    r"(?=[`'\"]|\s{0,3}(?:\Z|[.;:!?()\[\]\u2013\u2014\n]|-\s)|\s{1,3}(?:tools?|functions?|commands?"
    r"|use|call|please|anything|any ?one|any ?body|at all|again|here|any ?more)\b)"
)
# What is said of its use does not make it another word.
_USED: Final = (
    rf"(?:{_LAST}|(?=\s{{0,3}},)"
    r"|(?=\s{1,3}(?:for|on|in|at|with|to|when|while|until|unless|before|after)\b))"
)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    name, mark = _any_of(names), _any_of(filter(_NO_WORD.search, names))
    rest = rf"(?:{_AND}[`'\"]?{name}){{0,9}}"
    several, marks = rf"{name}{rest}(?!{_LIMIT})", rf"{mark}{rest}(?!{_LIMIT})"
    the = rf"(?:{_GAP}{_THE}){{0,3}}{_GAP}(?:\w{{1,20}}\.)?"
    ever = rf"(?:{_GAP}(?:ever|even|actually))?"
    use = rf"{ever}{_GAP}{_USE}{the}"
    may_use = rf"{ever}(?:{_GAP}{_USE})?{the}"
    order = rf"(?:{may_use}{marks}|{ever}{the}{several}{_LAST}|{use}{several}{_USED})"
    but = rf"(?:{may_use}{several}{_USED})"
    return re.compile(
        rf"(?P<order>(?:{_ORDER}){order})|(?P<but>(?:{_BUT}){but})"
        rf"|(?P<abroad>(?:{_ABROAD}){_GAP}{several}|{_EAST}{several}|{several}{_AFTER})",
        re.IGNORECASE,
    )


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern of names that are no part of a longer one; of none it matches nothing."""
    of = "|".join(map(_spelled, names)) or "(?!)"
    return rf"(?<![a-z\d_\-])(?:{of})(?![a-z\d_\-]|\.[a-z])"


def _spelled(name: str) -> str:
    """Return a pattern of a name in any spelling: `delete_all`, `deleteAll`, `delete-all`."""
    parts = [re.escape(part) for part in _JOINT.split(name) if part]
    return r"[_\-. ]?".join(parts) or re.escape(name)


def forbidden_in(said: Iterable[str], tools: Collection[str]) -> frozenset[str]:
    """Return the tools that a user forbids by name; of several messages the last that names one.

    Args:
        said: What the user said, the last first.
        tools: The names of the tools.

    >>> sorted(forbidden_in(["Tidy up, but don't use wipe or delete_all."], ["wipe", "delete_all"]))
    ['delete_all', 'wipe']
    >>> forbidden_in(["Never answer without search."], ["search"])
    frozenset()
    """
    open_ = {name for name in tools if name}
    found: set[str] = set()
    for text in said:
        plain = text.translate(_PLAIN).translate(_APOSTROPHES)
        known = {name for name in open_ if _is_named(name, plain)}
        if known:
            found |= _forbidden(plain, tuple(sorted(known, key=lambda name: (-len(name), name))))
            open_ -= known
    return frozenset(found)


def _forbidden(text: str, names: tuple[str, ...]) -> set[str]:
    told: list[str] = []
    for part in _around(text, names):
        for each in _pattern(names).finditer(part):
            clause = re.split(r"[.!?;\n]", part[: each.start()])[-1]
            wanted = (each["but"] and _NEGATED.search(clause)) or _WANTED.search(clause + each[0])
            if not wanted:
                told.append(each[0])
    return {name for name in names if any(_is_named(name, words) for words in told)}


def _around(text: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield what is said around the names of tools: the rest of a long text is about others."""
    start = end = 0
    for found in re.finditer(_any_of(names), text, re.IGNORECASE):
        if found.start() - _REACH > end:
            yield text[start:end]
            start = found.start() - _REACH
        end = found.end() + _BEYOND
    yield text[start:end]


def _is_named(name: str, words: str) -> bool:
    return re.search(_any_of([name]), words, re.IGNORECASE) is not None
