"""How a step of an agent with hooks is taken: they are asked before it and after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from llama_index.core.agent.workflow import AgentInput, AgentOutput
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from pydantic import BaseModel

from llama_index_loopmend.decoding import decoding_arguments
from llama_index_loopmend.hooks.protocol import (
    Accept,
    Answer,
    AskAgain,
    HandOver,
    Proceed,
    StepHook,
)
from llama_index_loopmend.messages import (
    calling,
    chat_messages,
    core_messages,
    selection,
    told,
)
from llama_index_loopmend.notes import NOTES_KEY, Notes
from llama_index_loopmend.parsers import reading
from llama_index_loopmend.scratchpads import scratchpad_of
from llama_index_loopmend.steps import (
    ASKED,
    CALLS,
    COUNT,
    ENDED,
    HANDOFF,
    OWN_WORDS,
    PLAN,
    REFUSED,
    UNKEPT,
    AgentStep,
)
from loopmend import Message, StopReason
from loopmend.mending import constrained

__all__ = ["TakeStep", "take_step"]

TakeStep = Callable[
    [Any, list[ChatMessage], Sequence[AsyncBaseTool], BaseMemory], Awaitable[AgentOutput]
]
"""An agent's own `take_step`."""

_UNSAID: Final = (StopReason.BLOCKED, StopReason.PARSE_FAIL)
_MOST_ASKED: Final = 10  # times in a step, whatever hooks say


async def take_step(  # noqa: PLR0913, PLR0917 - the agent's own signature, and whose step it is
    agent: BaseWorkflowAgent,
    hooks: Sequence[StepHook],
    take: TakeStep,
    ctx: AgentContext,
    messages: list[ChatMessage],
    tools: Sequence[AsyncBaseTool],
    memory: BaseMemory,
) -> AgentOutput:
    """Take a step of an agent as its hooks say."""
    stored = dict((await ctx.store.get_state()).items())
    pad = scratchpad_of(agent)
    notes = Notes(stored.get(NOTES_KEY))
    held = list(stored.get(pad.key) or ()) if pad.key else []
    step = AgentStep(agent, ctx, messages, tools, memory, stored, notes, pad, held, hooks)
    if stored.get(COUNT) == 0:
        notes.start_turn(memory)
        if any(hook.acts for hook in hooks):
            await _start_fresh(step, stored)
    try:
        output = await _Taking(step, hooks, take).output()
    except BaseException as error:
        if step.refused:
            named = [{**each, "agent": agent.name} for each in step.refused]
            vars(error)[REFUSED] = named  # some do not let themselves be assigned to
        raise
    finally:
        if (data := notes.changed(memory)) is not None:
            await ctx.store.set(NOTES_KEY, data)
    for name, value in ((REFUSED, step.refused), (PLAN, step.local.get(PLAN))):
        if value:
            output[name] = value
    return output


async def _start_fresh(step: AgentStep, stored: dict[str, Any]) -> None:
    """Take away what a run that failed left behind: its reasoning and its calls."""
    if step.held:
        step.held = []
        await step.put([])
    if stored.pop(CALLS, None):
        await step.ctx.store.set(CALLS, [])


