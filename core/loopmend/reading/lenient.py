"""A decoder for JSON as models write it, and for the literals of Python calls.

One pass, no backtracking beyond a few characters, nesting capped. Whatever it had to put
right is listed; whatever it had to make up (a string or a bracket that never closes) is
marked as torn, because then nobody can know what was meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from loopmend._json import MAX_DEPTH
from loopmend.reading.scalars import QUOTES, LenientError, ScalarScanner, Tear

__all__ = ["Decoded", "LenientError", "Scanner", "decode_at"]

_KEY: Final = re.compile(r"[\w$][\w$.\-\\]*")
_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}


@dataclass(slots=True)
class Decoded:
    """A value, where it ends, and how faithful it is."""

    value: Any
    end: int
    repairs: list[tuple[str, int]] = field(default_factory=list)
    """What was put right, and where."""
    torn: Tear = Tear.WHOLE
    """Whether the text stops before the value does."""
    twice: str | None = None
    """A key that an object has twice."""


def decode_at(text: str, position: int = 0) -> Decoded:
    """Decode the value that starts at a position; what follows it does not matter.

    Raises:
        LenientError: If no value starts there.
    """
    scanner = Scanner(text, position)
    value = scanner.value()
    return Decoded(value, scanner.at, scanner.repairs, scanner.torn, scanner.twice)


class Scanner(ScalarScanner):
    """Reads values one after the other."""

    __slots__ = ("depth",)

    def __init__(self, text: str, position: int = 0, *, parentheses: int = 0) -> None:
        super().__init__(text, position, parentheses=parentheses)
        self.depth = 0

    def value(self) -> Any:
        """Read any value."""
        char = self.peek()
        if char in ("{", "[", "("):
            return self._container(char)
        if char in QUOTES:
            return self.string()
        if char == "":
            msg = "no value"
            raise LenientError(msg, self.at)
        if char == "<" and (token := self.token()):
            return self.token_string(token)
        self._refuse_variable(char)
        found = self.bare()
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if is_number and self.at == len(self.text) and (self.depth or self.parentheses):
            self.tear(Tear.CUT)  # more digits may have been to come
        return found

    def _refuse_variable(self, char: str) -> None:
        """Refuse `$x` and `<x>` by their first sign: to look for their end costs the whole text."""
        if char in "$%@<" and not self.text.startswith("<|", self.at):
            msg = "a variable, not a value"
            raise LenientError(msg, self.at)

    def _container(self, char: str) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            msg = f"nested deeper than {MAX_DEPTH} levels"
            raise LenientError(msg, self.at, too_deep=True)
        if char == "(":
            self.mend("parentheses for brackets", self.at)
            self.parentheses += 1
        self.at += 1
        found = self._object() if char == "{" else self._array(_CLOSERS[char])
        self.depth -= 1
        self.parentheses -= char == "("
        return found

    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (char := self.peek()) not in ("}", ""):
            if char == ",":
                self.mend("stray comma", self.at)
                self.at += 1
            elif char in ("]", ")"):
                if not found:
                    msg = "no key"
                    raise LenientError(msg, self.at)
                self.mend("wrong closing bracket", self.at)
                if self.at + 1 < self.last and self.text[self.at + 1] != "}":
                    return found
                self.at += 1
            else:
                self._member(found, self._key(char))
        self._close()
        return found

    def _member(self, found: dict[str, Any], key: str) -> None:
        """Read the value that belongs to a key; one that is cut off is left out."""
        sign = self.peek()
        if sign == "":
            self.tear(Tear.CUT)
            return
        if sign not in (":", "=", "\uff1a"):
            msg = "a key without a value"
            raise LenientError(msg, self.at)
        if sign != ":":
            self.mend(f"`{sign}` for `:`", self.at)
        self.at += 1
        if sign == "=" and self.text.startswith(">", self.at):
            self.at += 1  # as Ruby and PHP write it
        following = self.peek()
        if following == "":
            self.tear(Tear.CUT)
            return
        if following in ("}", ",", ":", "=", ">"):
            msg = "a key without a value"
            raise LenientError(msg, self.at)
        if key in found:
            self.twice = key
        found[key] = self.value()
        self._separator("}")

    def _close(self) -> None:
        """Step over the closing bracket, or note that there is none."""
        if self.at < len(self.text):
            self.at += 1
        else:
            self.tear()

    def _key(self, char: str) -> str:
        if char in QUOTES:
            return self.string()
        if char == "<" and (token := self.token()):
            return self.token_string(token)
        match = _KEY.match(self.text, self.at)
        if not match:
            msg = "no key"
            raise LenientError(msg, self.at)
        self.at = match.end()
        self.mend("unquoted key", match.start())
        return match[0]

    def _array(self, closer: str) -> list[Any]:
        found: list[Any] = []
        while (char := self.peek()) not in (closer, ""):
            if char == ",":
                self.mend("stray comma", self.at)
                self.at += 1
            elif char in ("}", "]", ")"):
                self.mend("wrong closing bracket", self.at)
                return found
            else:
                found.append(self.value())
                self._separator(closer)
        self._close()
        return found

    def _separator(self, closer: str) -> None:
        char = self.peek()
        if char in (",", "\uff0c"):
            self.mend_if(char != ",", "`\uff0c` for `,`")
            self.at += 1
            if self.peek() == closer:
                self.mend("trailing comma", self.at)
        elif char not in (closer, "", "}", "]", ")"):
            self.mend("missing comma", self.at)
