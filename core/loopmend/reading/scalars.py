"""What has no quotes in values as models write them: numbers, literals, bare words, comments."""

from __future__ import annotations

import re
from enum import IntEnum
from math import isinf
from typing import Any, Final, Literal, NoReturn

from loopmend.reading.turn import Repair, repair

__all__ = [
    "ENDS_TOO_EARLY",
    "INNER_QUOTE",
    "LEFT_OUT",
    "MISSING_QUOTE",
    "MOST_REPAIRS",
    "NAMED",
    "BareName",
    "LenientError",
    "OddNumber",
    "Part",
    "ScalarScanner",
    "Tear",
]

NAMED: Final = (
    r"""(?:"(?:[^"\\\n]|\\.){0,80}"|'(?:[^'\\\n]|\\.){0,80}'|`[^`\n]{0,80}`"""
    r"""|[\u201c\u201e][^\u201c\u201d\u201e\n]{0,80}[\u201c\u201d]|\u2018[^\u2018\u2019\n]{0,80}\u2019"""
    r"""|\u00ab[^\u00ab\u00bb\n]{0,80}\u00bb|\u300c[^\u300c\u300d\n]{0,80}\u300d)\s*(?:[:\uff1a]|=>)"""
)
"""A pattern for a quoted key and its colon, or the sign for it of Ruby and PHP."""
LEFT_OUT: Final = "parts left out"
"""The repair where a model wrote `...` for more of the same."""
ENDS_TOO_EARLY: Final = "closed at the end of the text"
"""The repair where a bracket or a quote is missing at the end."""
INNER_QUOTE: Final = "unescaped quote in a string"
"""The repair of a quote that belongs to a string."""
MISSING_QUOTE: Final = "missing quote"
"""The repair of a string that lacks a quote."""
MOST_REPAIRS: Final = 100
"""So many repairs are noted."""
Part = Literal["root", "argument", "key", "member", "item"]
"""What a value is a part of."""

