"""The text as it is read, and the way back to the text as it was."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from html import unescape
from typing import Final

from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.turn import Fidelity, Repair, Turn

__all__ = ["Source"]

# What is no part of what a model says, by what it cannot do without: MiniMax's token before each
# tag, blanks of no width at the start or behind a colon.
_BLANKS: Final = ("\u200b", "\u2060", "\ufeff")
_NOTHING: Final = (
    (("[>[",), re.compile(r"(\]<\]\w{1,20}\[>\[)(?=\s{0,20}<)")),
    (_BLANKS, re.compile("\\A([\u200b\u2060\ufeff]+)")),
    (_BLANKS, re.compile("(?m)^[^\n\"'{<]{0,40}[:\uff1a][ \t]{0,3}([\u200b\u2060\ufeff]+)")),
    (
        _BLANKS,
        re.compile('"\\s{0,3}:[ \t]{0,3}([\u200b\u2060\ufeff]+)(?=["{\\[\\d])'),
    ),
)
# The model names itself before it speaks, as in a transcript.
_OWN_NAME: Final = re.compile(
    r"\A(\s{0,20}[*_#]{0,3}(?:assistant|ai|agent|bot|chatbot|model)[*_]{0,3}[ \t]?[:\uff1a]"
    r"[*_]{0,3}\s{0,20})(?=\S)",
    re.IGNORECASE,
)
_ANOTHER_NAME: Final = re.compile(
    r"\n\W{0,3}(?:assistant|ai|agent|bot|chatbot|model|user|human|system|prompt)\b[^\n:\uff1a]{0,20}[:\uff1a]",
    re.IGNORECASE,
)
# Markup whose signs are written as HTML entities, and these entities.
_ESCAPED: Final = re.compile(
    r"[{\[]\s{0,20}(?:&quot;|&#34;)|(?<![\w'\"(])(?:&lt;|&#60;)/?[|\uff5c]?(?:\w{1,20}[|\uff5c])?(?P<tag>[^\W\d][\w\-]{0,40})"
)
_ENTITY: Final = re.compile(r"(&(?:quot|lt|gt|amp|apos|#39|#34|#60|#62|#x27))(;)")
# Line ends next to markup or before a header are not part of a value.
_STRUCTURAL: Final = re.compile(
    r"\r\n\s{0,20}(?:[<{\[`#*\->}\]]|[^\W\d_]{2,20}(?: [^\W\d_]{2,20})?(?: \d{1,3})?[:\uff1a])"
    r"|[>}\]`:{]\r\n"
)
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_STRUCTURAL_RETURN: Final = re.compile(
    r"\r(?!\n)[^\w\r\n]{0,8}(?:Thought|Action|Observation|Final Answer)\b"
    r"|\r(?!\n)[ \t]{0,20}[<{\[`}\]]|[>}\]`:{]\r(?!\n)",
    re.IGNORECASE,
)
_RETURN: Final = re.compile(r"(\r)(?=\n)")
# The line of an action's header holds a name, whatever other lines end with; an input is a value.
_HEADER_LINE: Final = re.compile(
    r"^[^\w\r\n]{0,8}(?:Action(?![ _-]?Input)\b[^\r\n]*|Action[ _-]?Input[^\w\r\n]{0,8})(\r)(?=\n)",
    re.IGNORECASE | re.MULTILINE,
)


class Source:
    r"""A text whose line ends and marks are put right, with a map of positions.

    Line ends change if all of them are CRLF, or are lone returns beside markup: then they are the
    transport's, not the model's. That is certain only if some stand beside markup.

    >>> source = Source("Action: a\r\nAction Input: b")
    >>> source.text, source.span((10, 22))
    ('Action: a\nAction Input: b', (11, 23))
    """

    __slots__ = ("_dropped", "_patterns", "certain", "changed", "original", "text")

    def __init__(self, original: str) -> None:
        self.original = self.text = original
        self.changed: str | None = None
        """What was put right, if anything."""
        self.certain = True
        """Whether what was put right was no part of a value."""
        self._patterns: list[re.Pattern[str]] = []
        self._dropped: list[list[tuple[int, int]]] | None = None
        for evidence, pattern in _NOTHING:
            if any(mark in self.text for mark in evidence):
                self._drop(pattern, "meaningless marks")
        if "&" in self.text and _is_escaped(self.text):
            self._drop(_ENTITY, "entities")
        if _OWN_NAME.match(self.text) and not _ANOTHER_NAME.search(self.text):
            self._drop(_OWN_NAME, "the speaker's name")
        if "\u25c1/" in self.text:  # Kimi's brackets
            self.text = self.text.replace("\u25c1", "<").replace("\u25b7", ">")
            self.changed = "brackets"
        if "\r" in self.text:
            self._line_ends()

    def _line_ends(self) -> None:
        alone = self.text.count("\r") > self.text.count("\r\n")
        if alone and _STRUCTURAL_RETURN.search(self.text):
            self.text = _LONE_RETURN.sub("\n", self.text)
            self.changed = "line ends"
        if self.text.count("\n") == self.text.count("\r\n"):
            self.certain = bool(_STRUCTURAL.search(self.text))
            self._drop(_RETURN, "line ends")
        else:
            self._drop(_HEADER_LINE, "line ends")

    def _drop(self, pattern: re.Pattern[str], what: str) -> None:
        shorter = _without(pattern, self.text)
        if shorter != self.text:
            self.text = shorter
            self.changed = what
            self._patterns.append(pattern)

    def placed(self, turn: Turn) -> Turn:
        """Return a turn of the text with all spans moved back to the text as it was."""
        if self.changed is None:
            return turn
        moved = [Repair(r.what, self.span(r.span)) for r in turn.repairs]
        moved.append(Repair(self.changed, (0, len(self.original))))
        failure = turn.failure and replace(turn.failure, span=self.span(turn.failure.span))
        exact = turn.fidelity == "exact" and failure is None
        fidelity: Fidelity = "repaired" if exact else turn.fidelity
        span = self.span(turn.span)
        return replace(turn, repairs=tuple(moved), failure=failure, span=span, fidelity=fidelity)

    def span(self, span: tuple[int, int]) -> tuple[int, int]:
        """Return where a span of the text that is read stands in the text as it was."""
        if not self._patterns:
            return span
        if self._dropped is None:
            self._dropped = self._map()
        start, end = span
        for dropped in reversed(self._dropped):
            start, end = _place(dropped, start), _place(dropped, end)
        return start, min(end, len(self.original))

    def _map(self) -> list[list[tuple[int, int]]]:
        """Return for each pattern where it dropped something, and how much up to there."""
        found, text = [], self.original
        for pattern in self._patterns:
            steps, gone = [], 0
            for match in pattern.finditer(text):
                at = match.start(1) - gone
                gone += match.end(1) - match.start(1)
                steps.append((at, gone))
            found.append(steps)
            text = _without(pattern, text)
        return found


def _is_escaped(text: str) -> bool:
    """Tell whether the signs of a text's markup, and all signs like them, are entities."""
    if "<" in text or ('"' in text and "&quot;" in text):
        return False
    found = (match["tag"] for match in _ESCAPED.finditer(text))
    return any(tag is None or role_of(tag, every=False) is Role.CALL for tag in found)


def _without(pattern: re.Pattern[str], text: str) -> str:
    """Return a text without the first group of each match; the rest of an entity is its sign."""
    if pattern is _RETURN:
        return text.replace("\r\n", "\n")
    kept, at = [], 0
    for match in pattern.finditer(text):
        kept.append(text[at : match.start(1)])
        at = match.end(1)
        if pattern is _ENTITY:
            kept.append(unescape(match[0]))
            at = match.end()
    return "".join([*kept, text[at:]])


def _place(dropped: list[tuple[int, int]], at: int) -> int:
    index = bisect_right(dropped, (at, len(dropped) + (1 << 60)))
    return at + (dropped[index - 1][1] if index else 0)
