"""The scalars of what models write: strings in any quotes, numbers, bare words."""

from __future__ import annotations

import re
from enum import IntEnum
from math import isinf
from typing import Any, Final

__all__ = ["QUOTES", "TOKEN_QUOTES", "BareName", "LenientError", "ScalarScanner", "Tear"]

_SKIP: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*)+", re.DOTALL)
_SKIPPED: Final = frozenset("/# \n\t\r\v\f")
_NUMBER: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?=\s*(?:[,}\])\n]|$|//|/\*|#))"
)
_BARE_END: Final = re.compile(r"[,}\]\)\n(\[{]")
_UNICODE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}"
)
_BYTE: Final = re.compile(r"\\x([0-9a-fA-F]{2})")
_NOT_NUMBERS: Final = frozenset({"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"})
_PLAINLY_AFTER: Final = frozenset("}]:\uff1a\uff0c")
_MOST_REPAIRS: Final = 100
_MOST_STRAY: Final = 4000
"""A text of more unescaped quotes than this is quotes and little else."""
_LONGEST_INTEGER: Final = 300
# As a number it would lose its zeros.
_PADDED: Final = re.compile(r"[-+]?0\d")
# Something called, looked up or added to; a string with a prefix.
_CODE: Final = re.compile(
    r"[^\W\d][\w.]{0,200}(?:[(\[]|\s{0,20}\+\s{0,20}[\"'\w(])|[A-Za-z]{1,2}[\"']"
)
_QUOTE_REACH: Final = 2000
_AFTER: Final = (
    r"""\s*(?:[}\]%s]|[:\uff1a\uff0c]|,\s*(?:["'`\u201c\u2018\w\[{(}\])/#-]|$)|\n|$|//|/\*|#"""
    r"""|["'][\w .\-]{1,60}["']\s*:)"""
)
_AFTER_STRING: Final = re.compile(_AFTER % "")
_AFTER_STRING_IN_PARENTHESES: Final = re.compile(_AFTER % ")")

QUOTES: Final = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": "\u201d\u201c",
    "\u201d": "\u201d",
    "\u2018": "\u2019\u2018",
    "\u2019": "\u2019",
}
_WORDS: Final = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "null": None,
    "None": None,
    "NULL": None,
    "nil": None,
    "undefined": None,
}
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "/": "/",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "`": "`",
    "\n": "",
}
_JOINS: Final = r"""\s*[+%]\s*["'\w(]|\s+(?:or|and|else)\s+["']|\s+if\s+\w+\s+else\b"""
_JOINED: Final = re.compile(_JOINS)
_JOINED_IN_CALLS: Final = re.compile(_JOINS + r"|[ \t]+[\"']\w")
TOKEN_QUOTES: Final = ('<|"|>', "<escape>")
"""Quotes that are tokens, as Gemma writes them: nothing in between is escaped."""


class LenientError(ValueError):
    """There is no value here, whatever one puts right."""

    def __init__(self, reason: str, position: int, *, too_deep: bool = False) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position
        self.too_deep = too_deep


