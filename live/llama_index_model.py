"""The model as LlamaIndex sees it.

There is a client for such servers in the registry, but today's one cannot be installed together
with the client that LangChain uses; this is all that agents need of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import PrivateAttr
from typing_extensions import override

from live.engine import OPTIONS, Client

__all__ = ["ServedLLM"]


class ServedLLM(FunctionCallingLLM):
    """The model behind an OpenAI-compatible server; it blocks, as only one run is under way."""

    schema_argument: ClassVar[str] = "response_format"
    """How such a server is told to decode by a schema."""

    _client: Client = PrivateAttr()

    @classmethod
    def of(cls, client: Client) -> ServedLLM:
        """Return the model for one run."""
        made = cls()
        made._client = client
        return made

    @property
    @override
    def metadata(self) -> LLMMetadata:
        """Say that it can call tools."""
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True)

    @override
    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Ask the model."""
        return self._ask(messages, kwargs)

    @override
    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Ask the model."""
        return self._ask(messages, kwargs)

    @override
    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Ask the model, and give its reply in one piece."""
        response = self._ask(messages, kwargs)
        return (one for one in (response,))

    @override
    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Ask the model, and give its reply in one piece."""
        response = self._ask(messages, kwargs)

        async def pieces() -> ChatResponseAsyncGen:
            yield response

        return pieces()

    @override
    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Ask the model with one message."""
        return self._complete(prompt, kwargs)

    @override
    @llm_completion_callback()
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """Ask the model with one message."""
        return self._complete(prompt, kwargs)

    @override
    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Ask the model with one message, and give its reply in one piece."""
        response = self._complete(prompt, kwargs)
        return (one for one in (response,))

    @override
    @llm_completion_callback()
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """Ask the model with one message, and give its reply in one piece."""
        response = self._complete(prompt, kwargs)

        async def pieces() -> CompletionResponseAsyncGen:
            yield response

        return pieces()

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
        made = [tool.metadata.to_openai_tool(skip_length_check=True) for tool in tools]
        return {"messages": messages, "tools": made, **kwargs}

    @override
    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Return the calls of a reply."""
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=_decoded(block.tool_kwargs),
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    def _complete(self, prompt: str, options: dict[str, Any]) -> CompletionResponse:
        response = self._ask([ChatMessage(content=prompt)], options)
        return CompletionResponse(text=response.message.content or "", raw=response.raw)

    def _ask(self, messages: Sequence[ChatMessage], options: dict[str, Any]) -> ChatResponse:
        body = {"messages": [_sent(message) for message in messages], **OPTIONS, **options}
        raw = self._client.ask(body)
        return ChatResponse(message=_received(raw["choices"][0]["message"]), raw=raw)


def _sent(message: ChatMessage) -> dict[str, Any]:
    """Return a message in OpenAI's form."""
    made: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if calls:
        made["tool_calls"] = [
            {
                "id": block.tool_call_id,
                "type": "function",
                "function": {
                    "name": block.tool_name,
                    "arguments": json.dumps(_decoded(block.tool_kwargs)),
                },
            }
            for block in calls
        ]
    if message.role is MessageRole.TOOL:
        made["tool_call_id"] = message.additional_kwargs.get("tool_call_id", "")
    return made


def _received(message: dict[str, Any]) -> ChatMessage:
    blocks: list[Any] = [
        ToolCallBlock(
            tool_call_id=call["id"],
            tool_name=call["function"]["name"],
            tool_kwargs=call["function"]["arguments"],
        )
        for call in message.get("tool_calls") or ()
    ]
    text = message.get("content")
    return ChatMessage(
        role=MessageRole.ASSISTANT, blocks=[TextBlock(text=text), *blocks] if text else blocks
    )


def _decoded(arguments: dict[str, Any] | str) -> dict[str, Any]:
    """Return arguments as LlamaIndex's own client for OpenAI does: none if they are broken."""
    if isinstance(arguments, dict):
        return arguments
    try:
        decoded = json.loads(arguments)
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}
