"""A decoder for JSON as models write it where a value was asked for.

It reads more than the decoder of calls does, because it knows what it is reading. What can be read
in two ways is an error.
"""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend._json import MAX_DEPTH
from loopmend.reading.json_strings import NAMED, StringScanner
from loopmend.reading.scalars import QUOTES, LenientError, Tear

__all__ = ["LEFT_OUT", "WRONG_CLOSER", "JsonScanner"]

LEFT_OUT: Final = "parts left out"
"""The repair where a model wrote `...` for more of the same."""
WRONG_CLOSER: Final = "wrong closing bracket"
"""The repair of a bracket that closes another one than is open."""

_NO_WIDTH: Final = frozenset("\ufeff\u200b\u2060\u180e")
_LITERAL: Final = re.compile(r"(?:true|false|null|True|False|None)\b|[-+.]?\d|[\"'\u201c\[{]")
_NO_NUMBER: Final = re.compile(r"-?(?:NaN|nan|Infinity|inf)(?=\s*(?:[,}\])\n]|\Z))")
_CONSTRUCTED: Final = re.compile(r"(?:new\s+)?[A-Za-z_][\w.]*\(\s*[\"'\d)]")
_STOPPED_NUMBER: Final = re.compile(r"(-?\d+)(?:\.|(\.\d+)?[eE][-+]?)\Z")
# What stops before it says anything: a sign, a quote, the start of a literal.
_STUB: Final = re.compile(
    r"(?:[-+\"'\u201c]|t|tr|tru|f|fa|fal|fals|n|nu|nul|N|No|Non|T|Tr|Tru|F|Fa|Fal|Fals)\s*\Z"
)
_COMMENT_TO_END: Final = re.compile(r"(?:#|//)(?=[^\n]*\Z)[^\n}\]]*[}\]]")
_PADDED: Final = re.compile(r"-?0\d[\d.eE+\-]*")
_BARE_STOP: Final = re.compile(rf"[,}}\])\n(\[{{]|(?<!\s)\s+(?={NAMED})")
_TYPO: Final = re.compile(rf"\s*,\s*{NAMED}")
_BLANKS: Final = re.compile(r"\s*")
_BLANK: Final = frozenset(" \t\n\r")
# A literal or a number behind which a comma is missing, or only a comment stands.
_ATOM: Final = (
    r"(true|false|null|True|False|None|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"(?:(?=\s*(?:#|//|/\*))|\s+"
)
_ATOMS: Final = {
    "member": re.compile(rf"{_ATOM}(?={NAMED}))"),
    "item": re.compile(rf"{_ATOM}(?=[\"'\u201c\[{{]|-?\d[\d.]*\s*[,\]\s]|(?:true|false|null)\b))"),
}
_LONGEST_SHORT: Final = 300
_LONGEST_INTEGER: Final = 4300
_ATOMIC: Final = frozenset("-0123456789tfnTFN")
_OPENERS: Final = {"}": "{", "]": "[", ")": "("}
_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
_LITERALS: Final = {"true": True, "false": False, "null": None}
_LITERALS.update({"True": True, "False": False, "None": None})
_SEMICOLON: Final = re.compile(r";\s*(?:\Z|[\w$.\-]{1,60}\s*:)")
_THOUSANDS: Final = re.compile(r"\d,\d{3}(?!\d)")


class JsonScanner(StringScanner):
    """Reads values one after the other."""

    __slots__ = ("typos",)

    def __init__(self, text: str, position: int = 0, *, typos: bool = False) -> None:
        """Start at a place.

        Args:
            text: Where to read.
            position: Where to start.
            typos: Whether a wrong closing bracket stands for the right one, rather than for the
                one that is missing before it.
        """
        super().__init__(text, position)
        self.typos = typos

    def peek(self) -> str:
        """Skip blanks, comments and what has no width, and return the next character."""
        text = self.text
        char = text[self.at : self.at + 1]
        if char in _BLANK and (blanks := _BLANKS.match(text, self.at)):
            self.at = blanks.end()
            char = text[self.at : self.at + 1]
        if "!" < char < "\x7f" and char not in "#/\\":
            return char
        if char in ("#", "/") and _COMMENT_TO_END.match(text, self.at):
            msg = "a comment that does not end"
            raise LenientError(msg, self.at)
        char = super().peek()
        while char and (char in _NO_WIDTH or (char == "\\" and self._skips_escape())):
            self.mend_if(char in _NO_WIDTH, "blank of no width")
            self.at += 1
            char = super().peek()
        return char

    def _skips_escape(self) -> bool:
        r"""Step over the backslash of `\n` between members, where it can only be a line end."""
        if self.text[self.at + 1 : self.at + 2] not in ("n", "r", "t"):
            return False
        self.mend("escaped line end", self.at, self.at + 2)
        self.at += 1
        return True

    def value(self) -> Any:
        """Read any value."""
        char = self.peek()
        if char in _CLOSERS:
            return self._container(char)
        return self.string() if char in QUOTES or self.prefixed() else super().value()

    # -- containers

    def _container(self, char: str) -> Any:
        start, known = self.at, len(self.repairs)
        self.open.append(char)
        self.depth = len(self.open)
        if self.depth > MAX_DEPTH:
            msg = f"nested deeper than {MAX_DEPTH} levels"
            raise LenientError(msg, start, too_deep=True)
        self.at += 1
        found: Any = self._object() if char == "{" else self._array(_CLOSERS[char])
        self.open.pop()
        self.depth -= 1
        return self._tuple(found, start, known) if char == "(" else found

    def _tuple(self, found: list[Any], start: int, known: int) -> Any:
        self.mend("parentheses for brackets", start)
        if any(what == "unquoted text" for what, _ in self.repairs[known:]):
            msg = "words in parentheses"
            raise LenientError(msg, start)
        if len(found) == 1 and self.text[start : self.at].rstrip(") ")[-1:] != ",":
            return found[0]  # as in Python
        return found

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.text.startswith("{{", self.at - 1):
            return self._doubled_object()
        while (char := self.peek()) not in ("}", ""):
            if char == "," or self._skips_rest(char):
                self.mend_if(char == ",", "stray comma")
                self.at += char == ","
            elif char in ("]", ")"):
                if not found:
                    msg = "no key"
                    raise LenientError(msg, self.at)
                self.mend(WRONG_CLOSER, self.at)
                if self.text[self.at + 1 : self.at + 2] not in ("}", ""):
                    self.at += self.open[-2:-1] != ["["]
                    return found
                self.at += 1
            else:
                self.part = "key"
                key = self.string() if self.prefixed() else self._key(char)
                self.part = "member"
                self._member(found, key)
        self._close()
        return found

    def _doubled_object(self) -> dict[str, Any]:
        """Read `{{…}}`, as templates write brackets."""
        self.mend("doubled brackets", self.at)
        found: dict[str, Any] = self.value()
        if self.peek() not in ("}", ""):
            msg = "brackets that do not match"
            raise LenientError(msg, self.at)
        self._close()
        return found

    def _member(self, found: dict[str, Any], key: str) -> None:
        quoted = self.text[self.at - 1] in "\"'\u201d\u2019"
        sign = self.peek()
        if sign == ":" and self._stops(self.at + 1):
            return
        if sign and sign not in ":=\uff1a" and quoted and _LITERAL.match(self.text, self.at):
            self.mend("missing colon", self.at)
            if key in found:
                self.twice = key
            found[key] = self.value()
            self._separator("}")
            return
        super()._member(found, key)

    def _array(self, closer: str) -> list[Any]:
        found: list[Any] = []
        while (char := self.peek()) not in (closer, ""):
            if char == "," or self._skips_rest(char):
                self.mend_if(char == ",", "stray comma")
                self.at += char == ","
            elif char in ("}", "]", ")"):
                if char == ")" and "(" not in self.open:
                    msg = "a parenthesis that closes nothing"
                    raise LenientError(msg, self.at)
                self.mend(WRONG_CLOSER, self.at)
                # `["a"}, "b": ...`: it is the array that ends here, or `b` would belong to nothing.
                typo = _TYPO.match(self.text, self.at + 1) is not None and self.depth > 1
                self.at += typo or self.typos or _OPENERS[char] not in self.open[-2:-1]
                return found
            elif not self._stops(self.at):
                self.part = "item"
                found.append(self.value())
                self._separator(closer)
        self._close()
        return found

    def _separator(self, closer: str) -> None:
        if self.text[self.at : self.at + 1] == closer:
            return
        char, at = self.peek(), self.at
        if char in (",", "\uff0c"):
            self.mend_if(char != ",", "`\uff0c` for `,`")
            self.at += 1
            if self.peek() == closer:
                self.mend("trailing comma", at, at + 1)
        elif char not in ("}", "]", ")", ""):
            if char in (":", "\uff1a") and closer != "}":
                msg = "a key in an array"
                raise LenientError(msg, at)
            self.mend("missing comma", at)

    def _stops(self, at: int) -> bool:
        """Tell whether the text stops before it says anything of the value at a place."""
        blanks = _BLANKS.match(self.text, at)
        if _STUB.match(self.text, blanks.end() if blanks else at) is None:
            return False
        self.tear(Tear.CUT)
        self.at = len(self.text)
        return True

    def _skips_rest(self, char: str) -> bool:
        """Step over `...`, which stands for more of the same."""
        size = 3 if self.text.startswith("...", self.at) else int(char == "\u2026")
        if not size:
            return False
        self.mend(LEFT_OUT, self.at)
        self.torn = max(self.torn, Tear.OPEN)
        self.at += size
        return True

    # -- what has no quotes

    def bare(self) -> Any:
        """Read a number, a literal or unquoted text."""
        start, text = self.at, self.text
        char = text[start]
        atoms = _ATOMS.get(self.part) if char in _ATOMIC else None
        atom = atoms.match(text, start) if atoms else None
        if atom is not None:
            self.at = atom.end(1)
            return _LITERALS[atom[1]] if atom[1] in _LITERALS else self._number(atom[1])
        if char in "-NnIi" and (number := _NO_NUMBER.match(text, start)):
            self.at = number.end()
            self.mend("number that JSON lacks", start)
            return float(number[0])
        padded = _PADDED.match(text, start) if char in "-0" else None
        if padded and text[start : self._bare_end(start)].strip() == padded[0]:
            if _THOUSANDS.match(text, max(0, start - 2)):
                msg = "a number with commas in it"
                raise LenientError(msg, start)
            self.at = padded.end()
            self.mend("unquoted text", start)
            return padded[0]
        found = super().bare()
        if not isinstance(found, str):
            return found
        if _CONSTRUCTED.match(found) or _SEMICOLON.search(found):
            msg = "an expression, not a value"
            raise LenientError(msg, start)
        if self.at == len(text) and (number := _STOPPED_NUMBER.fullmatch(found)):
            return float(number[1] + (number[2] or ""))
        quotes = found.count('"')
        if quotes == 1 and found.endswith('"'):
            self.mend("missing quote", start)
            return found[:-1].rstrip()
        if quotes % 2 or (quotes and ":" in found):
            msg = "unquoted text that holds quotes"
            raise LenientError(msg, start)
        return found

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
        if len(literal) < _LONGEST_SHORT or not literal.lstrip("-").isdigit():
            return super()._number(literal)
        if len(literal) > _LONGEST_INTEGER:
            msg = "a number that is too large"
            raise LenientError(msg, self.at - len(literal))
        return int(literal)
