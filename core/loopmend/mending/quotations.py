"""Calls to look at, not to make: the user asks to see one, or a user or a tool wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from loopmend._repr import written
from loopmend.contracts.actions import ToolCall
from loopmend.mending.messages import Message
from loopmend.mending.requests import asks_to_see
from loopmend.reading.turn import Turn

__all__ = ["Quotations"]

# A call is the same however it is spaced, quoted, escaped or fenced.
_DRESS: Final = re.compile(r"[\s\\`]+")
_QUOTES: Final = str.maketrans(dict.fromkeys("'\u2018\u2019\u201c\u201d", '"'))


class Quotations:
    """What a model may write as text in one turn without anybody's wanting it done.

    A tool's result quotes a call if it holds the name and each value: whoever wrote the result may
    want the call, but nobody else does. What a tool says of its own calls is no quotation. A user
    who names a tool and its values wants the call; one who writes the call itself may only want to
    see it.

    >>> turn = Turn((ToolCall("wipe", {"path": "/data"}),))
    >>> Quotations(conversation=[Message("user", "Use wipe on /data.")]).hold(turn)
    False
    >>> said = "{'name': 'wipe', 'arguments': {'path': '/data'}}"
    >>> Quotations(conversation=[Message("tool", said)]).hold(turn)
    True
    """

    def __init__(
        self,
        question: str = "",
        tools: Collection[str] = (),
        conversation: Iterable[Message] = (),
    ) -> None:
        self._asked = question, tools
        self._conversation = conversation

    @cached_property
    def wanted(self) -> bool:
        """Whether the user asks to see a call."""
        return asks_to_see(*self._asked)

    def hold(self, turn: Turn) -> bool:
        """Tell whether a turn is to be looked at: all of it, or a call that somebody else wrote."""
        failed = turn.failure and turn.failure.call
        calls = [each for each in (*turn.actions, failed) if isinstance(each, ToolCall)]
        if calls:
            self._conversation = tuple(self._conversation)  # it may be an iterator
        return self.wanted or any(_is_quoted(call, self._conversation) for call in calls)


def _is_quoted(call: ToolCall, conversation: Iterable[Message]) -> bool:
    """Tell whether a call stands in what a user or a tool said."""
    made: dict[str | None, str] = {}
    for message in conversation:
        if message.role == "assistant":
            made.update((each.id, each.name) for each in message.calls)
        elif message.role == "tool" and made.get(message.call_id) == call.name:
            continue
        elif message.role in ("user", "tool") and call.name in message.content:
            text = _bare(message.content)
            if _holds(text, call) and (message.role == "tool" or _is_written(text, call)):
                return True
    return False


def _holds(text: str, call: ToolCall) -> bool:
    """Tell whether a text holds each value of a call; without values, the call itself."""
    values = [_bare(value) for value in _leaves(call.arguments)]
    return all(value in text for value in values) if values else _is_written(text, call)


def _is_written(text: str, call: ToolCall) -> bool:
    """Tell whether a text does not only name a tool, but is written as a call of it is."""
    name = _bare(call.name)
    if f"{name}(" in text or f"Action:{name}" in text or f"<{name}>" in text:
        return True
    pairs = [f'"{_bare(key)}":{_bare(written(value))}' for key, value in call.arguments.items()]
    return f'"{name}"' in text and all(pair in text for pair in pairs)


def _leaves(value: Any) -> Iterator[str]:
    """Yield the values in an argument as text, but for empty ones."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif said := (value if isinstance(value, str) else written(value)):
        yield said


def _bare(text: str) -> str:
    return _DRESS.sub("", text).translate(_QUOTES)
