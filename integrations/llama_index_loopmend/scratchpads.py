"""Where each kind of agent keeps what it did so far in a run, and how entries of it are made.

LlamaIndex has two kinds: a list of reasoning steps (ReAct) and a list of messages (the others).
An agent of another kind may keep none that we know of; then `key` is `None`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    BaseReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.tools import ToolSelection
from typing_extensions import override

from llama_index_loopmend.messages import calling, chat_messages, core_messages, text_of
from loopmend import Message
from loopmend._repr import written
from loopmend.mending import Form, NativeCall

__all__ = [
    "CodePad",
    "CorrectionStep",
    "JsonActionStep",
    "ReasoningPad",
    "RefusedStep",
    "Scratchpad",
    "scratchpad_of",
]


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


class Scratchpad:
    """Messages, as `FunctionAgent` keeps them.

    >>> Scratchpad("scratchpad").answer("", "3")[0].content
    '3'
    """

    form: Form = "native"
    """How the agent asks for calls."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        """Where in the context's store it is kept."""

    def asked(self, messages: Sequence[Message]) -> list[Any]:
        """Return the entries of what is added when the model is asked again."""
        return chat_messages(messages)

    def core(self, entries: Sequence[Any]) -> list[Message]:
        """Return the entries as the core's messages."""
        return core_messages(entries)

    def answer(self, thought: str, text: str) -> list[Any]:  # noqa: ARG002 - others keep it
        """Return the entries of an answer."""
        return [ChatMessage(role=MessageRole.ASSISTANT, content=text)]

    def calls(self, thought: str, calls: Sequence[ToolSelection]) -> list[Any]:
        """Return the entries of calls that are made."""
        return [calling(thought, calls)]

    def entries(self, output: AgentOutput, thought: str) -> list[Any]:  # noqa: ARG002 - as above
        """Return what the agent would have noted of an output."""
        return [output.response]

    def messages(self, entries: Sequence[Any]) -> list[ChatMessage]:
        """Return the entries as messages, without calls that nobody answered."""
        seen: list[ChatMessage] = list(entries)
        while seen and _has_calls(seen[-1]):
            seen.pop()
        return seen

    def after_result(self, entries: Sequence[Any]) -> bool:
        """Tell whether a tool's result came last, so that saying nothing is a way to finish."""
        return bool(entries) and entries[-1].role == MessageRole.TOOL


class CodePad(Scratchpad):
    """Messages, as `CodeActAgent` keeps them: its calls are part of the text.

    >>> CodePad("scratchpad").form
    'code'
    """

    form = "code"

    @override
    def asked(self, messages: Sequence[Message]) -> list[Any]:
        """Return them without calls: providers take those only where tools are on offer."""
        said = [replace(m, role="user" if m.role == "tool" else m.role, calls=()) for m in messages]
        return chat_messages(message for message in said if message.content.strip())


class ReasoningPad(Scratchpad):
    """Reasoning steps, as `ReActAgent` keeps them.

    >>> ReasoningPad("current_reasoning").answer("", "3")[0].response
    '3'
    """

    form = "react"

    @override
    def asked(self, messages: Sequence[Message]) -> list[Any]:
        """Return refused replies and corrections as steps."""
        return [
            RefusedStep(text=message.content)
            if message.role == "assistant"
            else CorrectionStep(observation=message.content)
            for message in messages
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
    def entries(self, output: AgentOutput, thought: str) -> list[Any]:
        """Return the actions, or the answer."""
        if output.tool_calls:
            return self.calls(thought, output.tool_calls)
        return self.answer(thought, text_of(output))

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


def scratchpad_of(agent: object) -> Scratchpad:
    """Return how an agent keeps what it did, told by the fields that LlamaIndex's agents have.

    >>> scratchpad_of(object()).key is None
    True
    """
    kind: Any = type(agent)
    pad, field = _kind_of_pad(kind)
    return pad(getattr(agent, field) if field else None)


@lru_cache(maxsize=256)
def _kind_of_pad(kind: Any) -> tuple[type[Scratchpad], str | None]:
    # Looked up in the class: asking an instance for what it does not have takes its time.
    known = getattr(kind, "model_fields", {})
    if "reasoning_key" in known:
        return ReasoningPad, "reasoning_key"
    field = "scratchpad_key" if "scratchpad_key" in known else None
    return CodePad if "code_execute_fn" in known else Scratchpad, field


def _has_calls(message: ChatMessage) -> bool:
    return any(isinstance(block, ToolCallBlock) for block in message.blocks) or bool(
        message.additional_kwargs.get("tool_calls")
    )
