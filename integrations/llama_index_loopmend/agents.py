"""Agents with step hooks: yours with `with_hooks`, LlamaIndex's own classes, and a workflow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from llama_index.core.agent.workflow import (
    AgentOutput,
    AgentWorkflow,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
)
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.workflow import Context, Workflow, step
from pydantic import model_validator
from typing_extensions import Self, override

from llama_index_loopmend.hooked_steps import HookedSteps, Parsed, default_hooks, ending
from llama_index_loopmend.hooks.normalization import NormalizationHook
from llama_index_loopmend.hooks.protocol import StepHook
from llama_index_loopmend.parsers import TolerantReActOutputParser

__all__ = [
    "PlannedAgentWorkflow",
    "PlannedCodeActAgent",
    "PlannedFunctionAgent",
    "PlannedReActAgent",
    "with_hooks",
]

AgentT = TypeVar("AgentT", bound=BaseWorkflowAgent)
_PARSER = "output_parser"


def _adapt(agent: Any) -> None:
    """Give a ReAct agent our parser if its replies are mended and it has none of somebody's own."""
    mended = any(isinstance(hook, NormalizationHook) for hook in agent.hooks)
    given = _PARSER in agent.model_fields_set
    if mended and _PARSER in type(agent).model_fields and not given:
        agent.output_parser = TolerantReActOutputParser()


class PlannedReActAgent(HookedSteps, ReActAgent):
    """A `ReActAgent` with planned steps, guarded loops and mended replies.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> agent = PlannedReActAgent(llm=ScriptedLLM(script=[]), hooks=[NormalizationHook()])
    >>> agent.output_parser.__class__.__name__
    'TolerantReActOutputParser'
    """

    @model_validator(mode="after")
    def _adapted(self) -> Self:
        _adapt(self)
        return self


class PlannedFunctionAgent(HookedSteps, FunctionAgent):
    """A `FunctionAgent` with planned steps, guarded loops and mended replies.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> len(PlannedFunctionAgent(llm=ScriptedLLM(script=[])).hooks)
    3
    """


class PlannedCodeActAgent(HookedSteps, CodeActAgent):  # type: ignore[misc] # wider tools
    """A `CodeActAgent` with planned steps, guarded loops and mended replies.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> def execute(code: str) -> str:
    ...     return "run it in a sandbox of yours"
    >>> agent = PlannedCodeActAgent(code_execute_fn=execute, llm=ScriptedLLM(script=[]))
    >>> len(agent.hooks)
    3
    """

    def __init__(self, *given: Any, hooks: Sequence[StepHook] | None = None, **named: Any) -> None:
        """Make the agent; everything except `hooks` goes to `CodeActAgent`."""
        super().__init__(*given, **named)
        if hooks is not None:
            self.hooks = list(hooks)


@lru_cache(maxsize=256)
def _hooked(kind: Any) -> Any:
    """Return a class of agents with hooks for a class of agents."""

    class Hooked(HookedSteps, kind):  # type: ignore[misc] # known only now
        pass

    Hooked.__name__ = Hooked.__qualname__ = f"Hooked{kind.__name__}"
    Hooked.__doc__ = kind.__doc__
    return Hooked


def with_hooks(agent: AgentT, hooks: Sequence[StepHook] | None = None) -> AgentT:
    """Return an agent that works like yours, with step hooks.

    It has your agent's class and attributes; your agent stays as it is.

    Args:
        agent: Any LlamaIndex agent.
        hooks: The hooks to run before and after each step; by default those of a planned agent.

    Raises:
        TypeError: `agent` is not a LlamaIndex agent, or something is not a hook.
        ValueError: It already has hooks.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> clerk = FunctionAgent(name="clerk", llm=ScriptedLLM(script=[]))
    >>> hooked = with_hooks(clerk, [NormalizationHook()])
    >>> isinstance(hooked, FunctionAgent), hooked.name
    (True, 'clerk')
    """
    given: object = agent
    if not isinstance(given, BaseWorkflowAgent):
        msg = f"`agent` must be a LlamaIndex agent, not {type(given).__name__}"
        raise TypeError(msg)
    if isinstance(agent, HookedSteps):
        msg = f"`{agent.name}` already has hooks"
        raise ValueError(msg)  # noqa: TRY004 - it is of the right type, but not twice
    asked: object = hooks
    if isinstance(asked, StepHook):
        msg = "`hooks` must be a list of step hooks: with_hooks(agent, [hook])"
        raise TypeError(msg)
    chosen = default_hooks() if hooks is None else list(hooks)
    for each in map(type, chosen):
        if not issubclass(each, StepHook):
            msg = f"`hooks` must hold step hooks, not {each.__name__}"
            raise TypeError(msg)
    made: Any = agent.model_copy()
    made.__class__ = _hooked(type(agent))
    made.hooks = chosen
    formatter = getattr(agent, "formatter", None)
    if formatter is not None:  # whoever changes its prompts must not change yours
        made.formatter = formatter.model_copy()
    _adapt(made)
    # Kept in private by LlamaIndex, and nowhere else; the rest is for each workflow to make.
    private = ("timeout", "verbose", "num_concurrent_runs")
    options: dict[str, Any] = {name: getattr(agent, f"_{name}", None) for name in private}
    Workflow.__init__(made, **options)
    return made  # type: ignore[no-any-return] # of the agent's class


class PlannedAgentWorkflow(AgentWorkflow):
    """An `AgentWorkflow` that adds step hooks to all its agents.

    It does not change the agents that you pass; an agent with hooks of its own keeps them.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> clerk = FunctionAgent(name="clerk", llm=ScriptedLLM(script=[]))
    >>> len(PlannedAgentWorkflow(agents=[clerk]).agents["clerk"].hooks)
    3
    """

    def __init__(
        self,
        agents: list[BaseWorkflowAgent],
        *given: Any,
        hooks: Sequence[StepHook] | None = None,
        **named: Any,
    ) -> None:
        """Make the workflow; everything except `hooks` is as for `AgentWorkflow`."""
        self.hooks = default_hooks() if hooks is None else list(hooks)
        hooked = [
            agent if isinstance(agent, HookedSteps) else with_hooks(agent, self.hooks)
            for agent in agents
        ]
        super().__init__(hooked, *given, **named)

    @step
    @override
    async def parse_agent_output(self, ctx: Context, ev: AgentOutput) -> Parsed:
        """Go on from an output; if a hook blocked the step, its answer is final."""
        with ending(ev, self.agents[ev.current_agent_name], self) as like:
            return await super(PlannedAgentWorkflow, like).parse_agent_output(ctx, ev)  # type: ignore[no-any-return]
