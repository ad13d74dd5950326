"""An agent class whose steps are taken as hooks want it, and how it ends its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Union

from llama_index.core.agent.react.types import ResponseReasoningStep
from llama_index.core.agent.workflow import AgentInput, AgentOutput, ToolCall
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context, StopEvent, step
from pydantic import Field
from typing_extensions import override

from llama_index_loopmend.hooks.loops import LoopGuardHook
from llama_index_loopmend.hooks.normalization import NormalizationHook
from llama_index_loopmend.hooks.planner import PlannerStepHook
from llama_index_loopmend.hooks.protocol import StepHook
from llama_index_loopmend.messages import scratchpad_of
from llama_index_loopmend.step_exchanges import StepExchange
from llama_index_loopmend.steps import COUNT, OWN_WORDS, PLAN, REFUSED, UNKEPT, AgentStep
from llama_index_loopmend.structured_llms import with_parsing_retry

if TYPE_CHECKING:
    _Agent = BaseWorkflowAgent
else:
    _Agent = object

__all__ = ["HookedSteps", "default_hooks", "ending"]

Parsed = Union[StopEvent, AgentInput, ToolCall, None]
"""What LlamaIndex goes on with after an output."""


def default_hooks() -> list[StepHook]:
    """Return the hooks of a planned agent: plan, guard against loops, mend.

    >>> [type(hook).__name__ for hook in default_hooks()]
    ['PlannerStepHook', 'LoopGuardHook', 'NormalizationHook']
    """
    return [PlannerStepHook(), LoopGuardHook(), NormalizationHook()]


class HookedSteps(_Agent):
    """What gives an agent class step hooks; `with_hooks` puts it before the class of yours.

    >>> from llama_index.core.agent.workflow import FunctionAgent
    >>> class MyAgent(HookedSteps, FunctionAgent):
    ...     pass
    >>> MyAgent.model_fields["hooks"].exclude
    True
    """

    hooks: list[StepHook] = Field(default_factory=default_hooks, exclude=True)
    """Asked before and after each step."""

    @override
    async def take_step(
        self,
        ctx: AgentContext,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Take a step as the hooks say."""
        stored = dict((await ctx.store.get_state()).items())
        now = AgentStep(self, ctx, llm_input, tools, memory, stored)
        if stored.get(COUNT) == 0:
            await now.begin()
        try:
            output = await StepExchange(now, super().take_step).output()  # type: ignore[safe-super]
        except BaseException as error:
            if now.refused:
                vars(error)[REFUSED] = now.refused  # some do not let themselves be assigned to
            raise
        finally:
            await now.remember()
        for name, value in ((REFUSED, now.refused), (PLAN, now.local.get(PLAN))):
            if value:
                output[name] = value
        return output

    @override
    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Finish with the parsed answer, and leave nothing behind."""
        acts = any(hook.acts for hook in self.hooks)
        pad = scratchpad_of(self)
        key, react = pad.key or "", acts and pad.form == "react"
        held = list(await ctx.store.get(key, default=[])) if react else []
        done = await super().finalize(ctx, output, memory)  # type: ignore[safe-super] # as above
        last = held[-1] if held else None
        if isinstance(last, ResponseReasoningStep):
            # LlamaIndex takes what follows the first "Answer:", whatever its parser found.
            said = [block for block in done.response.blocks if not isinstance(block, TextBlock)]
            done.response.blocks = [TextBlock(text=last.response), *said]
        elif held and await ctx.store.get(key, default=[]):
            # Without this the specialist is not told of a handover, and the next run is.
            await memory.aput_messages(pad.messages(held))
            await ctx.store.set(key, [])
        if output.get(UNKEPT):
            kept = await memory.aget_all()  # who knows what another's agent does
            if not kept or kept[-1].content != done.response.content:
                await memory.aput(done.response)
        return done

    @step
    @override
    async def parse_agent_output(self, ctx: Context, ev: AgentOutput) -> Parsed:
        """Go on from an output; what a hook blocked is final and asks nobody."""
        if ev.tool_calls:  # it goes on, as after most steps
            parsed: Parsed = await super().parse_agent_output(ctx, ev)
            return parsed
        with ending(ev, self) as like:
            return await super(HookedSteps, like).parse_agent_output(ctx, ev)  # type: ignore[no-any-return]


@contextmanager
def ending(output: AgentOutput, agent: Any, workflow: Any = None) -> Iterator[Any]:
    """Yield who ends a run: like the agent or its workflow, but for what fills in a schema.

    A model that gives no value of the schema may try again. What loopmend wrote in the model's
    place is no answer: nobody is asked to structure it.
    """
    own = workflow or agent
    # The workflow's schema comes first.
    own = own if own.output_cls or own.structured_output_fn else agent
    wanted = {"output_cls": own.output_cls, "structured_output_fn": own.structured_output_fn}
    mends: Any = next((hook for hook in agent.hooks if isinstance(hook, NormalizationHook)), None)
    is_ours = output.get(OWN_WORDS)
    if not any(wanted.values()) or not (mends or is_ours):
        yield workflow or agent
        return
    llm: Any = None
    if is_ours:
        wanted = dict.fromkeys(wanted)
    else:
        retries, constrain = mends.policy.max_retries, mends.policy.constrain
        llm = with_parsing_retry(agent.llm, max_retries=retries, constrain=constrain)
    like = agent.model_copy(update={**wanted, "llm": llm or agent.llm})
    if workflow is not None:
        agents, like = {**workflow.agents, agent.name: like}, copy(workflow)
        # Older workflows do not look at what their agents want.
        vars(like).update(wanted, agents=agents)
    try:
        yield like
    finally:
        error = getattr(llm, "failed", None)
        if error is not None and mends.on_failure == "raise":
            raise error
