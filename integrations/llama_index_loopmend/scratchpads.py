"""How agents keep what they did in a run.

LlamaIndex's agents keep a list of reasoning steps (ReAct) or of messages (the others) in the
context's store, their scratchpad. An agent of another kind may keep none that we know of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from typing_extensions import override

from llama_index_loopmend.messages import core_messages, has_calls
from llama_index_loopmend.parsers import JsonActionStep
from loopmend.mending import Form, Message, NativeCall

__all__ = ["ReasoningPad", "Scratchpad", "scratchpad_of"]


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
        while seen and has_calls(seen[-1]):
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
