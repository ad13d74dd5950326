"""Mending a chat model's replies where tools are called through the provider's interface.

`Mender.steps` is a generator that says which messages to add to the conversation and is told
what the model replied. It does no I/O, so that sync and async, agents and plain models share it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Generator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Union, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
)

from langchain_loopmend.errors import NormalizationError
from langchain_loopmend.messages import finish_reason, has_other_content, read_message, text_of
from langchain_loopmend.replies import feedback, have_ids, saying_why, with_calls
from loopmend import (
    MAX_NORMALIZATION_RETRIES,
    Accept,
    Failure,
    FailurePattern,
    GiveUp,
    ReadingConfig,
    RetryPolicy,
    Turn,
)
from loopmend import ToolCall as CoreCall
from loopmend.reading.quick import fits, is_plain
from loopmend.reading.response import is_unusual
from loopmend.reading.tools import Toolbox
from loopmend.words import gave_up

__all__ = [
    "Mended",
    "Mender",
    "OnFailure",
    "Steps",
    "adrive",
    "drive",
    "is_clean",
    "is_protocol_error",
]

OnFailure = Union[Literal["continue", "error"], Callable[[GiveUp, AIMessage], AIMessage]]
"""What to do when all corrections were in vain."""

_PROTOCOL_ERROR: Final = re.compile(
    r"error parsing tool call|failed to parse tool call|tool_use_failed|malformed.function.call",
    re.IGNORECASE,
)


def is_protocol_error(error: Exception) -> bool:
    """Tell whether an exception only says that the model's call could not be decoded.

    Some servers and clients raise then, instead of returning the reply: Ollama and Groq say
    so in words, and langchain-openai fails to validate arguments that are no object.

    >>> is_protocol_error(ValueError("error parsing tool call: raw='{'"))
    True
    """
    if any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__):
        return False  # how LangGraph interrupts a run, whatever it says
    if _PROTOCOL_ERROR.search(str(error)[:2000]):
        return True
    title = getattr(error, "title", None)  # pydantic's, without importing it
    return isinstance(error, ValueError) and title in ("AIMessage", "AIMessageChunk")


@dataclass(frozen=True, slots=True)
class Mended:
    """What came of it: the reply to use, and what was refused on the way."""

    message: AIMessage
    refused: tuple[Failure, ...] = ()
    """Why each refused reply was, oldest first; the last one too if it was given up on."""
    outcome: Literal["clean", "mended", "salvaged", "gave_up"] = "clean"

    def report(self) -> dict[str, Any]:
        """Return plain data for a state or an event."""
        return {
            "outcome": self.outcome,
            "retries": len(self.refused) - (self.outcome in ("gave_up", "salvaged")),
            "patterns": [failure.pattern.value for failure in self.refused],
            "messages": [failure.message for failure in self.refused],
        }


Steps = Generator[list[BaseMessage], Union[AIMessage, Exception], Mended]
"""Yields the messages to add; is sent the model's reply, or the exception it raised."""


