"""A step of an agent, as its hooks see it, and what its output tells besides the answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from workflows.events import Event

from llama_index_loopmend.hooks.protocol import (
    StepHook,
)
from llama_index_loopmend.messages import (
    question_of,
)
from llama_index_loopmend.notes import Notes
from llama_index_loopmend.parsers import Reading
from llama_index_loopmend.schemas import cached_toolbox
from llama_index_loopmend.scratchpads import Scratchpad
from loopmend.reading import Toolbox

__all__ = [
    "ASKED",
    "CALLS",
    "COUNT",
    "ENDED",
    "HANDOFF",
    "OWN_WORDS",
    "PLAN",
    "REFUSED",
    "UNKEPT",
    "AgentStep",
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

_AGENTS: Final = re.compile(r"\{['\"].*['\"]\}", re.DOTALL)
COUNT: Final = "num_iterations"
"""Where LlamaIndex counts the steps of a run."""
CALLS: Final = "current_tool_calls"
"""Where LlamaIndex keeps the calls of a run with their results."""


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
        return self.stored.get(COUNT) or 0

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
        return self.stored.get(CALLS) or ()

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
            await self.ctx.store.set(COUNT, (self.max_iterations or 0) - 2)


def _descriptions(told: str) -> dict[str, str]:
    """Read what LlamaIndex wrote into its own prompt; a prompt of the user's may have no such."""
    found = _AGENTS.search(told)
    try:
        read = ast.literal_eval(found[0]) if found else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
