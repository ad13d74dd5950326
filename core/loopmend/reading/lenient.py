"""A decoder for values as models write them: broken JSON, and the literals of Python calls.

One pass, no backtracking beyond a few characters, nesting capped. Whatever it had to put
right is listed; whatever it had to make up (a string or a bracket that never closes) is
marked as torn, because then nobody can know what was meant. What can be read in two ways is an
error.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from loopmend._json import MAX_DEPTH
from loopmend.reading.quotations import CLOSERS, QUOTES
from loopmend.reading.scalars import NAMED, LenientError, Tear
from loopmend.reading.strings import TWO_WAYS, StringScanner

__all__ = ["LenientError", "Scanner"]

_WRONG_CLOSER: Final = "wrong closing bracket"
_OPENERS: Final = {"}": "{", "]": "[", ")": "("}
_KEY: Final = re.compile(r"[\w$][\w$.\-\\]*")
_LITERAL: Final = re.compile(r"(?:true|false|null|True|False|None)\b|[-+.]?\d|[\"'\u201c\[{]")
# What stops before it says anything: a sign, a quote, the start of a literal.
_STUB: Final = re.compile(
    r"(?:[-+\"'\u201c]|t|tr|tru|f|fa|fal|fals|n|nu|nul|N|No|Non|T|Tr|Tru|F|Fa|Fal|Fals)\s*\Z"
)
_LONGEST_STUB: Final = 4
# Members and items that are JSON, each with what shows that the next one is meant to follow.
_TEXT: Final = r"\"[^\"\\\x00-\x1f]{0,2000}(?:\\[\"\\/nrt][^\"\\\x00-\x1f]{0,2000}){0,50}\""
_SCALAR: Final = rf"(?:{_TEXT}|-?(?:0|[1-9]\d{{0,200}})(?:\.\d{{1,200}})?|true|false|null)"
_PLAIN_KEY: Final = r"\"[^\"\\\x00-\x1f]{0,80}\"[ \t\r\n]*:"
_RUN: Final = {
    "{": re.compile(rf"(?:{_PLAIN_KEY}[ \t\r\n]*{_SCALAR}[ \t\r\n]*,[ \t\r\n]*(?={_PLAIN_KEY}))+"),
    "[": re.compile(rf"(?:{_SCALAR}[ \t\r\n]*,[ \t\r\n]*(?=[\"\d\[{{-]|(?:true|false|null)\b))+"),
}
# Objects and arrays that are JSON and nest nothing. Before a comma and a word even what looks like
# the end may belong to a string.
_MEMBER: Final = rf"[ \t\r\n]*{_PLAIN_KEY}[ \t\r\n]*{_SCALAR}[ \t\r\n]*"
_ITEM: Final = rf"[ \t\r\n]*{_SCALAR}[ \t\r\n]*"
_FLAT: Final = {
    "{": re.compile(rf"\{{{_MEMBER}(?:,{_MEMBER})*\}}(?!\s*,\s*[^\W\d])"),
    "[": re.compile(rf"\[{_ITEM}(?:,{_ITEM})*\](?!\s*,\s*[^\W\d])"),
}
_DECODERS: Final[tuple[Any, ...]] = (json.JSONDecoder(), json.JSONDecoder(object_pairs_hook=list))
_ITEMS: Final = _DECODERS[0].scan_once
_PAIRS: Final = _DECODERS[1].scan_once
_STRICT: Final = frozenset('"-0123456789tfn')
_SKIPPED: Final = frozenset(",.\u2026")
_NO_VALUE: Final = frozenset("},:=>")
_COMMAS: Final = re.compile(r"[,\s]*")
_ENDS_KEY: Final = frozenset("\"'\u201d\u2019")
_TYPO: Final = re.compile(rf"\s*,\s*{NAMED}")
_MORE: Final = re.compile(r"\s*[,\]}]")


class Scanner(StringScanner):
    """Reads values one after the other."""

    __slots__ = ("typos", "wrong")

    def __init__(
        self, text: str, position: int = 0, *, parentheses: int = 0, typos: bool = False
    ) -> None:
        """Start at a place.

        Args:
            text: Where to read.
            position: Where to start.
            parentheses: How many are open before that place, as those of a Python call.
            typos: Whether a wrong closing bracket stands for the right one, rather than for the
                one that is missing before it.
        """
        super().__init__(text, position, parentheses=parentheses)
        self.typos = typos
        self.wrong = False
        """Whether a bracket closes another one than is open."""

    @property
    def unmatched(self) -> bool:
        """Whether brackets close what is not open, and leave others over."""
        return self.wrong and _MORE.match(self.text, self.at) is not None

    def value(self) -> Any:
        """Read any value."""
        return self._value(self.peek())

    def _value(self, char: str) -> Any:
        """Read the value that a sign opens."""
        if char in CLOSERS:
            return self._container(char)
        if char in QUOTES or self.prefixed():
            return self.string()
        if char == "":
            self.fail("no value")
        if char == "<" and (token := self.token()):
            return self.token_string(token)
        # `$x` and `<x>` by their first sign: to look for their end costs the whole text.
        if char in "$%@<" and not self.text.startswith("<|", self.at):
            self.fail("a variable, not a value")
        found = self.bare()
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if is_number and self.at == len(self.text) and (self.open or self.parentheses):
            self.tear(Tear.CUT)  # more digits may have been to come
        return found

    def _container(self, char: str) -> Any:
        start, known, part = self.at, len(self.repairs), self.part
        if len(self.open) >= MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels")
        found: Any
        if self.text.startswith(CLOSERS[char], start + 1):
            found = {} if char == "{" else []
            self.at += 2
            return self._tuple(found, start, known) if char == "(" else found
        self.open.append(char)
        self.at += 1
        if char in _FLAT and (flat := _FLAT[char].match(self.text, start)) is not None:
            found = self._flat(char, start)
            self.at = flat.end()
        else:
            found = self._object() if char == "{" else self._array(CLOSERS[char])
        self.open.pop()
        self.part = part
        return self._tuple(found, start, known) if char == "(" else found

    def _flat(self, char: str, start: int) -> Any:
        """Decode what is JSON and nests nothing."""
        if char == "[":
            return _ITEMS(self.text, start)[0]
        found: dict[str, Any] = {}
        for key, value in _PAIRS(self.text, start)[0]:
            self._put(found, key, value)
        return found

    def _tuple(self, found: list[Any], start: int, known: int) -> Any:
        self.mend("parentheses for brackets", start)
        if not found:
            return found
        words = any(repair.what == "unquoted text" for repair in self.repairs[known:])
        if words and not self.parentheses:
            self.fail("words in parentheses", start)
        if len(found) == 1 and self.text[start : self.at].rstrip(") ")[-1:] != ",":
            return found[0]  # as in Python
        return found

    # -- objects

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.text.startswith("{{", self.at - 1):
            return self._doubled_object()
        char = self.peek()
        while char not in ("}", ""):
            if char in ("]", ")"):
                if not found:
                    self.fail("no key")
                self._note_wrong(next(reversed(found.values())), dict)
                in_array = self.open[-2:-1] == ["["]
                ends = in_array and char == "]"  # `[{"a": 1]`: it is the array that ends here
                if self.text[self.at + 1] != "}" if not self.is_over(self.at + 1) else ends:
                    self.at += not in_array
                    return found
                self.at += 1
                char = self.peek()
            elif char == '"' and (run := _RUN["{"].match(self.text, self.at)):
                for key, value in _PAIRS(f"{{{run[0].rstrip()[:-1]}}}", 0)[0]:
                    self._put(found, key, value)
                self.at = run.end()
                char = self.peek()
            elif char in _SKIPPED and self._skips(char):
                char = self.peek()
            else:
                self.part = "key"
                key = self._key(char)
                self.part = "member"
                char = self._member(found, key)
        self._close()
        return found

    def _doubled_object(self) -> dict[str, Any]:
        """Read `{{…}}`, as templates write brackets."""
        self.mend("doubled brackets", self.at)
        found: dict[str, Any] = self.value()
        if self.peek() not in ("}", ""):
            self.fail("brackets that do not match")
        self._close()
        return found

    def _key(self, char: str) -> str:
        if char in QUOTES or self.prefixed():
            key = self.string()
            if key.lstrip()[:1] == ",":  # `", b": 1`: the quote before the comma opened nothing
                self.fail(TWO_WAYS)
            return key
        if char == "<" and (token := self.token()):
            return self.token_string(token)
        match = _KEY.match(self.text, self.at)
        if not match:
            self.fail("no key")
        self.at = match.end()
        self.mend("unquoted key", match.start())
        return match[0]

    def _member(self, found: dict[str, Any], key: str) -> str:
        """Read the value that belongs to a key, and return the sign that comes next.

        A value that is cut off is left out.
        """
        end = self.at
        sign = self.peek()
        if sign in (":", "=", "\uff1a"):
            self.at += 1
            if sign != ":":
                self.mend(f"`{sign}` for `:`", self.at - 1)
                if sign == "=" and self.text.startswith(">", self.at):
                    self.at += 1  # as Ruby and PHP write it
            sign = self.peek()
            if sign in _NO_VALUE:
                self.fail("a key without a value")
            if self._stops():
                return ""
        elif sign and self.text[end - 1] in _ENDS_KEY and _LITERAL.match(self.text, self.at):
            if key.rstrip()[-1:] == ":":
                self.fail(TWO_WAYS)
            self.mend("missing colon", self.at)
        elif sign:
            self.fail("a key without a value")
        if sign == "":
            self.tear(Tear.CUT)
            return ""
        self._put(found, key, self._value(sign))
        return self._separator("}")

    def _put(self, found: dict[str, Any], key: str, value: Any) -> None:
        if key in found:
            self.twice = key
        found[key] = value

    # -- arrays

    def _array(self, closer: str) -> list[Any]:
        found: list[Any] = []
        char = self.peek()
        while char not in (closer, ""):
            if char in _OPENERS:
                if char == ")" and "(" not in self.open:
                    self.fail("a parenthesis that closes nothing")
                self._note_wrong(found[-1] if found else None, list)
                # `["a"}, "b": ...`: it is the array that ends here, or `b` would belong to nothing.
                typo = _TYPO.match(self.text, self.at + 1) is not None and len(self.open) > 1
                self.at += typo or self.typos or _OPENERS[char] not in self.open[-2:-1]
                return found
            if (
                char in _STRICT
                and closer == "]"
                and (run := _RUN["["].match(self.text, self.at)) is not None
            ):
                found += _ITEMS(f"[{run[0].rstrip()[:-1]}]", 0)[0]
                self.at = run.end()
                char = self.peek()
            elif char in _SKIPPED and self._skips(char):
                char = self.peek()
            elif self._stops():
                break
            else:
                self.part = "item"
                found.append(self._value(char))
                char = self._separator(closer)
        self._close()
        return found

    # -- what stands between values

    def _skips(self, char: str) -> bool:
        """Step over a stray comma, or over `...`, which stands for more of the same."""
        if char == ",":
            self.at += 1
            self.mend("stray comma", self.at - 1)
            if self.full:
                self.at += len(_COMMAS.match(self.text, self.at)[0])  # type: ignore[index] # any will do
            return True
        size = 3 if self.text.startswith("...", self.at) else int(char == "\u2026")
        if size:
            self.at += size
            self.leave_out(self.at - size)
        return size > 0

    def _stops(self) -> bool:
        """Tell whether the text stops before it says anything of the value that comes next."""
        if not self.is_over(self.at + _LONGEST_STUB) or not _STUB.match(self.text, self.at):
            return False
        self.tear(Tear.CUT)
        self.at = len(self.text)
        return True

    def _separator(self, closer: str) -> str:
        """Step over what stands between two values, and return the sign that comes next."""
        if self.text[self.at : self.at + 1] == closer:
            return closer
        char, at = self.peek(), self.at
        if char in (",", "\uff0c"):
            if char != ",":
                self.mend("`\uff0c` for `,`", at)
            self.at += 1
            char = self.peek()
            if char == closer:
                self.mend("trailing comma", at, at + 1)
        elif char not in ("}", "]", ")", ""):
            if char in (":", "\uff1a") and closer != "}":
                self.fail("a key in an array")
            self.mend("missing comma", at)
        return char

    def _note_wrong(self, last: Any, kind: Any) -> None:
        """Note a bracket that closes another one than is open.

        Raises:
            LenientError: Nobody can know where the missing one belongs: in `[[1, 2}` either
                behind the 1 or behind the 2.
        """
        while isinstance(last, kind) and last:
            if len(last) > 1:
                self.fail("a missing bracket that may belong in several places")
            last = next(reversed(last.values())) if isinstance(last, dict) else last[0]
        self.wrong = True
        self.mend(_WRONG_CLOSER, self.at)

    def _close(self) -> None:
        """Step over the closing bracket, or note that there is none."""
        if self.at < len(self.text):
            self.at += 1
        else:
            self.tear()
