"""Calls as sequences of special tokens: DeepSeek, Kimi, Gemma, Mistral, harmony."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

from loopmend.reading.found import Call, Found, Source
from loopmend.reading.lenient import LenientError, decode_at
from loopmend.reading.payloads import decode_value
from loopmend.reading.turn import Failure, FailurePattern, Repair

name = "sequences"

# U+FF5C is the full-width bar and U+2581 the low block of DeepSeek's tokens.
_BAR: Final = r"[\uff5c|]"
_JSON_AFTER: Final = re.compile(
    rf"<{_BAR}tool\u2581call\u2581begin{_BAR}>(?:function<{_BAR}tool\u2581sep{_BAR}>)?\s*"
    rf"(?P<deepseek>[^\s<`{{]+)\s*(?:<{_BAR}tool\u2581sep{_BAR}>)?\s*(?:```(?:json)?\s*)?(?=\{{)"
    r"|<\|tool_call_begin\|>\s*(?P<kimi>[^<\s][^<]{0,200}?)\s*<\|tool_call_argument_begin\|>\s*(?=\{)"
    r"|\[TOOL_CALLS\]\s*(?P<mistral>[\w.\-]+)(?:\[CALL_ID\][^\[]{0,80})?(?:\[ARGS\])?\s*(?=\{)"
    r"|\bto=(?:functions\.)?(?P<harmony>[A-Za-z_][\w.\-]{0,100})[^{}\n]{0,80}?"
    r"(?:<\|message\|>|\bcode\b|\bjson\b)\s*(?=\{)"
)
_COUNTER: Final = re.compile(r":\d+\Z")
_STRICT_TRIES: Final = 50
_LABELS: Final = ("deepseek", "kimi", "mistral", "harmony")
_GEMMA: Final = re.compile(r"(?:<\|tool_call>|<start_function_call>)\s*call:([\w.\-]+)\s*(?=\{)")
_GEMMA_END: Final = re.compile(r"<tool_call\|>|<end_function_call>")
_GEMMA_STRING: Final = re.compile(r'(?:<\|"\|>|<escape>)(.*?)(?:<\|"\|>|<escape>)', re.DOTALL)
_K3_CALL: Final = re.compile(
    r'<\|open\|>call\s+tool="([^"]*)"[^<]*<\|sep\|>(.*?)(?:<\|close\|>call<\|sep\|>|\Z)', re.DOTALL
)
_K3_ARGUMENT: Final = re.compile(
    r'<\|open\|>argument\s+key="([^"]*)"(?:\s+type="(\w+)")?[^<]*<\|sep\|>(.*?)'
    r"<\|close\|>argument<\|sep\|>",
    re.DOTALL,
)
_EVIDENCE: Final = (
    *("tool\u2581call", "<|tool_call", "[TOOL_CALLS]", "to="),
    *("<start_function_call>", "<|open|>call"),
)


def read(source: Source) -> Found | None:
    """Read every such sequence."""
    text = source.text
    if not any(token in text for token in _EVIDENCE):
        return None
    for reader in (_json_after, _gemma, _kimi_k3):
        found = reader(text)
        if found is not None:
            return found
    return None


def _json_after(text: str) -> Found | None:
    calls: list[Call] = []
    repairs: list[Repair] = []
    at = 0
    while match := _JSON_AFTER.search(text, at):
        label = next(match[group] for group in _LABELS if match[group] is not None)
        try:
            value = decode_value(text, match.end(), strictly=len(calls) < _STRICT_TRIES)
        except LenientError:
            return _unreadable(label, (match.start(), len(text)))
        plain = _COUNTER.sub("", label).removeprefix("functions.")
        calls.append(Call(plain, value.value, (match.start(), value.end), torn=value.torn))
        repairs += value.repairs
        at = value.end
    return Found((calls[0].span[0], at), calls, repairs=repairs) if calls else None


def _unreadable(label: str, span: tuple[int, int]) -> Found:
    message = f"The arguments of `{label[:60]}` cannot be read."
    return Found(span, failure=Failure(FailurePattern.MALFORMED, message, span, label))


def _gemma(text: str) -> Found | None:
    calls: list[Call] = []
    marks = list(_GEMMA.finditer(text))
    for index, match in enumerate(marks):
        limit = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        end = _GEMMA_END.search(text, match.end(), limit)
        span = (match.start(), end.start() if end else limit)
        body = _GEMMA_STRING.sub(lambda m: json.dumps(m[1]), text[match.end() : span[1]])
        try:
            value = decode_at(body)
        except LenientError:
            return _unreadable(match[1], span)
        calls.append(Call(match[1], value.value, span, torn=value.torn))
    return Found((calls[0].span[0], calls[-1].span[1]), calls) if calls else None


def _kimi_k3(text: str) -> Found | None:
    calls: list[Call] = []
    for match in _K3_CALL.finditer(text):
        arguments: dict[str, Any] = {}
        for key, kind, raw in _K3_ARGUMENT.findall(match[2]):
            plain = html.unescape(raw)
            arguments[html.unescape(key)] = plain if kind in ("string", "") else _loads(plain)
        calls.append(Call(html.unescape(match[1]), arguments, match.span()))
    return Found((calls[0].span[0], calls[-1].span[1]), calls) if calls else None


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
