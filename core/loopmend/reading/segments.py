"""Telling a model's thinking and template tokens from what it says to us.

Spans are blanked out at their place, so that every position in the blanked text is a
position in the model's own text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

__all__ = ["Segments", "segment"]

_NAMES = "think|thought|reasoning|mm:think|seed:think|inner_thoughts|scratchpad"
_OPEN: Final = re.compile(
    rf"<(?:{_NAMES})>|\[THINK\]|<\|START_THINKING\|>|<\|channel>thought\b|<\|open\|>think<\|sep\|>",
    re.IGNORECASE,
)
_CLOSE: Final = re.compile(
    rf"</(?:{_NAMES})>|\[/THINK\]|<\|END_THINKING\|>|<channel\|>|<\|close\|>think<\|sep\|>"
    r"|\[BEGIN FINAL RESPONSE\]",
    re.IGNORECASE,
)
_START: Final = r"(?:<\|start\|>assistant)?"
_HARMONY_THOUGHT: Final = re.compile(
    rf"{_START}<\|channel\|>analysis<\|message\|>(?P<thought>.*?)"
    r"(?:<\|end\|>|<\|return\|>|(?=<\|start\|>)|\Z)"
    rf"|{_START} ?\bto=self<\|message\|>(?P<self>.*?)(?:<\|eom\|>|<\|eot\|>|(?=<\|start\|>)|\Z)",
    re.DOTALL,
)
_TO_TOOL: Final = re.compile(r"\bto=(?!assistant|self|user)[\w.\-]+\s*\Z")
_TOKENS: Final = "|".join(
    (
        *("im_start", "im_end", "im_sep", "eot_id", "eom_id", "eom", "eot", "endoftext", "end"),
        *("end_of_text", "begin_of_text", "return", "start_header_id", "end_header_id"),
        *("END_OF_TURN_TOKEN", "START_OF_TURN_TOKEN", "CHATBOT_TOKEN", "START_RESPONSE"),
        *("END_RESPONSE", "START_TEXT", "END_TEXT", "end_of_turn", "assistant"),
        *("message_model", "content_text", "end_message"),
    )
)
_NOISE: Final = re.compile(
    rf"<\|start_header_id\|>\w{{1,20}}<\|end_header_id\|>|<\|(?:{_TOKENS})\|>|\]<\]minimax\[>\[|</?s>|<(?:start|end)_of_turn>(?:model\b)?"
    r"|\[/?INST\]|\[END FINAL RESPONSE\]|<\|(?:open|close)\|>(?:response|message)<\|sep\|>"
    rf"|{_START}(?: ?to=user)?<\|channel\|>(?:final|commentary)(?: to=assistant)?"
    r"(?:<\|message\|>|(?=<\|channel\|>))"
    rf"|{_START} ?to=user<\|message\|>"
)
_NOISE_EVIDENCE: Final = ("<|", "<s>", "</s>", "_of_turn>", "INST]", "minimax[", "RESPONSE]")


@dataclass(frozen=True, slots=True)
class Segments:
    """A text with its thinking blanked out."""

    text: str
    """The text as it was."""
    visible: str
    """As long as `text`, with spaces for thinking and template tokens."""
    thought: str | None
    """All thinking, joined."""
    hidden: tuple[tuple[int, int], ...]
    """What was blanked out."""
    open_thought: int | None = None
    """Where thinking starts that never ends."""

    def opened(self) -> Segments | None:
        """Return the text with its endless thinking in the open, or `None` if it has none."""
        start = self.open_thought
        if start is None:
            return None
        visible = " " * (start - 1) + "\n" + self.text[start:]
        return Segments(self.text, visible, None, ((0, start),))

    def say(self, start: int = 0, end: int | None = None) -> str:
        """Return what is said between two places, without what is hidden."""
        stop = len(self.text) if end is None else end
        pieces = []
        for low, high in self.hidden:
            if high <= start or low >= stop:
                continue
            pieces.append(self.text[start : max(low, start)])
            start = min(high, stop)
        pieces.append(self.text[start:stop])
        return "".join(pieces).strip()


def segment(text: str) -> Segments:
    """Find the thinking, balanced or not, and the template tokens."""
    if "<" not in text and "[" not in text:
        return Segments(text, text, None, ())
    thoughts, open_thought = _thoughts(text)
    hidden = [(low, high) for low, high, _, _ in thoughts]
    covered = _Cover(hidden)
    if any(token in text for token in _NOISE_EVIDENCE):
        hidden += [m.span() for m in _NOISE.finditer(text) if not covered.has(m.start())]
    hidden += [m.span() for m in _CLOSE.finditer(text) if not covered.has(m.start())]
    hidden.sort()
    said = [text[a:b].strip() for _, _, a, b in thoughts]
    thought = "\n".join(part for part in said if part) or None
    return Segments(text, _blank(text, hidden), thought, tuple(hidden), open_thought)


def _thoughts(text: str) -> tuple[list[tuple[int, int, int, int]], int | None]:
    found: list[tuple[int, int, int, int]] = []
    for match in _HARMONY_THOUGHT.finditer(text) if "<|message|>" in text else ():
        if _TO_TOOL.search(text[max(0, match.start() - 80) : match.start()]):
            continue
        group = "thought" if match["thought"] is not None else "self"
        found.append((match.start(), match.end(), *match.span(group)))
    position = 0
    closes = [m.span() for m in _CLOSE.finditer(text)]
    opens = [m.span() for m in _OPEN.finditer(text)]
    if closes and (not opens or closes[0][0] < opens[0][0]):
        # Only the end is there: the template had opened it.
        found.append((0, closes[0][1], 0, closes[0][0]))
        position = closes[0][1]
    ends = iter(closes)
    end: tuple[int, int] | None = (-1, -1)
    for start, inner in opens:
        if start < position:
            continue
        while end is not None and end[0] < inner:
            end = next(ends, None)
        if end is None:
            return [*found, (start, len(text), inner, len(text))], inner
        found.append((start, end[1], inner, end[0]))
        position = end[1]
    found.sort()
    return found, None


class _Cover:
    """Tells whether a place lies in one of several spans that do not overlap."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.starts = [low for low, _ in spans]
        self.ends = [high for _, high in spans]

    def has(self, position: int) -> bool:
        index = bisect_right(self.starts, position) - 1
        return index >= 0 and position < self.ends[index]


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, at = [], 0
    for low, high in spans:
        if high <= at:
            continue
        start = max(low, at)
        pieces.append(text[at:start])
        # What follows thinking starts a line, as it did for whoever reads it.
        pieces.append(" " * (high - start - 1) + "\n")
        at = high
    pieces.append(text[at:])
    return "".join(pieces)
