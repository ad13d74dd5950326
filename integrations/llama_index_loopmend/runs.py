"""One run of an agent becomes a trace: what LlamaIndex's events mean, and nothing else.

The events are snapshots the moment they are seen: the objects go on to be changed by the
workflow, which strips "Thought: … Answer:" from the last output and adds calls to it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from llama_index.core.agent.workflow import AgentOutput, AgentSetup, ToolCall, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ThinkingBlock, ToolCallBlock
from workflows.errors import WorkflowCancelledByUser, WorkflowRuntimeError, WorkflowTimeoutError
from workflows.events import StopEvent

from llama_index_loopmend.messages import question_of
from llama_index_loopmend.steps import ASKED, ENDED, PLAN, REFUSED
from loopmend.reading.response import read_response
from loopmend.traces.readers.values import finish_of, tokens_of
from loopmend.traces.stop import StopReason, stop_of
from loopmend.traces.trace import Limits, Observation, Step, Trace, TraceCall, TraceError
from loopmend.traces.unread import MOST_READ, cap_note

__all__ = ["Run"]

_HEADER: Final = re.compile(r"^\s*(?:Thought|Action|Answer):", re.MULTILINE)
_CAP: Final = re.compile(r"Max iterations of (\d+) reached")
_ASKING: Final = "run_agent_step"
_ORIGINS: Final = {
    _ASKING: "model",
    "call_tool": "tool",
    "aggregate_tool_results": "tool",
}
_OURS: Final = "NormalizationError"
_HOST_ERRORS: Final = (WorkflowRuntimeError, WorkflowTimeoutError)
_CANCELS: Final = (WorkflowCancelledByUser, asyncio.CancelledError)


class Run:
    """A run that is going on, told by its events.

    >>> run = Run("run-1")
    >>> run.see(StopEvent(result="Oslo"))
    >>> run.trace().answer, run.trace().reason
    ('Oslo', 'final_answer')
    """

    def __init__(  # noqa: PLR0913 - all but one by name
        self,
        id: str,
        *,
        max_iterations: int | None = None,
        question: str | None = None,
        max_seconds: float | None = None,
        tools: Sequence[str] | None = None,
        parent: str | None = None,
    ) -> None:
        self.id = id
        """The run's id."""
        self._limits = Limits(max_iterations, max_seconds)
        self._question = question
        self._tools = tools
        self._start = perf_counter()
        self._seconds: float | None = None
        self._steps: list[Step] = []
        self._asked_at: float | None = None
        self._called_at: dict[str, float] = {}
        self._generated = False
        self._ended_by: str | None = None
        self._failed_in: str | None = None
        self._answer: str | None = None
        self._reason: str | None = None
        self._error: TraceError | None = None
        # The run that a tool of another agent started is part of that agent's run.
        self._metadata: dict[str, Any] = {} if parent is None else {"parent_id": parent}

    def see(self, event: object) -> None:
        """Take in an event; one that says nothing about the run is passed over."""
        if isinstance(event, AgentSetup):
            self._asked_at = perf_counter()
            self._question = self._question or question_of(event.input) or None
        elif isinstance(event, AgentOutput):
            self._says(event)
        elif isinstance(event, ToolCall):
            self._called_at[event.tool_id] = perf_counter()
        elif isinstance(event, ToolCallResult):
            self._observes(event)
        elif isinstance(event, StopEvent):
            self._answers(event.result)

    def stopped_with(self, result: object) -> None:
        """Take in the output that the run stops with, which may be a last call of the model.

        That call, made when the cap is reached, shows as an output that the last step cannot
        have led to: the step wants something else, or says something else.
        """
        if isinstance(result, AgentOutput) and self._steps:
            last = self._steps[-1]
            said = str(result).strip() in last.text
            self._generated = bool(last.calls) or last.error is not None or not said

    def step_failed(self, error: BaseException, step: str | None) -> None:
        """Take in what a step of the workflow raised; the run may go on if it is tried again."""
        told = _told(error, step)
        # An error of a tool may come from another run.
        refused = list(vars(error).get(REFUSED, ()) if step == _ASKING else ())
        # What the last one says is what the error is about, where that is ours.
        last = refused.pop() if refused and told.kind == _OURS else {}
        self._refuse(refused)
        if isinstance(error, _CANCELS):
            return
        self._failed_in = step
        if told.origin in ("model", "parser"):
            text, agent = last.get("text", ""), last.get("agent")
            seconds = self._since(self._asked_at)
            self._steps.append(Step(text=text, error=told, seconds=seconds, agent=agent))

    def failed(self, error: BaseException) -> None:
        """Take in what the run raised."""
        self._seconds = self._since(self._start)
        if isinstance(error, _CANCELS):
            self._reason = StopReason.CANCELLED.value
            return
        self._error = _told(error, self._failed_in)
        cap = _CAP.search(self._error.message)
        if cap is not None:
            self._limits = replace(self._limits, max_iterations=int(cap[1]))

    def cancelled(self) -> None:
        """Take in that somebody cancelled the run, which is no error."""
        self.failed(asyncio.CancelledError())

    def trace(self) -> Trace:
        """Return the run as a trace."""
        trace = Trace(
            self._steps,
            question=self._question,
            answer=self._answer,
            reason=self._reason,
            limits=self._limits,
            error=self._error,
            framework="llama_index",
            seconds=self._seconds,
            id=self.id,
            tools=self._tools,
            metadata=self._metadata | cap_note(step.text for step in self._steps),
        )
        # What an error means for the run is for the core to say, as for all frameworks.
        # So is what an answer means that is none of the model's.
        if self._error is None and self._reason != StopReason.FINAL_ANSWER.value:
            return trace
        stop = stop_of(trace).reason
        unclear = stop in (StopReason.UNKNOWN, StopReason.HOST_ERROR)
        return trace if unclear else trace.with_reason(stop.value)

    def _says(self, output: AgentOutput) -> None:
        agent = output.current_agent_name
        self._refuse([{**each, "agent": agent} for each in output.get(REFUSED) or ()])
        self._question = self._question or output.get(ASKED)
        if (plan := output.get(PLAN)) is not None:
            self._metadata.setdefault("plans", []).append({**plan, "step": len(self._steps)})
        # A planned agent says why it, and not the model, ended the run.
        self._ended_by = output.get(ENDED)
        self._steps.append(_step(output, self._since(self._asked_at)))
        self._asked_at = None

    def _refuse(self, refused: Sequence[dict[str, str]]) -> None:
        """Take in the replies that a planned agent refused within a step."""
        for each in refused:
            error = TraceError("Retry", each["message"], "parser")
            self._steps.append(Step(text=each["text"], error=error, agent=each["agent"]))

    def _observes(self, result: ToolCallResult) -> None:
        if not self._steps:
            return
        output, last = result.tool_output, self._steps[-1]
        seen = Observation(
            str(output.content),
            tool=result.tool_name,
            call_id=result.tool_id,
            failed=output.is_error,
            seconds=self._since(self._called_at.pop(result.tool_id, None)),
        )
        # Calls run at the same time; their results are kept in the order of the calls.
        order = {call.id: at for at, call in reversed(list(enumerate(last.calls)))}
        seen_all = sorted(
            (*last.observations, seen), key=lambda one: order.get(one.call_id, len(order))
        )
        self._steps[-1] = replace(last, observations=seen_all)

    def _answers(self, result: object) -> None:
        self._seconds = self._since(self._start)
        self._answer = str(result)
        shaped = getattr(result, "structured_response", None)
        if shaped is not None:
            self._metadata["structured_response"] = _plain(shaped)
        if self._generated:
            # The cap was reached and the model was made to answer.
            self._reason = StopReason.MAX_ITERATIONS.value
            self._metadata["early_stopping"] = "generate"
            return
        self._reason = self._ended_by or StopReason.FINAL_ANSWER.value
        if self._steps:
            self._steps[-1] = replace(self._steps[-1], answer=self._answer)

    def _since(self, start: float | None) -> float | None:
        return None if start is None else perf_counter() - start


