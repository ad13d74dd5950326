"""A hook that plans each step without a model, and acts on the plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Union

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.output_parsers.base import OutputParserException
from typing_extensions import override

from llama_index_loopmend.events import PlanEvent
from llama_index_loopmend.hooks.normalization import NormalizationHook, issue_of
from llama_index_loopmend.hooks.protocol import After, Answer, Before, HandOver, Proceed, StepHook
from llama_index_loopmend.steps import PLAN, AgentStep
from loopmend import AdvisedPlan, Planner
from loopmend.adapting import Match, Mode, StepPlanner, tokens_of
from loopmend.breaker import Breaker
from loopmend.planning import match_specialists

__all__ = ["Compose", "Inspect", "Match", "Observe", "PlannerStepHook"]

Told = Union[str, None]
Inspect = Callable[[AgentStep], Union[Told, Awaitable[Told]]]
"""Looks deeper into memory, and returns what the model should know, or `None`."""
Compose = Callable[[AgentStep, AdvisedPlan], Union[Told, Awaitable[Told]]]
"""Makes a skill or a specialist, and returns what the model should know of it, or `None`."""
Observe = Callable[[AgentStep], Mapping[str, Any]]
"""Returns fields of `TaskStateInput` that the host knows better."""

# How LlamaIndex pauses a step, which is no failure of the provider.
_CONTROL_FLOW: Final = "WaitingForEvent"


class PlannerStepHook(StepHook):
    """Plans each step of an agent without a model, and acts on the plan.

    Its facts come from the run itself: the roster and its permissions, the tokens that the
    provider reports, the provider's errors, mistakes of the last reply, scores of retrieved
    nodes, tool results, the conversation. No rule fires on an unknown fact. Each plan streams a
    `PlanEvent` and stays in force until a fact changes.

    >>> PlannerStepHook(mode="advise", authority="Creator").mode
    'advise'
    """

    def __init__(  # noqa: PLR0913 - all by name, and each has a default
        self,
        *,
        mode: Mode = "enforce",
        hints: bool = False,
        planner: Planner | None = None,
        authority: str | None = None,
        observe: Observe | None = None,
        match: Match = match_specialists,
        breaker: Breaker | Literal[False] | None = None,
        token_budget: int | None = None,
        inspect_memory: Inspect | None = None,
        compose: Compose | None = None,
    ) -> None:
        """Set what the planner may know and do.

        Args:
            mode: `"enforce"` acts on the plan; `"advise"` tells the model what the plan would do;
                `"observe"` changes nothing.
            hints: Whether to tell the model to vary its replies and to win the user back, as
                rules 9 and 10 advise. They guess at the user's taste.
            planner: Your own planner, such as one with your rules.
            authority: Who the user is, such as `"Creator"`; by default `authority` in the
                workflow's state.
            observe: Returns fields of `TaskStateInput` that you know better, such as `intents`,
                `missing_skills` or `decomposition_proposal`.
            match: Finds the specialists that a message addresses, see `embedding_match`.
            breaker: The provider's circuit breaker, if you share one; by default the hook keeps one
                for each model. `False` for none.
            token_budget: How many tokens one turn may use before the hook returns a blocker.
            inspect_memory: Looks deeper into memory; by default the hook asks the blocks of a
                `Memory`.
            compose: Creates a skill or a specialist; by default the event says what is missing.

        Raises:
            TypeError: `token_budget` is not an `int`.
            ValueError: `token_budget` is negative, or the mode is unknown.
        """
        self._plans = StepPlanner(
            planner,
            mode=mode,
            hints=hints,
            authority=authority,
            observe=observe,
            match=match,
            breaker=breaker,
            token_budget=token_budget,
            inspect_memory=inspect_memory,
            compose=compose,
        )
        self.mode: Mode = mode
        """Whether it acts, advises or only looks."""
        self.acts = mode == "enforce"

    @override
    async def before(self, step: AgentStep) -> Before:
        """Plan the step, and act on the plan."""
        planned = await self._plans.plan(step)
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
        self._plans.heard(step, cost, lambda: [*step.seen(), output.response.content or ""])

    @override
    def failed(self, step: AgentStep, error: BaseException) -> None:
        """Tell the breaker: what a parser refuses did arrive, and a pause says nothing."""
        if type(error).__name__ != _CONTROL_FLOW:
            arrived = isinstance(error, OutputParserException)
            self._plans.failed(step, None if arrived else error)
