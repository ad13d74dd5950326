"""A hook that plans each step without a model, and acts on the plan."""

from __future__ import annotations

from typing import Final

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.output_parsers.base import OutputParserException
from typing_extensions import override

from llama_index_loopmend.events import PlanEvent
from llama_index_loopmend.hooks.normalization import NormalizationHook
from llama_index_loopmend.hooks.protocol import After, Answer, Before, HandOver, Proceed, StepHook
from llama_index_loopmend.hooks.step_mending import issue_of
from llama_index_loopmend.steps import PLAN, AgentStep
from loopmend.adapting import StepPlanner, tokens_of

__all__ = ["PlannerStepHook"]

# How LlamaIndex pauses a step, which is no failure of the provider.
_CONTROL_FLOW: Final = "WaitingForEvent"


class PlannerStepHook(StepPlanner, StepHook):
    """Plans each step of an agent without a model, and acts on the plan.

    Its facts come from the run itself: the roster and its permissions, the tokens that the
    provider reports, the provider's errors, mistakes of the last reply, scores of retrieved
    nodes, tool results, the conversation. No rule fires on an unknown fact. Each plan streams a
    `PlanEvent` and stays in force until a fact changes.

    Callbacks are passed an `AgentStep`. Without `authority`, the workflow's state says who the user
    is; without `inspect_memory`, the blocks of a `Memory` are asked.

    >>> PlannerStepHook(mode="advise", authority="Creator").mode
    'advise'
    """

    @override
    async def before(self, step: AgentStep) -> Before:
        """Plan the step, and act on the plan."""
        planned = await self.plan(step)
        if planned is None:
            return None  # told with the step that it was made for
        wanted = planned.conduct
        if planned.is_news:
            event = step.local[PLAN] = {**planned.data(), "current_agent_name": step.agent_name}
            step.ctx.write_event_to_stream(PlanEvent(**event))
        if wanted.answer is not None:
            return Answer(wanted.answer)
        if wanted.to is not None:
            return HandOver(wanted.to, planned.plan.selected_rationale)
        return Proceed(wanted.notes) if wanted.notes else None

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Look whether the reply broke the protocol, if no other hook has."""
        if not any(isinstance(hook, NormalizationHook) for hook in step.agent.hooks):
            step.notes.note_issue(issue_of(step, output))
        return None

    @override
    def heard(self, step: AgentStep, output: AgentOutput) -> None:
        """Count what a reply cost, as the provider tells it."""
        told = None if output.raw is None else tokens_of(output.raw)
        cost = None if told is None else told.total
        self.count_reply(step, cost, lambda: [*step.seen(), output.response.content or ""])

    @override
    def failed(self, step: AgentStep, error: BaseException) -> None:
        """Tell the breaker: what a parser refuses did arrive, and a pause says nothing."""
        if type(error).__name__ != _CONTROL_FLOW:
            arrived = isinstance(error, OutputParserException)
            self.count_call(step, None if arrived else error)
