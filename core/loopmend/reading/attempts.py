"""Asking a model again until its reply can be parsed, without doing any of it.

`attempts` is a generator that says what to do next and is told what came of it. Drivers, one
for sync and one for async, do the asking, the parsing and the telling. Replies, inputs and
parsers are whatever a framework takes for them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, Union

from loopmend.reading.turn import Failure

__all__ = [
    "Ask",
    "Exhausted",
    "Parse",
    "Refused",
    "Steps",
    "Tell",
    "adrive",
    "attempts",
    "drive",
    "words_about",
]

_LONGEST_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model with this input."""

    input: Any
    attempt: int


@dataclass(frozen=True, slots=True)
class Parse:
    """Parse this reply."""

    reply: Any
    attempt: int


@dataclass(frozen=True, slots=True)
class Refused:
    """What comes of parsing a reply that cannot be parsed."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell whoever listens that the model is asked again."""

    attempt: int
    error: Exception
    reason: str
    """What the parser says is wrong, cut to a length that can be shown."""
    correction: str

    @property
    def failure(self) -> Failure | None:
        """Why, if the parser says so in loopmend's terms."""
        failure = getattr(self.error, "failure", None)
        return failure if isinstance(failure, Failure) else None

    def data(self) -> dict[str, Any]:
        """Return what an event about it carries."""
        failure = self.failure
        return {
            "attempt": self.attempt,
            "pattern": None if failure is None else failure.pattern.value,
            "message": self.reason if failure is None else failure.message,
            "correction": self.correction,
        }


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The model was asked as often as allowed; this is its last reply and what is wrong with it."""

    reply: Any
    error: Exception
    retries: int


Steps = Generator[Union[Ask, Parse, Tell], Any, Any]
"""Yields what to do; is sent what came of it; returns the parsed value or `Exhausted`."""


def attempts(  # noqa: PLR0913 - all but the bound by name
    max_retries: int,
    *,
    correct: Callable[[Exception, int], str],
    asked: Callable[[Any, str], Any],
    said_by: Callable[[Exception], str] = str,
    first: Any = None,
    reply: Any = None,
) -> Steps:
    """Say what to do until a reply can be parsed or all retries are used up.

    Args:
        max_retries: How often to ask again; never exceeded.
        correct: Words the correction of an error, given how often there was one before.
        asked: Makes the next input of a bad reply and the correction; it keeps the history.
        said_by: What an error says to people.
        first: What to ask at first, unless there is a reply already.
        reply: The reply that is there already.

    >>> steps = attempts(1, correct=lambda e, n: "A number.", asked=lambda r, w: w, first="2 + 2?")
    >>> replies = iter(["four", "4"])
    >>> drive(steps, ask=lambda step: next(replies), parse=lambda step: int(step.reply))
    4
    """
    if reply is None:
        reply = yield Ask(first, 0)
    attempt = 0
    while isinstance(parsed := (yield Parse(reply, attempt)), Refused):
        if attempt >= max_retries:
            return Exhausted(reply, parsed.error, attempt)
        words = correct(parsed.error, attempt)
        attempt += 1
        yield Tell(attempt, parsed.error, _cut(said_by(parsed.error)), words)
        reply = yield Ask(asked(reply, words), attempt)
    return parsed


def words_about(said: str, form: str = "") -> str:
    """Return a correction for a parser that words none itself, with the form to keep to."""
    parts = (f"Your last reply cannot be used. {_cut(said)}", form)
    return "\n\n".join(part for part in parts if part)


def _cut(said: str) -> str:
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]} …"


def drive(
    steps: Steps,
    ask: Callable[[Ask], Any],
    parse: Callable[[Parse], Any],
    tell: Callable[[Tell], object] | None = None,
    *,
    refusals: tuple[type[Exception], ...] = (ValueError,),
) -> Any:
    """Do what the steps say; errors of the kinds in `refusals` mean that a reply is bad."""
    outcome: Any = None
    while True:
        try:
            step = steps.send(outcome)
        except StopIteration as done:
            return done.value
        if isinstance(step, Ask):
            outcome = ask(step)
        elif isinstance(step, Tell):
            outcome = None if tell is None else tell(step)
        else:
            try:
                outcome = parse(step)
            except refusals as error:
                outcome = Refused(error)


async def adrive(
    steps: Steps,
    ask: Callable[[Ask], Awaitable[Any]],
    parse: Callable[[Parse], Awaitable[Any]],
    tell: Callable[[Tell], Awaitable[object]] | None = None,
    *,
    refusals: tuple[type[Exception], ...] = (ValueError,),
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
            outcome = None if tell is None else await tell(step)
        else:
            try:
                outcome = await parse(step)
            except refusals as error:
                outcome = Refused(error)
