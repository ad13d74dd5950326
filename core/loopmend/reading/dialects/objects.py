"""Calls as JSON objects, bare, fenced or in prose: `{"name": …, "arguments": …}` and aliases."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.described import Answered, calls_in
from loopmend.reading.found import Call, Found, Source
from loopmend.reading.payloads import Value, scan_values
from loopmend.reading.turn import Failure, FailurePattern, Repair

name = "objects"

_NAME_BEFORE: Final = re.compile(r"(?:\A|\n|>>>)[ \t]*([A-Za-z_][\w.\-]{0,100})[ \t]*\n?[ \t]*\Z")
_NEAR_START: Final = 8


def read(source: Source) -> Found | None:
    """Read the calls in the text's JSON values, or the answer that one of them gives."""
    if "{" not in source.text:
        return None
    reading = _Reading(source)
    for value in scan_values(source.text):
        if not reading.take(value):
            break
    return reading.found()


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.calls: list[Call] = []
        self.repairs: list[Repair] = []
        self.answer: Answered | None = None
        self.span = (-1, -1)
        self.torn: Value | None = None

    def take(self, value: Value) -> bool:
        """Take a value in; return whether to go on."""
        found = calls_in(value, self.source.tools) or self._named_before(value)
        if not found:
            self.torn = self.torn or (value if value.torn else None)
            return True
        if isinstance(found, Answered):
            if self.calls:
                return False  # an answer after calls that have not run yet is made up
            self.answer = self.answer or found
            self.torn = value if value.torn else self.torn
        else:
            self.calls += found
            self.repairs += value.repairs
        self.span = (value.start if self.span[0] == -1 else self.span[0], value.end)
        return True

    def _named_before(self, value: Value) -> list[Call] | None:
        """Read a tool's name on the line right before its arguments."""
        if not isinstance(value.value, dict):
            return None
        text, tools = self.source.text, self.source.tools
        before = _NAME_BEFORE.search(text[max(0, value.start - 120) : value.start])
        if not before:
            return None
        label = before[1]
        if tools is None:
            alone = text[: value.start].strip() == label and not text[value.end :].strip()
        else:
            alone = tools.find(label)[0] is not None
        span = (value.start - len(label), value.end)
        return [Call(label, value.value, span, torn=value.torn)] if alone else None

    def found(self) -> Found | None:
        if self.calls:
            return Found(self.span, self.calls, repairs=self.repairs)
        if self.torn is not None and self._cuts_off(self.torn):
            span = (self.torn.start, self.torn.end)
            failure = Failure(FailurePattern.TRUNCATED, "A JSON object is cut off.", span)
            return Found(span, failure=failure)
        if self.answer is None:
            return None
        if self.answer.question:
            return Found(self.span, question=self.answer.text)
        return Found(self.span, answer=self.answer.text)

    def _cuts_off(self, torn: Value) -> bool:
        """Tell whether what is cut off is the text itself, not a brace somewhere in prose."""
        text = self.source.text
        return self.answer is not None or torn.start <= len(text) - len(text.lstrip()) + _NEAR_START
