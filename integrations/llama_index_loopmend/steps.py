"""A step of an agent as its hooks see it, and what they remember."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import AsyncBaseTool, ToolSelection

from llama_index_loopmend.messages import has_calls, question_of, scratchpad_of
from llama_index_loopmend.parsers import Reading
from llama_index_loopmend.schemas import agents_in, cached_toolbox
from loopmend.adapting import Beside, Facts, Issue, Notes, best_similarity
from loopmend.mending import Form

__all__ = ["AgentStep"]

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

_DIRECT: Final = "answers_directly"
_ANSWER: Final = re.compile(r"(?:\A|\n)[^\S\n]*Answer:")
# What `CodeActAgent` writes in the user's name.
_NOT_SAID: Final = "Result of executing the code given:"

# What went wrong at the end of the last run with a memory, and what hooks keep during a run.
_last_runs: Final[Beside[Issue]] = Beside()
_runs: Final[Beside[dict[Any, Any]]] = Beside()


class AgentStep:
    """A step that is being taken, as hooks see it.

    >>> AgentStep.__doc__.split(",")[0]
    'A step that is being taken'
    """

    def __init__(  # noqa: PLR0913, PLR0915, PLR0917 - the agent's own signature, and whose step it is
        self,
        agent: Any,
        ctx: AgentContext,
        messages: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
        stored: Mapping[str, Any],
    ) -> None:
        self.agent = agent
        """Whose step it is."""
        self.agent_name = agent.name
        """The agent's name."""
        self.ctx = ctx
        """Where the run keeps its data, and what streams events."""
        self.messages = messages
        """What the model is about to see, without the scratchpad."""
        self.tools = tools
        """The available tools."""
        self.memory = memory
        """The conversation's memory."""
        self.notes = Notes(stored.get(NOTES_KEY))
        """What hooks remember from step to step."""
        self.run: dict[Any, Any] = _runs.kept(ctx.store, dict)
        """What hooks keep while the run goes on; what has to outlive the process is for `notes`."""
        self.local: dict[Any, Any] = {}
        """What hooks keep until the end of the step."""
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
        over: Any = self.toolbox.tools.get(HANDOFF)
        self.roster: Mapping[str, str] = (
            {} if over is None else _roster(over, self.agent_name, stored)
        )
        """What each agent does that this one may hand over to, by name."""
        self.pad = scratchpad_of(agent)
        """How the agent keeps what it did."""
        self.held: list[Any] = list(stored.get(self.pad.key) or ()) if self.pad.key else []
        """The scratchpad as it was before the step."""
        self.reading: Reading | None = None
        """What the agent's own parser reads for a hook."""
        self.decoded = False
        """Whether the latest reply was decoded by a schema, so that the agent has not seen it."""
        self.refused: list[dict[str, str]] = []
        """The replies that were refused in this step, as a trace tells of them."""
        # The rest is what the planner asks for.
        self.turn = self.notes.turn
        self.form: Form = self.pad.form
        self.model: object = agent.llm
        self.about: str | None = agent.description
        self.streams = agent.streaming
        self.tool_count = len(tools)

    def facts(self) -> Facts:
        """Return what is known without asking anybody."""
        failing = takewhile(lambda call: call.tool_output.is_error, reversed(self.results))
        failures = sum(1 for _ in failing)
        issue, streak = self.notes.issue
        said = self.state.get("authority")
        return Facts(
            tools=self.tool_count - (HANDOFF in self.toolbox.tools),
            mcp_tools=self.toolbox.mcp,
            roster=tuple(self.roster),
            protocol_issue=issue,
            issue_streak=streak,
            best_score=best_score(self.results) if self.results else None,
            failures_in_a_row=failures,
            authority=None if said is None else str(said),
        )

    def window(self) -> int | None:
        """Return how many tokens the model can see."""
        window: int | None = self.agent.llm.metadata.context_window
        return window

    def memory_look(self) -> Callable[[], Awaitable[str | None]] | None:
        """Return what asks the memory's blocks, if it has some."""
        if not isinstance(self.memory, Memory) or not self.memory.memory_blocks:
            return None
        return partial(found_in_blocks, self.memory, self.user_text, self.shown())

    def conversation(self) -> tuple[list[str], list[str]]:
        """Return what the user said and what was answered, oldest first."""
        users: list[str] = []
        replies: list[str] = []
        for message in self.messages:
            text = message.content or ""
            if message.role == MessageRole.USER and not text.startswith(_NOT_SAID):
                users.append(text)
            elif message.role == MessageRole.ASSISTANT and not has_calls(message):
                # A ReAct agent writes its reasoning to memory.
                *before, answer = _ANSWER.split(text)
                replies.append(answer.strip() if before else text)
        # LlamaIndex writes the workflow's state into the latest message.
        return [*users[:-1], self.user_text], replies

    def shown(self) -> list[str]:
        """Return the texts that the model is about to see, without the scratchpad's."""
        return [message.content or "" for message in self.messages]

    def seen(self) -> list[str]:
        """Return all texts that the model is about to see."""
        return [*self.shown(), *(m.content or "" for m in self.pad.messages(self.held))]

    async def put(self, entries: list[Any]) -> None:
        """Replace the scratchpad, where the agent keeps one."""
        if (key := self.pad.key) is not None:
            await self.ctx.store.set(key, entries)

    async def begin(self) -> None:
        """Begin a turn; a new context goes by the last run with the same memory.

        What a run that failed left behind, its reasoning and its calls, is taken away, unless the
        hooks only look on.
        """
        acts = any(hook.acts for hook in self.agent.hooks)
        self.notes.begin(_last_runs.get(self.memory))
        if acts and self.held:
            self.held = []
            await self.put([])
        if acts and self.results:
            self.results = ()
            await self.ctx.store.set(CALLS, [])

    async def remember(self) -> None:
        """Write the notes to the context if there is anything new."""
        if self.notes.issue_changed:
            _last_runs.put(self.memory, self.notes.issue)
        if (new := self.notes.new()) is not None:
            await self.ctx.store.set(NOTES_KEY, new)

    def is_answered_by(self, calls: Sequence[ToolSelection]) -> bool:
        """Tell whether what a tool returns is the answer; it may fail, so it is believed once.

        In the first step it is not: a step after it would look like the first of another run.
        """
        answers = {tool.metadata.name for tool in self.tools if tool.metadata.return_direct}
        made = answers.difference((HANDOFF,)).intersection(call.tool_name for call in calls)
        if not made or not self.iteration or self.turn.get(_DIRECT):
            return False
        self.turn[_DIRECT] = True
        return True

    async def count_answer(self) -> None:
        """Let an answer count in the last iteration: LlamaIndex looks at the cap first."""
        if self.is_last:
            await self.ctx.store.set(COUNT, (self.max_iterations or 0) - 2)