class Mender:
    """How to mend replies."""

    def __init__(
        self,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        *,
        salvage: bool = False,
        patterns: Collection[FailurePattern] = frozenset(FailurePattern),
        on_failure: OnFailure = "continue",
    ) -> None:
        self.patterns = patterns
        self.on_failure = on_failure
        # Where calls in the text are made anyway, another form would only confuse.
        self._policy = RetryPolicy(max_retries, dialect="any" if salvage else "native")
        self._at_first = ReadingConfig(salvage=salvage, detect_signals=False)
        self._afterwards = replace(self._at_first, after_tool_result=True)

    def steps(
        self,
        tools: Toolbox | None,
        *,
        after_tool_result: bool,
        refused: list[Failure] | None = None,
    ) -> Steps:
        """Say what to do until a reply can be used or all retries are used up.

        Args:
            tools: What is on offer, or `None` if that is unknown.
            after_tool_result: Whether saying nothing is a way to finish.
            refused: Where to note why replies were refused, for whoever asks meanwhile.
        """
        config = self._afterwards if after_tool_result else self._at_first
        added: list[BaseMessage] = []
        refused = [] if refused is None else refused
        while True:
            reply = yield added
            # Who was corrected is asked for something: nothing is no answer to that.
            turn = self._judge(reply, tools, self._at_first if refused else config)
            decision = self._policy.decide(turn, len(refused), tools)
            if isinstance(decision, Accept):  # never of an exception, which is a failure
                return _accepted(cast("AIMessage", reply), turn, tuple(refused))
            failure = cast("Failure", turn.failure)
            refused.append(failure)
            if isinstance(decision, GiveUp):
                return self._given_up(reply, decision, tuple(refused))
            added = [*added, *feedback(reply, failure, decision.messages[0].content)]

    def _judge(
        self, reply: AIMessage | Exception, tools: Toolbox | None, config: ReadingConfig
    ) -> Turn:
        if isinstance(reply, Exception):
            if FailurePattern.MALFORMED not in self.patterns:
                raise reply
            message = "The provider could not decode the call."
            return Turn(failure=Failure(FailurePattern.MALFORMED, message, (0, 0)))
        calls = reply.tool_calls or reply.invalid_tool_calls
        if tools is not None and not tools.tools and not calls:
            return Turn()  # without tools there is no protocol to break
        turn = read_message(reply, tools, config, "native")
        failure = turn.failure
        if failure is None or failure.pattern not in self.patterns:
            return turn if failure is None else Turn()
        if failure.pattern is FailurePattern.EMPTY and has_other_content(reply):
            return Turn()
        return turn

    def _given_up(
        self, reply: AIMessage | Exception, verdict: GiveUp, refused: tuple[Failure, ...]
    ) -> Mended:
        if self.on_failure == "error":
            raise NormalizationError(verdict) from (reply if isinstance(reply, Exception) else None)
        if isinstance(reply, Exception):
            reply = AIMessage(gave_up(verdict.failure.message))
        elif reply.tool_calls or reply.invalid_tool_calls:
            reply = saying_why(reply, verdict.failure)
        if callable(self.on_failure):
            reply = self.on_failure(verdict, reply)
        return Mended(reply, refused, "gave_up")


def drive(steps: Steps, ask: Callable[[list[BaseMessage]], AIMessage]) -> Mended:
    """Do what the steps say."""
    added = next(steps)
    while True:
        reply: AIMessage | Exception
        try:
            reply = ask(added)
        except Exception as error:
            if not is_protocol_error(error):
                raise
            reply = error
        try:
            added = steps.send(reply)
        except StopIteration as done:
            return cast("Mended", done.value)


async def adrive(steps: Steps, ask: Callable[[list[BaseMessage]], Awaitable[AIMessage]]) -> Mended:
    """Do what the steps say, without blocking."""
    added = next(steps)
    while True:
        reply: AIMessage | Exception
        try:
            reply = await ask(added)
        except Exception as error:
            if not is_protocol_error(error):
                raise
            reply = error
        try:
            added = steps.send(reply)
        except StopIteration as done:
            return cast("Mended", done.value)


def is_clean(reply: BaseMessage, tools: Toolbox) -> bool:
    """Tell quickly whether a reply is one that mending would return as it is.

    Most are: nothing but calls that fit, or plain prose. What takes a second look is not.
    """
    if type(reply) is not AIMessage or reply.invalid_tool_calls:
        return False
    content, calls = reply.content, reply.tool_calls
    if not isinstance(content, str) or is_unusual(finish_reason(reply.response_metadata)):
        return False
    if not calls:
        return is_plain(content)
    fit = all(fits(call["name"], call["args"], tools) for call in calls)
    return content == "" and fit and have_ids(calls)


def _accepted(reply: AIMessage, turn: Turn, refused: tuple[Failure, ...]) -> Mended:
    calls = [action for action in turn.actions if isinstance(action, CoreCall)]
    if turn.fidelity == "salvaged" and turn.failure is not None:
        return Mended(_salvaged(reply, turn, calls), (*refused, turn.failure), "salvaged")
    mend = turn.fidelity == "repaired" or not have_ids(reply.tool_calls)
    if mend and turn.dialect == "native":
        reply = with_calls(reply, calls, reply.content)
    return Mended(reply, refused, "mended" if refused else "clean")


def _salvaged(reply: AIMessage, turn: Turn, calls: list[CoreCall]) -> AIMessage:
    """Return the reply with the calls that its text, or its broken calls, hold."""
    if turn.dialect == "native":
        return with_calls(reply, calls, reply.content)
    text = text_of(reply)
    rest = f"{text[: turn.span[0]].rstrip()}\n{text[turn.span[1] :].lstrip()}".strip()
    return with_calls(reply, calls, rest if turn.dialect != "contract" else "")
