"""What goes to a model and comes back, independent of any framework."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Message", "NativeCall", "Reply"]


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call that goes through the provider's interface.

    >>> NativeCall("search", {"query": "Oslo"}, "call_1").id
    'call_1'
    """

    name: str
    arguments: Any
    """An object, or the text that arrived instead."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    >>> Message("user", "Where is Oslo?").role
    'user'
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: tuple[NativeCall, ...] = ()
    """The assistant's calls."""
    call_id: str | None = None
    """Which call a tool's message answers."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied.

    >>> Reply("It is in Norway.").calls
    ()
    """

    text: str = ""
    calls: tuple[NativeCall, ...] = ()
    """The calls that the client decoded."""
    broken_calls: tuple[NativeCall, ...] = ()
    """The calls that it could not decode, with their arguments as text."""
    finish_reason: str | None = None
    """Why the provider says it stopped."""
    error: Exception | None = None
    """What the provider raised instead of a reply."""
    holds_more: bool = False
    """Whether it holds more than words and calls, such as an image or a refusal."""

    def said(self) -> tuple[Any, ...]:
        """Return a key that is equal for replies that are the same word for word."""
        calls = [
            (call.name, _written(call.arguments)) for call in (*self.calls, *self.broken_calls)
        ]
        return self.text.strip(), tuple(calls), str(self.error or "")


def _written(arguments: Any) -> str:
    try:
        return repr(arguments)
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        return ""
