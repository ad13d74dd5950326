"""Where each kind of agent keeps what it did so far in a run, and how entries of it are made.

LlamaIndex has two kinds: a list of reasoning steps (ReAct) and a list of messages (the others).
An agent of another kind may keep none that we know of; then `key` is `None`.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    BaseReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.tools import ToolSelection
from typing_extensions import override

from loopmend import Failure
from loopmend._repr import written

__all__ = [
    "CodePad",
    "CorrectionStep",
    "JsonActionStep",
    "MessagePad",
    "ReasoningPad",
    "RefusedStep",
    "Scratchpad",
    "calling",
    "scratchpad_of",
    "selection",
]

_NOT_RUN: Final = "Not run, because another call of the same reply could not be used."


def selection(name: str, arguments: Any, id: str | None = None) -> ToolSelection:
    """Return a call as LlamaIndex wants it, with an id of its own unless it has one.

    >>> selection("add", {"a": 1}, "call_1").tool_kwargs
    {'a': 1}
    """
    given = arguments if isinstance(arguments, dict) else {"input": arguments}
    return ToolSelection(
        tool_id=id or f"call_{uuid.uuid4().hex}", tool_name=name, tool_kwargs=given
    )


class JsonActionStep(ActionReasoningStep):
    r"""An action that shows its input as the JSON that the prompt asks for, not as Python.

    >>> JsonActionStep(thought="…", action="add", action_input={"a": [True]}).get_content()
    'Thought: …\nAction: add\nAction Input: {"a": [true]}'
    """

    @override
    def get_content(self) -> str:
        """Return it as the model is shown it."""
        return (
            f"Thought: {self.thought}\nAction: {self.action}\n"
            f"Action Input: {written(self.action_input)}"
        )


class RefusedStep(BaseReasoningStep):
    """A reply that was refused, as the model wrote it; kept only while it is asked again.

    >>> RefusedStep(text="Let me see.").get_content()
    'Let me see.'
    """

    text: str

    @override
    def get_content(self) -> str:
        """Return it as the model is shown it."""
        return self.text

    @property
    @override
    def is_done(self) -> bool:
        """Tell that the run goes on."""
        return False


class CorrectionStep(ObservationReasoningStep):
    """What the model is told about a refused reply; kept only while it is asked again.

    >>> CorrectionStep(observation="Call the tool.").get_content()
    'Call the tool.'
    """

    @override
    def get_content(self) -> str:
        """Return it as the model is shown it: the user's words, not a tool's."""
        return self.observation


class Scratchpad(ABC):
    """How one kind of agent keeps what it did so far."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        """Where in the context's store it is kept."""

    @abstractmethod
    def refused(self, output: AgentOutput, failure: Failure, words: str) -> list[Any]:
        """Return the entries that show a refused reply and its correction."""

    @abstractmethod
    def answer(self, thought: str, text: str) -> list[Any]:
        """Return the entries of an answer."""

    @abstractmethod
    def calls(self, thought: str, calls: Sequence[ToolSelection]) -> list[Any]:
        """Return the entries of calls that are made."""

    @abstractmethod
    def messages(self, entries: Sequence[Any]) -> list[ChatMessage]:
        """Return the entries as messages, without calls that nobody answered."""

    @abstractmethod
    def after_result(self, entries: Sequence[Any]) -> bool:
        """Tell whether the last thing that happened is a tool's result."""


class ReasoningPad(Scratchpad):
    """Reasoning steps, as `ReActAgent` keeps them."""

    @override
    def refused(self, output: AgentOutput, failure: Failure, words: str) -> list[Any]:
        """Show the reply and the correction in the order in which they came."""
        text = output.response.content or ""
        shown = [RefusedStep(text=text)] if text.strip() else []
        return [*shown, CorrectionStep(observation=words)]

    @override
    def answer(self, thought: str, text: str) -> list[Any]:
        """Return the last step."""
        return [ResponseReasoningStep(thought=thought, response=text)]

    @override
    def calls(self, thought: str, calls: Sequence[ToolSelection]) -> list[Any]:
        """Return one action for each call."""
        return [
            JsonActionStep(thought=thought, action=c.tool_name, action_input=c.tool_kwargs)
            for c in calls
        ]

    @override
    def messages(self, entries: Sequence[Any]) -> list[ChatMessage]:
        """Return all steps as one message, as `ReActAgent` writes them to memory."""
        seen = list(entries)
        while seen and isinstance(seen[-1], ActionReasoningStep):
            seen.pop()
        told = "\n".join(step.get_content() for step in seen)
        return [ChatMessage(role=MessageRole.ASSISTANT, content=told)] if told else []

    @override
    def after_result(self, entries: Sequence[Any]) -> bool:
        """Tell `False`: a form was asked for, and saying nothing is none."""
        return False


