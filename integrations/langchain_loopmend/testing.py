"""A chat model that follows a script, for testing agents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal, Union

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr
from typing_extensions import override

__all__ = ["DecodingChatModel", "ScriptedChatModel", "call"]

Line = Union[str, AIMessage, Exception]
"""What the model does next: say a text, return a message, or raise."""

_CHUNK = 8


def call(name: str, _id: str = "call_1", /, **arguments: Any) -> AIMessage:
    """Return a message that calls one tool.

    >>> call("search", query="Oslo").tool_calls[0]["args"]
    {'query': 'Oslo'}
    """
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": _id}])


class ScriptedChatModel(BaseChatModel):
    """Replies with the next line of its script, and records what it was asked.

    It binds tools, streams in small chunks, and is truly async.

    >>> model = ScriptedChatModel(script=["Hello!"])
    >>> model.invoke("Hi").content, [m.content for m in model.asked[0]]
    ('Hello!', ['Hi'])
    """

    script: Sequence[Any]
    """The lines: each a text, a message, or an exception to raise."""
    repeat: bool = False
    """Whether to start over at the end of the script instead of failing."""

    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _ways: list[str] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[list[BaseMessage]]:
        """The messages of each call: one list per call."""
        return self._asked

    @property
    def ways(self) -> list[str]:
        """How each call came: `sync`, `async`, `stream` or `astream`."""
        return self._ways

    @property
    @override
    def _llm_type(self) -> str:
        return "loopmend-scripted"

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Return the model itself: its script does not depend on the tools."""
        return self

    def _next(self, messages: list[BaseMessage], way: str, kwargs: Mapping[str, Any]) -> AIMessage:  # noqa: ARG002 - for subclasses
        at = len(self._asked)
        self._asked.append(list(messages))
        self._ways.append(way)
        if at >= len(self.script) and not self.repeat:
            msg = f"the script has {len(self.script)} lines, but the model was asked again"
            raise AssertionError(msg)
        line = self.script[at % len(self.script)]
        if isinstance(line, Exception):
            raise line
        message = AIMessage(line) if isinstance(line, str) else line
        # A message that is used twice must not be taken for the same one.
        return message.model_copy(update={"id": None}, deep=True)

    @override
    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return _result(self._next(messages, "sync", kwargs))

    @override
    async def _agenerate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return _result(self._next(messages, "async", kwargs))

    @override
    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(self._next(messages, "stream", kwargs))

    @override
    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(self._next(messages, "astream", kwargs)):
            yield chunk


class DecodingChatModel(ScriptedChatModel):
    """A scripted model whose provider decodes by a JSON schema, or refuses to.

    >>> model = DecodingChatModel(script=['{"type": "final", "content": "4"}'])
    >>> model.bind(response_format={"schema": {}}).invoke("2 + 2?").content
    '{"type": "final", "content": "4"}'
    >>> model.schemas
    [{}]
    """

    refuses: bool = False
    """Whether the provider refuses a schema, as servers without support do."""

    _schemas: list[Any] = PrivateAttr(default_factory=list)

    @property
    def schemas(self) -> list[Any]:
        """The schema for each call; `None` if there was none."""
        return self._schemas

    @override
    def with_structured_output(
        self,
        schema: Any = None,
        *,
        method: Literal["json_schema"] = "json_schema",
        include_raw: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return the model bound to a schema, as clients of providers do."""
        return self.bind(response_format={"schema": schema})

    @override
    def _next(self, messages: list[BaseMessage], way: str, kwargs: Mapping[str, Any]) -> AIMessage:
        schema = (kwargs.get("response_format") or {}).get("schema")
        if schema is not None and self.refuses:
            msg = "unknown argument: response_format"
            raise ValueError(msg)
        self._schemas.append(schema)
        return super()._next(messages, way, kwargs)


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """Cut a message as providers do: text in pieces, then each call's arguments in pieces."""
    text = str(message.text)
    for at in range(0, max(len(text), 1), _CHUNK):
        yield _chunk(text[at : at + _CHUNK])
    calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    for index, made in enumerate(calls):
        given = made["args"] if isinstance(made["args"], str) else json.dumps(made["args"])
        yield _chunk("", tool_call_chunk(name=made["name"], args="", id=made["id"], index=index))
        for at in range(0, len(given), _CHUNK):
            yield _chunk("", tool_call_chunk(args=given[at : at + _CHUNK], index=index))
    if message.response_metadata:
        last = AIMessageChunk(content="", response_metadata=message.response_metadata)
        yield ChatGenerationChunk(message=last)


def _chunk(text: str, *pieces: ToolCallChunk) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=text, tool_call_chunks=list(pieces)))