def _told(error: BaseException, step: str | None) -> TraceError:
    kind = type(error).__name__
    origin = _ORIGINS.get(step or "", "host")
    if isinstance(error, _HOST_ERRORS):
        origin = "host"
    elif origin == "model" and "Pars" in kind:
        origin = "parser"
    return TraceError(kind, str(error), origin)


def _step(output: AgentOutput, seconds: float | None) -> Step:
    message = output.response
    text = message.content or ""
    # At the end of a run LlamaIndex lists results among the calls.
    made = [call for call in output.tool_calls if not isinstance(call, ToolCallResult)]
    calls = [TraceCall(c.tool_name, _plain(c.tool_kwargs), c.tool_id) for c in made]
    native = any(isinstance(block, ToolCallBlock) for block in message.blocks)
    retried, raw = output.retry_messages, output.raw
    head = text[:MOST_READ]
    if not native and _HEADER.search(head) and (calls or retried or "Answer:" in head):
        turn = read_response(head, protocol="text")
    else:
        turn = read_response(head, calls=[{"name": c.name, "args": c.arguments} for c in calls])
    return Step(
        text=text,
        thought=turn.thought or _thinking(message),
        calls=calls,
        turn=turn,
        error=TraceError("Retry", retried[-1].content or "", "parser") if retried else None,
        tokens=None if raw is None else tokens_of(raw),
        seconds=seconds,
        agent=output.current_agent_name,
        finish=None if raw is None else finish_of(raw),
    )


def _thinking(message: ChatMessage) -> str | None:
    thought = [b.content for b in message.blocks if isinstance(b, ThinkingBlock) and b.content]
    return "\n".join(thought) or None


def _plain(value: object) -> Any:
    """Return a copy as JSON: arguments of a tool may be anything, and tools may change them."""
    try:
        return json.loads(json.dumps(value, default=str))
    except (TypeError, ValueError, RecursionError):
        return str(value)
