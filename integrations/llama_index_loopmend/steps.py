"""A step of an agent, as its hooks see it, and what they remember from step to step."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from workflows.events import Event

from llama_index_loopmend.beside import Beside
from llama_index_loopmend.hooks.protocol import StepHook
from llama_index_loopmend.messages import question_of
from llama_index_loopmend.parsers import Reading
from llama_index_loopmend.schemas import cached_toolbox
from llama_index_loopmend.scratchpads import scratchpad_of

__all__ = ["AgentStep", "Notes"]

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

_AGENTS: Final = re.compile(r"\{['\"].*['\"]\}", re.DOTALL)
_ISSUE: Final = "issue"
# What went wrong at the end of the last run with a memory, and what hooks keep during a run.
_last_runs: Final[Beside[Any]] = Beside()
_runs: Final[Beside[dict[Any, Any]]] = Beside()


class Notes:
    """The notes of one context: `kept` for good, and `turn` until the user's next message.

    >>> notes = Notes({"kept": {"issue": {"pattern": "empty", "streak": 2}}})
    >>> notes.issue, notes.turn
    (('empty', 2), {})
    """

    def __init__(self, stored: object = None) -> None:
        data: dict[str, Any] = stored if isinstance(stored, dict) else {}
        kept, turn = data.get("kept"), data.get("turn")
        self.kept: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
        self.turn: dict[str, Any] = dict(turn) if isinstance(turn, dict) else {}
        self.before = dict(self.kept), dict(self.turn)

    def note_issue(self, pattern: str | None) -> None:
        """Note what was wrong with a reply that could not be mended, or that it was fine."""
        if pattern is not None:
            self.kept[_ISSUE] = {"pattern": pattern, "streak": self.issue[1] + 1}
        elif _ISSUE in self.kept:
            del self.kept[_ISSUE]

    @property
    def issue(self) -> tuple[str | None, int]:
        """What was wrong with the latest reply, and how often in a row it could not be mended."""
        held = self.kept.get(_ISSUE)
        return (held["pattern"], held["streak"]) if isinstance(held, dict) else (None, 0)

    def start_turn(self, memory: object) -> None:
        """Forget the last turn; a new context goes by the last run with the same memory."""
        self.turn = {}
        if not self.kept and (issue := _last_runs.get(memory)) is not None:
            self.kept[_ISSUE] = issue


class AgentStep:
    """A step that is being taken, as hooks see it.

    >>> AgentStep.__doc__.split(",")[0]
    'A step that is being taken'
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the agent's own signature, and whose step it is
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
        """The replies that were refused in this step: `text`, and why in `message`."""
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

    @cached_property
    def roster(self) -> Mapping[str, str]:
        """What each agent does that this one may hand over to, by name."""
        tool = self.toolbox.tools.get(HANDOFF)
        if tool is None:
            return {}
        allowed = (self.stored.get("can_handoff_to") or {}).get(self.agent_name)
        does = _descriptions(tool.description or "")
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
            await self.store.set(key, entries)

    async def remember(self) -> None:
        """Write the notes to the context if there is anything new."""
        kept, turn = self.notes.kept, self.notes.turn
        before = self.notes.before
        if kept.get(_ISSUE) != before[0].get(_ISSUE):
            _last_runs.put(self.memory, kept.get(_ISSUE))
        if (kept, turn) != before:
            await self.store.set(NOTES_KEY, {"kept": dict(kept), "turn": dict(turn)})

    async def count_answer(self) -> None:
        """Let an answer count that comes in the last iteration.

        LlamaIndex looks at the cap before it looks at the output.
        """
        if self.is_last:
            await self.store.set(COUNT, (self.max_iterations or 0) - 2)


@lru_cache(maxsize=256)
def _descriptions(told: str) -> dict[str, str]:
    """Read what LlamaIndex wrote into its own prompt; a prompt of the user's may have no such."""
    found = _AGENTS.search(told)
    try:
        read = ast.literal_eval(found[0]) if found else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
