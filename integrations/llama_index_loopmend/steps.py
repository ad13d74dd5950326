"""A step of an agent while it is taken: the agent's own way to take it, and where things are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from workflows.events import Event

from llama_index_loopmend.notes import Notes
from llama_index_loopmend.outputs import AgentKind, kind_of
from llama_index_loopmend.scratchpads import Scratchpad, scratchpad_of
from loopmend.reading.tools import Toolbox

__all__ = ["ASKED", "REFUSED_BEFORE", "UNKEPT", "Step", "TakeStep", "keep", "told"]

ASKED: Final = "asked"
"""Where an `AgentOutput` that no model was asked for tells the user's message."""
REFUSED_BEFORE: Final = "loopmend_refused"
"""Where an exception tells which replies of the step were refused before it."""
UNKEPT: Final = "unkept"
"""Where an `AgentOutput` tells that its answer may have to be written to memory."""

TakeStep = Callable[
    [Any, list[ChatMessage], Sequence[AsyncBaseTool], BaseMemory], Awaitable[AgentOutput]
]
"""An agent's own `take_step`."""


@dataclass(slots=True)
class Step:
    """A step that is being taken."""

    agent: BaseWorkflowAgent
    take: TakeStep
    """The agent's own way to take it."""
    ctx: AgentContext
    messages: list[ChatMessage]
    tools: Sequence[AsyncBaseTool]
    toolbox: Toolbox
    memory: BaseMemory
    notes: Notes
    pad: Scratchpad = field(init=False)
    """How the agent keeps what it did."""
    kind: AgentKind = field(init=False)
    """How the agent asks for calls."""

    refused: list[dict[str, str]] = field(default_factory=list)
    """The replies that were refused in this step: `text`, and why in `message`."""
    unkept: bool = False
    """Whether there is an answer of ours that the agent may not know of."""

    def __post_init__(self) -> None:
        self.pad = scratchpad_of(self.agent)
        self.kind = kind_of(self.agent)

    async def entries(self) -> list[Any]:
        """Return a copy of the scratchpad: agents change the list that they keep."""
        key = self.pad.key
        return [] if key is None else list(await self.ctx.store.get(key, default=[]))

    async def put(self, entries: list[Any]) -> None:
        """Replace the scratchpad, where the agent keeps one."""
        if (key := self.pad.key) is not None:
            await self.ctx.store.set(key, entries)

    async def keep_answer(self, text: str, thought: str = "") -> None:
        """Let the agent know what it answered, so that it writes it to memory."""
        if self.pad.key is None:
            self.unkept = True
        else:
            await self.put([*await self.entries(), *self.pad.answer(thought, text)])

    def blame(self, error: BaseException) -> None:
        """Let an error tell which replies were refused before it; whoever records runs asks."""
        if self.refused:
            named = [{**each, "agent": self.agent.name} for each in self.refused]
            vars(error)[REFUSED_BEFORE] = named  # some do not let themselves be assigned to

    def tell(self, event: Event) -> None:
        """Stream an event; outside of a run nobody sees it."""
        self.ctx.write_event_to_stream(event)


async def keep(output: AgentOutput, memory: BaseMemory) -> None:
    """Write an answer to memory, unless it is there: who knows what another's agent does."""
    held = await memory.aget_all()
    if not held or held[-1].content != output.response.content:
        await memory.aput(output.response)


def told(
    messages: Sequence[ChatMessage], texts: Sequence[str], kind: AgentKind
) -> list[ChatMessage]:
    """Return messages to which the model is told something more, in the system's name.

    `ReActAgent` drops the first system message and `CodeActAgent` overwrites it, each with a
    prompt of its own, so that there the words go into one after it.

    >>> [m.content for m in told([ChatMessage(content="hi")], ["Vary."], "native")]
    ['Vary.', 'hi']
    """
    if not texts:
        return list(messages)
    words = "\n\n".join(texts)
    first, rest = _parted(messages)
    if kind != "native":
        first = ChatMessage(role=MessageRole.SYSTEM, content="") if first is None else first
        return [first, ChatMessage(role=MessageRole.SYSTEM, content=words), *rest]
    said = "" if first is None else first.content or ""
    joined = f"{said}\n\n{words}" if said else words
    return [ChatMessage(role=MessageRole.SYSTEM, content=joined), *rest]


def _parted(messages: Sequence[ChatMessage]) -> tuple[ChatMessage | None, list[ChatMessage]]:
    if messages and messages[0].role == MessageRole.SYSTEM:
        return messages[0], list(messages[1:])
    return None, list(messages)
