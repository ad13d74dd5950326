"""Calls between tags or special tokens: `<tool_call>…</tool_call>`, `[TOOL_CALLS]…` and kin."""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend.reading.described import Answered, calls_in
from loopmend.reading.found import Call, Found, Source
from loopmend.reading.lenient import LenientError
from loopmend.reading.payloads import decode_value
from loopmend.reading.pythonic import read_calls
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, Repair

name = "tagged"

_TAGS: Final = "|".join(
    (
        *("tool_calls?", "toolcall", "TOOLCALL", "function_calls?", "functioncall", "tools"),
        *("longcat_tool_call", "dots_function_call", "tool_use", "tool_request"),
    )
)
_OPEN: Final = re.compile(
    rf"<(?:{_TAGS})>|<\|tool_call\|>|<\|tool_call_start\|>|<\|action_start\|>\s*<\|plugin\|>"
    r"|<\|tools_prefix\|>|<\|START_ACTION\|>|\[TOOL_CALLS\]|\[TOOL_REQUEST\]|\bfunctools(?=\[)"
    r"|<\|python_tag\|>|<\|python_start\|>|<\|function_call\|>|function call<\|role_sep\|>"
    r"|<\|content_invoke_tool_json\|>|<<function>>"
)
_CLOSE: Final = re.compile(
    rf"</(?:{_TAGS})>|<\|/tool_call\|>|<\|tool_call_end\|>|<\|action_end\|>|<\|tools_suffix\|>"
    r"|<\|END_ACTION\|>|\[END_TOOL_REQUEST\]|<\|python_end\|>|\[/TOOL_CALLS\]"
)
_EVIDENCE: Final = (
    "<tool",
    "<TOOL",
    "<function",
    "<|",
    "_call>",
    "[TOOL_",
    "functools[",
    "<<function",
    "role_sep",
)
_NAME: Final = re.compile(r"\s*([A-Za-z_][\w.\-]*)(?:\s|\\n)*")
_PAIR: Final = re.compile(
    r"(?:\s|\\n)*<arg_key>(.*?)</arg_key>(?:\s|\\n)*(?:<arg_value>(.*?)</arg_value>)?", re.DOTALL
)
_CALL_ID: Final = re.compile(r"(?:\[CALL_ID\][^\[]*)?\[ARGS\]\s*")
_AFTER: Final = re.compile(r"[ \n`]*")
_ANOTHER: Final = re.compile(r"[\s,;]*(?=\{)")
_FENCE: Final = re.compile(r"\s*```(?:json|python|tool_code)?\s*")


def read(source: Source) -> Found | None:
    """Read what stands after each opening tag."""
    text = source.text
    if not any(token in text for token in _EVIDENCE):
        return None
    opens = list(_OPEN.finditer(text))
    if not opens:
        return None
    reader = _Reader(text, source.tools)
    at = 0
    for index, opening in enumerate(opens):
        if opening.start() < at:
            continue
        limit = opens[index + 1].start() if index + 1 < len(opens) else len(text)
        at = reader.payload(opening, limit)
    start = opens[0].start()
    if reader.calls:
        return Found((start, at), reader.calls, repairs=reader.repairs)
    if reader.answer is not None:
        return Found((start, at), answer=reader.answer.text)
    return Found((start, len(text)), failure=reader.failure) if reader.failure else None


class _Reader:
    def __init__(self, text: str, tools: Toolbox | None) -> None:
        self.text = text
        self.tools = tools
        self.calls: list[Call] = []
        self.repairs: list[Repair] = []
        self.failure: Failure | None = None
        self.answer: Answered | None = None

    def payload(self, opening: re.Match[str], limit: int) -> int:
        start = opening.end()
        fence = _FENCE.match(self.text, start, limit)
        if fence:
            start = fence.end()
        while self.text[start : start + 1].isspace():
            start += 1
        first = self.text[start : start + 1]
        end = None
        if first in ("{", "["):
            end = self._json(start, limit)
            if end is None and first == "[":
                end = self._pythonic(start)
        elif first:
            end = self._pythonic(start)
            if end is None:
                end = self._named(start, limit)
        if end is None:
            self._fail(opening.start(), limit)
            return limit
        close = _CLOSE.match(self.text, _AFTER.match(self.text, end).end())  # type: ignore[union-attr]
        return close.end() if close else end

    def _json(self, start: int, limit: int) -> int | None:
        end = start
        taken = False
        while True:
            try:
                value = decode_value(self.text, end, limit)
            except LenientError:
                return end if taken else None
            found = calls_in(value, self.tools, marked=True)
            if isinstance(found, Answered):
                self.answer = found
                return value.end
            if not found:
                return end if taken else None
            self.calls += found
            self.repairs += value.repairs
            taken, end = True, value.end
            after = _ANOTHER.match(self.text, end, limit)
            if not after:
                return end
            end = after.end()

    def _pythonic(self, start: int) -> int | None:
        found = read_calls(self.text, start)
        if found is None:
            return None
        calls, end, repairs = found
        self.calls += [Call(c.name, c.arguments, c.span, c.positional, torn=c.torn) for c in calls]
        self.repairs += repairs
        return end

    def _named(self, start: int, limit: int) -> int | None:
        label = _NAME.match(self.text, start, limit)
        if not label:
            return None
        at = label.end()
        if self.text.startswith("<tool_sep>", at):
            at += len("<tool_sep>")
        marker = _CALL_ID.match(self.text, at)
        if marker:
            at = marker.end()
        while self.text[at : at + 1].isspace():
            at += 1
        if self.text.startswith(("{", "```"), at):
            return self._named_json(label[1], start, at, limit)
        return self._pairs(label[1], start, at, limit)

    def _named_json(self, label: str, start: int, at: int, limit: int) -> int | None:
        fence = _FENCE.match(self.text, at)
        try:
            value = decode_value(self.text, fence.end() if fence else at, limit)
        except LenientError:
            return None
        if not isinstance(value.value, dict):
            return None
        self.calls.append(Call(label, value.value, (start, value.end), torn=value.torn))
        self.repairs += value.repairs
        return value.end

    def _pairs(self, label: str, start: int, at: int, limit: int) -> int | None:
        arguments: dict[str, Any] = {}
        while pair := _PAIR.match(self.text, at, limit):
            if pair[2] is not None:
                arguments[pair[1].strip()] = pair[2]
            at = pair.end()
        rest = self.text[at:limit].lstrip()
        if not _CLOSE.match(rest) or rest.startswith("<arg"):
            return None
        self.calls.append(Call(label, arguments, (start, at), raw=True))
        return at

    def _fail(self, start: int, end: int) -> None:
        if self.failure is None:
            message = "A tool call is announced but cannot be read."
            self.failure = Failure(FailurePattern.MALFORMED, message, (start, end))
