"""Planned agents with scripts, and their runs in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer

from llama_index_loopmend import (
    PlanEvent,
    PlannedCodeActAgent,
    PlannedFunctionAgent,
    PlannedReActAgent,
    ProtocolIssueEvent,
)
from llama_index_loopmend.testing import ScriptedLLM
from tests.integrations.llama_index.agents import TOOLS
from tests.integrations.llama_index.hooked import hooks

Agent = BaseWorkflowAgent | AgentWorkflow
KINDS = ("react", "function", "code")
LONG = "This reply says the same as the one before, only in other words and at some length."


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over: what came of it, and what was streamed."""

    output: AgentOutput
    events: Sequence[Any]
    memory: BaseMemory

    @property
    def plans(self) -> list[PlanEvent]:
        """Return the decisions, in order."""
        return [event for event in self.events if isinstance(event, PlanEvent)]

    @property
    def issues(self) -> list[ProtocolIssueEvent]:
        """Return the refused replies, in order."""
        return [event for event in self.events if isinstance(event, ProtocolIssueEvent)]

    @property
    def text(self) -> str:
        """Return the answer."""
        return self.output.response.content or ""

    @property
    def outcomes(self) -> list[str | None]:
        """Return what came of each plan."""
        return [plan.done for plan in self.plans]


def buffer(*messages: ChatMessage) -> ChatMemoryBuffer:
    """Return a memory that holds some messages."""
    return ChatMemoryBuffer.from_defaults(chat_history=list(messages), token_limit=100_000)


async def ran(agent: Agent, question: str = "1 + 2?", **options: Any) -> Ran:
    """Run an agent, and collect what it streams."""
    memory = options.pop("memory", None) or buffer()
    run: Any = agent.run  # its type knows only positions that are deprecated
    handler = run(user_msg=question, memory=memory, **options)
    events = [event async for event in handler.stream_events()]
    return Ran(await handler, events, memory)


def run(agent: Agent, question: str = "1 + 2?", **options: Any) -> Ran:
    """Run an agent in a loop of its own."""
    return asyncio.run(ran(agent, question, **options))


def planned(kind: str, *script: Any, hook: Any = None, **options: Any) -> Any:
    """Return a planned agent of some kind whose model follows a script."""
    given: dict[str, Any] = {"llm": ScriptedLLM(script=script), "tools": TOOLS[:2], **options}
    given["hooks"] = hook or hooks()
    if kind == "react":
        return PlannedReActAgent(**given)
    if kind == "function":
        return PlannedFunctionAgent(**given)
    return PlannedCodeActAgent(code_execute_fn=lambda code: f"ran {code}", **given)


def answer(kind: str, text: str) -> str:
    """Return an answer as such an agent has to give it."""
    return f"Thought: done\nAnswer: {text}" if kind == "react" else text


def observing(**known: Any) -> Any:
    """Return a hook that is told what the user knows better."""
    return hooks(observe=lambda _: known)


def user(text: str) -> ChatMessage:
    """Return a message of the user's."""
    return ChatMessage(role=MessageRole.USER, content=text)


def assistant(text: str) -> ChatMessage:
    """Return a message of the assistant's."""
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def shown(llm: Any, at: int = 0) -> str:
    """Return all that a model was shown when it was asked."""
    return "\n".join(str(message.content) for message in llm.asked[at])


def kept(memory: BaseMemory) -> list[tuple[str, str]]:
    """Return what a memory holds, as roles and texts."""
    return [(message.role.value, message.content or "") for message in memory.get_all()]
