"""A workflow of several agents, all of whose steps are planned."""

from __future__ import annotations

from typing import Any

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.workflow import Context, StopEvent, step
from typing_extensions import override

from llama_index_loopmend.agents import PlannedAgent, PlannedSteps, with_planner
from llama_index_loopmend.caps import Parsed, in_time, remembered
from llama_index_loopmend.hook import PlannerStepHook

__all__ = ["PlannedAgentWorkflow"]


class PlannedAgentWorkflow(AgentWorkflow):
    """An `AgentWorkflow` that plans the steps of all its agents, and hands over when asked to.

    The agents that are given are left as they are; one that has a hook of its own keeps it.

    >>> from llama_index.core.agent.workflow import FunctionAgent
    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> clerk = FunctionAgent(name="clerk", llm=ScriptedLLM(script=[]))
    >>> PlannedAgentWorkflow(agents=[clerk]).agents["clerk"].inner is clerk
    True
    """

    def __init__(
        self,
        agents: list[BaseWorkflowAgent],
        *given: Any,
        step_hook: PlannerStepHook | None = None,
        **named: Any,
    ) -> None:
        """Make the workflow; all but `step_hook` is as for `AgentWorkflow`."""
        self.step_hook = step_hook or PlannerStepHook()
        planned: list[BaseWorkflowAgent] = [
            agent if isinstance(agent, PlannedSteps) else with_planner(agent, self.step_hook)
            for agent in agents
        ]
        super().__init__(planned, *given, **named)

    @step
    @override
    async def parse_agent_output(self, ctx: Context, ev: AgentOutput) -> Parsed:
        """Go on from an output; an answer counts also in the last iteration."""
        if ev.tool_calls:
            return await super().parse_agent_output(ctx, ev)  # type: ignore[no-any-return]
        async with in_time(ctx, ev, self.step_hook):
            done: Parsed = await super().parse_agent_output(ctx, ev)
        return done

    @override
    async def _generate_early_stopping_response(
        self, ctx: Context, ev: AgentOutput, max_iterations: int
    ) -> StopEvent:
        agent = self.agents[ev.current_agent_name]
        taker = agent.inner if isinstance(agent, PlannedAgent) else agent
        await remembered(taker, ctx, self.step_hook)
        return await super()._generate_early_stopping_response(ctx, ev, max_iterations)
