"""The JSON values in a reply, among prose, fences, thinking and tags."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Final

from loopmend.reading.json_scanner import WRONG_CLOSER, JsonScanner
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.pairs import nests_too_deep, noting
from loopmend.reading.rewriting import rewritten_value
from loopmend.reading.scalars import LenientError, Tear
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["Excerpt", "Excerpts", "repaired_value"]

_MARK: Final = re.compile(
    r"[{\[]|^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*[\w+.\-]*|(?P<inline>`{3,})[a-z]*"
    r"|<(?P<close>/?)(?P<tag>[A-Za-z][\w:.\-]{0,40})(?:\s[^<>]{0,200})?>",
    re.MULTILINE,
)
_LIKELY: Final = re.compile(
    r"\{\s*(?:[\"'\u201c][^\"'\u201c\u201d\n]{0,80}[\"'\u201d]\s*[:\uff1a\d]|[\w$\-]{1,60}\s*:)"
    r"|\[\s*(?:[{\[\"'\u201c]|-?\d[\d.]*\s*(?:,|\Z))"
)
# What strict JSON starts with. For what is none, `json` counts the lines of all that went before.
_STRICT: Final = re.compile(
    r"\{\s*(?:\}|\"(?:[^\"\\\n]|\\.){0,200}\"\s*:)|\[\s*(?:[\[{\]\"]|-?\d[\d.eE+\-]{0,40}\s*[,\]]|[tfn])"
)
_ESCAPED: Final = re.compile(r"[{\[]\s*\\+\"")
_COMMENTS: Final = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*[^*]*\*/)*")
_BEFORE: Final = re.compile(r"(?:\A|[\n:=>(]|`)[ \t*_`]*\Z")
_MEMBERS: Final = re.compile(r"\s*,\s*[\"'][^\"'\n]{0,80}[\"']\s*:")
_ANOTHER: Final = re.compile(r"\s*,\s*[\[{]")
_MORE: Final = re.compile(r"\s*[,\]}]")
_WORDS: Final = "unquoted text"
_LEAD: Final = 40
_LONGEST_COMMENT: Final = 2000
_MOST: Final = 64
_EFFORT: Final = 4
_HURRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A value in a reply."""

    value: Value
    fenced: bool = False
    """Whether a fence holds it and nothing before it."""
    apart: bool = False
    """Whether it stands apart from the sentences around it."""
    listed: bool = False
    """Whether a comma and another value follow."""


def repaired_value(text: str) -> Value | None:
    """Return the value that is all of a text and needs simple repairs, or `None`."""
    start = len(text) - len(text.lstrip())
    if text[start : start + 1] not in ("{", "["):
        return None
    found = rewritten_value(text, start)
    if found is None or text[found.end :].strip() or nests_too_deep(text):
        return None
    return found