class BareName(str):
    """Unquoted text that a program would take for a variable, a call or an f-string; or `???`."""

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
    """Reads scalars one after the other, and notes what it had to put right."""

    __slots__ = ("at", "last", "parentheses", "repairs", "stray", "text", "torn", "twice")

    def __init__(self, text: str, position: int = 0, *, parentheses: int = 0) -> None:
        self.text = text
        self.last = len(text.rstrip())
        """Where the last sign of the text ends: blanks behind it close nothing."""
        self.at = position
        self.parentheses = parentheses
        self.repairs: list[tuple[str, int]] = []
        self.torn = Tear.WHOLE
        self.stray = 0
        """How many quotes were taken as parts of strings."""
        self.twice: str | None = None
        """A key that an object has twice."""

    def peek(self) -> str:
        """Skip blanks and comments and return the next character, or nothing."""
        char = self.text[self.at : self.at + 1]
        if char not in _SKIPPED and char < "\x7f":
            return char
        match = _SKIP.match(self.text, self.at)
        if match:
            start, self.at = self.at, match.end()
            if not match[0].isspace():
                self.mend("comment left out", start)
        return self.text[self.at : self.at + 1]

    def string(self) -> str:
        """Read a quoted string, whatever the quotes."""
        text, start = self.text, self.at
        opening = text[start]
        closing = QUOTES[opening]
        if text.startswith(opening * 3, start) and opening in "\"'":
            return self._triple(opening * 3)
        if opening != '"':
            self.mend("quotes", start)
        self.at += 1
        begin = self.at
        if (plain := self._plain(begin, closing)) is not None:
            return plain
        pieces: list[str] = []
        ends = _STRING_ENDS[opening]
        after = _AFTER_STRING_IN_PARENTHESES if self.parentheses else _AFTER_STRING
        while True:
            match = ends.search(text, self.at)
            if not match:
                self.tear(Tear.CUT)
                pieces.append(text[begin:])
                self.at = len(text)
                return "".join(pieces)
            at = match.start()
            char = match[0]
            if char == "\\":
                pieces.append(text[begin:at])
                self.at = at
                pieces.append(self._escape())
                begin = self.at
            elif char == "\n":
                self.mend("raw line end in a string", at)
                self.at = at + 1
            elif self._is_joined(at + 1):
                msg = "an expression, not a value"
                raise LenientError(msg, at)
            elif char in closing and (
                after.match(text, at + 1) or not self._has_later_quote(at + 1, char)
            ):
                pieces.append(text[begin:at])
                self.at = at + 1
                return "".join(pieces)
            else:
                self._keep_quote(at)

    def _is_joined(self, at: int) -> bool:
        """Tell whether a string is part of an expression; in a call, strings side by side are."""
        if self.parentheses:
            return _JOINED_IN_CALLS.match(self.text, at) is not None
        return _JOINED.match(self.text, at) is not None

    def _keep_quote(self, at: int) -> None:
        """Take a quote as part of the string that it stands in."""
        self.stray += 1
        if self.stray > _MOST_STRAY:
            msg = "more quotes than a string holds"
            raise LenientError(msg, at)
        self.mend("unescaped quote in a string", at)
        self.at = at + 1

    def _plain(self, begin: int, closing: str) -> str | None:
        """Read a string that plainly ends at the first quote, as most do."""
        text = self.text
        end = text.find(closing, begin) if len(closing) == 1 else -1
        if end == -1 or text[end + 1 : end + 2] not in _PLAINLY_AFTER:
            return None
        plain = text[begin:end]
        if "\\" in plain or "\n" in plain:
            return None
        self.at = end + 1
        return plain

    def _has_later_quote(self, position: int, quote: str) -> bool:
        """Tell whether the string could still end further on."""
        return self.text.find(quote, position, position + _QUOTE_REACH) != -1

    def token_string(self, token: str) -> str:
        """Read a string between two tokens, or to the end of the object if one is missing."""
        begin = self.at + len(token)
        end = self.text.find(token, begin)
        if end != -1:
            self.at = end + len(token)
            return self.text[begin:end]
        end = self.text.rfind("}", begin)
        if end == -1:
            self.tear(Tear.CUT)
            end = len(self.text)
        self.mend("missing quote", end)
        self.at = end
        return self.text[begin:end]

    def token(self) -> str | None:
        """Return the token that stands for a quote here, if one does."""
        return next((t for t in TOKEN_QUOTES if self.text.startswith(t, self.at)), None)

    def _triple(self, quotes: str) -> str:
        self.mend("triple quotes", self.at)
        end = self.text.find(quotes, self.at + 3)
        begin = self.at + 3
        if end == -1:
            self.tear(Tear.CUT)
            end = len(self.text)
        self.at = min(end + 3, len(self.text))
        return self.text[begin:end]

    def _escape(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        coded = _UNICODE.match(self.text, self.at) if char == "u" else None
        if coded:
            self.at = coded.end()
            return (
                coded[0]
                .encode()
                .decode("unicode_escape")
                .encode("utf-16", "surrogatepass")
                .decode("utf-16", "replace")
            )
        if char == "x" and self.parentheses and (byte := _BYTE.match(self.text, self.at)):
            self.at = byte.end()
            return chr(int(byte[1], 16))
        if char in _ESCAPES:
            self.at += 2
            return _ESCAPES[char]
        self.mend("unknown escape", self.at)
        self.at += 2
        # `\d` is a pattern, `\_` is Markdown.
        return "\\" + char if char.isalnum() or not char else char

    def bare(self) -> Any:
        """Read a number, a literal or unquoted text."""
        text, start = self.text, self.at
        number = _NUMBER.match(text, start)
        if number and not _PADDED.match(text, start):
            self.at = number.end()
            return self._number(number[0])
        stop = self._bare_end(start)
        word = text[start:stop].strip()
        if not word:
            msg = "no value"
            raise LenientError(msg, start)
        self.at = stop
        if word in _WORDS:
            if word not in ("true", "false", "null"):
                self.mend("Python literal", start)
            return _WORDS[word]
        if word in _NOT_NUMBERS:
            self.mend("number that JSON lacks", start)
            return None
        if word[0] in "$%@<" and not word.startswith("<|"):
            msg = "a variable, not a value"
            raise LenientError(msg, start)
        if stop >= self.last:
            self.tear(Tear.CUT)
        self.mend("unquoted text", start)
        return BareName(word) if self._is_code(word) else word

    def _is_code(self, word: str) -> bool:
        """Tell whether unquoted text is what a program would look up, or no text at all."""
        if word.isidentifier():
            return "_" in word or self.parentheses > 0
        dotted = "." in word and all(part.isidentifier() for part in word.split("."))
        return dotted or _CODE.match(word) is not None or not any(map(str.isalnum, word))

    def _bare_end(self, start: int) -> int:
        """Return where unquoted text ends: at a comma, line end or bracket that is not its own."""
        depth = 0
        for match in _BARE_END.finditer(self.text, start):
            char = match[0]
            if char in "([{":
                depth += 1
            elif char in ")]}":
                if depth == 0:
                    return match.start()
                depth -= 1
            elif depth == 0 or char == "\n":
                return match.start()
        return len(self.text)

    def _number(self, literal: str) -> Any:
        plain = literal.replace("_", "").lstrip("+")
        if plain != literal or literal[-1] == "." or literal.lstrip("-")[0] == ".":
            self.mend("number", self.at - len(literal))
        digits = plain.lstrip("-")
        if not digits.isdigit():
            return self._float(plain)
        if len(digits) < _LONGEST_INTEGER:
            return int(plain)
        self.mend("unquoted text", self.at - len(literal))
        return literal

    def _float(self, literal: str) -> float:
        number = float(literal)
        if isinf(number):
            self.mend("number that JSON lacks", self.at - len(literal))
        return number

    def mend(self, what: str, where: int) -> None:
        """Note what was put right."""
        if len(self.repairs) < _MOST_REPAIRS:
            self.repairs.append((what, where))

    def mend_if(self, needed: bool, what: str) -> None:  # noqa: FBT001 - a fact
        """Note what is put right here, if anything is."""
        if needed:
            self.mend(what, self.at)

    def tear(self, how: Tear = Tear.OPEN) -> None:
        """Note that the text stops too early."""
        self.torn = max(self.torn, how)
        self.mend("closed at the end of the text", len(self.text))


_STRING_ENDS: Final = {
    opening: re.compile("[\\\\\n" + "".join(set(closing)) + "]")
    for opening, closing in QUOTES.items()
}
