"""A JSON value that grows while its text arrives, each character looked at once."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from loopmend._json import MAX_DEPTH
from loopmend.reading.thoughts import THOUGHT_MARK, begins_token, closer_of

__all__ = ["Growth"]

_OPENS: Final = re.compile(rf"{THOUGHT_MARK}|[{{\[]")
_APART: Final = re.compile(r"(?:\A|[\n:=>(]|`|(?:json|JSON))[ \t*_`]*\Z")
_LOOKBACK: Final = 260
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_TOKEN: Final = re.compile(r"[-+.0-9A-Za-z]+")
_LONGEST_TOKEN: Final = 400
_STRING_STOP: Final = re.compile(r'["\\]')
_ESCAPE: Final = re.compile(
    r'\\(?:["\\/nrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r"|u(?![dD][89abAB])[0-9a-fA-F]{4}|u[dD][89abAB][0-9a-fA-F]{2}(?=[^\\]|\\[^u]))"
)
_LONGEST_ESCAPE: Final = 13
_LITERALS: Final = {"true": True, "false": False, "null": None}
# A snapshot copies what is still open. Small ones are free, the rest is paid for by the characters
# that arrive, so that all of them together cost no more than a multiple of the text.
_FREE: Final = 1024
_CREDIT: Final = 8
_NOTHING: Final = object()


class Growth:
    """Follows the first value of a text that is strict JSON; says so when it is not."""

    __slots__ = (
        *("_credit", "_keys", "_last", "_length", "_next", "_pieces", "_rest", "_stack"),
        *("_thinks", "lost", "root", "started"),
    )

    def __init__(self) -> None:
        self.lost = False
        """Whether the text is not strict JSON, so that this cannot follow it."""
        self.started = False
        self.root: Any = None
        self._rest = ""
        self._thinks: str | None = None
        self._stack: list[Any] = []
        self._keys: list[str] = []
        self._pieces: list[str] | None = None
        self._length = 0
        self._next = "value"
        self._credit = 0
        self._last: Any = None

    @property
    def done(self) -> bool:
        """Whether the value is complete."""
        return self.root is not None and not self._stack

    def feed(self, chunk: str) -> None:
        """Take the next characters."""
        if self.lost or self.done:
            return
        self._credit += _CREDIT * len(chunk)
        text = self._rest + chunk
        at = 0 if self.started else self._start(text)
        if self.started:
            at = self._follow(text, at)
        self._rest = text[at:]

    def snapshot(self) -> Any:
        """Return what is known of the value; it does not change any more."""
        if not self.started:
            return None
        size = sum(map(len, self._stack)) + (self._length if self._pieces is not None else 0)
        if size > _FREE:
            if size > self._credit:
                return self._last
            self._credit -= size
        self._last = self._copied()
        return self._last

    def _copied(self) -> Any:
        part: Any = _NOTHING
        if self._pieces is not None:
            text = "".join(self._pieces)
            self._pieces = [text]
            part = _NOTHING if self._next == "key" else text
        for depth in range(len(self._stack) - 1, -1, -1):
            outer = self._stack[depth]
            if isinstance(outer, dict):
                copy: Any = dict(outer)
                if part is not _NOTHING:
                    copy[self._keys[depth]] = part
            else:
                copy = list(outer)
                if part is not _NOTHING:
                    copy.append(part)
            part = copy
        return part if self._stack else self.root

    # -- before the value

    def _start(self, text: str) -> int:
        """Look for the bracket that opens the value, outside of what is only thought."""
        at = 0
        while True:
            if self._thinks is not None:
                close = text.find(self._thinks, at)
                if close == -1:
                    return max(at, len(text) - len(self._thinks))
                at = close + len(self._thinks)
                self._thinks = None
            mark = _OPENS.search(text, at)
            if mark is None:
                return max(at, len(text) - _LOOKBACK)
            if mark["tag"] or mark["token"]:
                at = mark.end()
                self._thinks = closer_of(mark) or None
            elif begins_token(text[mark.start() :]):
                return mark.start()
            elif _APART.search(text, max(0, mark.start() - 40), mark.start()):
                self.started = True
                return mark.start()
            else:
                at = mark.end()

    # -- within it

    def _follow(self, text: str, at: int) -> int:
        """Follow the text as far as it is certain; return where that ends."""
        while at < len(text) and not self.lost:
            if self._pieces is not None:
                end = self._in_string(text, at)
            else:
                blank = _BLANK.match(text, at)
                at = blank.end() if blank else at
                if at == len(text) or self.done:
                    return at
                end = self._token(text, at)
            if end == at:
                return at
            at = end
        return at

    def _in_string(self, text: str, at: int) -> int:
        assert self._pieces is not None
        stop = _STRING_STOP.search(text, at)
        end = stop.start() if stop else len(text)
        if end > at:
            self._pieces.append(text[at:end])
            self._length += end - at
        if stop is None:
            return end
        if stop[0] == '"':
            found = "".join(self._pieces)
            self._pieces = None
            self._put_string(found)
            return end + 1
        escape = _ESCAPE.match(text, end)
        if escape is None:
            self.lost = len(text) - end >= _LONGEST_ESCAPE or _is_no_escape(text[end:])
            return end
        self._pieces.append(json.loads(f'"{escape[0]}"'))
        return escape.end()

    def _put_string(self, found: str) -> None:
        if self._next == "key":
            self._keys[-1] = found
            self.lost = found in self._stack[-1]
            self._next = "colon"
        else:
            self._put(found)

    def _put(self, value: Any) -> None:
        outer = self._stack[-1]
        if isinstance(outer, dict):
            outer[self._keys[-1]] = value
        else:
            outer.append(value)
        self._next = "comma"

    def _token(self, text: str, at: int) -> int:
        char = text[at]
        if self._next in ("value", "item"):
            return self._value(text, char, at)
        if self._next in ("key", "member"):
            if char == '"':
                self._next = "key"
                self._pieces, self._length = [], 0
                return at + 1
            if char == "}" and self._next == "member":
                return self._close(char, at)
        elif self._next == "colon" and char == ":":
            self._next = "value"
            return at + 1
        elif self._next == "comma":
            if char == ",":
                self._next = "key" if isinstance(self._stack[-1], dict) else "value"
                return at + 1
            if char in "}]":
                return self._close(char, at)
        self.lost = True
        return at

    def _value(self, text: str, char: str, at: int) -> int:
        if char == '"':
            self._pieces, self._length = [], 0
            return at + 1
        if char in "{[":
            return self._open(char, at)
        if char == "]" and self._next == "item":
            return self._close(char, at)
        return self._scalar(text, at)

    def _open(self, char: str, at: int) -> int:
        new: Any = {} if char == "{" else []
        if self.root is None:
            self.root = new
        self._stack.append(new)
        self._keys.append("")
        self._next = "member" if char == "{" else "item"
        self.lost = len(self._stack) > MAX_DEPTH
        return at + 1

    def _close(self, char: str, at: int) -> int:
        found = self._stack[-1]
        if isinstance(found, dict) != (char == "}"):
            self.lost = True
            return at
        self._stack.pop()
        self._keys.pop()
        if self._stack:
            self._put(found)
        return at + 1

    def _scalar(self, text: str, at: int) -> int:
        token = _TOKEN.match(text, at)
        if token is None or token.end() - at > _LONGEST_TOKEN:
            self.lost = True
            return at
        value = _LITERALS.get(token[0], _NOTHING)
        if value is _NOTHING and token[0][0] in "-0123456789":
            value = _number(token[0])
        if token.end() == len(text):  # more of it may come, and 1 is not on the way to 12
            return at
        if value is _NOTHING:
            self.lost = True
            return at
        self._put(value)
        return token.end()


def _number(literal: str) -> Any:
    try:
        return json.loads(literal)
    except ValueError:
        return _NOTHING


def _is_no_escape(text: str) -> bool:
    """Tell whether what starts with a backslash cannot become an escape any more.

    Nor is a form feed or a backspace followed: what comes behind it shows whether it is one.
    """
    return len(text) > 1 and text[1] not in '"\\/nrtu'
