"""A run that is going on: what its host tells of it, in order, becomes a trace."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from loopmend.reading.response import read_response
from loopmend.reading.turn import Turn
from loopmend.traces.stop import StopReason, stop_of
from loopmend.traces.trace import Limits, Observation, Step, Trace, TraceCall, TraceError
from loopmend.traces.unread import MOST_READ, cap_note

__all__ = ["LiveRun", "as_data", "turn_of"]

_HEADER: Final = re.compile(r"^[^\S\n]*(?:Thought|Action|Answer):", re.MULTILINE)
_UNCLEAR: Final = (StopReason.UNKNOWN, StopReason.HOST_ERROR)


class LiveRun:
    """A run that is going on; a recorder translates what its framework tells.

    >>> run = LiveRun("run-1", "my framework", question="Where is Oslo?")
    >>> run.reply(Step(text="In Norway."))
    >>> run.answer("In Norway.")
    >>> run.trace().answer, run.trace().reason
    ('In Norway.', 'final_answer')
    """

    def __init__(  # noqa: PLR0913 - all but two by name
        self,
        id: str,
        framework: str,
        *,
        question: str | None = None,
        limits: Limits | None = None,
        tools: Sequence[str] | None = None,
        parent: str | None = None,
    ) -> None:
        """Begin.

        Args:
            id: The run's id.
            framework: Who runs it.
            question: What the user asked.
            limits: Its caps.
            tools: The names of the tools on offer, if they are the same all the time.
            parent: The run that started it by a tool: then it is part of that one.
        """
        self.id = id
        """The run's id."""
        self.question = question
        """What the user asked, as far as it is known."""
        self.limits = limits or Limits()
        """Its caps."""
        self.steps: list[Step] = []
        """What happened so far."""
        self._framework = framework
        self._tools = tools
        self._start = perf_counter()
        self._seconds: float | None = None
        self._asked_at: float | None = None
        self._called_at: dict[str, float] = {}
        self._answer: str | None = None
        self._reason: str | None = None
        self._error: TraceError | None = None
        self._metadata: dict[str, Any] = {} if parent is None else {"parent_id": parent}

    def ask(self) -> None:
        """Note that the model is asked now."""
        self._asked_at = perf_counter()

    def call(self, id: str) -> None:
        """Note that a tool is called now."""
        self._called_at[id] = perf_counter()

    def note(self, name: str, value: Any) -> None:
        """Note something about the run in its metadata."""
        self._metadata[name] = as_data(value)

    def plan(self, plan: Mapping[str, Any]) -> None:
        """Note the plan of the step that comes next."""
        plans = self._metadata.setdefault("plans", [])
        plans.append({**plan, "step": len(self.steps)})

    def refuse(self, text: str, message: str, agent: str | None = None) -> None:
        """Note a reply that somebody refused within a step, so that the model was asked again."""
        error = TraceError("Retry", message, "parser")
        self.steps.append(Step(text=text, error=error, agent=agent))

    def reply(self, step: Step) -> None:
        """Note what the model replied."""
        self.steps.append(replace(step, seconds=_since(self._asked_at)))
        self._asked_at = None

    def fail_step(self, error: TraceError, text: str = "", agent: str | None = None) -> None:
        """Note that asking the model raised something; the run may go on all the same."""
        seconds = _since(self._asked_at)
        self.steps.append(Step(text=text, error=error, seconds=seconds, agent=agent))

    def observe(self, result: Observation) -> None:
        """Note what a tool returned: calls run at once, results stand in the order of the calls."""
        if not self.steps:
            return
        last = self.steps[-1]
        seen = replace(result, seconds=_since(self._called_at.pop(result.call_id or "", None)))
        order = {call.id: at for at, call in reversed(list(enumerate(last.calls)))}
        results = sorted(
            (*last.observations, seen), key=lambda one: order.get(one.call_id, len(order))
        )
        self.steps[-1] = replace(last, observations=results)

    def answer(self, text: str, reason: str | None = None) -> None:
        """Note the answer, and why the run ended, if it is none of the last step's."""
        self._seconds = _since(self._start)
        self._answer, self._reason = text, reason or StopReason.FINAL_ANSWER.value

    def fail(self, error: TraceError | None) -> None:
        """Note what the run raised, or that somebody cancelled it, which is no error."""
        self._seconds = _since(self._start)
        self._error = error
        if error is None:
            self._reason = StopReason.CANCELLED.value

    def trace(self) -> Trace:
        """Return the run as a trace."""
        trace = Trace(
            self.steps,
            question=self.question,
            answer=self._answer,
            reason=self._reason,
            limits=self.limits,
            error=self._error,
            framework=self._framework,
            seconds=self._seconds,
            id=self.id,
            tools=self._tools,
            metadata=self._metadata | cap_note(step.text for step in self.steps),
        )
        # What an error means, or an answer that is none of the model's, is said once for all hosts.
        if self._error is None and self._reason != StopReason.FINAL_ANSWER.value:
            return trace
        stop = stop_of(trace).reason
        return trace if stop in _UNCLEAR else trace.with_reason(stop.value)


def turn_of(text: str, calls: Sequence[TraceCall], *, native: bool, refused: bool = False) -> Turn:
    r"""Read what a reply asks for: a text with headers as such, unless its calls are native.

    >>> turn_of("Thought: I know.\nAnswer: Norway", [], native=False).thought
    'I know.'
    """
    head = text[:MOST_READ]
    if not native and _HEADER.search(head) and (calls or refused or "Answer:" in head):
        return read_response(head, protocol="text")
    return read_response(head, calls=[{"name": c.name, "args": c.arguments} for c in calls])


def as_data(value: object) -> Any:
    """Return a copy as JSON: arguments of a tool may be anything, and tools may change them.

    >>> as_data({"a": (1, 2)})
    {'a': [1, 2]}
    """
    try:
        return json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _since(start: float | None) -> float | None:
    return None if start is None else perf_counter() - start
