"""One step of an agent: what is asked until the hooks are content, and what comes of it."""

from __future__ import annotations

from typing import Any, Final, Union

from llama_index.core.agent.workflow import AgentInput, AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from pydantic import BaseModel

from llama_index_loopmend.hooks.protocol import (
    Accept,
    Answer,
    AskAgain,
    HandOver,
    Proceed,
    StepHook,
)
from llama_index_loopmend.messages import calling, chat_messages, core_messages, selection, told
from llama_index_loopmend.parsers import reading
from llama_index_loopmend.schemas import decoding_arguments
from llama_index_loopmend.steps import ENDED, HANDOFF, OWN_WORDS, UNKEPT, AgentStep
from loopmend import StopReason
from loopmend.mending import Message, constrained

__all__ = ["StepExchange"]

Decision = Union[AgentOutput, AskAgain, Answer]

_UNSAID: Final = (StopReason.BLOCKED, StopReason.PARSE_FAIL)
_MAY_SAY: Final = {
    "before": (Proceed, Answer, HandOver),
    "after": (Accept, AskAgain, Answer),
    "failed": (AskAgain, Answer),
    "at_cap": (Answer,),
}
_FORCED: Final = "initial_tool_choice"
_MOST_ASKED: Final = 10  # times in a step, whatever hooks say


