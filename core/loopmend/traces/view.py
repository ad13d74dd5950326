"""A trace as detectors look at it: what several of them need is worked out once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from loopmend._repr import written
from loopmend.results import failure_in
from loopmend.traces.stop import Stopped, StopReason, stop_of
from loopmend.traces.trace import Observation, Step, Trace, TraceCall

__all__ = ["Made", "View", "holds", "is_failure", "words"]

_WORD: Final = re.compile(r"\w+")
_FOLDED: Final = bytes(
    ord(each.lower()) if each.isalnum() or each == "_" else ord(" ")
    for each in map(chr, range(128))
) + bytes(128)
"""ASCII in lower case, with blanks between words."""
_ASIDES: Final = ("think", "Think")
_LONGEST: Final = 4000
_ANY: Final = "any tool"
_NONE: Final[frozenset[int]] = frozenset()
# A file may hold such a text as well; only one that names the tool is about the call.
_REFUSED: Final = re.compile(
    r"\W{0,3}\d{1,4} validation errors? for ([\w.\-]{1,80})", re.IGNORECASE
)


class Made:
    """A call that was made, with its step and what came of it."""

    __slots__ = ("_signature", "call", "result", "step", "worked")

    def __init__(
        self, step: int, call: TraceCall, result: Observation | None, *, worked: bool
    ) -> None:
        self.step = step
        self.call = call
        self.result = result
        """What the tool returned, if the record tells."""
        self.worked = worked
        """Whether the tool returned something else than a failure, so that there is such a tool."""
        self._signature: tuple[str, str] | None = None

    @property
    def signature(self) -> tuple[str, str]:
        """Its name and its arguments as text that is equal for equal calls."""
        if self._signature is None:
            given = self.call.arguments
            text = " ".join(given.split()).lower() if isinstance(given, str) else None
            self._signature = (
                self.call.name,
                written(given, in_order=True) if text is None else text,
            )
        return self._signature

    @property
    def seen(self) -> str:
        """What the tool returned, as text; empty if the record does not tell."""
        return "" if self.result is None else self.result.text

    @property
    def key(self) -> tuple[tuple[str, str], str]:
        """The call and its result: what is equal for calls that came to the same."""
        return self.signature, self.seen


def is_failure(observation: Observation) -> bool:
    """Tell whether the host or the tool says that the tool failed."""
    return (
        observation.failed
        or failure_in(observation.text) is not None
        or _refuses_arguments(observation)
    )


def _refuses_arguments(observation: Observation) -> bool:
    """Tell whether a result is pydantic's refusal of what its own tool was given."""
    head = observation.text[:200]
    if not observation.tool or "validation error" not in head.lower():
        return False
    refused = _REFUSED.match(head)
    return refused is not None and _plain(refused[1]).startswith(_plain(observation.tool))


def _plain(name: str) -> str:
    """Return a name without what differs between a tool and the schema of its arguments."""
    return name.replace("_", "").lower()


def words(text: str) -> frozenset[str]:
    """Return the words of a text, each once."""
    text = text[:_LONGEST]
    if text.isascii():  # several times as fast
        return frozenset(text.encode().translate(_FOLDED).decode().split())
    return frozenset(_WORD.findall(text.lower()))


def holds(folded: str, phrases: tuple[str, ...]) -> bool:
    """Tell whether a text in lower case holds any of some phrases."""
    for phrase in phrases:  # noqa: SIM110 - a generator costs as much as the search
        if phrase in folded:
            return True
    return False


class View:
    """A trace, and what was worked out from it."""

    __slots__ = (
        "_last_fine",
        "_last_good",
        "_said",
        "again",
        "answered",
        "failed",
        "failures",
        "made",
        "repeating",
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
        self.failures: list[int] = []
        """The steps that failed themselves, or whose tools all did."""
        self.made: list[Made] = []
        """All calls in order, asides such as `think[…]` left out."""
        self._said: str | None = None
        self._last_good: dict[str | None, int] = {}
        self._last_fine = -1
        scopes: dict[tuple[int, str | None], list[Made]] = {}
        # The step at which a record ends without an answer gives none.
        open_end = self.stop.step if self.stop.reason is StopReason.UNKNOWN else None
        for at, step in enumerate(trace.steps):
            bad = self._see(at, step) if step.observations else _NONE
            if step.error is not None:
                self.failures.append(at)
            elif step.calls or (at != open_end and self._tells(step)):
                self._last_fine = at
            if step.calls:
                made = _made(at, step, bad)
                self.made += made
                scope = (step.request, step.agent)
                if scope in scopes:
                    scopes[scope] += made
                else:
                    scopes[scope] = made
        self.repeating: list[list[Made]] = list(_repeating(scopes.values()))
        """The calls of each request and agent, if any tool was called more than once."""
        self.again: list[list[Made]] = [
            calls
            for calls in self.repeating
            if len({each.seen for each in calls}) < len(calls)  # to compare calls takes longer
            and len({each.key for each in calls}) < len(calls)
        ]
        """Those of them in which a call comes back with the same result."""

    def _see(self, at: int, step: Step) -> set[int]:
        """Note what came of a step's calls, and return which results say that a tool failed."""
        bad: set[int] = set()
        for seen in step.observations:
            if is_failure(seen):
                bad.add(id(seen))
                self.failed.append((at, seen))
            else:
                self._last_good[seen.tool] = self._last_good[_ANY] = at
        if len(bad) == len(step.observations) and step.error is None:
            self.failures.append(at)
        return bad

    def _tells(self, step: Step) -> bool:
        return step.answer is not None or (self.answered and bool(step.text.strip()))

    @property
    def said(self) -> str:
        """All that the model said, in lower case: what is not in it is in no step."""
        if self._said is None:
            self._said = "\n".join([step.text for step in self.trace.steps]).lower()
        return self._said

    def recovers(self, at: int, tool: str | None = None) -> bool:
        """Tell whether a later step got a result: of this tool, or of any if none is given."""
        return self._last_good.get(_ANY if tool is None else tool, -1) > at

    def goes_on(self, at: int) -> bool:
        """Tell whether a later step did something without an error."""
        return self._last_fine > at


def _made(at: int, step: Step, bad: frozenset[int] | set[int]) -> list[Made]:
    results = step.observations
    if len(step.calls) == len(results) == 1:  # nearly always
        [call], [seen] = step.calls, results
        return [] if call.name in _ASIDES else [Made(at, call, seen, worked=not bad)]
    found: list[Made] = []
    known = {seen.call_id: seen for seen in results if seen.call_id is not None}
    for number, call in enumerate(step.calls):
        if call.name not in _ASIDES:
            result = results[number] if number < len(results) else None
            if call.id is not None and known:
                result = known.get(call.id, result)
            worked = result is not None and id(result) not in bad
            found.append(Made(at, call, result, worked=worked))
    return found


def _repeating(scopes: Iterable[list[Made]]) -> Iterator[list[Made]]:
    for calls in scopes:
        if len({each.call.name for each in calls}) == len(calls):
            continue
        if len({each.step for each in calls}) == len(calls):
            yield calls
            continue
        # What one reply asks for at once repeats nothing: it has not seen a result yet.
        once = {(each.step, each.key): each for each in reversed(calls)}
        kept = calls if len(once) == len(calls) else [*reversed(once.values())]
        if len({each.call.name for each in kept}) < len(kept):
            yield kept
