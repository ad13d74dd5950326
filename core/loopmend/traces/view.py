"""A trace as detectors look at it: what several of them need is worked out once."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from loopmend._repr import written
from loopmend.results import failure_in
from loopmend.traces.stop import Stopped, StopReason, stop_of
from loopmend.traces.trace import Observation, Trace, TraceCall

__all__ = ["Made", "View", "is_failure", "words"]

_WORD: Final = re.compile(r"\w+")
_ASIDES: Final = ("think", "Think")
_LONGEST: Final = 4000


class Made(NamedTuple):
    """A call that was made, with its step and what came of it."""

    step: int
    call: TraceCall
    signature: tuple[str, str]
    """Its name and its arguments, written down."""
    result: str | None
    failed: bool = False
    """Whether its step's tools failed."""


def is_failure(observation: Observation) -> bool:
    """Tell whether the host or the tool says that the tool failed."""
    return observation.failed or failure_in(observation.text) is not None


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

    __slots__ = (
        "_last_fine",
        "_last_good",
        "answered",
        "failed",
        "failures",
        "made",
        "stop",
        "trace",
    )

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.stop: Stopped = stop_of(trace)
        """Why the run stopped."""
        self.answered = self.stop.reason is StopReason.FINAL_ANSWER
        """Whether the run ended with an answer."""
        self.failed: list[tuple[int, Observation]] = []
        """The observations that say that a tool failed, with their steps."""
        self._last_good: dict[str | None, int] = {}
        self._last_fine = -1
        for at, step in enumerate(trace.steps):
            if step.error is None and (step.calls or step.answer is not None):
                self._last_fine = at
            for seen in step.observations:
                if is_failure(seen):
                    self.failed.append((at, seen))
                else:
                    self._last_good[seen.tool] = self._last_good[_ANY] = at
        found = {at for at, _ in self.failed}
        self.made: list[Made] = _made(trace, found)
        """All calls in order, asides such as `think[…]` left out."""
        found.update([at for at, step in enumerate(trace.steps) if step.error is not None])
        self.failures = sorted(found)
        """The steps whose tool did not do what was asked, or that failed themselves."""

    def recovers(self, at: int, tool: str | None = None) -> bool:
        """Tell whether a later step got a result: of this tool, or of any if none is given."""
        return self._last_good.get(_ANY if tool is None else tool, -1) > at

    def goes_on(self, at: int) -> bool:
        """Tell whether a later step did something without an error."""
        return self._last_fine > at


_ANY: Final = "any tool"


def _made(trace: Trace, failed: set[int]) -> list[Made]:
    found: list[Made] = []
    for at, step in enumerate(trace.steps):
        results = step.observations
        known = {seen.call_id: seen.text for seen in results if seen.call_id is not None}
        for number, call in enumerate(step.calls):
            if call.name not in _ASIDES:
                result = results[number].text if number < len(results) else None
                if call.id is not None and known:
                    result = known.get(call.id, result)
                found.append(Made(at, call, _signature(call), result, at in failed))
    return found