class StepExchange:
    """One step of an agent, as its hooks want it."""

    def __init__(self, step: AgentStep, take: Any) -> None:
        self._step = step
        self._hooks: list[StepHook] = step.agent.hooks
        self._take = take
        self._told: list[Message] = []  # what hooks tell the model last
        self._shown: list[Any] = []  # that and what was refused, as the scratchpad holds it

    async def output(self) -> AgentOutput:
        """Take the step."""
        step = self._step
        notes: list[str] = []
        schema = None
        for hook in self._hooks:
            said = await hook.before(step)
            if isinstance(said, Proceed):
                notes += said.notes
                self._told += [Message("user", said.words)] if said.words else []
                schema = said.schema or schema
            elif said is not None:
                return await self._concluded(_checked(hook, "before", said))
        apart = step.form != "native"
        messages = told(step.messages, notes, apart=apart) if notes else step.messages
        return await self._concluded(await self._asked(messages, AskAgain(schema=schema)))

    async def _asked(self, messages: list[ChatMessage], ask: AskAgain) -> AgentOutput | Answer:
        """Ask the model until the hooks are content with a reply."""
        step = self._step
        decision: Decision | None
        heard = False
        token = reading.set(step.reading)
        try:
            for attempt in range(_MOST_ASKED):
                if attempt or self._told:
                    self._shown = step.pad.again((*self._told, *ask.messages))
                    await step.put([*step.held, *self._shown])
                try:
                    output = await self._reply(messages, ask)
                except BaseException as error:
                    decision = self._failed(error)
                    if decision is None:
                        raise
                else:
                    heard = True
                    for hook in self._hooks:
                        hook.heard(step, output)
                    decision = await self._judged(output)
                if not isinstance(decision, AskAgain):
                    return decision
                ask = decision
        except BaseException:
            # What was asked, refused or not, is no part of the run.
            if self._shown or heard:
                await step.put(step.held)
            raise
        finally:
            reading.reset(token)
        msg = f"hooks asked the model {_MOST_ASKED} times in one step"
        raise RuntimeError(msg)

    async def _reply(self, messages: list[ChatMessage], ask: AskAgain) -> AgentOutput:
        """Ask the model once, through its agent; where it decodes by a schema, without it."""
        step = self._step
        step.decoded = ask.schema is not None
        if ask.schema is None:
            # Where the agent keeps no scratchpad, what is added stands beside the question.
            beside = self._shown if step.pad.key is None else []
            given = step.ctx, [*messages, *beside], step.tools, step.memory
            if not self._shown or not step.held or getattr(step.agent, _FORCED, None) is None:
                return await self._take(*given)  # type: ignore[no-any-return] # the agent's own
            # What is told last is in the user's name, as else only the first prompt ends.
            free = step.agent.model_copy(update={_FORCED: None})
            return await self._take.__func__(free, *given)  # type: ignore[no-any-return]
        before = [*core_messages(messages), *step.pad.core(step.held)]
        whole = constrained([*before, *self._told, *ask.messages], step.toolbox)
        asked, llm = chat_messages(whole), step.agent.llm
        step.ctx.write_event_to_stream(AgentInput(input=asked, current_agent_name=step.agent_name))
        response = await llm.achat(asked, **decoding_arguments(llm, ask.schema) or {})
        raw = response.raw.model_dump() if isinstance(response.raw, BaseModel) else response.raw
        return AgentOutput(response=response.message, raw=raw, current_agent_name=step.agent_name)

    def _failed(self, error: BaseException) -> AskAgain | Answer | None:
        """Return what the first hook wants to be done about an exception; all are told of it."""
        said = [(hook, hook.failed(self._step, error)) for hook in self._hooks]
        found = [_checked(hook, "failed", each) for hook, each in said if each]
        return found[0] if found else None

    async def _judged(self, output: AgentOutput) -> Decision:
        """Return what the hooks make of a reply."""
        step, entries = self._step, None
        for hook in reversed(self._hooks):
            said = await hook.after(step, output)
            if isinstance(said, Accept):
                if said.output is not None:
                    output = said.output
                    entries = step.pad.entries(output, said.thought)
            elif said is not None:
                return _checked(hook, "after", said)  # type: ignore[no-any-return]
        for hook in self._hooks if step.is_last else ():
            ended = await hook.at_cap(step, output)
            if ended is not None:
                return _checked(hook, "at_cap", ended)  # type: ignore[no-any-return]
        if entries is not None:
            return await self._noted(output, entries)
        if self._shown and step.pad.key is not None:
            noted = list(await step.ctx.store.get(step.pad.key, default=[]))
            await step.put([*step.held, *noted[len(step.held) + len(self._shown) :]])
        return output

    async def _noted(self, output: AgentOutput, entries: list[Any]) -> AgentOutput:
        """Let the agent know of an output that it did not make itself."""
        await self._step.put([*self._step.held, *entries])
        if self._step.pad.key is None:
            output[UNKEPT] = True
        return output

    async def _concluded(self, decision: AgentOutput | Answer | HandOver) -> AgentOutput:
        """Return the output; an answer or a handover stands in the model's place."""
        step = self._step
        if isinstance(decision, Answer):
            await step.count_answer()
            said = ChatMessage(role=MessageRole.ASSISTANT, content=decision.text)
            output = AgentOutput(response=said, current_agent_name=step.agent_name)
            output[ENDED] = decision.reason.value
            if decision.reason in _UNSAID:
                output[OWN_WORDS] = True
            # The agent knows of it, so that it writes it to memory.
            return await self._noted(output, step.pad.entries(output, ""))
        if not isinstance(decision, HandOver):
            return decision
        if decision.to not in step.roster:
            msg = f"`{step.agent_name}` may not hand over to {decision.to!r}"
            raise ValueError(msg)
        # With LlamaIndex's own tool, as if the model had asked for it.
        call = selection(HANDOFF, {"to_agent": decision.to, "reason": decision.reason})
        said = calling(f"Handing over to {decision.to}.", [call])
        output = AgentOutput(response=said, tool_calls=[call], current_agent_name=step.agent_name)
        await step.put([*step.held, *step.pad.entries(output, decision.reason)])
        return output


def _checked(hook: StepHook, method: str, said: Any) -> Any:
    """Return what a hook says, if it is of a kind that it may be."""
    if isinstance(said, _MAY_SAY[method]):
        return said
    known = ", ".join(kind.__name__ for kind in _MAY_SAY[method])
    name = f"{type(hook).__name__}.{method}"
    msg = f"`{name}` must return {known} or None, not {type(said).__name__}"
    raise TypeError(msg)