class MessagePad(Scratchpad):
    """Messages, as `FunctionAgent` keeps them."""

    @override
    def refused(self, output: AgentOutput, failure: Failure, words: str) -> list[Any]:
        """Show the reply, and answer each of its calls: providers want that."""
        calls = [call for call in output.tool_calls if call.tool_id]
        if not calls:
            return _told(output, words)
        text = output.response.content or ""
        at_fault = next((c for c in calls if c.tool_name == failure.tool), calls[0])
        answers = [_result(call, words if call is at_fault else _NOT_RUN) for call in calls]
        return [calling(text, calls), *answers]

    @override
    def answer(self, thought: str, text: str) -> list[Any]:
        """Return the message."""
        return [_assistant(text)]

    @override
    def calls(self, thought: str, calls: Sequence[ToolSelection]) -> list[Any]:
        """Return the message with the calls as the provider's own."""
        return [calling(thought, calls)]

    @override
    def messages(self, entries: Sequence[Any]) -> list[ChatMessage]:
        """Return the messages up to the last one whose calls were answered."""
        seen: list[ChatMessage] = list(entries)
        while seen and _has_calls(seen[-1]):
            seen.pop()
        return seen

    @override
    def after_result(self, entries: Sequence[Any]) -> bool:
        """Tell whether the last message is a tool's."""
        return bool(entries) and entries[-1].role == MessageRole.TOOL


class CodePad(MessagePad):
    """Messages, as `CodeActAgent` keeps them: its calls are part of the text."""

    @override
    def refused(self, output: AgentOutput, failure: Failure, words: str) -> list[Any]:
        """Show the text, and no calls: providers take those only where tools are on offer."""
        return _told(output, words)


def scratchpad_of(agent: object) -> Scratchpad:
    """Return how an agent keeps what it did, told by the fields that LlamaIndex's agents have.

    >>> scratchpad_of(object()).key is None
    True
    """
    known = getattr(type(agent), "model_fields", {})
    if "reasoning_key" in known:
        return ReasoningPad(agent.reasoning_key)  # type: ignore[attr-defined] # a field of its
    key = getattr(agent, "scratchpad_key", None) if "scratchpad_key" in known else None
    return CodePad(key) if "code_execute_fn" in known else MessagePad(key)


def _told(output: AgentOutput, words: str) -> list[ChatMessage]:
    text = output.response.content or ""
    said = [_assistant(text)] if text.strip() else []
    return [*said, ChatMessage(role=MessageRole.USER, content=words)]


def _assistant(text: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


def calling(text: str, calls: Sequence[ToolSelection]) -> ChatMessage:
    """Return a message that makes calls as the provider's own.

    >>> calling("Let me see.", [selection("add", {"a": 1}, "call_1")]).blocks[1].tool_name
    'add'
    """
    said = [TextBlock(text=text)] if text.strip() else []
    made = [
        ToolCallBlock(tool_call_id=c.tool_id, tool_name=c.tool_name, tool_kwargs=c.tool_kwargs)
        for c in calls
    ]
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[*said, *made])


def _result(call: ToolSelection, words: str) -> ChatMessage:
    return ChatMessage(
        role=MessageRole.TOOL,
        content=words,
        additional_kwargs={"tool_call_id": call.tool_id, "name": call.tool_name},
    )


def _has_calls(message: ChatMessage) -> bool:
    return any(isinstance(block, ToolCallBlock) for block in message.blocks) or bool(
        message.additional_kwargs.get("tool_calls")
    )