def _roster(tool: Any, agent: str, stored: Mapping[str, Any]) -> dict[str, str]:
    """Return what each agent does that one may hand over to with a tool."""
    allowed = (stored.get("can_handoff_to") or {}).get(agent)
    does = agents_in(tool.description or "")
    return {
        name: does.get(name, "")
        for name in stored.get("agents") or ()
        if name != agent and (allowed is None or name in allowed)
    }


def best_score(results: Sequence[Any]) -> float | None:
    """Return the best similarity of the latest retrieval among tool results, if there was one."""
    for call in reversed(results):
        # A tool returns nodes, or a query engine's response with its sources.
        returned = call.tool_output.raw_output
        nodes = getattr(returned, "source_nodes", returned)
        if not isinstance(nodes, (list, tuple)) or (not nodes and nodes is returned):
            continue
        if all(isinstance(node, NodeWithScore) for node in nodes):
            return best_similarity([node.score for node in nodes])
    return None


async def found_in_blocks(memory: Any, text: str, shown: Iterable[str]) -> str:
    """Ask each block of LlamaIndex's memory what it holds on a message, and is not shown yet."""
    asked = [ChatMessage(role=MessageRole.USER, content=text)]
    blocks = memory.memory_blocks
    found = [await block.aget(asked, session_id=memory.session_id) for block in blocks]
    seen = "\n".join(shown)
    texts = map(_as_text, found)
    return "\n\n".join(each for each in texts if each and each not in seen)


def _as_text(content: Any) -> str:
    if isinstance(content, list):
        texts = (getattr(item, "text", None) or getattr(item, "content", None) for item in content)
        return "\n".join(text for text in texts if text)
    return content.strip() if isinstance(content, str) else ""
