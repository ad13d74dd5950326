"""How a text is rewritten without touching what its calls carry."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.reading.forms import dumped, strings
from benchmarks.reading.texts import Case

Rewrite = Callable[[str], str]
_LEFT, _RIGHT = "\ue000", "\ue001"
_SHORTEST = 4
_DECODER = json.JSONDecoder()


def beside_values(case: Case, rewrite: Rewrite) -> str:
    """Rewrite a text while the strings that its calls carry are out of reach."""
    text = case.text
    kept: list[str] = []
    texts = {text for call in case.calls for text in strings(call.arguments)}
    for value in sorted(texts, key=lambda value: (-len(value), value)):
        for spelling in dict.fromkeys((_escaped_twice(value), dumped(value)[1:-1], value)):
            if len(spelling) >= _SHORTEST and spelling in text:
                text = text.replace(spelling, f"{_LEFT}{len(kept)}{_RIGHT}")
                kept.append(spelling)
    text = rewrite(text)
    for number, spelling in reversed(list(enumerate(kept))):
        text = text.replace(f"{_LEFT}{number}{_RIGHT}", spelling)
    return text


def _escaped_twice(value: str) -> str:
    return dumped(dumped(value)[1:-1])[1:-1]


def has_raw_line_end(case: Case) -> bool:
    """Tell whether a value runs over several lines of the text itself."""
    texts = [text for call in case.calls for text in strings(call.arguments)]
    return any("\n" in value and value in case.text for value in texts)


def on_json(text: str, write: Callable[[Any], str]) -> str:
    """Write every JSON object, or list of objects, anew; the outermost ones."""
    parts, at = [], 0
    while at < len(text):
        found = _decoded(text, at)
        if found is None:
            parts.append(text[at])
            at += 1
        else:
            value, at = found
            parts.append(write(value))
    return "".join(parts)


def _decoded(text: str, at: int) -> tuple[Any, int] | None:
    if text[at] not in "{[":
        return None
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError:
        return None
    objects = value if isinstance(value, list) else [value]
    return (value, end) if objects and all(isinstance(v, dict) for v in objects) else None


def holds_json_calls(case: Case) -> bool:
    """Tell whether JSON in the text is the call or all its arguments, and not one value of it."""
    others = ("<parameter", "<arg_key", "call:", "<tool_input>")
    return bool(case.calls) and not any(mark in case.text for mark in others)


def spelled(
    value: Any,
    *,
    key: Callable[[str], str] = dumped,
    string: Callable[[str], str] = dumped,
    last: str = "",
) -> str:
    """Write a value as JSON with other keys, other strings, or something after the last item."""
    if isinstance(value, dict):
        items = [
            f"{key(k)}: {spelled(v, key=key, string=string, last=last)}" for k, v in value.items()
        ]
        return "{" + ", ".join(items) + (last if items else "") + "}"
    if isinstance(value, list):
        items = [spelled(v, key=key, string=string, last=last) for v in value]
        return "[" + ", ".join(items) + (last if items else "") + "]"
    return string(value) if isinstance(value, str) else dumped(value)


def on_calls(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Change the objects that are calls, wherever they are in a wrapper."""
    if isinstance(value, list):
        return [on_calls(each, change) for each in value]
    if not isinstance(value, dict):
        return value
    if is_call(value):
        return change(value)
    return {k: on_calls(v, change) if k == "tool_calls" else v for k, v in value.items()}


NAMES = ("name", "tool_name", "action")
ARGUMENTS = ("arguments", "parameters", "action_input")


def is_call(value: dict[str, Any]) -> bool:
    """Tell whether an object has a name and arguments of its own."""
    return any(k in value for k in NAMES) and any(k in value for k in ARGUMENTS)


def renamed(name: str, arguments: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Put a call's name and arguments under other keys."""

    def change(call: dict[str, Any]) -> dict[str, Any]:
        return {name if k in NAMES else arguments if k in ARGUMENTS else k: call[k] for k in call}

    return change
