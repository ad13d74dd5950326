"""Whether a tool's result says that the tool failed: one judgement for loops and for traces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

__all__ = ["failure_in"]

_LONGEST: Final = 200
"""How much of a failure is returned."""
_REFUSING: Final = 400
"""The first of the codes by which HTTP says that something failed."""
_HEAD: Final = 400
_TAIL: Final = 400
_LONGEST_JSON: Final = 100_000
"""A failure is short: a longer object holds what was asked for."""

# Decoding costs more than looking: only an object with one of these keys can say it failed.
_KEYS: Final = re.compile(
    r"""["'](?:error|errors|is_?error|exception|status|status_?code|success|ok|exit_?code"""
    r"""|return_?code)["']\s*:"""
)
# How each of them ends: an object has many quotes to start from, and few of these.
_KEY_ENDS: Final = tuple(
    f"{end}{quote}"
    for end in ("error", "errors", "exception", "status", "code", "success", "ok")
    for quote in "\"'"
)
_WRAPPERS: Final = frozenset({"result", "output", "response", "observation", "content", "body"})
_SAYS: Final = ("message", "detail", "details", "reason", "description", "stderr")
_BAD: Final = frozenset({"error", "failed", "failure", "fail", "exception"})
_NOTHING: Final = frozenset({"", "none", "null", "no", "false", "no error", "ok", "success", "0"})
_PYTHONIC: Final = re.compile(
    r"\{\s*'(?:error|exception)'\s*:\s*(?P<quote>['\"])(?!none\b|(?P=quote))"
    r"|\{\s*'(?:status'\s*:\s*'(?:error|failed|failure)'|(?:success|ok)'\s*:\s*False\b)",
    re.IGNORECASE,
)

_LIST: Final = re.compile(r"\[\s*[\[{\"'\d]|\[\s*\]")
# A message ends after what is wrong, or says where and when; a text on the matter goes on about it.
_ENDS: Final = r"(?=\s*(?:[^\w\s]|\n|\Z)|\s+(?:in|on|at|by|for|to|from|while|when|because|as)\b)"
_PHRASES: Final = "|".join(
    re.escape(each.phrase.lower()) for each in HTTPStatus if each >= _REFUSING
)
_CODED: Final = rf"(?:{_ENDS}|\b\s+(?:{_PHRASES}|(?:client |server )?error|returned|internal)\b)"
# At the beginning of a result. A heading such as "Error handling in Rust" says nothing failed, so
# that a bare word needs what a message has after it: a colon, a number, what was being done.
_OPENING: Final = re.compile(
    r"[\s\W]{0,4}(?:"
    r"(?:\w{1,20} ){0,2}errors?(?:\s*[:!.\]>\n]|\s*\Z|\s+(?:\d{3}\b|code\b|in\b|while\b|when\b"
    r"|during\b|occurred|executing|invoking|running|calling|parsing|fetching|processing|from\b))"
    r"|an? (?:\w{1,20} ){0,2}error (?:has )?occurred"
    r"|[\w.]{0,60}(?:error|exception|failure)\s*[:>()\]]"
    r"|(?:unhandled )?exception\b\s*(?:[:!\n]|in\b|\Z)|(?:fatal|panic|critical): "
    r"|traceback \(most recent"
    r"|(?:could|can) ?not (?:find|convert|be|parse|open|connect|access|load|read|resolve)\b"
    r"|cannot (?:\w{1,20} )?|can't (?:find|open|access)|unable to |failed (?:to |with |: )|failed\W"
    r"|invalid \w|no (?:more )?results?\b|nothing happened|unknown (?:tool|action|command|function)"
    r"|(?:the )?(?:\w{1,20} ){0,2}(?:page|file|tool|url|resource|user|record|item|path|key)"
    r" (?:does not exist|(?:was |could )?not (?:be )?found|was not|could not|does not)"
    r"|tool .{0,80}?(?:not found|does not exist)|[\w.\-]{1,80} is not a valid tool"
    rf"|not found\b|(?:permission|access|request) (?:was )?denied{_ENDS}|operation not permitted"
    r"|unauthorized\W|forbidden\W|(?:\w{1,20} ){0,3}timed? ?out\b(?! (?:of|for) )"
    rf"|http(?:/\d(?:\.\d)?)?(?: error| status)?(?: code)?:? ?[45]\d\d{_CODED}"
    r"|[45]\d\d:? (?:client error|server error|internal server|bad gateway|service unavailable"
    r"|not found|forbidden|unauthorized|bad request|too many)"
    rf"|status(?: code)?:? ?[45]\d\d{_CODED}|request failed\b"
    # what a shell's commands write: who speaks, of what, what is wrong
    r"|(?:[^\s:][^\n:]{0,80}: ){1,4}(?:(?:permission denied|no such file or directory"
    rf"|(?:command )?not found|is a directory|not a directory|connection refused){_ENDS}"
    r"|cannot \w|operation not|unrecognized |invalid option|illegal option|fatal: )"
    r")"
)
# A count of errors that is nothing, or no error named: so ends a report of what went well.
_NONE: Final = re.compile(
    r"[\s\W]{0,4}(?:(?:no|0|zero) (?:\w{1,20} )?errors?\b|(?:\w{1,20} ){0,2}errors?\s{0,9}[:=]"
    r"\s{0,9}(?:none|null|0)[.!]?[ \t]{0,9}(?:[\n,;]|\Z))"
)
# To look for these is much faster than to look for what a program says when it exits.
_EXITS: Final = ("exit", "return code", "returncode")
_EXIT: Final = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: (?:code|status))|exitcode|return ?code|non-zero exit status)"
    r"\W{0,3}-?(?!0\b)\d{1,10}\b"
)
_TRACEBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]{0,100}(?:Error|Exception|Exit|Interrupt|Iteration)\b")


