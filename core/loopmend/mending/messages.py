"""What goes to a model and comes back, independent of any framework."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from loopmend.reading.response import Protocol, is_declined, is_unusual, read_response
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, ReadingConfig, Turn

__all__ = ["Message", "NativeCall", "Reply", "refused_messages"]

_NOT_RUN: Final = "Not run, because another call in the same reply failed."


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call that goes through the provider's interface.

    >>> NativeCall("search", {"query": "Oslo"}, "call_1").id
    'call_1'
    """

    name: str
    arguments: Any
    """An object, or the text that arrived instead of one."""
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
    """The call that a tool's message answers."""
    failed: bool = False
    """Whether a tool's message is an error."""
    name: str | None = None
    """The agent that speaks, if there are several."""
    id: str | None = None
    """The host's id of the message."""


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
    """The calls that the client could not decode, with their arguments as text."""
    finish_reason: str | None = None
    """Why the provider says it stopped."""
    error: Exception | None = None
    """What the provider raised instead of a reply."""
    holds_more: bool = False
    """Whether the reply contains more than words and calls, such as an image or a refusal."""

    @property
    def is_text(self) -> bool:
        """Whether there is nothing to it but a text that ended as texts do.

        >>> Reply("It is in Norway.", finish_reason="stop").is_text, Reply(error=OSError()).is_text
        (True, False)
        """
        beside = self.calls or self.broken_calls or self.error or self.holds_more
        reason = self.finish_reason
        return not (beside or (reason and (is_unusual(reason) or is_declined(reason))))

    @property
    def declines(self) -> bool:
        """Whether it says nothing, because the model or a filter refused, or holds only a picture.

        >>> Reply(finish_reason="content_filter").declines, Reply("").declines
        (True, False)
        """
        if self.calls or self.broken_calls or self.error or self.text.strip():
            return False
        return self.holds_more or is_declined(self.finish_reason)

    def read(self, tools: Toolbox | None, protocol: Protocol, config: ReadingConfig) -> Turn:
        """Read what it asks for, see `read_response`.

        >>> Reply("It is in Norway.").read(None, "text", ReadingConfig()).actions[0].content
        'It is in Norway.'
        """
        return read_response(
            self.text,
            calls=self.calls,
            broken_calls=self.broken_calls,
            finish_reason=self.finish_reason,
            tools=tools,
            protocol=protocol,
            config=config,
        )

    def calls_any(self, names: Container[str]) -> bool:
        """Tell whether it calls one of these tools, decoded or not.

        >>> Reply(calls=(NativeCall("search", {}),)).calls_any({"search"})
        True
        """
        return any(call.name in names for call in (*self.calls, *self.broken_calls))

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


def refused_messages(reply: Reply, failure: Failure, words: str) -> tuple[Message, ...]:
    """Return the refused reply, and an answer to each of its calls or the correction alone.

    Providers refuse a conversation in which a call has no answer, or two. Calls without an id
    cannot be answered, so they are not shown.
    """
    shown: dict[str, NativeCall] = {}
    for call in reply.calls:
        if call.id:
            shown.setdefault(call.id, call)
    for broken in reply.broken_calls:
        if broken.id:
            shown.setdefault(
                broken.id, replace(broken, name=broken.name or "unknown", arguments={})
            )
    calls = list(shown.values())
    if not calls:
        # Providers refuse empty messages, too.
        said = [Message("assistant", reply.text)] if reply.text.strip() else []
        return (*said, Message("user", words))
    named = next((call for call in calls if call.name == failure.tool), None)
    at_fault = calls[0] if named is None and len(calls) == 1 else named
    answers = [
        Message("tool", words if call is at_fault else _NOT_RUN, call_id=call.id) for call in calls
    ]
    told = [] if at_fault is not None else [Message("user", words)]
    return (Message("assistant", reply.text, tuple(calls)), *answers, *told)
