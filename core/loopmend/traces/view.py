"""A trace as detectors look at it: what several of them need is worked out once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from loopmend._repr import written
from loopmend.results import failure_in
from loopmend.traces.stop import Stopped, StopReason, stop_of
from loopmend.traces.trace import Observation, Trace, TraceCall

__all__ = ["Made", "View", "holds", "is_failure", "words"]

_WORD: Final = re.compile(r"\w+")
_ASIDES: Final = ("think", "Think")
_LONGEST: Final = 4000
_ANY: Final = "any tool"
# A file may hold such a text as well; only one that names the tool is about the call.
_REFUSED: Final = re.compile(
    r"\W{0,3}\d{1,4} validation errors? for ([\w.\-]{1,80})", re.IGNORECASE
)


class Made:
    """A call that was made, with its step and what came of it."""

    __slots__ = ("_signature", "call", "result", "scope", "step")

    def __init__(
        self, step: int, call: TraceCall, result: Observation | None, scope: tuple[int, str | None]
    ) -> None:
        self.step = step
        self.call = call
        self.result = result
        """What the tool returned, if the record tells."""
        self.scope = scope
        """Whose call it is: of which request of the user, and of which agent."""
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
    def worked(self) -> bool:
        """Whether the tool returned something else than a failure, so that there is such a tool."""
        return self.result is not None and not is_failure(self.result)


def is_failure(observation: Observation) -> bool:
    """Tell whether the host or the tool says that the tool failed."""
    return (
        observation.failed
        or failure_in(observation.text) is not None
        or _refuses_arguments(observation)
    )


def _refuses_arguments(observation: Observation) -> bool:
    """Tell whether a result is pydantic's refusal of what its own tool was given."""
    refused = _REFUSED.match(observation.text[:200]) if observation.tool else None
    return refused is not None and _plain(refused[1]).startswith(_plain(observation.tool or ""))


def _plain(name: str) -> str:
    """Return a name without what differs between a tool and the schema of its arguments."""
    return name.replace("_", "").lower()


def words(text: str) -> frozenset[str]:
    """Return the words of a text, each once."""
    return frozenset(_WORD.findall(text[:_LONGEST].lower()))


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
        self._last_good: dict[str | None, int] = {}
        self._last_fine = -1
        for at, step in enumerate(trace.steps):
            bad = [seen for seen in step.observations if is_failure(seen)]
            self.failed += [(at, seen) for seen in bad]
            if step.error is not None or (bad and len(bad) == len(step.observations)):
                self.failures.append(at)
            did = step.calls or step.answer is not None or (self.answered and step.text.strip())
            if step.error is None and did:
                self._last_fine = at
            for seen in step.observations:
                if seen not in bad:
                    self._last_good[seen.tool] = self._last_good[_ANY] = at
        self.made: list[Made] = _made(trace)
        """All calls in order, asides such as `think[…]` left out."""
        self.repeating: list[list[Made]] = _repeating(self.made)
        """The calls of each request and agent, if any tool was called more than once."""

    def recovers(self, at: int, tool: str | None = None) -> bool:
        """Tell whether a later step got a result: of this tool, or of any if none is given."""
        return self._last_good.get(_ANY if tool is None else tool, -1) > at

    def goes_on(self, at: int) -> bool:
        """Tell whether a later step did something without an error."""
        return self._last_fine > at


def _made(trace: Trace) -> list[Made]:
    found: list[Made] = []
    for at, step in enumerate(trace.steps):
        if not step.calls:
            continue
        results = step.observations
        known = {seen.call_id: seen for seen in results if seen.call_id is not None}
        scope = step.request, step.agent
        for number, call in enumerate(step.calls):
            if call.name not in _ASIDES:
                result = results[number] if number < len(results) else None
                if call.id is not None and known:
                    result = known.get(call.id, result)
                found.append(Made(at, call, result, scope))
    return found


def _repeating(made: Sequence[Made]) -> list[list[Made]]:
    scopes: dict[tuple[int, str | None], list[Made]] = {}
    at, here = -1, set[tuple[tuple[str, str], str]]()
    for each in made:
        at, here = (at, here) if each.step == at else (each.step, set())
        key = each.signature, each.seen
        # What one reply asks for at once repeats nothing: it has not seen a result yet.
        if key not in here:
            scopes.setdefault(each.scope, []).append(each)
        here.add(key)
    return [
        calls for calls in scopes.values() if len({each.call.name for each in calls}) < len(calls)
    ]
