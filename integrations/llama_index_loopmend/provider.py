"""What providers send along with a reply, wherever they put it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage

from loopmend.traces.trace import Tokens

__all__ = ["CHARACTERS_PER_TOKEN", "finish_reason_of", "tokens_of", "used_tokens"]

CHARACTERS_PER_TOKEN: Final = 4
"""How long a token is, where nobody counts them."""

# How providers name what was used: for the input, then for the output.
_COUNTS: Final = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
    ("prompt_eval_count", "eval_count"),
    ("prompt_token_count", "candidates_token_count"),
)
_REASONS: Final = ("finish_reason", "stop_reason", "done_reason")


def tokens_of(raw: object) -> Tokens | None:
    """Find what the provider says was used, in any of the usual places.

    >>> tokens_of({"usage": {"prompt_tokens": 12, "completion_tokens": 3}})
    Tokens(input=12, output=3)
    """
    if raw is None:
        return None
    for held in (_get(raw, "usage"), _get(raw, "usage_metadata"), raw):
        for asked, answered in _COUNTS:
            counts = _get(held, asked), _get(held, answered)
            if any(isinstance(count, int) for count in counts):
                return Tokens(*(count if isinstance(count, int) else 0 for count in counts))
    return None


def used_tokens(raw: object, messages: Sequence[ChatMessage]) -> int:
    """Return the tokens of a call, estimated where the provider does not tell them.

    >>> used_tokens(None, [ChatMessage(content="How many?"), ChatMessage(content="Three.")])
    3
    """
    counted = tokens_of(raw)
    if counted is not None:
        return counted.total
    return sum(len(message.content or "") for message in messages) // CHARACTERS_PER_TOKEN


def finish_reason_of(raw: object) -> str | None:
    """Find why the provider says that it stopped, in any of the usual places.

    >>> finish_reason_of({"choices": [{"finish_reason": "length"}]})
    'length'
    """
    if raw is None:
        return None
    for several in ("choices", "candidates"):
        found = _get(raw, several)
        if isinstance(found, Sequence) and found:
            raw = found[0]
            break
    reasons = (_get(raw, name) for name in _REASONS)
    return next((reason for reason in reasons if isinstance(reason, str)), None)


def _get(held: object, key: str) -> Any:
    return held.get(key) if isinstance(held, Mapping) else getattr(held, key, None)
