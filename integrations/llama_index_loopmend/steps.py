"""A step of an agent as its hooks see it, and what they remember."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.tools import AsyncBaseTool
from workflows.events import Event

from llama_index_loopmend.facts import (
    best_score,
    failures_in_a_row,
    found_in_blocks,
    said_and_answered,
)
from llama_index_loopmend.hooks.protocol import StepHook
from llama_index_loopmend.messages import question_of
from llama_index_loopmend.parsers import Reading
from llama_index_loopmend.schemas import agents_in, cached_toolbox
from llama_index_loopmend.scratchpads import scratchpad_of
from loopmend.adapting import Beside, Issue, Notes
from loopmend.mending import Form

__all__ = ["AgentStep"]

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
COUNT: Final = "num_iterations"
"""Where LlamaIndex counts the steps of a run."""
CALLS: Final = "current_tool_calls"
"""Where LlamaIndex keeps the calls of a run with their results."""
NOTES_KEY: Final = "loopmend"
"""The key of the store that holds the notes; nothing else is written there."""

# What went wrong at the end of the last run with a memory, and what hooks keep during a run.
_last_runs: Final[Beside[Issue]] = Beside()
_runs: Final[Beside[dict[Any, Any]]] = Beside()


class AgentStep:
    """A step that is being taken, as hooks see it.

    >>> AgentStep.__doc__.split(",")[0]
    'A step that is being taken'
    """

    handoff = HANDOFF
    """The tool to hand over with, should there be one."""

    def __init__(  # noqa: PLR0913, PLR0915, PLR0917 - the agent's own signature, and whose step it is
        self,
        agent: BaseWorkflowAgent,
        ctx: AgentContext,
        messages: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
        stored: Mapping[str, Any],
        hooks: Sequence[StepHook] = (),
    ) -> None:
        self.agent = agent
        """Whose step it is."""
        self.agent_name = agent.name
        """The agent's name."""
        self.ctx = ctx
        self.store = ctx.store
        """The context's store."""
        self.messages = messages
        """What the model is about to see, without the scratchpad."""
        self.tools = tools
        """The available tools."""
        self.memory = memory
        self.stored = stored
        """What the store held at the start of the step."""
        self.hooks = hooks
        """Who is asked."""
        self.notes = Notes(stored.get(NOTES_KEY))
        """What hooks remember from step to step."""
        self.pad = scratchpad_of(agent)
        """How the agent keeps what it did."""
        self.held: list[Any] = list(stored.get(self.pad.key) or ()) if self.pad.key else []
        """The scratchpad as it was before the step."""
        self.local: dict[Any, Any] = {}
        """What hooks keep until the end of the step."""
        self.run: dict[Any, Any] = _runs.kept(self.store, dict)
        """What hooks keep while the run goes on; what has to outlive the process is for `notes`."""
        self.reading: Reading | None = None
        """What the agent's own parser reads for a hook."""
        self.decoded = False
        """Whether the latest reply was decoded by a schema, so that the agent has not seen it."""
        self.told: list[str] = []
        """What hooks tell the model in this step, in the system's name."""
        self.refused: list[dict[str, str]] = []
        """The replies that were refused in this step, as a trace tells of them."""
        self.iteration: int = stored.get(COUNT) or 0
        """How many steps this run has taken."""
        self.max_iterations: int | None = stored.get("max_iterations")
        """How many it may take."""
        most = self.max_iterations
        self.is_last = most is not None and self.iteration + 1 >= most
        """Whether LlamaIndex ends the run after this step, whatever comes of it."""
        state = stored.get("state")
        self.state: Mapping[str, Any] = state if isinstance(state, Mapping) else {}
        """The workflow's own state, as `ctx.store.get("state")` has it."""
        self.user_text: str = stored.get("user_msg_str") or question_of(messages)
        """What the user asked for in this turn."""
        self.results: Sequence[ToolCallResult] = stored.get(CALLS) or ()
        """The calls of this run with their results, oldest first."""
        self.toolbox = cached_toolbox(tools)
        """The available tools, as the core knows them."""
        self.mcp_tools = self.toolbox.mcp
        """Whether some are of an MCP server."""
        self.tool_count = len(tools)
        """How many there are."""
        self.about = agent.description
        """What the agent does."""
        self.streams = agent.streaming
        """Whether the model streams."""
        self.model: object = agent.llm
        """Whom the agent asks."""
        self.form: Form = self.pad.form
        """How the model is asked to write."""
        self.turn = self.notes.turn
        """What hooks remember until the user's next message, as plain data."""
        self.authority: object = self.state.get("authority")
        """Who the user is, as the workflow's state says."""

    @cached_property
    def roster(self) -> Mapping[str, str]:
        """What each agent does that this one may hand over to, by name."""
        tool = self.toolbox.tools.get(HANDOFF)
        if tool is None:
            return {}
        allowed = (self.stored.get("can_handoff_to") or {}).get(self.agent_name)
        does = agents_in(tool.description or "")
        return {
            name: does.get(name, "")
            for name in self.stored.get("agents") or ()
            if name != self.agent_name and (allowed is None or name in allowed)
        }

    @cached_property
    def failures_in_a_row(self) -> int:
        """How many of the latest tool results are errors."""
        return failures_in_a_row(self.results)

    @cached_property
    def best_score(self) -> float | None:
        """The best similarity of the latest retrieval."""
        return best_score(self.results)

    @property
    def issue(self) -> Issue:
        """What was wrong with the latest reply, and how often in a row."""
        return self.notes.issue

    @cached_property
    def window(self) -> int | None:
        """How many tokens the model can see."""
        return self.agent.llm.metadata.context_window

    @property
    def memory_look(self) -> Callable[[], Awaitable[str | None]] | None:
        """What asks the memory's blocks, if it has some."""
        memory = self.memory
        if not isinstance(memory, Memory) or not memory.memory_blocks:
            return None
        return lambda: found_in_blocks(memory, self.user_text, self.shown())

    def conversation(self) -> tuple[list[str], list[str]]:
        """Return what the user said and what was answered, oldest first."""
        users, replies = said_and_answered(self.messages)
        # LlamaIndex writes the workflow's state into the latest message.
        return [*users[:-1], self.user_text], replies

    def shown(self) -> list[str]:
        """Return the texts that the model is about to see, without the scratchpad's."""
        return [message.content or "" for message in self.messages]

    def seen(self) -> list[str]:
        """Return all texts that the model is about to see."""
        return [*self.shown(), *(m.content or "" for m in self.pad.messages(self.held))]

    def refuse(self, text: str, message: str) -> None:
        """Note a reply that was refused, and why."""
        self.refused.append({"text": text, "message": message, "agent": self.agent_name})

    def tell(self, event: Event) -> None:
        """Stream an event; outside of a run nobody sees it."""
        self.ctx.write_event_to_stream(event)

    async def put(self, entries: list[Any]) -> None:
        """Replace the scratchpad, where the agent keeps one."""
        if (key := self.pad.key) is not None:
            await self.store.set(key, entries)

    async def begin(self) -> None:
        """Begin a turn; a new context goes by the last run with the same memory.

        What a run that failed left behind, its reasoning and its calls, is taken away, unless the
        hooks only look on.
        """
        self.notes.begin(_last_runs.get(self.memory))
        acts = any(hook.acts for hook in self.hooks)
        if acts and self.held:
            self.held = []
            await self.put([])
        if acts and self.results:
            self.results = ()
            await self.store.set(CALLS, [])

    async def remember(self) -> None:
        """Write the notes to the context if there is anything new."""
        if self.notes.issue_changed:
            _last_runs.put(self.memory, self.notes.issue)
        if (new := self.notes.new()) is not None:
            await self.store.set(NOTES_KEY, new)

    async def count_answer(self) -> None:
        """Let an answer count in the last iteration: LlamaIndex looks at the cap first."""
        if self.is_last:
            await self.store.set(COUNT, (self.max_iterations or 0) - 2)
