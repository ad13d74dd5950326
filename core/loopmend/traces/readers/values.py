"""Taking apart values of any shape, without an error and without going deeper than they go."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from loopmend._repr import written
from loopmend.traces.trace import Tokens

__all__ = [
    "FINISHES",
    "as_list",
    "as_map",
    "as_text",
    "blocks",
    "counted",
    "decoded",
    "finish_in",
    "finish_of",
    "first",
    "get",
    "parsed",
    "tokens_in",
    "tokens_of",
]

_DECODE: Final = json.JSONDecoder().decode
_TWICE: Final = 3
"""How often JSON is written into JSON: platforms that store strings store strings of strings."""
_STARTS: Final = ("{", "[", '"')
_INPUT: Final = (
    *("prompt_tokens", "input_tokens", "inputTokens", "promptTokens", "prompt_token_count"),
    *("promptTokenCount", "prompt_eval_count", "input"),
)
_OUTPUT: Final = (
    *("completion_tokens", "output_tokens", "outputTokens", "completionTokens"),
    *("candidates_token_count", "candidatesTokenCount", "eval_count", "output"),
)
FINISHES: Final = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
"""Where providers say why a reply ended."""


def get(value: Any, key: str) -> Any:
    """Return the value of a mapping's key or an object's attribute, or `None`.

    >>> get({"usage": 7}, "usage"), get(7, "real"), get("usage", "usage")
    (7, 7, None)
    """
    if type(value) is dict:  # nearly always, and much faster to tell than a mapping
        return value.get(key)
    if value is None or isinstance(value, (str, list, tuple)):
        return None
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def first(value: Any, *keys: str) -> Any:
    """Return the first of some keys that is there."""
    if type(value) is dict:
        for key in keys:
            found = value.get(key)
            if found is not None:
                return found
        return None
    for key in keys:
        found = get(value, key)
        if found is not None:
            return found
    return None


def as_map(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one in place of anything else."""
    if type(value) is dict:
        return value
    plain = value is None or type(value) is str  # to ask for a mapping takes long
    return value if not plain and isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """Return a list, or an empty one in place of anything else."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if value is None or isinstance(value, (str, dict)):
        return []
    # Arrays of data frames are neither, but can be listed.
    return list(value) if isinstance(value, Iterable) and hasattr(value, "tolist") else []


def decoded(value: Any) -> Any:
    """Return what JSON text holds, however often it was encoded; other text stays text."""
    for _ in range(_TWICE):
        if not isinstance(value, str) or value.lstrip()[:1] not in _STARTS:
            return value
        inner = parsed(value)
        if inner is value:
            return value
        if value[:1] == '"' and not (isinstance(inner, str) and inner.lstrip()[:1] in _STARTS):
            return inner
        value = inner
    return value


def parsed(text: str) -> Any:
    """Return what a text holds as JSON, or the text if it is none."""
    try:
        return _DECODE(text)
    except (ValueError, RecursionError):
        return text


def as_text(value: Any) -> str:
    """Return a value as text: text stays as it is, other values are written as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else written(value)


def tokens_in(usage: Any) -> Tokens | None:
    """Return the tokens that a usage record counts, under any provider's names.

    >>> tokens_in({"prompt_tokens": 12, "completion_tokens": 3})
    Tokens(input=12, output=3)
    """
    if usage is None or not isinstance(usage, Mapping):
        return None
    return counted(first(usage, *_INPUT), first(usage, *_OUTPUT))


def counted(input: Any, output: Any) -> Tokens | None:
    """Return two counts as tokens, or none if neither is a number.

    >>> counted("12", None), counted(None, "many")
    (Tokens(input=12, output=0), None)
    """
    counts = _number(input), _number(output)
    return None if counts == (None, None) else Tokens(counts[0] or 0, counts[1] or 0)


def tokens_of(response: Any) -> Tokens | None:
    """Return the tokens that a provider's response, a mapping or an object, counts anywhere.

    >>> tokens_of({"usage": {"prompt_tokens": 12, "completion_tokens": 3}})
    Tokens(input=12, output=3)
    """
    for held in (get(response, "usage"), get(response, "usage_metadata"), response):
        tokens = counted(first(held, *_INPUT), first(held, *_OUTPUT))
        if tokens is not None:
            return tokens
    return None


def finish_of(response: Any) -> str | None:
    """Return why a provider's response says that it ended, in any of the usual places.

    >>> finish_of({"choices": [{"finish_reason": "length"}]})
    'length'
    """
    held = as_list(first(response, "choices", "candidates"))
    return finish_in(held[0] if held else response)


def _number(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def blocks(response: Any) -> bool:
    """Tell whether a response of Gemini's says that the prompt was blocked.

    >>> blocks({"promptFeedback": {"blockReason": "SAFETY"}}), blocks({"promptFeedback": {}})
    (True, False)
    """
    feedback = first(response, "promptFeedback", "prompt_feedback")
    return feedback is not None and bool(first(feedback, "blockReason", "block_reason"))


def finish_in(value: Any) -> str | None:
    """Return the reason that a provider gives for the end of a reply, under any provider's key.

    >>> finish_in({"finish_reason": "length"}), finish_in({"stop_reason": "end_turn"})
    ('length', 'end_turn')
    """
    told = first(value, *FINISHES)
    if told is None:  # OpenAI's Responses
        told = as_map(get(value, "incomplete_details")).get("reason")
    if told is None and blocks(value):
        told = "content_filter"
    return told if isinstance(told, str) else None
