"""Whether a host says that a tool failed, beside what the tool returned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.traces.readers.values import as_map, as_text, first, get, parsed

__all__ = ["SHELL", "failed_by", "printed"]

# The words by which hosts say so, each in a field of its own.
_FAILED: Final = re.compile(
    r"error(?:-\w+)?|failed|failure|retry-prompt|output-error|\w+_error|OUTCOME_(?!OK\b)\w+"
    r"|\w+-denied",
    re.IGNORECASE,
)
_FAILING: Final = frozenset(
    {"error", "errorText", "is_error", "isError", "status", "state", "output", "part_kind"}
    | {"outcome", "tool_call_error", "success"}
)
_FLAGS: Final = ("is_error", "isError", "tool_call_error")
SHELL: Final = '{"output":'
"""How a result begins in which Codex keeps what a command printed and its exit code."""


def printed(given: str, failure: str | None) -> tuple[str, str | None]:
    """Return what a command of Codex printed, and whether its exit code says that it failed."""
    told = as_map(parsed(given))
    code = as_map(told.get("metadata")).get("exit_code")
    if type(code) is not int:
        return given, failure
    return as_text(told.get("output")), failure if code == 0 else f"exit code {code}"


def failed_by(raw: Any) -> str | None:
    """Return why the host says that a tool failed, or none if it does not say so."""
    if type(raw) is dict and _FAILING.isdisjoint(raw) and type(raw.get("content")) is not dict:
        return None
    error = first(raw, "error", "errorText")
    if isinstance(error, Mapping):
        error = ": ".join(as_text(error[key]) for key in ("type", "message") if error.get(key))
    if isinstance(error, str) and error.strip():
        return error
    flagged = any(get(raw, key) is True for key in _FLAGS) or error is True
    flagged = flagged or get(raw, "success") is False
    words = [get(raw, key) for key in ("status", "state", "outcome", "part_kind")]
    words += [get(get(raw, key), "type") for key in ("output", "content")]
    failed = any(isinstance(word, str) and _FAILED.fullmatch(word) for word in words)
    return "failed" if flagged or failed else None
