"""The JSON values in a reply, among prose, fences, thinking and tags."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Final

from loopmend.reading.decoding import repaired_value
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.pairs import strict_value
from loopmend.reading.scalars import NAMED, LenientError, Tear
from loopmend.reading.thoughts import THOUGHT_MARK, closer_of
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value, shifted

__all__ = ["Excerpt", "Excerpts", "is_bracket", "starts_with_key", "unopened_value"]

_MARK: Final = re.compile(
    rf"{THOUGHT_MARK}|[{{\[]"
    r"|^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*[\w+.\-]*|(?P<inline>`{3,})[a-z]*",
    re.MULTILINE,
)
_LIKELY: Final = re.compile(
    r"\{\s*(?:[\"'\u201c\u201e\u00ab\u300c][^\"'\u201c\u201d\n]{0,80}[\"'\u201c\u201d\u00bb\u300d]\s*[:\uff1a\d]|[\w$\-]{1,60}\s*:)"
    r"|\[\s*(?:[{\[\"'\u201c]|-?\d[\d.]*\s*(?:,|\Z)|(?:true|false|null|True|False|None)\s*,)"
)
_ESCAPED: Final = re.compile(r"[{\[]\s*\\+\"")
_COMMENTS: Final = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*[^*]*\*/)*")
_BEFORE: Final = re.compile(r"(?:\A|[\n:=>(]|`)[ \t*_`]*\Z")
_GOES_ON: Final = re.compile(r"[ \t]+(?P<next>[^\W\d_])")
# A few words before a colon, in a tag, or as a heading, right before a value or its fence.
_LABEL_WORDS: Final = r"[^\W\d_]+(?: [^\W\d_]+){0,2}"
_LABEL: Final = re.compile(
    rf"(?:\A|[\n.!?\u3002])(?:[^\w\n]|_)*(?P<label>{_LABEL_WORDS})[*_]*[ \t]*[:\uff1a][\s*_]*\Z"
    rf"|(?:\A|\n)[^\w\n]*(?:#[ \t]+[*_]*|\*\*|__)(?P<heading>{_LABEL_WORDS})[\s*_#]*\Z"
    r"|<(?P<tag>[A-Za-z][\w.\-]{0,40})>\s*\Z"
)
# Blanks, signs and fences: no word.
_LAYOUT: Final = re.compile(r"(?:(?:`{3,}|~{3,})[ \t]*[\w+.\-]*|[\W_])*")
_FIRST_KEY: Final = re.compile(rf"(\s*){NAMED}")
_WORD: Final = re.compile(r"[^\W_]")
# They may follow the quote of a string in which the value stands, or brackets too many.
_MEMBERS: Final = re.compile(
    r"\s*(?:[\"'}\]]{1,3}\s*)?,\s*[\"'][^\"'\n]{0,80}[\"']\s*:|[^\"'{}\[\]]{0,80}[\"']\s*[}\]]"
)
_ANOTHER: Final = re.compile(r"\s*,\s*[\[{]")
_WORDS: Final = "unquoted text"
_LEAD: Final = 40
_LONGEST_COMMENT: Final = 2000
_MOST: Final = 64
# A bracket that opens a remark is looked at only so far, and not if there are many. What looks like
# a value is read to its end, and nothing is read behind a broken one.
_REMARK: Final = 500
_FREE: Final = 10_000
_REWRITES: Final = 3


@dataclass(slots=True)
class Excerpt:
    """A value in a reply; nobody changes it, but to see to that takes time."""

    value: Value
    fenced: bool = False
    """Whether a fence holds it and nothing before it."""
    apart: bool = False
    """Whether it stands apart from the sentences around it."""
    listed: bool = False
    """Whether a comma and another value follow."""
    told: bool = False
    """Whether a sentence goes on behind it, as in `{"a": 1} is wrong`."""
    role: Role | None = None
    """What its label says of it, as `Answer:` and `Example:` do."""
    row: int = 0
    """In which row it stands; between the values of a row are no words, nor are any about one."""


class Excerpts:
    """Finds the values of a reply, in one pass and with a bound on wasted effort."""

    def __init__(self, text: str, known: Value | None = None) -> None:
        """Find them.

        Args:
            text: The reply.
            known: The one that it starts with, if that is known.
        """
        self.text = text
        self._known = known
        self.found: list[Excerpt] = []
        self.error: LenientError | None = None
        """Why the first thing that looks like a value is none."""
        self.visible = 0
        """Where what is said starts, behind what is only thought."""
        self.unfinished_thought = False
        self.broken = False
        """Whether something that looks like a value cannot be parsed."""
        self._budget = len(text) + _FREE
        self._remarks = 0
        self._silent = True
        self._first = len(text) - len(text.lstrip())
        self._fence: re.Match[str] | None = None
        self._unfenced = ""
        self._rewrites = _REWRITES
        self._row = self._row_end = 0
        self._introduced = False
        self._scan()

    def behind(self, answer: Excerpt) -> list[Excerpt]:
        """Return what may correct what is called the answer: what follows it and is no example."""
        end = answer.value.end
        return [each for each in self.found if each.value.start >= end and each.role != Role.SHOWN]

    def _scan(self) -> None:
        at: int | None = 0
        while at is not None and len(self.found) < _MOST:
            mark = _MARK.search(self.text, at)
            if mark is None:
                return
            if mark["tag"] or mark["token"]:
                at = self._tag(mark)
            elif mark["fence"] or mark["inline"]:
                self._fence = mark if self._fence is None else None
                at = mark.end()
            else:
                at = self._value(mark.start())

    def _tag(self, mark: re.Match[str]) -> int | None:
        closer = closer_of(mark)
        if closer is None:
            return mark.end()
        if not closer:  # its opening tag is part of the prompt
            self.found.clear()
            self.error = None
            self.visible = mark.end()
            return mark.end()
        close = self.text.find(closer, mark.end())
        if close == -1:
            self.unfinished_thought = True
            return None
        end = close + len(closer)
        if self._silent and not self.text[self.visible : mark.start()].strip():
            self.visible = end
        else:
            self._silent = False
        return end

    def _value(self, start: int) -> int | None:
        """Read what a bracket opens; return where to go on, if that makes sense."""
        fenced = self._is_fenced(start)
        # It opens a value rather than a remark.
        likely = fenced or start == self._first or _LIKELY.match(self.text, start) is not None
        self._remarks += not likely
        if not likely and self._remarks > _MOST:
            return start + 1
        try:
            value = self._decoded(start, fenced=fenced, likely=likely)
        except LenientError as error:
            if likely:
                self._broken(error)
                return None
            return start + 1
        if value.torn and not likely:
            return start + 1
        if _MEMBERS.match(self.text, value.end) and isinstance(value.value, dict):
            self._broken(LenientError("members after the end", value.end))
            return None
        before = self.text[max(0, start - _LEAD) : start]
        apart = fenced or _BEFORE.search(before) is not None
        words = isinstance(value.value, list) and any(r.what == _WORDS for r in value.repairs)
        if apart or not words:
            listed = _ANOTHER.match(self.text, value.end) is not None
            onward = None if fenced else _GOES_ON.match(self.text, value.end)
            told = onward is not None and onward["next"].islower()
            role = self._labelled(start, fenced=fenced)
            self._row += self._is_new_row(start)
            self._row_end = value.end
            line = before.rfind("\n") + 1
            self._introduced = not fenced and _WORD.search(before, line) is not None
            self.found.append(Excerpt(value, fenced, apart, listed, told, role, self._row))
        return value.end

    def _is_new_row(self, start: int) -> bool:
        """Tell whether words part a value from the one before it, or are about that one only."""
        gap = _LAYOUT.match(self.text, self._row_end, start)
        if gap is None or gap.end() < start:
            return True
        return self._introduced and "\n" in gap[0]

    def _labelled(self, start: int, *, fenced: bool) -> Role | None:
        """Return what the label of a value says of it, if each of its words is known."""
        if fenced and self._fence is not None:
            start = self._fence.start()
        label = _LABEL.search(self.text[max(0, start - _LEAD) : start])
        return None if label is None else role_of(label[str(label.lastgroup)])

    def _pays(self, cost: int) -> bool:
        """Tell whether there is still time for a look that may be in vain."""
        self._budget -= cost
        return self._budget > 0

    def _broken(self, error: LenientError) -> None:
        """Note why there is no value; parts of a broken one are not what was asked for."""
        self.error = error
        self.broken = True

    def _is_fenced(self, start: int) -> bool:
        """Tell whether a place is the first in a fence, comments aside."""
        begin = None if self._fence is None else self._fence.end()
        if begin is None or start - begin > _LONGEST_COMMENT:
            return False
        return _COMMENTS.fullmatch(self.text, begin, start) is not None

    def _decoded(self, start: int, *, fenced: bool, likely: bool) -> Value:
        if _ESCAPED.match(self.text, start) and (value := self._unescaped(start)) is not None:
            return value
        if not likely:
            return decoded_within(self.text, start, start + _REMARK)
        cut = self._cut_by_fence(start) if fenced else None
        if cut is not None and (not cut.torn or not self._may_close(cut, start)):
            return cut
        try:
            found = self._found_at(start)
        except LenientError:
            if cut is None:
                raise
            return cut
        return cut if cut is not None and found.torn else found

    def _may_close(self, cut: Value, start: int) -> bool:
        """Tell whether what a fence cuts off may end behind it, and there is time to look."""
        closes = any(self.text.find(bracket, cut.end) != -1 for bracket in "}]")
        return closes and self._pays(len(self.text) - start)

    def _found_at(self, start: int) -> Value:
        if self._known is not None and start == self._known.start:
            return self._known
        if (found := strict_value(self.text, start)) is not None:
            return Value(found[0], start, found[1])
        self._rewrites -= 1  # each looks at all that follows
        return repaired_value(self.text, start, rewrite=self._rewrites >= 0)

    def _cut_by_fence(self, start: int) -> Value | None:
        """Decode a value up to the end of its fence, where missing brackets are known to be."""
        assert self._fence is not None
        mark = f"\n{(self._fence['fence'] or self._fence['inline'])[:3]}"
        close = -1 if mark == self._unfenced else self.text.find(mark, start)
        if close == -1:
            self._unfenced = mark
            return None
        try:
            value = decoded_within(self.text, start, close + 1)
        except LenientError:
            return None
        if value.torn is not Tear.OPEN:
            return value
        repair = Repair("missing closing bracket", (close, close + 1))
        return replace(value, torn=Tear.WHOLE, repairs=(*value.repairs[:-1], repair))

    def _unescaped(self, start: int) -> Value | None:
        r"""Decode `{\"a\": 1}`: a value that was escaped as if it stood in a string."""
        if not self._pays(len(self.text)):
            return None
        end = max(self.text.rfind("}"), self.text.rfind("]")) + 1
        try:
            inner = json.loads(f'"{self.text[start:end]}"', strict=False)
            value = decoded_at(inner, 0)
        except (ValueError, RecursionError):
            return None
        if value.torn or inner[value.end :].strip():
            return None
        repair = Repair("escaped quotes", (start, end))
        return Value(value.value, start, end, (repair,), twice=value.twice)


def is_bracket(text: str, start: int) -> bool:
    r"""Tell whether a value starts at a place, and not one that is escaped, as `{\"a\": 1}`."""
    return text.startswith(("{", "["), start) and not ("\\" in text and _ESCAPED.match(text, start))


def starts_with_key(text: str) -> bool:
    """Tell whether a text starts with a quoted key, as if a bracket stood before it."""
    return _FIRST_KEY.match(text) is not None


def unopened_value(text: str) -> Value | None:
    """Return the object that a text is but for its opening bracket.

    Some requests end with that bracket, so that the model goes on behind it.
    """
    key = _FIRST_KEY.match(text)
    if key is None:
        return None
    try:
        found = decoded_at("{" + text, 0)
    except LenientError:
        return None
    if found.torn or _LAYOUT.fullmatch(text, found.end - 1) is None:
        return None
    start = key.end(1)
    repair = Repair("missing opening bracket", (start, start + 1))
    found = shifted(found, -1)
    return replace(found, start=start, repairs=(repair, *found.repairs))


def decoded_at(text: str, start: int) -> Value:
    """Decode the value that starts at a place.

    Raises:
        LenientError: If there is none.
    """
    found = strict_value(text, start)
    return repaired_value(text, start) if found is None else Value(found[0], start, found[1])


def decoded_within(text: str, start: int, stop: int) -> Value:
    """Decode the value that starts at a place and ends before another.

    Raises:
        LenientError: If there is none.
    """
    return shifted(decoded_at(text[start:stop], 0), start)