class _Taking:
    """Takes one step."""

    def __init__(self, step: AgentStep, hooks: Sequence[StepHook], take: TakeStep) -> None:
        self._step = step
        self._hooks = hooks
        self._take = take
        self._shown: list[Any] = []
        self._heard = False

    async def output(self) -> AgentOutput:
        """Return what the step comes to."""
        step, ask = self._step, AskAgain()
        notes: list[str] = []
        for hook in self._hooks:
            before = _told(hook, "before", await hook.before(step), (Proceed, Answer, HandOver))
            if isinstance(before, Answer):
                return await self._answer(before)
            if isinstance(before, HandOver):
                return await self._hand_over(before)
            if before is not None:
                notes += before.notes
                ask = AskAgain(schema=before.schema or ask.schema)
        try:
            decision = await self._taken(notes, ask)
        except BaseException:
            # What was asked, refused or not, is no part of the run.
            if self._shown or self._heard:
                await step.put(step.held)
            raise
        return await self._answer(decision) if isinstance(decision, Answer) else decision

    async def _taken(self, notes: list[str], ask: AskAgain) -> AgentOutput | Answer:
        step = self._step
        messages = told(step.messages, notes, apart=step.pad.form != "native")
        for _ in range(_MOST_ASKED):
            decision: Any = await self._asked(messages, ask)
            if isinstance(decision, AgentOutput):
                self._heard = True
                decision = await self._judged(decision)
            if not isinstance(decision, AskAgain):
                return decision  # type: ignore[no-any-return] # an output or an answer
            ask = decision
            self._shown = [step.pad.correction(ask.words)] if ask.words else []
            await step.put([*step.held, *self._shown])
        msg = f"hooks asked the model {_MOST_ASKED} times in one step"
        raise RuntimeError(msg)

    async def _asked(
        self, messages: list[ChatMessage], ask: AskAgain
    ) -> AgentOutput | AskAgain | Answer:
        """Ask the model, in the agent's own way or with its decoding constrained."""
        step = self._step
        token = reading.set(step.reading)
        try:
            if ask.schema is not None:
                output = await self._decoded(messages, ask)
            else:
                # Where the agent keeps no scratchpad, what is added stands beside the question.
                beside = self._shown if step.pad.key is None else []
                asked = [*messages, *beside]
                output = await self._take(step.ctx, asked, step.tools, step.memory)
        except BaseException as error:
            said = [
                _told(hook, "failed", hook.failed(step, error), (AskAgain, Answer))
                for hook in self._hooks
            ]
            decision = next((each for each in said if each is not None), None)
            if decision is not None:
                return decision  # type: ignore[no-any-return] # checked
            raise
        finally:
            reading.reset(token)
        for hook in self._hooks:
            hook.heard(step, output)
        return output

    async def _decoded(self, messages: list[ChatMessage], ask: AskAgain) -> AgentOutput:
        """Ask the model without its agent; nothing is noted in the scratchpad."""
        step, agent = self._step, self._step.agent
        words = [Message("user", ask.words)] if ask.words else []
        whole = [*core_messages(messages), *step.pad.core(step.held), *words]
        asked = chat_messages(constrained(whole, step.toolbox))
        step.tell(AgentInput(input=asked, current_agent_name=agent.name))
        arguments = decoding_arguments(agent.llm, ask.schema or {}) or {}
        response = await agent.llm.achat(asked, **arguments)
        raw = response.raw.model_dump() if isinstance(response.raw, BaseModel) else response.raw
        return AgentOutput(response=response.message, raw=raw, current_agent_name=agent.name)

    async def _judged(self, output: AgentOutput) -> AgentOutput | AskAgain | Answer:
        """Return what the hooks make of a reply."""
        step, entries = self._step, None
        for hook in reversed(self._hooks):
            after = await hook.after(step, output)
            _told(hook, "after", after, (Accept, AskAgain, Answer))
            if isinstance(after, (AskAgain, Answer)):
                return after
            if after is not None and after.output is not None:
                entries = step.pad.entries(after.output, after.thought)
                output = after.output
        if entries is not None:
            await self._noted(output, entries)
        elif self._shown and step.pad.key is not None:
            noted = list(await step.ctx.store.get(step.pad.key, default=[]))
            await step.put([*step.held, *noted[len(step.held) + len(self._shown) :]])
        return output

    async def _noted(self, output: AgentOutput, entries: list[Any]) -> AgentOutput:
        """Let the agent know of an output that it did not make itself."""
        await self._step.put([*self._step.held, *entries])
        if self._step.pad.key is None:
            output[UNKEPT] = True
        return output

    async def _answer(self, answer: Answer) -> AgentOutput:
        """Answer in the model's place, and let the agent know, so that it writes it to memory."""
        step = self._step
        await step.count_answer()
        said = ChatMessage(role=MessageRole.ASSISTANT, content=answer.text)
        output = AgentOutput(response=said, current_agent_name=step.agent_name)
        output[ENDED] = answer.reason.value
        output[ASKED] = step.user_text
        if answer.reason in _UNSAID:
            output[OWN_WORDS] = True
        return await self._noted(output, step.pad.entries(output, ""))

    async def _hand_over(self, over: HandOver) -> AgentOutput:
        """Hand over with LlamaIndex's own tool, as if the model had asked for it."""
        step = self._step
        if over.to not in step.roster:
            msg = f"`{step.agent_name}` may not hand over to {over.to!r}"
            raise ValueError(msg)
        call = selection(HANDOFF, {"to_agent": over.to, "reason": over.reason})
        said = calling(f"Handing over to {over.to}.", [call])
        output = AgentOutput(response=said, tool_calls=[call], current_agent_name=step.agent_name)
        await step.put([*step.held, *step.pad.entries(output, over.reason)])
        return output


def _told(hook: StepHook, method: str, said: Any, kinds: tuple[type, ...]) -> Any:
    """Return what a hook says, if it is of a kind that it may be.

    Raises:
        TypeError: It is not.
    """
    if said is None or isinstance(said, kinds):
        return said
    known = ", ".join(kind.__name__ for kind in kinds)
    msg = f"`{type(hook).__name__}.{method}` must return {known} or None, not {type(said).__name__}"
    raise TypeError(msg)
