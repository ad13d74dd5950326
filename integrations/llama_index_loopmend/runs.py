"""What LlamaIndex's events mean for the trace of a run, and nothing else.

The events are snapshots the moment they are seen: the objects go on to be changed by the
workflow, which strips "Thought: … Answer:" from the last output and adds calls to it.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any, Final

from llama_index.core.agent.workflow import AgentOutput, AgentSetup, ToolCall, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ThinkingBlock, ToolCallBlock
from typing_extensions import override
from workflows.errors import WorkflowCancelledByUser, WorkflowRuntimeError, WorkflowTimeoutError
from workflows.events import StopEvent

from llama_index_loopmend.messages import question_of
from llama_index_loopmend.steps import ENDED, PLAN, REFUSED
from loopmend.adapting import LiveRun, as_data, finish_of, tokens_of, turn_of
from loopmend.traces import Observation, Step, StopReason, TraceCall, TraceError

__all__ = ["Run"]

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


class Run(LiveRun):
    """A run that is going on, told by LlamaIndex's events.

    >>> run = Run("run-1")
    >>> run.see(StopEvent(result="Oslo"))
    >>> run.trace().answer, run.trace().reason
    ('Oslo', 'final_answer')
    """

    @override
    def __init__(self, id: str, **known: Any) -> None:
        super().__init__(id, "llama_index", **known)
        self._generated = False
        self._ended_by: str | None = None
        self._failed_in: str | None = None

    def see(self, event: object) -> None:
        """Take in an event; one that says nothing about the run is passed over."""
        if isinstance(event, AgentSetup):
            self.ask()
            self.question = self.question or question_of(event.input) or None
        elif isinstance(event, AgentOutput):
            self._says(event)
        elif isinstance(event, ToolCall):
            self.call(event.tool_id)
        elif isinstance(event, ToolCallResult):
            output, name, id = event.tool_output, event.tool_name, event.tool_id
            self.observe(Observation(str(output.content), name, id, output.is_error))
        elif isinstance(event, StopEvent):
            self._answers(event.result)

    def stopped_with(self, result: object) -> None:
        """Take in the output that the run stops with, which may be a last call of the model.

        That call, made when the cap is reached, shows as an output that the last step cannot
        have led to: the step wants something else, or says something else.
        """
        if isinstance(result, AgentOutput) and self.steps:
            last = self.steps[-1]
            said = str(result).strip() in last.text
            self._generated = bool(last.calls) or last.error is not None or not said

    def step_failed(self, error: BaseException, step: str | None) -> None:
        """Take in what a step of the workflow raised; the run may go on if it is tried again."""
        told = _told(error, step)
        # An error of a tool may come from another run.
        refused = list(vars(error).get(REFUSED, ()) if step == _ASKING else ())
        # What the last one says is what the error is about, where that is ours.
        last = refused.pop() if refused and told.kind == _OURS else {}
        for each in refused:
            self.refuse(**each)
        if isinstance(error, _CANCELS):
            return
        self._failed_in = step
        if told.origin in ("model", "parser"):
            self.fail_step(told, last.get("text", ""), last.get("agent"))

    def failed(self, error: BaseException) -> None:
        """Take in what the run raised."""
        told = None if isinstance(error, _CANCELS) else _told(error, self._failed_in)
        cap = None if told is None else _CAP.search(told.message)
        if cap is not None:
            self.limits = replace(self.limits, max_iterations=int(cap[1]))
        self.fail(told)

    def _says(self, output: AgentOutput) -> None:
        for each in output.get(REFUSED) or ():
            self.refuse(**each)
        if (plan := output.get(PLAN)) is not None:
            self.plan(plan)
        # A planned agent says why it, and not the model, ended the run.
        self._ended_by = output.get(ENDED)
        self.reply(_step(output))

    def _answers(self, result: object) -> None:
        shaped = getattr(result, "structured_response", None)
        if shaped is not None:
            self.note("structured_response", shaped)
        if self._generated:  # the cap was reached and the model was made to answer
            self.note("early_stopping", "generate")
            self.answer(str(result), StopReason.MAX_ITERATIONS.value)
            return
        self.answer(str(result), self._ended_by)
        if self.steps:
            self.steps[-1] = replace(self.steps[-1], answer=str(result))


def _told(error: BaseException, step: str | None) -> TraceError:
    kind = type(error).__name__
    origin = _ORIGINS.get(step or "", "host")
    if isinstance(error, _HOST_ERRORS):
        origin = "host"
    elif origin == "model" and "Pars" in kind:
        origin = "parser"
    return TraceError(kind, str(error), origin)


def _step(output: AgentOutput) -> Step:
    message, retried, raw = output.response, output.retry_messages, output.raw
    text = message.content or ""
    # At the end of a run LlamaIndex lists results among the calls.
    made = [call for call in output.tool_calls if not isinstance(call, ToolCallResult)]
    calls = [TraceCall(c.tool_name, as_data(c.tool_kwargs), c.tool_id) for c in made]
    native = any(isinstance(block, ToolCallBlock) for block in message.blocks)
    turn = turn_of(text, calls, native=native, refused=bool(retried))
    return Step(
        text=text,
        thought=turn.thought or _thinking(message),
        calls=calls,
        turn=turn,
        error=TraceError("Retry", retried[-1].content or "", "parser") if retried else None,
        tokens=None if raw is None else tokens_of(raw),
        agent=output.current_agent_name,
        finish=None if raw is None else finish_of(raw),
    )


def _thinking(message: ChatMessage) -> str | None:
    thought = [b.content for b in message.blocks if isinstance(b, ThinkingBlock) and b.content]
    return "\n".join(thought) or None
