"""An output parser that says what a reply asks for while it arrives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import BaseTransformOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from pydantic import ConfigDict
from typing_extensions import override

from langchain_loopmend.messages import put_together, text_of
from langchain_loopmend.parsers import ReadingOutputParser
from loopmend import Turn, TurnReader

__all__ = ["Arrivals", "StreamingParser", "TurnOutputParser"]


class Arrivals(ABC):
    """What has arrived of one stream."""

    def __init__(self) -> None:
        self._chunks: list[AIMessageChunk] = []

    def take(self, chunk: str | BaseMessage) -> str:
        """Take a chunk and return its text."""
        if isinstance(chunk, AIMessageChunk):
            self._chunks.append(chunk)
        elif isinstance(chunk, AIMessage):
            self._chunks.append(AIMessageChunk(**chunk.model_dump(exclude={"type"})))
        return text_of(chunk)

    def whole(self, text: str) -> list[Generation]:
        """Return everything that arrived; `text` is its text."""
        if not self._chunks:
            return [Generation(text=text)]
        # Added all at once: one after the other would take quadratic time.
        return [ChatGeneration(message=cast("BaseMessage", put_together(self._chunks)))]

    @abstractmethod
    def feed(self, chunk: str | BaseMessage) -> Iterator[Any]:
        """Yield what a chunk tells."""

    @abstractmethod
    def finish(self) -> Iterator[Any]:
        """Yield what the whole reply tells."""


class StreamingParser:
    """A parser that tells what it knows of a reply while it arrives."""

    @abstractmethod
    def _arrivals(self) -> Arrivals:
        """Return what takes one stream."""

    def _transform(self, input: Iterator[str | BaseMessage]) -> Iterator[Any]:
        stream = self._arrivals()
        for chunk in input:
            yield from stream.feed(chunk)
        yield from stream.finish()

    async def _atransform(self, input: AsyncIterator[str | BaseMessage]) -> AsyncIterator[Any]:
        stream = self._arrivals()
        async for chunk in input:
            for part in stream.feed(chunk):
                yield part
        for part in stream.finish():
            yield part


class TurnOutputParser(StreamingParser, ReadingOutputParser[Turn], BaseTransformOutputParser[Turn]):
    r"""Reads a reply into a `Turn` and streams what is already known.

    The last turn of a stream is that of the whole reply, with its repairs and places. An
    unreadable reply raises there, where LangChain's own cumulative parsers say nothing. Streaming
    takes linear time even if the chunks are small.

    >>> chunks = iter(["Thought: I have to look it up\nAct", "ion: search\nAction Input: Oslo"])
    >>> for turn in TurnOutputParser().transform(chunks):
    ...     print(turn.actions)
    ()
    (ToolCall(name='search', arguments='Oslo', type='tool_call'),)
    (ToolCall(name='search', arguments='Oslo', type='tool_call'),)
    """

    model_config = ConfigDict(extra="forbid")  # which the other base class would ignore

    @override
    def _result(self, text: str, turn: Turn) -> Turn:
        return turn

    @override
    def _arrivals(self) -> Arrivals:
        return _Turns(self)

    @property
    def _type(self) -> str:
        return "loopmend-turn"


class _Turns(Arrivals):
    def __init__(self, parser: TurnOutputParser) -> None:
        super().__init__()
        self._parser = parser
        self._reader = TurnReader(tools=parser.toolbox, config=parser._config)  # noqa: SLF001

    @override
    def feed(self, chunk: str | BaseMessage) -> Iterator[Turn]:
        return self._reader.feed(self.take(chunk))

    @override
    def finish(self) -> Iterator[Turn]:
        yield self._parser.parse_result(self.whole(self._reader.text))
