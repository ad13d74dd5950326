"""What a reader makes of a text, and whether that is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.reading.offered import Call, Tool
from benchmarks.reading.texts import Case

Read = Callable[[str, "list[Any] | None"], dict[str, Any]]
"""A plug: returns calls, an answer or a question, or raises to have the model asked again."""


class Reading(NamedTuple):
    """What was read: calls, or an answer, or neither where the model is asked again."""

    calls: list[Call]
    answer: str | None = None


def reading(read: Read, text: str, tools: list[Tool]) -> Reading:
    """Read a text; whatever is raised asks the model again."""
    try:
        got = read(text, tools)
    except Exception:  # noqa: BLE001 - rivals raise what they like
        return Reading([])
    if got["type"] != "tool_calls":
        return Reading([], str(got["content"]))
    keys = {tool["function"]["name"]: _keys(tool) for tool in tools}
    calls = [(str(call["name"]).strip(), call["arguments"]) for call in got["calls"]]
    return Reading([Call(name, _object(given, keys.get(name, []))) for name, given in calls])


def _keys(tool: Tool) -> list[str]:
    return list(tool["function"]["parameters"]["properties"])


def _object(given: Any, keys: list[str]) -> Any:
    """Return arguments as the tool would get them: text is JSON or its only parameter."""
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        decoded = json.loads(given)
    except (ValueError, RecursionError):
        decoded = None
    if isinstance(decoded, dict):
        return decoded
    return {keys[0]: given.strip()} if len(keys) == 1 else given.strip() or {}


def same(one: Any, other: Any) -> bool:
    """Compare values as JSON does: 1 is 1.0, but `true` is not 1 and `"1"` neither."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if _is_number(one) and _is_number(other):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same_calls(wanted: Sequence[Call], got: Sequence[Call]) -> bool:
    """Tell whether the calls are the same, in the same order."""
    return len(wanted) == len(got) and all(
        one.name == other.name and same(one.arguments, other.arguments)
        for one, other in zip(wanted, got, strict=True)
    )


def verdict(case: Case, got: Reading) -> str:
    """Return `right`, `wrong call`, `taken for an answer` or `asked again`."""
    if case.answer is not None and not got.calls:
        right = got.answer is not None and got.answer.strip() == case.answer.strip()
        return "right" if right else "asked again" if got.answer is None else "another answer"
    if got.calls:
        return "right" if same_calls(case.calls, got.calls) else "wrong call"
    return "asked again" if got.answer is None else "taken for an answer"


def made(got: Reading, tools: list[Tool]) -> list[Call]:
    """Return the calls that a host would carry out: those of tools on offer."""
    names = {tool["function"]["name"] for tool in tools}
    return [call for call in got.calls if call.name in names]
