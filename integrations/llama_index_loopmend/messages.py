"""LlamaIndex's messages, outputs and scratchpads as the core's, and the core's as LlamaIndex's.

LlamaIndex's agents keep what they did in a run as a list of reasoning steps (ReAct) or of messages
(the others) in the context's store, their scratchpad. An agent of another kind may keep none that
we know of.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import (
    ChatMessage,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.tools import ToolSelection
from typing_extensions import override

from llama_index_loopmend.parsers import JsonActionStep
from loopmend import Reply
from loopmend.adapting import finish_of
from loopmend.mending import Form, Message, NativeCall

__all__ = ["Scratchpad", "chat_messages", "core_messages", "reply_from", "scratchpad_of", "told"]

_TEXTUAL: Final = (TextBlock, ThinkingBlock, ToolCallBlock)


def core_messages(messages: Iterable[ChatMessage]) -> list[Message]:
    """Return a conversation as the core takes it.

    >>> core_messages([ChatMessage(content="Where is Oslo?")])[0].content
    'Where is Oslo?'
    """
    return [_core_message(message) for message in messages]


def _core_message(message: ChatMessage) -> Message:
    text = message.content or ""
    if message.role in (MessageRole.TOOL, MessageRole.FUNCTION):
        return Message("tool", text, call_id=message.additional_kwargs.get("tool_call_id"))
    if message.role is MessageRole.SYSTEM:
        return Message("system", text)
    if message.role is not MessageRole.ASSISTANT:
        return Message("user", text)
    return Message("assistant", text, tuple(_calls(message)))


def _calls(message: ChatMessage) -> Iterable[NativeCall]:
    for block in message.blocks:
        if isinstance(block, ToolCallBlock):
            yield NativeCall(block.tool_name, block.tool_kwargs, block.tool_call_id)


def chat_messages(messages: Iterable[Message]) -> list[ChatMessage]:
    """Return the core's messages as LlamaIndex's.

    >>> chat_messages([Message("user", "Where is Oslo?")])[0].role.value
    'user'
    """
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> ChatMessage:
    if message.role == "tool":
        told: dict[str, Any] = {"tool_call_id": message.call_id}
        return ChatMessage(role=MessageRole.TOOL, content=message.content, additional_kwargs=told)
    if not message.calls:
        return ChatMessage(role=MessageRole(message.role), content=message.content)
    said = ChatMessage(role=MessageRole.ASSISTANT, content=message.content or None)
    said.blocks += [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.arguments)
        for call in message.calls
    ]
    return said


def text_of(output: AgentOutput) -> str:
    """Return what an output says."""
    return output.response.content or ""


def question_of(messages: Sequence[ChatMessage]) -> str:
    """Return what the user said last."""
    said = (m.content or "" for m in reversed(messages) if m.role is MessageRole.USER)
    return next(said, "")


def has_calls(message: ChatMessage) -> bool:
    """Tell whether a message calls tools, in a block or as older clients keep it."""
    kept = message.additional_kwargs.get("tool_calls")
    return bool(kept) or any(isinstance(block, ToolCallBlock) for block in message.blocks)


def has_media(entries: Iterable[Any]) -> bool:
    """Tell whether messages hold more than text; steps of reasoning hold no blocks at all."""
    blocks = (block for entry in entries for block in getattr(entry, "blocks", ()))
    return any(not isinstance(block, _TEXTUAL) for block in blocks)


def reply_of(output: AgentOutput) -> Reply:
    """Return an output as the core takes it."""
    return reply_from(output.response, output.tool_calls, output.raw)


def reply_from(message: ChatMessage, calls: Iterable[ToolSelection] = (), raw: Any = None) -> Reply:
    """Return what a model said as the core takes it: calls that are whole, and those that are not.

    Clients complete arguments that were cut off, or leave them out, so what really arrived counts
    where it is there.
    """
    blocks = message.blocks
    cut = {b.tool_call_id: b for b in blocks if isinstance(b, ToolCallBlock) and _is_cut(b)}
    whole, broken = [], []
    for call in calls:
        if (block := cut.get(call.tool_id)) is not None:
            broken.append(NativeCall(block.tool_name, block.tool_kwargs, call.tool_id))
        else:
            whole.append(NativeCall(call.tool_name, call.tool_kwargs, call.tool_id))
    reason = None if raw is None else finish_of(raw)
    more = has_media([message])
    return Reply(message.content or "", tuple(whole), tuple(broken), reason, holds_more=more)


def _is_cut(block: ToolCallBlock) -> bool:
    if not isinstance(block.tool_kwargs, str):
        return False
    try:
        return not isinstance(json.loads(block.tool_kwargs or "{}"), dict)
    except (ValueError, RecursionError):
        return True


def with_calls(output: AgentOutput, calls: Sequence[ToolSelection], text: str) -> AgentOutput:
    """Return an output with other calls; thoughts stay, as some providers want to see them."""
    message = output.response
    kept = [b for b in message.blocks if not isinstance(b, (TextBlock, ToolCallBlock))]
    others = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    blocks = [*kept, *calling(text, calls).blocks]
    said = ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks, additional_kwargs=others)
    return output_like(output, said, calls)


def without_calls(output: AgentOutput, text: str) -> AgentOutput:
    """Return an output that only says something."""
    return output_like(output, ChatMessage(role=MessageRole.ASSISTANT, content=text))


def output_like(
    output: AgentOutput, message: ChatMessage, calls: Sequence[ToolSelection] = ()
) -> AgentOutput:
    """Return an output of the same agent and the same response of its provider."""
    return AgentOutput(
        response=message,
        tool_calls=list(calls),
        raw=output.raw,
        current_agent_name=output.current_agent_name,
    )


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


def selection(name: str, arguments: Any, id: str | None = None) -> ToolSelection:
    """Return a call as LlamaIndex wants it, with an id of its own unless it has one.

    >>> selection("add", {"a": 1}, "call_1").tool_kwargs
    {'a': 1}
    """
    given = arguments if isinstance(arguments, dict) else {"input": arguments}
    return ToolSelection(
        tool_id=id or f"call_{uuid.uuid4().hex}", tool_name=name, tool_kwargs=given
    )


def told(
    messages: Sequence[ChatMessage], texts: Sequence[str], *, apart: bool
) -> list[ChatMessage]:
    """Return messages to which the model is told something more, in the system's name.

    Args:
        messages: The messages.
        texts: What to tell.
        apart: Whether the first system message is not ours to write to: `ReActAgent` drops it and
            `CodeActAgent` overwrites it, each with a prompt of its own.

    >>> [m.content for m in told([ChatMessage(content="hi")], ["Vary."], apart=False)]
    ['Vary.', 'hi']
    """
    words = "\n\n".join(texts)
    first, rest = ChatMessage(role=MessageRole.SYSTEM, content=""), list(messages)
    if rest and rest[0].role == MessageRole.SYSTEM:
        first = rest.pop(0)
    if apart:
        return [first, ChatMessage(role=MessageRole.SYSTEM, content=words), *rest]
    joined = f"{first.content}\n\n{words}" if first.content else words
    return [ChatMessage(role=MessageRole.SYSTEM, content=joined), *rest]


class Scratchpad:
    """Messages, as `FunctionAgent` and `CodeActAgent` keep them."""

    def __init__(self, key: str | None, form: Form = "native") -> None:
        self.key = key
        """Where in the context's store it is kept; `None` if nowhere that we know of."""
        self.form = form
        """How the agent asks for calls."""

    def again(self, messages: Sequence[Message]) -> list[Any]:
        """Return the entries of what the model is told when it is asked again."""
        return chat_messages(messages)

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
    def again(self, messages: Sequence[Message]) -> list[Any]:
        """Return corrections; steps of reasoning have no place for a reply that was refused."""
        told = (message.content for message in messages if message.role != "assistant")
        return [_CorrectionStep(observation=words) for words in told]

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
