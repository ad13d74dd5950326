"""What to do next about a model's replies: ask, use the reply, or stop asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

from loopmend.errors import LoopmendError
from loopmend.mending.messages import Message, NativeCall
from loopmend.mending.policy import OnFailure
from loopmend.mending.standing import CALLS_AT_FAULT
from loopmend.reading.json_reading import JsonReading
from loopmend.reading.turn import Failure, Turn

__all__ = ["Ask", "Done", "GaveUp", "NormalizationError", "Retry", "Step"]


@dataclass(frozen=True, slots=True)
class Retry:
    """Tells listeners that loopmend asks again; they should retract the refused reply.

    >>> Retry(1, "empty", "The reply is empty.", "Your reply was empty.").data()["attempt"]
    1
    """

    attempt: int
    """Which retry this is, from 1."""
    pattern: str | None
    """What was wrong, see `FailurePattern`; `None` if another parser refused the reply."""
    message: str
    """What was wrong, worded for people."""
    correction: str | None
    """What loopmend tells the model; `None` if it constrains the decoding instead."""

    def data(self) -> dict[str, Any]:
        """Return plain data for an event."""
        return {
            "attempt": self.attempt,
            "pattern": self.pattern,
            "message": self.message,
            "correction": self.correction,
        }


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model, with these messages at the end of the conversation.

    >>> from loopmend import Mending
    >>> Mending().start()
    Ask(messages=(), attempt=0, schema=None, retry=None)
    """

    messages: tuple[Message, ...] = ()
    """The messages to add to the conversation; they replace those of the last `Ask`."""
    attempt: int = 0
    """How often you have asked before."""
    schema: Mapping[str, Any] | None = None
    """The schema to decode by. If you asked for actions, pass the conversation and
    `Mending.offered` through `constrained`; if you asked for a value, leave it as it is."""
    retry: Retry | None = None
    """The event to send to listeners first."""


@dataclass(frozen=True, slots=True)
class Done:
    """Use the reply.

    >>> from loopmend import Mending, Reply
    >>> mending = Mending(["search"])
    >>> _ = mending.start()
    >>> mending.reply(Reply("It is in Norway.")).outcome
    'clean'
    """

    turn: Turn
    """What the reader made of the reply."""
    calls: tuple[NativeCall, ...] | None = None
    """The calls to make instead of the reply's own; `None` if those are right."""
    content: str | None = None
    """The text to show instead of the reply's own; `None` if that is right."""
    refused: tuple[Failure, ...] = ()
    """Why earlier replies were refused."""
    outcome: Literal["clean", "mended", "made"] = "clean"
    """Whether the reply was right at once, right after a retry, or a call written as text."""
    reading: JsonReading | None = None
    """The reading of the value, if you asked for a value."""

    @property
    def value(self) -> Any:
        """The value, if you asked for one."""
        return None if self.reading is None else self.reading.value

    def report(self) -> dict[str, Any]:
        """Return plain data about the refused replies, for an event or an agent's state."""
        return _report(self.outcome, self.refused)


class NormalizationError(LoopmendError):
    """A model kept breaking the tool protocol after it was corrected.

    >>> from loopmend import Failure, FailurePattern
    >>> NormalizationError(Failure(FailurePattern.EMPTY, "The reply is empty.", (0, 0)), 2)
    NormalizationError('Gave up after 2 retries: The reply is empty.')
    """

    failure: Failure
    """What is wrong with the last reply."""
    retries: int
    """How often loopmend asked again."""

    def __init__(self, failure: Failure, retries: int) -> None:
        times = f"{retries} {'retry' if retries == 1 else 'retries'}"
        super().__init__(f"Gave up after {times}: {failure.message}")
        self.failure = failure
        self.retries = retries

    def __reduce__(self) -> tuple[type[NormalizationError], tuple[Failure, int]]:
        """Rebuild from the verdict."""
        return type(self), (self.failure, self.retries)


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Stop asking.

    >>> from loopmend import Mending, Reply, RetryPolicy
    >>> mending = Mending(["search"], policy=RetryPolicy(max_retries=0))
    >>> _ = mending.start()
    >>> mending.reply(Reply("")).answer
    'Gave up after 0 retries: The reply is empty.'
    """

    failure: Failure
    """What is wrong with the last reply."""
    retries: int
    """How often loopmend asked again."""
    answer: str
    """What to answer with: the model's own words, if there are any."""
    refused: tuple[Failure, ...] = ()
    """Why each reply was refused."""
    cause: Exception | None = None
    """What the provider raised instead of the last reply."""
    reading: JsonReading | None = None
    """The readable part of the last reply, if you asked for a value."""
    stands: str = ""
    """The words of the last reply that are still an answer, not just a broken call."""

    def __post_init__(self) -> None:
        if not self.answer:
            object.__setattr__(self, "answer", self.why)

    @property
    def runs_into_error(self) -> bool:
        """Whether running the refused call tells the model what is wrong with it.

        >>> from loopmend import Failure, FailurePattern
        >>> failure = Failure(FailurePattern.UNKNOWN_TOOL, "Unknown tool `find`.", (0, 0))
        >>> GaveUp(failure, 2, "").runs_into_error
        True
        """
        return self.failure.pattern in CALLS_AT_FAULT

    @property
    def why(self) -> str:
        """What to say in place of an answer.

        The first failure tells most: later ones are what the model made of its correction.
        """
        return str(NormalizationError((*self.refused, self.failure)[0], self.retries))

    def report(self) -> dict[str, Any]:
        """Return plain data about the refused replies, for an event or an agent's state."""
        return _report("gave_up", self.refused)

    def error(self) -> NormalizationError:
        """Return the error to raise, if that is wanted."""
        error = NormalizationError(self.failure, self.retries)
        error.__cause__ = self.cause
        return error

    def concluded(self, on_failure: OnFailure, reply: Any, error: Exception | None = None) -> Any:
        """Return what to use in the end, as an `on_failure` option says.

        Args:
            on_failure: The option.
            reply: What to return, or what to hand to your function with this verdict.
            error: What to raise; by default a `NormalizationError`.
        """
        if on_failure == "raise":
            raise error or self.error()
        return on_failure(self, reply) if callable(on_failure) else reply


def _report(outcome: str, refused: Sequence[Failure]) -> dict[str, Any]:
    return {
        "outcome": outcome,
        # Nobody asked again about a call that was made, or after giving up.
        "retries": len(refused) - (outcome in ("made", "gave_up")),
        "patterns": [failure.pattern.value for failure in refused],
        "messages": [failure.message for failure in refused],
    }


Step = Union[Ask, Done, GaveUp]
"""What to do next."""