_BLANKS: Final = re.compile(r"\s*")
_BLANK: Final = frozenset(" \t\n\r")
_SKIP: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*)+", re.DOTALL)
# A comment that begins with dots stands for more of the same.
_LEAVES_OUT: Final = re.compile(r"(?://|/\*|\#)\s*(?:\.\.\.|\u2026)")
_NO_WIDTH: Final = frozenset("\ufeff\u200b\u2060\u180e")
_COMMENT_TO_END: Final = re.compile(r"(?:#|//)(?=[^\n]*(?:\n\s*)?\Z)[^\n}\]]*[}\]]")
_NUMBER: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?=\s*(?:[,\uff0c}\])\n]|\\[nrt]|$|//|/\*|#))"
)
# As a number it would lose its zeros, or what its underscores say: they part thousands.
_ODD: Final = re.compile(r"[-+]?(?:0\d|(?![1-9]\d{0,2}(?:_\d{3})+(?:\D|\Z))\d*_)")
_DIGITS: Final = re.compile(r"[-+]?\d[\d_]*(?:\.[\d_]*)?")
_THOUSANDS: Final = re.compile(r"\d,\d{3}(?!\d)")
_NO_NUMBER: Final = re.compile(r"-?(?:NaN|nan|Infinity|inf)(?=\s*(?:[,}\])\n]|\Z))")
_STOPPED_NUMBER: Final = re.compile(r"(-?(?:0|[1-9]\d*))(?:\.|(\.\d+)?[eE][-+]?)\Z")
# A literal or a number behind which a comma is missing, or only a comment stands.
_ATOM: Final = (
    r"(true|false|null|True|False|None|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"(?:(?=\s*(?:#|//|/\*))|\s+"
)
_ATOMS: Final = {
    "member": re.compile(rf"{_ATOM}(?={NAMED}))"),
    "item": re.compile(rf"{_ATOM}(?=[\"'\u201c\[{{]|-?\d[\d.]*\s*[,\]\s]|(?:true|false|null)\b))"),
}
_NUMERIC: Final = frozenset("+-.0123456789")
_LACKING: Final = frozenset("-NnIi")
_ATOMIC: Final = frozenset("-0123456789tfnTFN")
# An integer, or words that are nothing but words, and then what ends them.
_SIMPLE: Final = re.compile(
    r"(?:(-?(?:0|[1-9]\d{0,17}))|(?!(?:NaN|nan|Infinity|inf|true|false|null|True|False|None) )"
    r"(?!(?:NaN|nan|Infinity|inf)\b)[A-Za-z_][\w\-]*(?: [A-Za-z_][\w\-]*)*)(?=[ \t]*[,\uff0c}\])])",
    re.ASCII,
)
_BARE_STOP: Final = re.compile(
    rf"[,}}\])\n(\[{{]|(?:\uff0c|\\n)\s*(?=[}}\]]|{NAMED})|(?<!\s)\s+(?={NAMED})"
)
# Something called, looked up or added to; a string with a prefix.
_CODE: Final = re.compile(
    r"[^\W\d][\w.]{0,200}(?:[(\[]|\s{0,20}\+\s{0,20}[\"'\w(])|[A-Za-z]{1,2}[\"']"
)
_CONSTRUCTED: Final = re.compile(r"(?:new\s+)?[A-Za-z_][\w.]*(?:\(\s*[\"'\d)]|\[\s*[\"'])")
_KEYED: Final = re.compile(r"[\w$\-]+:\s")
_SEMICOLON: Final = re.compile(r";\s*(?:\Z|[\w$.\-]{1,60}\s*:)")
_NO_START: Final = (["missing comma"], ["comment left out"])
_JSON_WORDS: Final = {"true": True, "false": False, "null": None}
_WORDS: Final[dict[str, bool | None]] = {
    **_JSON_WORDS,
    **dict.fromkeys(("True", "TRUE"), True),
    **dict.fromkeys(("False", "FALSE"), False),
    **dict.fromkeys(("None", "NULL", "nil", "undefined")),
}
_LONGEST_INTEGER: Final = 4300


class LenientError(ValueError):
    """There is no value here, whatever one puts right."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position


class BareName(str):
    """Unquoted text that a program would read as a variable, a call or an f-string; or `???`."""

    __slots__ = ()


class OddNumber(str):
    """Digits that JSON writes in no number, such as `07` and `1_0`: text, if text is wanted."""

    __slots__ = ()


class Tear(IntEnum):
    """How sure a value is that the text stops in."""

    WHOLE = 0
    """The text does not stop in it."""
    OPEN = 1
    """Only closing brackets are missing."""
    CUT = 2
    """It stops within a string, a number or a member: nobody can know the rest."""


class ScalarScanner:
    """Reads what has no quotes, one after the other, and notes what it had to put right."""

    __slots__ = ("at", "open", "parentheses", "part", "repairs", "text", "torn", "twice")

    def __init__(self, text: str, position: int = 0, *, parentheses: int = 0) -> None:
        """Start at a place.

        Args:
            text: Where to read.
            position: Where to start.
            parentheses: How many are open before that place, as those of a Python call.
        """
        self.text = text
        self.at = position
        self.parentheses = parentheses
        self.part: Part = "argument" if parentheses else "root"
        self.open: list[str] = []
        """The brackets that are open."""
        self.repairs: list[Repair] = []
        self.torn = Tear.WHOLE
        self.twice: str | None = None
        """A key that an object has twice."""

    def peek(self) -> str:
        """Skip blanks, comments and what has no width, and return the next character."""
        text = self.text
        char = text[self.at : self.at + 1]
        if char in _BLANK:
            self.at += 1  # one blank is the rule
            char = text[self.at : self.at + 1]
            if char in _BLANK and (blanks := _BLANKS.match(text, self.at)):
                self.at = blanks.end()
                char = text[self.at : self.at + 1]
        if "!" < char < "\x7f" and char not in "#/\\":
            return char
        while char:
            if char in "#/" and _COMMENT_TO_END.match(text, self.at):
                self.fail("a comment that does not end")
            if char in _NO_WIDTH:
                self.mend("zero-width space", self.at, self.at + 1)
                self.at += 1
            elif text.startswith(("\\n", "\\r", "\\t"), self.at):
                # Between members it can only be a line end.
                self.mend("escaped line end", self.at, self.at + 2)
                self.at += 2
            elif skip := _SKIP.match(text, self.at):
                start, self.at = self.at, skip.end()
                if not skip[0].isspace():
                    self._note_comment(skip[0], start)
            else:
                break
            char = text[self.at : self.at + 1]
        return char

    def bare(self) -> Any:
        """Read a number, a literal or unquoted text."""
        text, start = self.text, self.at
        if (simple := _SIMPLE.match(text, start)) is not None:
            self.at = simple.end()
            return int(simple[0]) if simple.lastindex else self._simple_word(simple[0], start)
        char = text[start : start + 1]
        atoms = _ATOMS.get(self.part) if char in _ATOMIC else None
        if atoms is not None and (atom := atoms.match(text, start)):
            self.at = atom.end(1)
            return _WORDS[atom[1]] if atom[1] in _WORDS else self._number(atom[1])
        number = _NUMBER.match(text, start) if char in _NUMERIC else None
        if number and not _ODD.match(text, start):
            self.at = number.end()
            return self._number(number[0])
        if char in _LACKING and (lacking := _NO_NUMBER.match(text, start)):
            self.at = lacking.end()
            self.mend("number that JSON does not allow", start)
            return float(lacking[0])
        if char == "0" and _THOUSANDS.match(text, max(0, start - 2)):
            self.fail("a number with commas in it")
        stop = self._bare_end(start)
        word = text[start:stop].strip()
        if not word:
            self.fail("no value")
        self.at = stop
        return self._simple_word(word, start) if word in _WORDS else self._word(word, start)

    def _simple_word(self, word: str, start: int) -> Any:
        """Return what a literal or a lone word stands for."""
        if word not in _WORDS:
            self.mend("unquoted text", start)
            return BareName(word) if self._is_code(word) else word
        if word not in _JSON_WORDS:
            self.mend("Python literal", start)
        return _WORDS[word]

    def is_over(self, at: int) -> bool:
        """Tell whether nothing but blanks follows a place: these close nothing."""
        text = self.text
        if "!" <= text[at : at + 1] <= "~" or "!" <= text[at + 1 : at + 2] <= "~":
            return False  # most of the time
        blanks = _BLANKS.match(text, at)
        return blanks is None or blanks.end() == len(text)

    def _word(self, word: str, start: int) -> Any:
        """Return what unquoted text stands for."""
        numeric = word[0] in _NUMERIC
        stopped = _STOPPED_NUMBER.fullmatch(word) if numeric else None
        if self.is_over(self.at):
            self.tear(Tear.CUT)
            if stopped:
                return float(stopped[1] + (stopped[2] or ""))
        elif stopped:
            self.fail("a number that stops", start)
        if (";" in word and _SEMICOLON.search(word)) or (
            not self.parentheses and _CONSTRUCTED.match(word)
        ):
            self.fail("an expression, not a value", start)
        if _KEYED.match(word):
            self.fail("a key in a value", start)
        if ('"' in word or "\\\\" in word) and (lacking := self._half_quoted(word, start)):
            return lacking
        self.mend("unquoted text", start)
        if numeric and _DIGITS.fullmatch(word):
            return OddNumber(word)
        return BareName(word) if self._is_code(word) else word

    def _half_quoted(self, word: str, start: int) -> str | None:
        """Return the text that lacks its first quote; refuse most other quotes."""
        quotes = word.count('"')
        if "\\\\" in word or (quotes and "\\" in word):
            self.fail("unquoted text that holds quotes or backslashes", start)
        if quotes == 1 and word.endswith('"'):
            # `"a, "b": c"`: a quote is missing behind `a` and before `c`, or `b` is only quoted.
            # Behind unquoted text, a comment or another string it may be missing before that.
            lost = (r.what == MISSING_QUOTE and self.text[r.span[0]] == "," for r in self.repairs)
            kinds = [r.what for r in self.repairs]
            if word == '"' or "unquoted text" in kinds or kinds[-1:] in _NO_START or any(lost):
                self.fail("quotes that can be read in two ways", start)
            self.mend(MISSING_QUOTE, start)
            return word[:-1].rstrip()
        if quotes % 2 or (quotes and ":" in word):
            self.fail("unquoted text that holds quotes", start)
        return None

    def _is_code(self, word: str) -> bool:
        """Tell whether unquoted text is what a program would look up, or no text at all."""
        if word.isidentifier():
            return "_" in word or self.parentheses > 0
        dotted = "." in word and all(part.isidentifier() for part in word.split("."))
        return dotted or _CODE.match(word) is not None or not any(map(str.isalnum, word))

    def _bare_end(self, start: int) -> int:
        """Return where unquoted text ends: at a comma, line end, bracket, or before a key."""
        depth = 0
        for match in _BARE_STOP.finditer(self.text, start):
            char = self.text[match.start()]
            if char in "([{":
                depth += 1
            elif char in ")]}" and depth:
                depth -= 1
            elif char != "," or not depth:
                return match.start()
        return len(self.text)

    def _number(self, literal: str) -> Any:
        """Return a number as `json` does, which has no integers beyond a length."""
        start = self.at - len(literal)
        plain = literal.replace("_", "").lstrip("+")
        if plain != literal or literal[-1] == "." or literal.lstrip("-")[0] == ".":
            self.mend("number", start)
        if plain.lstrip("-").isdigit():
            if len(plain) > _LONGEST_INTEGER:
                self.fail("a number that is too large", start)
            return int(plain)
        number = float(plain)
        if isinf(number):
            self.mend("number that JSON does not allow", start)
        return number

    # -- what it notes

    def mend(self, what: str, start: int, end: int = 0) -> None:
        """Note what was put right, from a place to another or to where the scanner is."""
        if len(self.repairs) >= MOST_REPAIRS:
            return
        if not end and start >= self.at:
            end = min(start + 1, len(self.text))
        elif not end:
            piece = self.text[start : self.at]
            start += len(piece) - len(piece.lstrip())
            end = min(start + (len(piece.strip()) or 1), len(self.text))
        self.repairs.append(repair(what, (start, end)))

    @property
    def full(self) -> bool:
        """Whether no more is noted."""
        return len(self.repairs) >= MOST_REPAIRS

    def _note_comment(self, comment: str, start: int) -> None:
        if _LEAVES_OUT.search(comment):
            self.leave_out(start)
        else:
            self.mend("comment left out", start)

    def leave_out(self, start: int) -> None:
        """Note that a model wrote `...` for more of the same."""
        self.mend(LEFT_OUT, start, max(self.at, start + 1))
        self.torn = Tear.CUT

    def tear(self, how: Tear = Tear.OPEN) -> None:
        """Note that the text stops too early."""
        self.torn = max(self.torn, how)
        self.mend(ENDS_TOO_EARLY, len(self.text))

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Say that there is no value, where the scanner is or at another place.

        Raises:
            LenientError: In any case.
        """
        raise LenientError(reason, self.at if position is None else position)
