"""A hook that records what a model says about its own progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from llama_index.core.agent.workflow import AgentOutput
from typing_extensions import override

from llama_index_loopmend.events import MetaSignalEvent
from llama_index_loopmend.hooks.protocol import Accept, After, Answer, StepHook
from llama_index_loopmend.steps import AgentStep
from loopmend import StopReason
from loopmend.adapting import read_signal
from loopmend.contracts import MetaSignal, Stuck, Yield, to_data

__all__ = ["MetaSignalHook", "OnSignal"]

OnSignal = Callable[[MetaSignal, AgentOutput], "AgentOutput | None"]
"""Called with a signal and the output that holds it; may return another output."""

_ENDS: Final = {Stuck: StopReason.STUCK, Yield: StopReason.YIELDED}


class MetaSignalHook(StepHook):
    """Records whether the model answers, doubts, is stuck, yields or thinks aloud.

    A model that is stuck or yields ends the run: the hook drops the calls next to that signal. Next
    to calls only explicit tags count, because phrases are too weak. Each signal streams a
    `MetaSignalEvent`.

    >>> MetaSignalHook(end=False).acts
    True
    """

    def __init__(self, *, end: bool = True, on_signal: OnSignal | None = None) -> None:
        """Set what to do about signals.

        Args:
            end: Whether a reply that is stuck or yields ends the run despite its calls.
            on_signal: Called with each signal and the output; may return another output.
        """
        self._end = end
        self._on_signal = on_signal

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Record a signal."""
        text = output.response.content or ""
        signal = read_signal(text, phrases=not output.tool_calls) if text else None
        if signal is None:
            return None
        event = MetaSignalEvent(signal=to_data(signal), current_agent_name=step.agent_name)
        step.ctx.write_event_to_stream(event)
        chosen = self._on_signal(signal, output) if self._on_signal is not None else None
        if chosen is not None:
            return Accept(chosen)
        reason = _ENDS.get(type(signal))
        if self._end and output.tool_calls and reason is not None:
            return Answer(text, reason)
        return None
