"""Tools that a user forbids by name: "do not use wipe", "without delete_all"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

__all__ = ["forbidden_in"]

_LONGEST: Final = 4000
_GAP: Final = r"[\s`'\"]{1,3}"
_USE: Final = (
    r"(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|invok(?:e|ing)|execut(?:e|ing)|trigger(?:ing)?"
    r"|touch(?:ing)?|employ(?:ing)?|make|making|do|doing|try(?:ing)?|rely(?:ing)? on)"
)
_THE: Final = (
    r"(?:the|a|an|any|my|your|of|calls? (?:to|of)|tools?|functions?|commands?|called|named)"
)
# What somebody does not do is no order to anybody else; what one cannot do is none either.
_OTHERS: Final = r"(?<!\bi )(?<!\bwe )(?<!\bthey )"
_ORDER: Final = (
    rf"{_OTHERS}\b(?:do not|don't|dont)|\b(?:do not|don't) want (?:you|it|this|anyone) to"
    r"|\b(?:must|should|shall|may)(?: not|n't)|\byou (?:cannot|can't|can not)(?= use| call| run)"
    r"|\bnot allowed to|\bnot to|\bnever|\bavoid|\bskip|\brefrain from|\bstay away from"
    r"|\b(?:forbid|prohibit|ban|disallow)(?:s|ding|ning|ed|den|ned)?|\binstead of|\brather than"
    r"|(?:(?:[,;:.!?]|\b(?:but|and|please))\s|^)not|\bno"
)
# Behind another "not", these name what may be used.
_BUT: Final = (
    r"\bwithout|\bexcept(?:ing)?(?: for)?|\bexcluding|\bother than|\bapart from"
    r"|\b(?:anything|everything|any|every|all)(?: \w{1,20})? but"
)
_NEGATED: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|cannot|nor)\b|n't\b", re.IGNORECASE
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
    r" (?:must|may|should|shall|can|is|are|is to|are to)(?: not|n't| never) (?:to )?be\b"
    r"|(?:'s| is| are) (?:off[- ]limits|forbidden|prohibited|banned|not allowed|taboo|disallowed)"
    r"| (?:nicht|niet|auf keinen fall)\b)"
    r"|[^。\uff01\uff1f\n\x00-\u02ff]{0,10}?(?:ない|せず|なし|禁止|지 ?마|않|말))"
)
# Who says how often a tool may be used does not forbid it.
_LIMIT: Final = r"[\s`'\"]{1,3}(?:tool )?(?:more (?:than|often)|too (?:often|many|much)|over \d)"
_AND: Final = (
    r"[`'\"]?\s{0,2}(?:[,/]\s{0,2}(?:(?:or|and|nor) )?|\s(?:or|and|nor|oder|und|ou|et|o|y) )"
)


# A name that is a word, too, is the tool's where nothing else is said of it: "do not use search",
# "no search tool", "never `pay`", but neither "no search results" nor "never pay too much".
_NO_WORD: Final = re.compile(r"[_\d.\-]|[a-z][A-Z]")
_ENDS: Final = (
    r"(?=[`'\"]|\s{0,3}(?:\Z|[.,;:!?()\[\]\u2013\u2014\n]|-\s)|\s{1,3}(?:tools?|functions?|commands?"
    r"|use|call|please|anything|any ?one|any ?body|at all|again|here|any ?more)\b)"
)
# What is said of its use does not make it another word.
_USED: Final = (
    rf"(?:{_ENDS}|(?=\s{{1,3}}(?:for|on|in|at|with|to|as|when|while|until|unless|before|after)\b))"
)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    name, mark = _any_of(names), _any_of(filter(_NO_WORD.search, names))
    rest = rf"(?:{_AND}[`'\"]?{name}){{0,9}}"
    several, marks = f"{name}{rest}", f"{mark}{rest}"
    ever = rf"(?:{_GAP}(?:ever|even|actually))?"
    the = rf"(?:{_GAP}{_THE}){{0,3}}{_GAP}"
    verb = rf"{ever}(?:{_GAP}{_USE})?{the}"
    used = rf"{ever}{_GAP}{_USE}{the}{several}{_USED}"
    told = rf"(?:{verb}(?:{marks}(?!{_LIMIT})|{several}{_ENDS})|{used})"
    return re.compile(
        rf"(?P<order>(?:{_ORDER}){told})|(?P<but>(?:{_BUT}){told})"
        rf"|(?P<abroad>(?:{_ABROAD}){_GAP}{several}|{_EAST}{several}|{several}{_AFTER})",
        re.IGNORECASE,
    )


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern of names that are no part of a longer one; of none it matches nothing."""
    of = "|".join(map(re.escape, names)) or "(?!)"
    return rf"(?<![a-z\d_\-])(?:{of})(?![a-z\d_\-])"


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
        lower = text.lower()
        known = sorted((name for name in open_ if name.lower() in lower), key=len)
        if known:
            found |= _forbidden(text, tuple(reversed(known)))
            open_.difference_update(known)
    return frozenset(found)


def _forbidden(text: str, names: tuple[str, ...]) -> set[str]:
    asked = text.replace("\u2019", "'")
    parts = [asked] if len(asked) <= 2 * _LONGEST else [asked[:_LONGEST], asked[-_LONGEST:]]
    told: list[str] = []
    for part in parts:
        for each in _pattern(names).finditer(part):
            before = re.split(r"[.!?;\n]", part[: each.start()])[-1]
            if not (each["but"] and _NEGATED.search(before)):
                told.append(each[0].lower())
    return {name for name in names if any(_is_named(name.lower(), words) for words in told)}


def _is_named(name: str, words: str) -> bool:
    return re.search(rf"(?<![a-z\d_\-]){re.escape(name)}(?![a-z\d_\-])", words) is not None
