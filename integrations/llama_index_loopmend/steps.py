"""A step of an agent as its hooks see it: what they remember, and what the agent keeps of a run.

LlamaIndex's agents keep a list of reasoning steps (ReAct) or of messages (the others) in the
context's store, their scratchpad. An agent of another kind may keep none that we know of.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, Generic, TypeVar

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)
from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.agent.workflow.agent_context import AgentContext
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool
from typing_extensions import override
from workflows.events import Event

from llama_index_loopmend.hooks.protocol import StepHook
from llama_index_loopmend.messages import core_messages, question_of
from llama_index_loopmend.parsers import JsonActionStep, Reading
from llama_index_loopmend.schemas import agents_in, cached_toolbox
from loopmend import Message
from loopmend.mending import Form, NativeCall

__all__ = ["AgentStep", "Beside", "Notes", "Scratchpad"]

T = TypeVar("T")

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

_ISSUE: Final = "issue"


class Beside(Generic[T]):
    """Values beside objects of others that cannot be hashed, each as long as its object exists."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, it: object) -> T | None:
        """Return the value beside an object, or `None`."""
        found = self._held.get(id(it))
        return found[1] if found is not None and found[0]() is it else None

    def kept(self, it: object, make: Callable[[], T]) -> T:
        """Return the value beside an object, made if there is none."""
        found = self.get(it)
        if found is None:
            self.put(it, found := make())
        return found

    def put(self, it: object, value: T) -> None:
        """Keep a value beside an object."""
        key = id(it)
        self._held[key] = weakref.ref(it, lambda _: self._held.pop(key, None)), value


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


class Scratchpad:
    """Messages, as `FunctionAgent` and `CodeActAgent` keep them."""

    def __init__(self, key: str | None, form: Form = "native") -> None:
        self.key = key
        """Where in the context's store it is kept; `None` if nowhere that we know of."""
        self.form = form
        """How the agent asks for calls."""

    def correction(self, words: str) -> Any:
        """Return the entry of what the model is told when it is asked again."""
        return ChatMessage(role=MessageRole.USER, content=words)

    def entries(self, output: AgentOutput, thought: str) -> list[Any]:  # noqa: ARG002 - others do
        """Return what the agent would have noted of an output."""
        return [output.response]

    def core(self, entries: Sequence[Any]) -> list[Message]:
        """Return the entries as the core's messages."""
        return core_messages(entries)

    def messages(self, entries: Sequence[Any]) -> list[ChatMessage]:
        """Return the entries as messages, without calls that nobody answered."""
        seen: list[ChatMessage] = list(entries)
        while seen and _has_calls(seen[-1]):
            seen.pop()
        return seen

    def after_result(self, entries: Sequence[Any]) -> bool:
        """Tell whether a tool's result came last, so that saying nothing is a way to finish.

        For a ReAct agent it is none: a form was asked for.
        """
        return bool(entries) and getattr(entries[-1], "role", None) == MessageRole.TOOL


class _CorrectionStep(ObservationReasoningStep):
    """What the model is told about a refused reply; kept only while it is asked again."""

    @override
    def get_content(self) -> str:
        """Return it as the model is shown it: the user's words, not a tool's."""
        return self.observation


class ReasoningPad(Scratchpad):
    """Reasoning steps, as `ReActAgent` keeps them."""

    @override
    def correction(self, words: str) -> Any:
        return _CorrectionStep(observation=words)

    @override
    def entries(self, output: AgentOutput, thought: str) -> list[Any]:
        if not output.tool_calls:
            said = output.response.content or ""
            return [ResponseReasoningStep(thought=thought, response=said)]
        return [
            JsonActionStep(thought=thought, action=c.tool_name, action_input=c.tool_kwargs)
            for c in output.tool_calls
        ]

    @override
    def core(self, entries: Sequence[Any]) -> list[Message]:
        """Return actions as calls and observations as their results."""
        found: list[Message] = []
        open_calls: list[str] = []  # several actions may come before their observations
        for at, entry in enumerate(entries):
            if isinstance(entry, ActionReasoningStep):
                open_calls.append(str(at))
                call = NativeCall(entry.action, entry.action_input, str(at))
                found.append(Message("assistant", calls=(call,)))
            elif isinstance(entry, ObservationReasoningStep):
                id = open_calls.pop(0) if open_calls else None
                found.append(Message("tool", str(entry.observation), call_id=id))
            else:
                found.append(Message("assistant", entry.get_content()))
        return found

    @override
    def messages(self, entries: Sequence[Any]) -> list[ChatMessage]:
        """Return all steps as one message, as `ReActAgent` writes them to memory."""
        seen = list(entries)
        while seen and isinstance(seen[-1], ActionReasoningStep):
            seen.pop()
        told = "\n".join(step.get_content() for step in seen)
        return [ChatMessage(role=MessageRole.ASSISTANT, content=told)] if told else []


def scratchpad_of(agent: object) -> Scratchpad:
    """Return how an agent keeps what it did, told by the fields that LlamaIndex's agents have."""
    held = vars(agent) if hasattr(agent, "__dict__") else {}
    if "reasoning_key" in held:
        return _pad(held["reasoning_key"], "react")
    return _pad(held.get("scratchpad_key"), "code" if "code_execute_fn" in held else "native")


@lru_cache(maxsize=256)
def _pad(key: str | None, form: Form) -> Scratchpad:
    return (ReasoningPad if form == "react" else Scratchpad)(key, form)


def _has_calls(message: ChatMessage) -> bool:
    kept = message.additional_kwargs.get("tool_calls")
    return bool(kept) or any(isinstance(block, ToolCallBlock) for block in message.blocks)


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
        does = agents_in(tool.description or "")
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

    async def begin(self) -> None:
        """Begin a turn; a new context goes by the last run with the same memory.

        What a run that failed left behind, its reasoning and its calls, is taken away, unless the
        hooks only look on.
        """
        self.notes.turn = {}
        if not self.notes.kept and (issue := _last_runs.get(self.memory)) is not None:
            self.notes.kept[_ISSUE] = issue
        acts = any(hook.acts for hook in self.hooks)
        if acts and self.held:
            self.held = []
            await self.put([])
        if acts and self.results:
            self.results = ()
            await self.store.set(CALLS, [])

    async def remember(self) -> None:
        """Write the notes to the context if there is anything new."""
        kept, turn = self.notes.kept, self.notes.turn
        before = self.notes.before
        if kept.get(_ISSUE) != before[0].get(_ISSUE):
            _last_runs.put(self.memory, kept.get(_ISSUE))
        if (kept, turn) != before:
            await self.store.set(NOTES_KEY, {"kept": dict(kept), "turn": dict(turn)})

    async def count_answer(self) -> None:
        """Let an answer count in the last iteration: LlamaIndex looks at the cap first."""
        if self.is_last:
            await self.store.set(COUNT, (self.max_iterations or 0) - 2)
