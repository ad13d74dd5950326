"""Planned agents: LlamaIndex's own with a step hook, and a way to give one to any agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import (
    AgentOutput,
    CodeActAgent,
    FunctionAgent,
    ReActAgent,
    ToolCallResult,
)
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context, StopEvent, step
from pydantic import Field, model_validator
from typing_extensions import Self, override

from llama_index_loopmend.caps import Parsed, in_time, remembered
from llama_index_loopmend.hook import PlannerStepHook
from llama_index_loopmend.parsers import TolerantReActOutputParser

if TYPE_CHECKING:
    _Agent = BaseWorkflowAgent
else:
    _Agent = object

__all__ = [
    "PlannedAgent",
    "PlannedCodeActAgent",
    "PlannedFunctionAgent",
    "PlannedReActAgent",
    "PlannedSteps",
    "with_planner",
]

_BASE_FIELDS = tuple(BaseWorkflowAgent.model_fields)


class PlannedSteps(_Agent):
    """What a planned agent does otherwise: a mixin for agent classes, with a field `step_hook`.

    >>> class MyAgent(PlannedSteps, FunctionAgent):
    ...     step_hook: PlannerStepHook = Field(default_factory=PlannerStepHook, exclude=True)
    >>> MyAgent.model_fields["step_hook"].exclude
    True
    """

    if TYPE_CHECKING:
        step_hook: PlannerStepHook

    @override
    async def take_step(
        self,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Take a step that the hook plans, acts on and mends."""
        take = super().take_step  # type: ignore[safe-super] # the agent class comes next
        return await self.step_hook.take_step(self, take, ctx, llm_input, tools, memory)

    @override
    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Finish with the answer that was parsed, and leave nothing behind."""
        return await self.step_hook.finalize(
            self,
            super().finalize,  # type: ignore[safe-super] # the agent class comes next
            ctx,
            output,
            memory,
        )

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
        self, ctx: Context, max_iterations: int
    ) -> StopEvent:
        await remembered(self._taker, ctx, self.step_hook)
        return await super()._generate_early_stopping_response(ctx, max_iterations)

    @property
    def _taker(self) -> BaseWorkflowAgent:
        """The agent that really takes the steps."""
        return self


class PlannedReActAgent(PlannedSteps, ReActAgent):
    """A `ReActAgent` whose steps are planned and whose replies are mended.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> agent = PlannedReActAgent(llm=ScriptedLLM(script=[]), step_hook=PlannerStepHook())
    >>> agent.output_parser.__class__.__name__
    'TolerantReActOutputParser'
    """

    step_hook: PlannerStepHook = Field(default_factory=PlannerStepHook, exclude=True)
    """Plans the steps."""
    output_parser: ReActOutputParser = Field(default_factory=TolerantReActOutputParser)
    """Reads the replies; one of your own has the say."""

    @model_validator(mode="after")
    def _choose_parser(self) -> Self:
        """Read as LlamaIndex does where nothing is to be changed."""
        if "output_parser" not in self.model_fields_set:
            tolerant = self.step_hook.acts and self.step_hook.mends.tolerant_reading
            self.output_parser = TolerantReActOutputParser() if tolerant else ReActOutputParser()
        return self


class PlannedFunctionAgent(PlannedSteps, FunctionAgent):
    """A `FunctionAgent` whose steps are planned and whose replies are mended.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> PlannedFunctionAgent(llm=ScriptedLLM(script=[])).step_hook.mode
    'enforce'
    """

    step_hook: PlannerStepHook = Field(default_factory=PlannerStepHook, exclude=True)
    """Plans the steps."""


class PlannedCodeActAgent(PlannedSteps, CodeActAgent):  # type: ignore[misc] # wider tools
    """A `CodeActAgent` whose steps are planned and whose replies are mended.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> def execute(code: str) -> str:
    ...     return "run it in a sandbox of yours"
    >>> agent = PlannedCodeActAgent(code_execute_fn=execute, llm=ScriptedLLM(script=[]))
    >>> agent.step_hook.mode
    'enforce'
    """

    step_hook: PlannerStepHook = Field(default_factory=PlannerStepHook, exclude=True)
    """Plans the steps."""

    def __init__(self, *given: Any, step_hook: PlannerStepHook | None = None, **named: Any) -> None:
        """Make the agent; all but `step_hook` goes to `CodeActAgent`, which knows its own only."""
        super().__init__(*given, **named)
        if step_hook is not None:
            self.step_hook = step_hook


class PlannedAgent(PlannedSteps, BaseWorkflowAgent):
    """Any agent with a step hook, made by `with_planner`; the agent within is left as it is.

    >>> PlannedAgent.model_fields["inner"].exclude
    True
    """

    inner: BaseWorkflowAgent = Field(exclude=True)
    """The agent that takes the steps."""
    step_hook: PlannerStepHook = Field(default_factory=PlannerStepHook, exclude=True)
    """Plans them."""

    @override
    async def take_step(
        self,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Let the agent within take a step that the hook plans."""
        take = self.inner.take_step
        return await self.step_hook.take_step(self.inner, take, ctx, llm_input, tools, memory)

    @override
    async def handle_tool_call_results(
        self, ctx: Context, results: list[ToolCallResult], memory: BaseMemory
    ) -> None:
        """Let the agent within note the results."""
        await self.inner.handle_tool_call_results(ctx, results, memory)

    @override
    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Let the agent within finish, and mend that."""
        return await self.step_hook.finalize(self.inner, self.inner.finalize, ctx, output, memory)

    @override
    async def get_tools(self, input_str: str | None = None) -> Sequence[AsyncBaseTool]:
        """Return the tools of the agent within."""
        return await self.inner.get_tools(input_str)

    @property
    @override
    def _taker(self) -> BaseWorkflowAgent:
        return self.inner

    @override
    def _get_prompts(self) -> PromptDictType:
        return self.inner._get_prompts()  # noqa: SLF001 - it stands for the agent within

    @override
    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        self.inner._update_prompts(prompts_dict)  # noqa: SLF001 - it stands for the agent within


def with_planner(agent: BaseWorkflowAgent, hook: PlannerStepHook | None = None) -> PlannedAgent:
    """Return an agent that works as another does, with its steps planned and its replies mended.

    The agent itself is left as it is, but prompts that are updated later are its own.

    Args:
        agent: Any agent of LlamaIndex's kind.
        hook: Plans the steps.

    Raises:
        TypeError: `agent` is no such agent.
        ValueError: Its steps are planned already.

    >>> from llama_index_loopmend.testing import ScriptedLLM
    >>> with_planner(FunctionAgent(name="clerk", llm=ScriptedLLM(script=[]))).name
    'clerk'
    """
    given: object = agent
    if not isinstance(given, BaseWorkflowAgent):
        msg = f"`agent` must be an agent of LlamaIndex's, not {type(given).__name__}"
        raise TypeError(msg)
    if isinstance(agent, PlannedSteps):
        msg = f"the steps of `{agent.name}` are planned already: it has a `step_hook`"
        raise ValueError(msg)  # noqa: TRY004 - it is of the right type, but not twice
    fields = {name: getattr(agent, name) for name in _BASE_FIELDS}
    # Kept in private by LlamaIndex, and nowhere else.
    timeout, verbose = getattr(agent, "_timeout", None), getattr(agent, "_verbose", False)
    return PlannedAgent(
        inner=agent, step_hook=hook or PlannerStepHook(), timeout=timeout, verbose=verbose, **fields
    )
