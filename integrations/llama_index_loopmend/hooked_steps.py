"""An agent class with step hooks: how they are asked before a step and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Union

from llama_index.core.agent.react.types import ResponseReasoningStep
from llama_index.core.agent.workflow import AgentInput, AgentOutput, ToolCall
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.workflow import Context, StopEvent, step
from pydantic import BaseModel, Field
from typing_extensions import override

from llama_index_loopmend.hooks.loops import LoopGuardHook
from llama_index_loopmend.hooks.normalization import NormalizationHook
from llama_index_loopmend.hooks.planner import PlannerStepHook
from llama_index_loopmend.hooks.protocol import (
    Accept,
    Answer,
    AskAgain,
    HandOver,
    Proceed,
    StepHook,
)
from llama_index_loopmend.mending import decoding_arguments
from llama_index_loopmend.messages import (
    calling,
    chat_messages,
    core_messages,
    scratchpad_of,
    selection,
    told,
)
from llama_index_loopmend.parsers import reading
from llama_index_loopmend.steps import (
    COUNT,
    ENDED,
    HANDOFF,
    OWN_WORDS,
    PLAN,
    REFUSED,
    UNKEPT,
    AgentStep,
)
from llama_index_loopmend.structured_llms import with_parsing_retry
from loopmend import StopReason
from loopmend.mending import constrained

if TYPE_CHECKING:
    _Agent = BaseWorkflowAgent
else:
    _Agent = object

__all__ = ["HookedSteps", "default_hooks", "ending"]

Parsed = Union[StopEvent, AgentInput, ToolCall, None]
"""What LlamaIndex goes on with after an output."""
Decision = Union[AgentOutput, AskAgain, Answer]

_UNSAID: Final = (StopReason.BLOCKED, StopReason.PARSE_FAIL)
_MAY_SAY: Final = {
    "before": (Proceed, Answer, HandOver),
    "after": (Accept, AskAgain, Answer),
    "failed": (AskAgain, Answer),
}
_MOST_ASKED: Final = 10  # times in a step, whatever hooks say


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
            output = await _taken(now, super().take_step)  # type: ignore[safe-super] # the agent's
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


async def _taken(now: AgentStep, take: Any) -> AgentOutput:
    """Take a step as the hooks say."""
    notes: list[str] = []
    decision: Any = await _before(now, notes)
    if isinstance(decision, AskAgain):
        native = now.form == "native"
        messages = told(now.messages, notes, apart=not native) if notes else now.messages
        decision = await _asked(now, decision, messages, take)
    if isinstance(decision, Answer):
        return await _answer(now, decision)
    if isinstance(decision, HandOver):
        return await _hand_over(now, decision)
    return decision  # type: ignore[no-any-return] # an output


async def _before(now: AgentStep, notes: list[str]) -> AskAgain | Answer | HandOver:
    """Return what the hooks want to be done: what to ask at first, if nothing else.

    It adds to `notes` what they tell the model, in the system's name.
    """
    schema = None
    for hook in now.agent.hooks:
        said = await hook.before(now)
        if isinstance(said, Proceed):
            notes += said.notes
            schema = said.schema or schema
        elif said is not None:
            return _checked(hook, "before", said)  # type: ignore[no-any-return]
    return AskAgain(schema=schema)


async def _asked(
    now: AgentStep, ask: AskAgain, messages: list[ChatMessage], take: Any
) -> AgentOutput | Answer:
    """Ask the model until the hooks are content with a reply."""
    shown: list[Any] = []
    heard = False
    decision: Decision | None
    token = reading.set(now.reading)
    try:
        for _ in range(_MOST_ASKED):
            now.decoded = ask.schema is not None
            # Where the agent keeps no scratchpad, what is added stands beside the question.
            beside = [*messages, *(shown if now.pad.key is None else ())]
            asked: Awaitable[AgentOutput] = (
                take(now.ctx, beside, now.tools, now.memory)
                if not now.decoded
                else _decoded(now, messages, ask)
            )
            try:
                output = await asked
            except BaseException as error:
                decision = _failed(now, error)
                if decision is None:
                    raise
            else:
                heard = True
                for hook in now.agent.hooks:
                    hook.heard(now, output)
                decision = await _judged(now, output, shown)
            if not isinstance(decision, AskAgain):
                return decision
            ask = decision
            shown = now.pad.again(ask.messages)
            await now.put([*now.held, *shown])
    except BaseException:
        # What was asked, refused or not, is no part of the run.
        if shown or heard:
            await now.put(now.held)
        raise
    finally:
        reading.reset(token)
    msg = f"hooks asked the model {_MOST_ASKED} times in one step"
    raise RuntimeError(msg)


async def _decoded(now: AgentStep, messages: list[ChatMessage], ask: AskAgain) -> AgentOutput:
    """Ask the model without its agent; nothing is noted in the scratchpad."""
    whole = [*core_messages(messages), *now.pad.core(now.held), *ask.messages]
    asked = chat_messages(constrained(whole, now.toolbox))
    now.ctx.write_event_to_stream(AgentInput(input=asked, current_agent_name=now.agent_name))
    llm = now.agent.llm
    response = await llm.achat(asked, **decoding_arguments(llm, ask.schema or {}) or {})
    raw = response.raw.model_dump() if isinstance(response.raw, BaseModel) else response.raw
    return AgentOutput(response=response.message, raw=raw, current_agent_name=now.agent_name)


def _failed(now: AgentStep, error: BaseException) -> AskAgain | Answer | None:
    """Return what the first hook wants to be done about an exception; all are told of it."""
    told = [(hook, hook.failed(now, error)) for hook in now.agent.hooks]
    said = [_checked(hook, "failed", each) for hook, each in told if each]
    return said[0] if said else None


async def _judged(now: AgentStep, output: AgentOutput, shown: list[Any]) -> Decision:
    """Return what the hooks make of a reply."""
    entries = None
    for hook in reversed(now.agent.hooks):
        said = await hook.after(now, output)
        if isinstance(said, Accept):
            if said.output is not None:
                output = said.output
                entries = now.pad.entries(output, said.thought)
        elif said is not None:
            return _checked(hook, "after", said)  # type: ignore[no-any-return]
    if entries is not None:
        await _noted(now, output, entries)
    elif shown and now.pad.key is not None:
        noted = list(await now.ctx.store.get(now.pad.key, default=[]))
        await now.put([*now.held, *noted[len(now.held) + len(shown) :]])
    return output


async def _noted(now: AgentStep, output: AgentOutput, entries: list[Any]) -> AgentOutput:
    """Let the agent know of an output that it did not make itself."""
    await now.put([*now.held, *entries])
    if now.pad.key is None:
        output[UNKEPT] = True
    return output


async def _answer(now: AgentStep, answer: Answer) -> AgentOutput:
    """Answer in the model's place, and let the agent know, so that it writes it to memory."""
    await now.count_answer()
    said = ChatMessage(role=MessageRole.ASSISTANT, content=answer.text)
    output = AgentOutput(response=said, current_agent_name=now.agent_name)
    output[ENDED] = answer.reason.value
    if answer.reason in _UNSAID:
        output[OWN_WORDS] = True
    return await _noted(now, output, now.pad.entries(output, ""))


async def _hand_over(now: AgentStep, over: HandOver) -> AgentOutput:
    """Hand over with LlamaIndex's own tool, as if the model had asked for it."""
    if over.to not in now.roster:
        msg = f"`{now.agent_name}` may not hand over to {over.to!r}"
        raise ValueError(msg)
    call = selection(HANDOFF, {"to_agent": over.to, "reason": over.reason})
    said = calling(f"Handing over to {over.to}.", [call])
    output = AgentOutput(response=said, tool_calls=[call], current_agent_name=now.agent_name)
    await now.put([*now.held, *now.pad.entries(output, over.reason)])
    return output


def _checked(hook: StepHook, method: str, said: Any) -> Any:
    """Return what a hook says, if it is of a kind that it may be."""
    if isinstance(said, _MAY_SAY[method]):
        return said
    known = ", ".join(kind.__name__ for kind in _MAY_SAY[method])
    name = f"{type(hook).__name__}.{method}"
    msg = f"`{name}` must return {known} or None, not {type(said).__name__}"
    raise TypeError(msg)
