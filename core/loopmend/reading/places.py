"""Where a call stands: in a quotation, a comment, a table, a list, a transcript, other markup.

What stands in one of these is shown, whatever the words around it say.
"""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.candidates import Candidate
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.phrases import SPEAKERS
from loopmend.reading.speech import is_label

__all__ = ["Places"]

_PREFIX: Final = re.compile(
    r"[ \t]*(?:(?P<quote>>)|(?P<table>\|)|(?P<comment>(?:#|//|--|;|%|/\*)(?:[ \t]|\Z))"
    r"|(?P<prompt>\$ |>>> |In \[\d*\]: |@\Z)"
    "|(?P<struck>~~(?!~)|[\u2716-\u2718\u274c\u274e\u26d4\U0001f6ab\U0001f44e\U0001f6d1]))"
)
_OPENING: Final = {
    '"': '"',
    "'": "'",
    "\u201c": "\u201d\u201c",
    "\u00ab": "\u00bb",
    "\u201e": "\u201c\u201d",
    "\u300c": "\u300d",
    "\u2018": "\u2019",
    "(": ")",
    "`": "`",
    "\u300e": "\u300f",
    "\u2039": "\u203a",
}
_EMBEDS: Final = re.compile(r"[`\"')*]{0,3}[ \t]+[^\W\d_]")
_NAMES: Final = {
    "quote": "a quotation",
    "table": "a table",
    "comment": "a comment",
    "prompt": "a prompt",
    "struck": "struck-out text",
}
_TAG: Final = re.compile(
    r"<(?P<slash>/?)(?P<name>[A-Za-z][\w.:\-]{0,40})(?:\s[^<>]{0,200})?(?P<void>/?)>"
)
_DEEPEST: Final = 50
_WRAPPERS: Final = frozenset({"pre", "code", "p", "div", "b"})
_TRIPLE: Final = ('"""', "'''")
_MARK: Final = r"[ \t]*(?:[-*+\u2022]|\d{1,2}[.)]|\d\ufe0f?\u20e3|[a-z][.)])[ \t]*"
_BULLET: Final = re.compile(_MARK)
_ITEM: Final = re.compile(_MARK + r"[^\W\d_]")
_OPTION: Final = re.compile(r"^[ \t]*\(?[A-Za-z][.)][ \t]+([^\n:\uff1a]{0,60})", re.MULTILINE)
_NUMBER: Final = re.compile(r"[ \t]*(\d{1,2})[.)][ \t]*([^\n:\uff1a]{0,60})")
_PARTS: Final = (Role.THINK, Role.NAME, Role.ARGUMENTS, Role.OBSERVATION, Role.ANSWER)
# A name with a colon, and before it perhaps the time or a place in brackets.
_SPEAKER: Final = re.compile(
    r"[ \t]*(?:\[[^\]\n]{1,40}\][ \t]*|[\d:.\-]{4,30}[ \t]+)?"
    r"[*_<@]{0,3}([^\W\d_][\w.\-]{0,20})[*_>]{0,3}[ \t]?[:>][*_]{0,3}[ \t]*"
)
_HEADING: Final = re.compile(r"(?m)^ {0,3}#{1,6} {1,3}([^\n]{1,80})$")
_FAR: Final = 4000


