"""What backslashes say in strings as models write them: escapes, or themselves.

Some writers escape no backslash, as in patterns, paths and formulas. If one backslash of a string
shows that, the others may be raw, too.
"""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.pairs import RAW_ESCAPE
from loopmend.reading.quotations import QUOTES
from loopmend.reading.scalars import ScalarScanner

__all__ = ["EscapeScanner"]

_TWO_WAYS: Final = "an escape that can be read in two ways"
_UNICODE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}"
)
# Text may go on so far behind `\\u` without a character that it stands for.
_HALF: Final = re.compile(r"\\u[0-9][0-9a-fA-F]{0,2}(?=[^0-9a-fA-F])(?!\s*\Z)")
# An escape, or half a character, that the text stops in.
_CUT: Final = re.compile(
    r"\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?\Z"
)
_LONGEST_CUT: Final = 12
_BYTE: Final = re.compile(r"\\x([0-9a-fA-F]{2})")
_ESCAPES: Final[dict[str, str]] = {
    **dict(zip("ntrbf", "\n\t\r\b\f", strict=True)),
    **dict(zip('/\\"', '/\\"', strict=True)),
    "\n": "",
}
# A backslash before a sign that JSON does not escape is raw, and so may be the others of its
# string: in `\\alpha \\times` nobody means a tab.
_KIND: Final = re.compile(
    r"\\(?:(?P<known>[nrt](?=[a-z])|\\)|(?P<raw>"
    + RAW_ESCAPE
    + r"|u(?=[g-z])|[^bfnrtux\"'\\/_\s\u201c\u201d]))"
)
_COMMAND: Final = re.compile(r"\\" + RAW_ESCAPE)
# A path of Windows of which one part cannot be an escape, so that none is.
_WINDOWS: Final = re.compile(r"[A-Za-z]:(?:\\[\w .\-]+)*?\\[^\Wbfnrtu]")


class EscapeScanner(ScalarScanner):
    """Reads escapes, string by string."""

    __slots__ = ("_kinds", "_literal")

    def enter(self, begin: int) -> None:
        """Note that a string begins."""
        self._literal = _WINDOWS.match(self.text, begin) is not None
        self._kinds: set[str | None] = set()

    def leave(self, begin: int, found: str) -> str:
        """Return a string that is read, as it is meant.

        Raises:
            LenientError: It holds raw backslashes, and escapes that may be raw ones, too.
        """
        if self._literal or self.parentheses or "raw" not in self._kinds:
            return found
        if "known" in self._kinds:
            self.fail(_TWO_WAYS, begin)
        return found.replace("\b", "\\b").replace("\f", "\\f")

    def escape(self, opening: str) -> str:
        """Step over a backslash and what it escapes, and return what that stands for."""
        if (kind := _KIND.match(self.text, self.at)) is not None:
            self._kinds.add(kind.lastgroup)
        if self._literal or _COMMAND.match(self.text, self.at):
            self.at += 1
            self.mend("unknown escape", self.at - 1)
            return "\\"
        if len(self.text) - self.at < _LONGEST_CUT and _CUT.match(self.text, self.at):
            self.at = len(self.text)
            return ""
        char = self.text[self.at + 1 : self.at + 2]
        if char in ("u", "x") and (coded := self._coded(char, opening)) is not None:
            return coded
        self.at += 2
        if char == "\n":
            self.mend("line end that is escaped", self.at - 2)
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "'" and self.parentheses:
            return char
        self.mend("unknown escape", self.at - 2)
        # Python and JavaScript know `\\'`, a string its own quote; a key is a name, and Markdown
        # escapes names. Any other backslash is part of a pattern or a path.
        known = ("'", *QUOTES[opening], *("_" if self.part == "key" else ""))
        return char if char in known else "\\" + char

    def _coded(self, char: str, opening: str) -> str | None:
        """Step over an escape that gives a character's code, if it is one."""
        coded = _UNICODE.match(self.text, self.at) if char == "u" else None
        if coded:
            self.at = coded.end()
            half = coded[0].encode().decode("unicode_escape")
            return half.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if char == "u" and _HALF.match(self.text, self.at):
            self.fail("half an escape")
        if char == "x" and (byte := _BYTE.match(self.text, self.at)):
            if opening != "'" and not self.parentheses:
                self.fail(_TWO_WAYS)  # a character as in Python, or a part of a pattern
            self.at = byte.end()
            return chr(int(byte[1], 16))
        return None
