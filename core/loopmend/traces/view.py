"""A trace as detectors look at it: what several of them need is worked out once."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from loopmend._repr import written
from loopmend.traces.stop import Stopped, StopReason, stop_of
from loopmend.traces.trace import Observation, Trace, TraceCall

__all__ = ["Made", "View", "is_failure", "words"]

_WORD: Final = re.compile(r"\w+")
_ASIDES: Final = ("think", "Think")
_LONGEST: Final = 4000
# What tools say when they did not do what was asked, at the beginning of their answer.
_FAILURE: Final = re.compile(
    r"\W{0,3}(?:error\b|exception\b|traceback \(most recent|could not (?:find|convert|be)\b"
    r"|invalid (?:action|argument|input|tool|parameter)|no (?:more )?results?\b|not found\b"
    r"|failed\b|unable to\b|cannot\b|tool .{0,60}not found"
    r"|the (?:requested )?(?:page|file) (?:does not|was not|could not)"
    r"|[\w.]{1,40}(?:error|exception):|unknown (?:tool|action)|nothing happened)",
    re.IGNORECASE,
)


class Made(NamedTuple):
    """A call that was made, with its step and what came of it."""

    step: int
    call: TraceCall
    signature: tuple[str, str]
    """Its name and its arguments, written down."""
    result: str | None


def is_failure(observation: Observation) -> bool:
    """Tell whether a tool says that it did not do what was asked."""
    return observation.failed or _FAILURE.match(observation.text) is not None


def words(text: str) -> frozenset[str]:
    """Return the words of a text, each once."""
    return frozenset(_WORD.findall(text[:_LONGEST].lower()))


def _signature(call: TraceCall) -> tuple[str, str]:
    """Return name and arguments as text that is equal for equal calls."""
    given = call.arguments
    if isinstance(given, str):
        return call.name, " ".join(given.split()).lower()
    return call.name, written(given, in_order=True)


class View:
    """A trace, and what was worked out from it."""

    __slots__ = ("answered", "failed", "failures", "made", "stop", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.stop: Stopped = stop_of(trace)
        """Why the run stopped."""
        self.answered = self.stop.reason is StopReason.FINAL_ANSWER
        """Whether the run ended with an answer."""
        self.made: list[Made] = _made(trace)
        """All calls in order, asides such as `think[…]` left out."""
        self.failed: list[tuple[int, Observation]] = [
            (at, observation)
            for at, step in enumerate(trace.steps)
            for observation in step.observations
            if is_failure(observation)
        ]
        """The observations that say that a tool did not do what was asked, with their steps."""
        found = {at for at, _ in self.failed}
        found.update([at for at, step in enumerate(trace.steps) if step.error is not None])
        self.failures = sorted(found)
        """The steps whose tool did not do what was asked, or that failed themselves."""


def _made(trace: Trace) -> list[Made]:
    found: list[Made] = []
    for at, step in enumerate(trace.steps):
        results = step.observations
        for number, call in enumerate(step.calls):
            if call.name not in _ASIDES:
                result = results[number].text if number < len(results) else None
                found.append(Made(at, call, _signature(call), result))
    return found