class Places:
    """Tells what calls of a text stand in, asked from left to right."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        """Where what is read starts."""
        self.at = start
        """Where the last call ended."""
        self.tags = _OpenTags(text)
        self.headings = _HEADING.finditer(text, start)
        self.heading: re.Match[str] | None = None
        self.above = next(self.headings, None)

    def _is_example(self, start: int) -> bool:
        """Tell whether the heading above a place says that what follows is shown."""
        while self.above is not None and self.above.start() < start:
            self.heading, self.above = self.above, next(self.headings, None)
        return self.heading is not None and role_of(self.heading[1]) is Role.SHOWN

    def of(self, candidate: Candidate, lead: str) -> str | None:
        """Return what a call stands in that only shows it, or `None`.

        Args:
            candidate: The call.
            lead: What is said between the call before it and this one.
        """
        at, text = self.at, self.text
        start, self.at = candidate.span
        if candidate.shown is not None:
            return candidate.shown
        if self.tags.around(*candidate.span):
            return "markup that is not a call"
        if self._is_example(start):
            return "an example"
        if (place := _line_or_quotes(text, self.start, candidate.span, lead)) is not None:
            return place
        above, line = _lines(text, max(at, start - _FAR), start)
        if candidate.form != "react" and _BULLET.fullmatch(line) and _ITEM.match(above):
            return "a list of other things"
        if _is_option(text, start):
            return "a list of options"
        if _is_numbered(text, start, above):
            return "a list of other things"
        if _is_spoken(above, line):
            return "a transcript"
        return "a sentence" if _is_embedded(text, *candidate.span) else None


def _lines(text: str, begin: int, start: int) -> tuple[str, str]:
    """Return the last line with words above a place, and the line up to the place."""
    *lines, line = text[begin:start].split("\n")
    return next((above for above in reversed(lines) if above.strip()), ""), line


def _is_option(text: str, start: int) -> bool:
    """Tell whether a call stands behind a letter, and something else that is no part of it, too."""
    own = _OPTION.match(text, start)
    if own is None:
        return False
    begin, end = max(0, start - _FAR), own.end() + _FAR
    others = (*_OPTION.finditer(text, begin, start), *_OPTION.finditer(text, own.end(), end))
    role = role_of(own[1].strip(" *_"))
    parts = (*_PARTS, Role.CALL) if role in _PARTS else _PARTS
    return any(role_of(other[1].strip(" *_")) not in parts for other in others)


def _is_numbered(text: str, start: int, above: str) -> bool:
    """Tell whether a call is the next number of a list whose item above is no part of a turn."""
    own = _NUMBER.match(text, text.rfind("\n", 0, start) + 1)
    other = _NUMBER.match(above)
    if own is None or other is None or int(own[1]) != int(other[1]) + 1:
        return False
    return role_of(other[2].strip(" *_")) not in _PARTS


def _is_spoken(above: str, line: str) -> bool:
    """Tell whether somebody is named before a call, as before the line above it."""
    speaker = _SPEAKER.fullmatch(line)
    if speaker is None or _SPEAKER.match(above) is None:
        return False
    name = speaker[1].lower()
    known = name in SPEAKERS or len(name) == 1  # `Q:` and `A:`
    return known or (role_of(name) is None and not is_label(name))


class _OpenTags:
    """Which elements that mean nothing here a place stands in, asked from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[tuple[str, int]] = []
        self.folded = text.lower()
        self.closes: dict[str, int] = {}

    def around(self, start: int, end: int) -> bool:
        """Tell whether a span stands in an element that is not a wrapper of all there is."""
        for tag in _TAG.finditer(self.text, self.at, start):
            name = tag["name"].lower()
            if tag["slash"]:
                while any(name == opened for opened, _ in self.open):
                    if self.open.pop()[0] == name:
                        break
            elif not tag["void"] and len(self.open) < _DEEPEST and self._is_foreign(name):
                self.open.append((name, tag.start()))
        self.at = max(self.at, end)
        return any(self._is_element(name, begin, start) for name, begin in self.open)

    @staticmethod
    def _is_foreign(name: str) -> bool:
        return role_of(name, every=False) in (None, Role.SHOWN)

    def _is_element(self, name: str, begin: int, end: int) -> bool:
        """Tell whether an element is closed behind a place, and is not all there is."""
        close = self.closes.get(name, 0)
        if close != -1 and close < end:
            close = self.closes[name] = self.folded.find(f"</{name}", end)
        if close == -1 or name not in _WRAPPERS:
            return close != -1
        around = self.text[:begin] + self.text[close:].partition(">")[2]
        return bool(_TAG.sub("", around).strip())


def _line_or_quotes(text: str, first: int, span: tuple[int, int], lead: str) -> str | None:
    """Return what a span of the text stands in by its line and its quotes."""
    start, end = span
    begin = text.rfind("\n", 0, start) + 1
    prefix = _PREFIX.match(text, max(begin, first), start)
    if prefix and prefix.lastgroup:
        return _NAMES[prefix.lastgroup]
    before = lead.rstrip()[-1:]
    if lead.rstrip().endswith(_TRIPLE) and text.find(before * 3, start) != -1:
        return "a quotation"
    if before in _OPENING:
        after = text[end : end + 3].lstrip(" ;,.")[:1]
        if after and after in _OPENING[before] and lead.rstrip()[:-1].strip():
            return "a quotation"
    return None


def _is_embedded(text: str, start: int, end: int) -> bool:
    """Tell whether words stand on both sides of a call in its line, as around a word."""
    before = text[text.rfind("\n", 0, start) + 1 : start].rstrip(" \t`\"'(*")
    after = _EMBEDS.match(text, end)
    return before[-1:].isalpha() and after is not None