class Excerpts:
    """Finds the values of a reply, in one pass and with a bound on wasted effort."""

    def __init__(self, text: str, broken_at: int = -1) -> None:
        """Find them.

        Args:
            text: The reply.
            broken_at: Where a value starts of which it is known that simple repairs do not help.
        """
        self.text = text
        self._broken_at = broken_at
        self.found: list[Excerpt] = []
        self.error: LenientError | None = None
        """Why the first thing that looks like a value is none."""
        self.visible = 0
        """Where what is said starts, behind what is only thought."""
        self.unfinished_thought = False
        self.broken = False
        """Whether something that looks like a value cannot be parsed."""
        self._effort = _EFFORT * len(text) + 10_000
        self._hurries = _HURRIES
        self._silent = True
        self._first = len(text) - len(text.lstrip())
        self._fence: re.Match[str] | None = None
        self._scan()

    def _scan(self) -> None:
        at = 0
        while self._effort > 0 and len(self.found) < _MOST:
            mark = _MARK.search(self.text, at)
            if mark is None:
                return
            if mark["tag"]:
                at = self._tag(mark)
            elif mark["fence"] or mark["inline"]:
                at = self._fenced(mark)
            else:
                at = self._value(mark.start())

    def _tag(self, mark: re.Match[str]) -> int:
        if role_of(mark["tag"], every=False) is not Role.THINK:
            return mark.end()
        if mark["close"]:  # its opening tag is part of the prompt
            self.found.clear()
            self.error = None
            self.visible = mark.end()
            return mark.end()
        close = self.text.find(f"</{mark['tag']}>", mark.end())
        if close == -1:
            self.unfinished_thought = True
            self._effort = 0
            return len(self.text)
        end = close + len(mark["tag"]) + 3
        if self._silent and not self.text[self.visible : mark.start()].strip():
            self.visible = end
        else:
            self._silent = False
        return end

    def _fenced(self, mark: re.Match[str]) -> int:
        """Step into a fence, or out of it."""
        self._fence = mark if self._fence is None else None
        return mark.end()

    def _value(self, start: int) -> int:
        fenced = self._is_fenced(start)
        try:
            value = self._decoded(start, fenced=fenced)
        except LenientError as error:
            self._effort -= error.position - start + 10
            if error.too_deep:
                self._effort = 0
            return self._no_value(start, error, fenced=fenced)
        if value.torn and not fenced and not self._is_likely(start):
            self._effort -= len(self.text) - start
            return start + 1
        if _MEMBERS.match(self.text, value.end) and isinstance(value.value, dict):
            behind = LenientError("members behind the end", value.end)
            return self._no_value(start, behind, fenced=True)
        before = self.text[max(0, start - _LEAD) : start]
        apart = fenced or _BEFORE.search(before) is not None
        words = isinstance(value.value, list) and any(r.what == _WORDS for r in value.repairs)
        if apart or not words:
            listed = _ANOTHER.match(self.text, value.end) is not None
            self.found.append(Excerpt(value, fenced=fenced, apart=apart, listed=listed))
        return value.end

    def _is_likely(self, start: int) -> bool:
        """Tell whether a bracket opens a value rather than a remark."""
        return _LIKELY.match(self.text, start) is not None or start == self._first

    def _no_value(self, start: int, error: LenientError, *, fenced: bool) -> int:
        """Note why there is no value; parts of a broken one are not what was asked for."""
        if not fenced and not self._is_likely(start):
            return start + 1
        self.error = error
        self.broken = True
        self._effort = 0
        return len(self.text)

    def _is_fenced(self, start: int) -> bool:
        """Tell whether a place is the first in a fence, comments aside."""
        begin = None if self._fence is None else self._fence.end()
        if begin is None or start - begin > _LONGEST_COMMENT:
            return False
        return _COMMENTS.fullmatch(self.text, begin, start) is not None

    def _decoded(self, start: int, *, fenced: bool) -> Value:
        """Decode a value; one that its fence closes before its brackets do ends there."""
        if _ESCAPED.match(self.text, start) and (value := self._unescaped(start)) is not None:
            return value
        try:
            found = self._found_at(start)
        except LenientError:
            cut = self._cut_by_fence(start) if fenced else None
            if cut is None:
                raise
            return cut
        return (self._cut_by_fence(start) or found) if found.torn and fenced else found

    def _found_at(self, start: int) -> Value:
        if start == self._broken_at:
            return scanned_at(self.text, start)
        self._hurries -= 1
        return decoded_at(self.text, start, quickly=self._hurries >= 0)

    def _cut_by_fence(self, start: int) -> Value | None:
        close = self.text.find("\n```", start)
        if close == -1:
            return None
        self._effort -= len(self.text) - start
        try:
            value = decoded_at(self.text[: close + 1], start)
        except LenientError:
            return None
        if value.torn is not Tear.OPEN:
            return value
        repair = Repair("missing closing bracket", (close, close + 1))
        return replace(value, torn=Tear.WHOLE, repairs=(*value.repairs[:-1], repair))

    def _unescaped(self, start: int) -> Value | None:
        r"""Decode `{\"a\": 1}`: a value that was escaped as if it stood in a string."""
        end = max(self.text.rfind("}"), self.text.rfind("]")) + 1
        self._effort -= len(self.text)
        try:
            inner = json.loads(f'"{self.text[start:end]}"', strict=False)
            value = decoded_at(inner, 0)
        except (ValueError, RecursionError):
            return None
        if value.torn or inner[value.end :].strip():
            return None
        repair = Repair("escaped quotes", (start, end))
        return Value(value.value, start, end, (repair,), twice=value.twice)


def decoded_at(text: str, start: int, *, quickly: bool = True) -> Value:
    """Decode the value that starts at a place.

    Args:
        text: Where it stands.
        start: Where it starts.
        quickly: Whether to try simple repairs first, which looks at all that follows.

    Raises:
        LenientError: If there is none.
    """
    if _STRICT.match(text, start) and (found := _strict_at(text, start)) is not None:
        return found
    rewritten = rewritten_value(text, start) if quickly else None
    if rewritten is not None and not nests_too_deep(text[start : rewritten.end]):
        return rewritten
    return scanned_at(text, start)


def _strict_at(text: str, start: int) -> Value | None:
    twice: list[str] = []
    try:
        value, end = json.JSONDecoder(object_pairs_hook=noting(twice)).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if nests_too_deep(text[start:end]):
        return None
    return Value(value, start, end, twice=twice[0] if twice else None)


def scanned_at(text: str, start: int) -> Value:
    """Decode the value that starts at a place with all that the slow decoder knows.

    Raises:
        LenientError: If there is none.
    """
    for typos in (False, True):
        scanner = JsonScanner(text, start, typos=typos)
        value = scanner.value()
        wrong = any(what == WRONG_CLOSER for what, _ in scanner.repairs)
        if not wrong or not _MORE.match(text, scanner.at):
            break
    else:
        msg = "brackets that do not match"
        raise LenientError(msg, scanner.at)
    repairs = tuple([Repair(what, (at, min(at + 1, len(text)))) for what, at in scanner.repairs])
    return Value(value, start, scanner.at, repairs, scanner.torn, scanner.twice)
