"""Calls as elements: `<function=f>`, `<invoke name="f">`, `<function name="f">` and kin."""

from __future__ import annotations

import html
import re
from typing import Any, Final

from loopmend.reading.found import Call, Found, Source
from loopmend.reading.lenient import LenientError
from loopmend.reading.payloads import decode_value
from loopmend.reading.turn import Failure, FailurePattern, Repair

name = "elements"

_PREFIX = r"(?:\uff5cDSML\uff5c|[\w.-]+:)?"
_OPEN: Final = re.compile(
    rf"<{_PREFIX}(?P<tag>function|invoke|call_record|tool_call|tool_use)[\sĠ]*"
    r"(?:=\s*(?P<bare>[^\s>/\"]+)\"?|(?:name|tool|function)\s*=\s*[\"'](?P<quoted>[^\"'>]*)[\"'])[^<>]*?(?P<closed>/)?>"
)
_PARAMETER: Final = re.compile(
    rf"<{_PREFIX}(?:parameter|param|arg|argument)[\sĠ]*(?:=\s*(?P<bare>[^\s>]+)|(?:name|key)\s*=\s*[\"'](?P<quoted>[^\"'>]*)[\"'])(?P<more>[^<>]*)>"
)
_PARAMETER_END: Final = re.compile(rf"</{_PREFIX}(?:parameter|param|arg|argument)>")
_EVIDENCE: Final = ("function", "invoke", "call_record", "tool_call", "tool_use")
_CHILD: Final = re.compile(r"\s*<([A-Za-z_][\w.-]*)>")
_CDATA: Final = re.compile(r"\A\s*<!\[CDATA\[(.*)\]\]>\s*\Z", re.DOTALL)


def read(source: Source) -> Found | None:
    """Read every such element."""
    text = source.text
    if "<" not in text or not any(token in text for token in _EVIDENCE):
        return None
    opens = list(_OPEN.finditer(text))
    if not opens:
        return None
    calls: list[Call] = []
    repairs: list[Repair] = []
    for index, opening in enumerate(opens):
        limit = opens[index + 1].start() if index + 1 < len(opens) else len(text)
        call = _element(text, opening, limit, repairs)
        if isinstance(call, Failure):
            return Found((opens[0].start(), len(text)), failure=call)
        calls.append(call)
    return Found((opens[0].start(), calls[-1].span[1]), calls, repairs=repairs)


def _element(
    text: str, opening: re.Match[str], limit: int, repairs: list[Repair]
) -> Call | Failure:
    label = (opening["bare"] or opening["quoted"] or "").strip()
    start = opening.end()
    if opening["closed"]:
        return Call(label, {}, opening.span())
    close = re.compile(rf"</{_PREFIX}{opening['tag']}>").search(text, start, limit)
    stop = close.start() if close else limit
    end = close.end() if close else limit
    arguments, whole = _body(text, start, stop)
    if isinstance(arguments, str):
        message = f"The call of `{label}` cannot be read: {arguments}."
        return Failure(FailurePattern.MALFORMED, message, (opening.start(), end), label)
    if not close:
        if not whole or opening["bare"] is None:
            message = f"The call of `{label}` is cut off."
            return Failure(FailurePattern.TRUNCATED, message, (opening.start(), end), label)
        repairs.append(Repair("missing end tag", (stop, stop)))
    return Call(label, arguments, (opening.start(), end), raw=True)


def _body(text: str, start: int, stop: int) -> tuple[dict[str, Any] | str, bool]:
    """Return the arguments, or what is wrong, and whether they are whole."""
    parameters = list(_PARAMETER.finditer(text, start, stop))
    if parameters:
        return _parameters(text, parameters, stop)
    inner = text[start:stop].strip()
    if not inner or inner.startswith("</"):
        return {}, True
    if inner[0] in "{[`":
        return _json_body(text, start, stop)
    return _children(text, start, stop)


def _parameters(
    text: str, parameters: list[re.Match[str]], stop: int
) -> tuple[dict[str, Any] | str, bool]:
    found: dict[str, Any] = {}
    whole = True
    at = 0
    for index, opening in enumerate(parameters):
        if opening.start() < at:
            continue
        limit = parameters[index + 1].start() if index + 1 < len(parameters) else stop
        close = _PARAMETER_END.search(text, opening.end(), stop)
        if close:
            limit, at = close.start(), close.end()
        elif limit == stop:
            whole = False
        key = (opening["bare"] or opening["quoted"] or "").strip()
        if key in found:
            return f"the parameter `{key}` is given twice", whole
        found[key] = _value(text[opening.end() : limit], opening["more"] or "")
    return found, whole


def _value(raw: str, attributes: str) -> Any:
    cdata = _CDATA.match(raw)
    if cdata:
        return cdata[1]
    if raw.startswith("\n"):
        raw = raw.removeprefix("\n").removesuffix("\n")
    if 'string="false"' in attributes:
        return JsonText(raw)
    return html.unescape(raw) if "&" in raw and ";" in raw else raw


class JsonText(str):
    """Text that says of itself that it is JSON."""

    __slots__ = ()


def _json_body(text: str, start: int, stop: int) -> tuple[dict[str, Any] | str, bool]:
    at = start + len(text[start:stop]) - len(text[start:stop].lstrip("` \njso\t"))
    try:
        found = decode_value(text, at, stop)
    except LenientError as error:
        return error.reason, False
    if not isinstance(found.value, dict):
        return "its arguments are not an object", True
    return found.value, not found.torn


def _children(text: str, start: int, stop: int) -> tuple[dict[str, Any] | str, bool]:
    found: dict[str, Any] = {}
    at = start
    while child := _CHILD.match(text, at, stop):
        close = text.find(f"</{child[1]}>", child.end(), stop)
        if close == -1:
            return f"`<{child[1]}>` does not end", True
        raw = text[child.end() : close]
        inner = _CHILD.match(raw)
        nested, _ = _children(raw, 0, len(raw)) if inner else (None, True)
        found[child[1]] = nested if isinstance(nested, dict) else raw.strip()
        at = close + len(child[1]) + 3
    if text[at:stop].strip():
        return "its arguments are plain text", True
    return found, True
