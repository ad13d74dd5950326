"""A language model that follows a script, for testing agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Union

from llama_index.core.base.llms.generic_utils import (
    achat_to_completion_decorator,
    astream_chat_to_completion_decorator,
    chat_to_completion_decorator,
    stream_chat_to_completion_decorator,
)
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    LLMMetadata,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import PrivateAttr
from typing_extensions import override

from llama_index_loopmend.messages import selection

__all__ = ["ScriptedLLM", "call"]

Said = Union[str, ChatMessage]
Line = Union[Said, Exception, Callable[[Sequence[ChatMessage]], Said]]
"""What the model does next: say a text, return a message, raise, or do what a function says."""

_CHUNK = 8


def call(name: str, _id: str = "call_1", /, **arguments: Any) -> ChatMessage:
    """Return a message that calls one tool.

    >>> call("search", query="Oslo").blocks[0].tool_kwargs
    {'query': 'Oslo'}
    """
    made = ToolCallBlock(tool_call_id=_id, tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=[made])


def _completing(complete_by: Callable[[Any], Any], chat: str) -> Any:
    """Return a method that says the next line as a completion."""

    def complete(self: Any, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:  # noqa: ARG001, FBT001, FBT002 - as it is called
        return complete_by(getattr(self, chat))(prompt, **kwargs)

    return complete


class ScriptedLLM(FunctionCallingLLM):
    """Replies with the next line of its script, and records what it was asked.

    It can call tools, streams in small chunks, and is truly async.

    >>> llm = ScriptedLLM(script=["Hello!"])
    >>> llm.chat([ChatMessage(content="Hi")]).message.content, llm.asked[0][0].content
    ('Hello!', 'Hi')
    """

    script: Sequence[Any]
    """The lines: each a text, a message, an exception to raise, or a function of the messages."""
    repeat: bool = False
    """Whether to start over at the end of the script instead of failing."""
    raw: Any = None
    """What the provider adds to a reply, such as `{"usage": {…}}`."""
    pause: float = 0.0
    """How many seconds pass between two chunks of an async stream."""
    schema_argument: Literal["format", "response_format"] | None = None
    """The argument in which its client takes a JSON schema; `None` if it takes none."""
    refuses: bool = False
    """Whether the provider refuses a schema, as servers without support do."""

    _asked: list[list[ChatMessage]] = PrivateAttr(default_factory=list)
    _schemas: list[Any] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[list[ChatMessage]]:
        """What it was asked: one list of messages per call."""
        return self._asked

    @property
    def schemas(self) -> list[Any]:
        """The schemas to decode by: one for each call that had one."""
        return self._schemas

    @classmethod
    @override
    def class_name(cls) -> str:
        """Return the name that LlamaIndex serializes it under."""
        return "ScriptedLLM"

    @property
    @override
    def metadata(self) -> LLMMetadata:
        """Say that it can call tools."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True)

    def _next(self, messages: Sequence[ChatMessage], kwargs: dict[str, Any]) -> ChatMessage:
        given = kwargs.get("format") or kwargs.get("response_format")
        if given is not None:
            if self.refuses:
                msg = "unknown argument: response_format"
                raise ValueError(msg)
            self._schemas.append(given)
        at = len(self._asked)
        self._asked.append(list(messages))
        if at >= len(self.script) and not self.repeat:
            msg = f"the script has {len(self.script)} lines, but the model was asked again"
            raise AssertionError(msg)
        line: Line = self.script[at % len(self.script)]
        if isinstance(line, Exception):
            raise line
        said = line if isinstance(line, (str, ChatMessage)) else line(messages)
        if isinstance(said, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=said)
        # LlamaIndex changes the messages that it is given.
        return said.model_copy(deep=True)

    def _chunks(self, message: ChatMessage) -> Iterator[ChatResponse]:
        """Cut a message as providers do: text in pieces, then the whole with its calls."""
        text = message.content or ""
        for at in range(0, len(text), _CHUNK):
            so_far = ChatMessage(role=message.role, content=text[: at + _CHUNK])
            yield ChatResponse(message=so_far, delta=text[at : at + _CHUNK])
        yield ChatResponse(message=message, delta="", raw=self.raw)

    @override
    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Say the next line."""
        return ChatResponse(message=self._next(messages, kwargs), raw=self.raw)

    @override
    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Say the next line, after letting other tasks run."""
        await asyncio.sleep(self.pause)
        return ChatResponse(message=self._next(messages, kwargs), raw=self.raw)

    @override
    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Say the next line in pieces."""
        return (chunk for chunk in self._chunks(self._next(messages, kwargs)))

    @override
    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Say the next line in pieces, letting other tasks run in between."""
        message = self._next(messages, kwargs)

        async def chunks() -> ChatResponseAsyncGen:
            for chunk in self._chunks(message):
                yield chunk
                await asyncio.sleep(self.pause)

        return chunks()

    complete = _completing(chat_to_completion_decorator, "chat")
    acomplete = _completing(achat_to_completion_decorator, "achat")
    stream_complete = _completing(stream_chat_to_completion_decorator, "stream_chat")
    astream_complete = _completing(astream_chat_to_completion_decorator, "astream_chat")

    @override
    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if isinstance(user_msg, str):
            user_msg = ChatMessage(content=user_msg)
        messages += [] if user_msg is None else [user_msg]
        return {"messages": messages}

    @override
    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Return the calls that the message holds."""
        made = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        if not made and error_on_no_tool_call:
            msg = "the message calls no tool"
            raise ValueError(msg)
        return [selection(b.tool_name, b.tool_kwargs, b.tool_call_id) for b in made]