def failure_in(result: str) -> str | None:
    r"""Return what says that a tool failed, in its own words, or `None` if nothing does.

    It looks at what the result is, an object or a text, and only where failures stand: at an
    object's own keys, at the beginning of a text, or at its end for what a program exits with.

    >>> failure_in('{"status": "error", "message": "no such user"}')
    'no such user'
    >>> failure_in('{"error": "", "rows": 3}') is None
    True
    >>> failure_in("HTTP 500"), failure_in("Error handling in Rust is explicit.")
    ('HTTP 500', None)
    """
    head = result[:_HEAD].lstrip()
    first = head[:1]
    if first == "{":
        return _in_json(result, head)
    if first == "[" and _LIST.match(head):
        return None  # rows, of which each may say anything
    folded = head.lower()
    if _OPENING.match(folded) and not _NONE.match(folded):
        return _line(head)
    tail = folded if len(result) <= _HEAD else result[-_TAIL:].lower()
    for word in _EXITS:  # a generator costs more than the search
        if word in folded or word in tail:
            return _at_the_end(result, head)
    return _raised(result)


def _in_json(result: str, head: str) -> str | None:
    if len(result) > _LONGEST_JSON or not _has_keys(result):
        return None
    try:
        value = json.loads(result)
    except (ValueError, RecursionError):
        return _line(head) if _PYTHONIC.match(head) else None
    return _in_object(value)


def _has_keys(result: str) -> bool:
    """Tell whether an object may say that it failed, where it says so: first or last of all."""
    if len(result) > _HEAD + _TAIL:
        result = f"{result[:_HEAD]} {result[-_TAIL:]}"
    folded = result.lower()
    for end in _KEY_ENDS:  # a generator costs more than the search
        if end in folded:
            return _KEYS.search(folded) is not None
    return False


def _in_object(value: Any) -> str | None:
    """Look at the keys of an object, and of the one that it wraps."""
    for _ in range(3):
        if not isinstance(value, Mapping):
            return None
        found = _said(value)
        if found is not None or len(value) != 1:
            return found
        key, value = next(iter(value.items()))
        if key not in _WRAPPERS:
            return None
    return None


def _said(value: Mapping[str, Any]) -> str | None:
    keys = {str(key).lower().replace("_", ""): each for key, each in value.items()}
    for key in ("error", "exception"):
        if key in keys and _is_failure(keys[key]):
            return _text(keys[key])
    # A list of errors is what a linter is asked for; beside nothing else it is a refusal.
    if keys.get("errors") and not any(each for key, each in keys.items() if key != "errors"):
        return _text(keys["errors"])
    return _why(keys) if _flagged(keys) else None


def _is_failure(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in _NOTHING
    return value is True or (isinstance(value, (Mapping, list)) and bool(value))


def _flagged(keys: Mapping[str, Any]) -> bool:
    """Tell whether a key says that it failed, without saying why."""
    status = keys.get("status")
    if isinstance(status, str) and status.strip().lower() in _BAD:
        # A job that failed is a job's status; a call that failed says why, or nothing else.
        return status.strip().lower() == "error" or len(keys) == 1 or any(k in keys for k in _SAYS)
    codes = (status, keys.get("statuscode"))
    return (
        keys.get("iserror") is True
        or any(keys.get(key) is False for key in ("success", "ok"))
        or any(type(code) is int and 400 <= code < 600 for code in codes)  # noqa: PLR2004 - HTTP
        or any(type(code := keys.get(k)) is int and code != 0 for k in ("exitcode", "returncode"))
    )


def _why(keys: Mapping[str, Any]) -> str:
    told = next((keys[key] for key in _SAYS if keys.get(key)), None)
    return _text(keys if told is None else told)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = next((value[key] for key in _SAYS if isinstance(value.get(key), str)), None)
        value = value if inner is None else inner
    return _line(value if isinstance(value, str) else json.dumps(value, default=repr))


def _at_the_end(result: str, head: str) -> str | None:
    """Look for what a program says when it exits; what it printed may come before or after."""
    # Some hosts tell how a program ended in lines above what it printed.
    above, _, printed = head.partition("\nOutput:")
    first = head.partition("\n")[0]
    last = result[-_TAIL:].rstrip().rpartition("\n")[2]
    lines = above.splitlines() if printed else [first]
    for line in lines if last == first else [*lines, last]:
        if len(line) <= _LONGEST and _EXIT.search(line.lower()):
            return _line(line)
    return _raised(result)


def _raised(result: str) -> str | None:
    """Return the last line, if it is the exception at the end of a traceback."""
    if _TRACEBACK not in result:
        return None
    last = result[-_TAIL:].rstrip().rpartition("\n")[2]
    return _line(last) if _RAISED.match(last) else None


def _line(text: str) -> str:
    """Return the first line, no longer than what is worth quoting."""
    return text.strip().partition("\n")[0][:_LONGEST]
