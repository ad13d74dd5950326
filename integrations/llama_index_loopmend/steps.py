"""A step of an agent with hooks: they are asked before it and after it, and it is taken so."""

from __future__ import annotations

import ast
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from llama_index.core.agent.workflow import AgentInput, AgentOutput, ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from pydantic import BaseModel
from workflows.events import Event

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
    question_of,
    selection,
    told,
)
from llama_index_loopmend.notes import NOTES_KEY, Notes
from llama_index_loopmend.parsers import Reading, reading
from llama_index_loopmend.schemas import cached_toolbox
from llama_index_loopmend.scratchpads import Scratchpad, scratchpad_of
from loopmend import Message, StopReason
from loopmend.mending import constrained
from loopmend.reading import Toolbox

__all__ = [
    "ASKED",
    "ENDED",
    "HANDOFF",
    "OWN_WORDS",
    "PLAN",
    "REFUSED",
    "UNKEPT",
    "AgentStep",
    "TakeStep",
    "take_step",
]

ASKED: Final = "asked"
"""Where an `AgentOutput` that no model was asked for tells the user's message."""
ENDED: Final = "loopmend_ended"
"""Where an `AgentOutput` tells why loopmend, not the model, ended the run."""
PLAN: Final = "loopmend_plan"
"""Where an `AgentOutput` tells the plan of its step."""
REFUSED: Final = "loopmend_refused"
"""Where an `AgentOutput` or an exception tells which replies were refused before it."""
OWN_WORDS: Final = "loopmend_own_words"
"""Where an `AgentOutput` tells that its answer is not the model's, so that nobody structures it."""
UNKEPT: Final = "loopmend_unkept"
"""Where an `AgentOutput` tells that its answer may have to be written to memory."""
HANDOFF: Final = "handoff"
"""The name that LlamaIndex reserves for its tool to hand over with."""

TakeStep = Callable[
    [Any, list[ChatMessage], Sequence[AsyncBaseTool], BaseMemory], Awaitable[AgentOutput]
]
"""An agent's own `take_step`."""
_AGENTS: Final = re.compile(r"\{['\"].*['\"]\}", re.DOTALL)
_UNSAID: Final = (StopReason.BLOCKED, StopReason.PARSE_FAIL)
_COUNT: Final = "num_iterations"
_CALLS: Final = "current_tool_calls"
_MOST_ASKED: Final = 10  # times in a step, whatever hooks say


@dataclass
class AgentStep:
    """A step that is being taken, as hooks see it.

    >>> AgentStep.__doc__.split(",")[0]
    'A step that is being taken'
    """

    agent: BaseWorkflowAgent
    """Whose step it is."""
    ctx: AgentContext
    messages: list[ChatMessage]
    """What the model is about to see, without the scratchpad."""
    tools: Sequence[AsyncBaseTool]
    """The available tools."""
    memory: BaseMemory
    stored: Mapping[str, Any]
    """The context's store as it was at the start of the step."""
    notes: Notes
    """What hooks remember from step to step."""
    pad: Scratchpad
    """How the agent keeps what it did."""
    held: list[Any]
    """The scratchpad as it was before the step."""
    hooks: Sequence[StepHook] = ()
    """Who is asked."""
    local: dict[Any, Any] = field(default_factory=dict)
    """What hooks keep until the end of the step."""
    reading: Reading | None = None
    """What the agent's own parser reads for a hook."""
    refused: list[dict[str, str]] = field(default_factory=list)
    """The replies that were refused in this step: `text`, and why in `message`."""

    @property
    def agent_name(self) -> str:
        """The agent's name."""
        return self.agent.name

    @cached_property
    def user_text(self) -> str:
        """What the user asked for in this turn."""
        return self.stored.get("user_msg_str") or question_of(self.messages)

    @property
    def iteration(self) -> int:
        """How many steps this run has taken."""
        return self.stored.get(_COUNT) or 0

    @property
    def max_iterations(self) -> int | None:
        """How many it may take."""
        return self.stored.get("max_iterations")

    @property
    def is_last(self) -> bool:
        """Whether LlamaIndex ends the run after this step, whatever comes of it."""
        return self.max_iterations is not None and self.iteration + 1 >= self.max_iterations

    @property
    def state(self) -> Mapping[str, Any]:
        """The workflow's own state, as `ctx.store.get("state")` has it."""
        held = self.stored.get("state")
        return held if isinstance(held, Mapping) else {}

    @property
    def results(self) -> Sequence[ToolCallResult]:
        """The calls of this run with their results, oldest first."""
        return self.stored.get(_CALLS) or ()

    @cached_property
    def toolbox(self) -> Toolbox:
        """The available tools, as the core knows them."""
        return cached_toolbox(self.tools)

    @cached_property
    def roster(self) -> Mapping[str, str]:
        """What each agent does that this one may hand over to, by name."""
        tool = next((tool for tool in self.tools if tool.metadata.name == HANDOFF), None)
        if tool is None:
            return {}
        allowed = (self.stored.get("can_handoff_to") or {}).get(self.agent_name)
        does = _descriptions(tool.metadata.description or "")
        return {
            name: does.get(name, "")
            for name in self.stored.get("agents") or ()
            if name != self.agent_name and (allowed is None or name in allowed)
        }

    def tell(self, event: Event) -> None:
        """Stream an event; outside of a run nobody sees it."""
        self.ctx.write_event_to_stream(event)

    async def put(self, entries: list[Any]) -> None:
        """Replace the scratchpad, where the agent keeps one."""
        if (key := self.pad.key) is not None:
            await self.ctx.store.set(key, entries)

    async def count_answer(self) -> None:
        """Let an answer count that comes in the last iteration.

        LlamaIndex looks at the cap before it looks at the output.
        """
        if self.is_last:
            await self.ctx.store.set(_COUNT, (self.max_iterations or 0) - 2)


def _descriptions(told: str) -> dict[str, str]:
    """Read what LlamaIndex wrote into its own prompt; a prompt of the user's may have no such."""
    found = _AGENTS.search(told)
    try:
        read = ast.literal_eval(found[0]) if found else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


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
    if stored.get(_COUNT) == 0:
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
    if stored.pop(_CALLS, None):
        await step.ctx.store.set(_CALLS, [])


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
