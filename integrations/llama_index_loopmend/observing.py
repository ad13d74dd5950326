"""What a planner can know at a step of an agent, from what LlamaIndex really offers."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool

from llama_index_loopmend.provider import CHARACTERS_PER_TOKEN
from loopmend import RetrievalMetrics, TaskStateInput, ToolSearchStats, observe_conversation

__all__ = ["HANDOFF", "StepView", "observed", "roster_of"]

HANDOFF: Final = "handoff"
"""The name that LlamaIndex reserves for its tool to hand over with."""

_ANSWER: Final = re.compile(r"(?:\A|\n)\s*Answer:")
_AGENTS: Final = re.compile(r"\{['\"].*['\"]\}", re.DOTALL)
# What `CodeActAgent` writes in the user's name.
_NOT_SAID: Final = "Result of executing the code given:"
# Where nobody knows how well retrieval went, there is no gap to look into.
_UNKNOWN_RECALL: Final = RetrievalMetrics(budget_utilization=1.0)


@dataclass(frozen=True, slots=True)
class StepView:
    """A step that is about to be taken, as callbacks of the hook see it.

    >>> StepView(agent_name="writer", user_text="Write a poem.").iteration
    0
    """

    agent_name: str
    """Whose step it is."""
    user_text: str
    """What the user asked for in this turn."""
    messages: Sequence[ChatMessage] = ()
    """What the model is about to be shown, without the scratchpad."""
    tools: Sequence[AsyncBaseTool] = ()
    """What is on offer."""
    memory: BaseMemory | None = None
    iteration: int = 0
    """How many steps this run has taken."""
    max_iterations: int | None = None
    """How many it may take."""
    roster: Mapping[str, str] = field(default_factory=dict)
    """To whom it may be handed over: what each does, by name."""
    context_window: int = 0
    """How many tokens the model can read, or 0 if that is unknown."""
    streaming: bool = False
    """Whether the agent streams."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """The workflow's own state, as `ctx.store.get("state")` has it."""


def observed(view: StepView, **known: Any) -> TaskStateInput:
    """Return what is known at a step; what the host knows better comes by name.

    >>> observed(StepView("writer", "hello"), authority="Creator").authority
    'Creator'
    """
    users, replies = _conversation(view)
    own = [tool for tool in view.tools if tool.metadata.name != HANDOFF]
    facts: dict[str, Any] = {
        "retrieval_metrics": _UNKNOWN_RECALL,
        "tool_search_stats": ToolSearchStats(len(own), len(own)) if own else None,
        "mcp_tools_available": any("mcp" in type(tool).__module__.lower() for tool in own),
        "taskable_agent_count": len(view.roster),
        "remaining_budget_tokens": _left(view),
        "inference_mode": "streaming" if view.streaming else "standard",
        "named_tool_match": any(str(t.metadata.name) in view.user_text for t in own),
        "authority": str(view.state.get("authority", "")),
    }
    return observe_conversation(users, replies, tool_count=len(view.tools), **{**facts, **known})


def roster_of(
    agent_name: str, stored: Mapping[str, Any], tools: Sequence[AsyncBaseTool]
) -> dict[str, str]:
    """Return to whom an agent may hand over in an `AgentWorkflow`, with what each does.

    What each does stands only in the description of the tool to hand over with.
    """
    tool = next((tool for tool in tools if tool.metadata.name == HANDOFF), None)
    if tool is None:
        return {}
    allowed = (stored.get("can_handoff_to") or {}).get(agent_name)
    names = stored.get("agents") or ()
    told = _descriptions(tool.metadata.description or "")
    return {
        name: told.get(name, "")
        for name in names
        if name != agent_name and (allowed is None or name in allowed)
    }


def _descriptions(told: str) -> dict[str, str]:
    """Read what LlamaIndex wrote into its own prompt; a prompt of the user's may have no such."""
    found = _AGENTS.search(told)
    try:
        read = ast.literal_eval(found[0]) if found else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _conversation(view: StepView) -> tuple[list[str], list[str]]:
    """Return what the user said and what was answered, oldest first."""
    users: list[str] = []
    replies: list[str] = []
    for message in view.messages:
        text = message.content or ""
        if message.role == MessageRole.USER and not text.startswith(_NOT_SAID):
            users.append(text)
        elif message.role == MessageRole.ASSISTANT and not _calls(message):
            replies.append(_answer(text))
    if users:
        # LlamaIndex writes the workflow's state into the latest message.
        users[-1] = view.user_text or users[-1]
    return users or [view.user_text], replies


def _calls(message: ChatMessage) -> bool:
    return any(isinstance(block, ToolCallBlock) for block in message.blocks)


def _answer(text: str) -> str:
    """Return the answer of what a ReAct agent wrote to memory, or the text."""
    ends = [match.end() for match in _ANSWER.finditer(text)]
    return text[ends[-1] :].strip() if ends else text


def _left(view: StepView) -> int:
    """Estimate how many tokens the model can still take."""
    shown = sum(len(message.content or "") for message in view.messages)
    return max(0, view.context_window - shown // CHARACTERS_PER_TOKEN)
