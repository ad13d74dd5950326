"""Asking a model again until its reply can be parsed, without doing any of it.

`attempts` is a generator that says what to do next and is told what came of it. Drivers, one
for sync and one for async, do the asking, the parsing and the telling.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, Union

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import BaseOutputParser

from langchain_loopmend.errors import ActionParseException
from langchain_loopmend.messages import text_of
from loopmend import Failure

__all__ = [
    "Ask",
    "Exhausted",
    "Parse",
    "Reply",
    "Steps",
    "Tell",
    "adrive",
    "attempts",
    "correction",
    "drive",
    "follow_up",
    "instructions_of",
    "said_by",
]

Reply = Union[str, BaseMessage]
"""What a language model returns: text, or a message of a chat model."""

_LONGEST_REASON: Final = 500
_LINK: Final = "\nFor troubleshooting, visit:"


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model with this input."""

    input: Any
    attempt: int


@dataclass(frozen=True, slots=True)
class Parse:
    """Parse this reply."""

    reply: Reply
    attempt: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell whoever listens that the model is asked again."""

    attempt: int
    error: ValueError
    correction: str

    @property
    def failure(self) -> Failure | None:
        """Why, if the parser says so in loopmend's terms."""
        return self.error.failure if isinstance(self.error, ActionParseException) else None

    def data(self) -> dict[str, Any]:
        """Return what the custom event carries."""
        failure = self.failure
        return {
            "attempt": self.attempt,
            "pattern": None if failure is None else failure.pattern.value,
            "message": _reason(self.error) if failure is None else failure.message,
            "correction": self.correction,
        }


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The model was asked as often as allowed; this is its last reply and what is wrong with it."""

    reply: Reply
    error: ValueError
    retries: int


Steps = Generator[Union[Ask, Parse, Tell], Any, Any]
"""Yields what to do; is sent what came of it; returns the parsed value or `Exhausted`."""


def attempts(
    parser: Any,
    max_retries: int,
    *,
    asked: Callable[[Reply, str], Any],
    first: Any = None,
    reply: Reply | None = None,
) -> Steps:
    """Say what to do until a reply can be parsed or all retries are used up.

    Args:
        parser: The parser, for its corrections only.
        max_retries: How often to ask again; never exceeded.
        asked: Makes the next input of a bad reply and the correction; it keeps the history.
        first: What to ask at first, unless there is a reply already.
        reply: The reply that is there already.
    """
    if reply is None:
        reply = yield Ask(first, 0)
    attempt = 0
    while isinstance(parsed := (yield Parse(reply, attempt)), ValueError):
        if attempt >= max_retries:
            return Exhausted(reply, parsed, attempt)
        words = correction(parser, parsed, attempt)
        attempt += 1
        yield Tell(attempt, parsed, words)
        reply = yield Ask(asked(reply, words), attempt)
    return parsed


def correction(parser: Any, error: ValueError, attempt: int) -> str:
    """Return what to tell the model, from whichever parser the error is."""
    if isinstance(error, ActionParseException):
        correct = getattr(parser, "correct", None)
        return error.observation or "" if correct is None else str(correct(error.turn, attempt))
    if isinstance(error, OutputParserException) and error.observation:
        return error.observation
    form = "" if parser is None else instructions_of(parser)
    return "\n\n".join(
        part for part in (f"Your last reply cannot be used. {_reason(error)}", form) if part
    )


def said_by(error: Exception) -> str:
    """Return what a parser says, without the link for people that LangChain appends."""
    return str(error).partition(_LINK)[0].strip()


def _reason(error: ValueError) -> str:
    said = said_by(error)
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]} …"


def instructions_of(parser: BaseOutputParser[Any]) -> str:
    """Return what a parser tells the model about the form, with no placeholder left in it."""
    try:
        told = parser.get_format_instructions()
    except NotImplementedError:  # LangChain's base class has none, and need not
        return ""
    return told.replace("exactly one of [{tool_names}]", "one of those on offer")


def follow_up(reply: Reply, words: str) -> list[BaseMessage]:
    """Return what is added to a conversation after a bad reply."""
    said = text_of(reply)
    # Providers refuse empty messages, and there is nothing to refer to.
    return [*([AIMessage(said)] if said.strip() else []), HumanMessage(words)]


def drive(
    steps: Steps,
    ask: Callable[[Ask], Reply],
    parse: Callable[[Parse], Any],
    tell: Callable[[Tell], object],
) -> Any:
    """Do what the steps say."""
    outcome: Any = None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as done:
            return done.value
        if isinstance(step, Ask):
            outcome = ask(step)
        elif isinstance(step, Tell):
            outcome = tell(step)
        else:
            try:
                outcome = parse(step)
            except ValueError as error:
                outcome = error


async def adrive(
    steps: Steps,
    ask: Callable[[Ask], Awaitable[Reply]],
    parse: Callable[[Parse], Awaitable[Any]],
    tell: Callable[[Tell], Awaitable[object]],
) -> Any:
    """Do what the steps say, without blocking."""
    outcome: Any = None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as done:
            return done.value
        if isinstance(step, Ask):
            outcome = await ask(step)
        elif isinstance(step, Tell):
            outcome = await tell(step)
        else:
            try:
                outcome = await parse(step)
            except ValueError as error:
                outcome = error
