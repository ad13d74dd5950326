"""An output parser that says what a reply asks for while it arrives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import BaseTransformOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from pydantic import ConfigDict
from typing_extensions import override

from langchain_loopmend.messages import put_together, text_of
from langchain_loopmend.parsers import ReadingOutputParser
from loopmend import Turn, TurnReader

__all__ = ["StreamingParser", "Tell", "TurnOutputParser"]


Tell = Callable[[Any], Iterable[Any]]


class StreamingParser:
    """A parser that tells what it knows of a reply while it arrives."""

    @abstractmethod
    def _listener(self) -> tuple[Tell, Tell]:
        """Return what tells of more text of one stream, and what tells of its result."""

    def _transform(self: Any, input: Iterator[str | BaseMessage]) -> Iterator[Any]:
        feed, finish = self._listener()
        chunks: list[str | BaseMessage] = []
        for chunk in input:
            chunks.append(chunk)
            yield from feed(text_of(chunk))
        yield from finish(self.parse_result(_whole(chunks)))

    async def _atransform(self: Any, input: AsyncIterator[str | BaseMessage]) -> AsyncIterator[Any]:
        feed, finish = self._listener()
        chunks: list[str | BaseMessage] = []
        async for chunk in input:
            chunks.append(chunk)
            for part in feed(text_of(chunk)):
                yield part
        for part in finish(self.parse_result(_whole(chunks))):
            yield part


def _whole(chunks: list[str | BaseMessage]) -> list[Generation]:
    """Return everything that arrived."""
    said = [chunk for chunk in chunks if isinstance(chunk, AIMessage)]
    if not said:
        return [Generation(text="".join(map(text_of, chunks)))]
    # Added all at once: one after the other would take quadratic time.
    whole = put_together([_as_chunk(message) for message in said])
    return [ChatGeneration(message=cast("BaseMessage", whole))]


def _as_chunk(message: AIMessage) -> AIMessageChunk:
    if isinstance(message, AIMessageChunk):
        return message
    return AIMessageChunk(**message.model_dump(exclude={"type"}))


class TurnOutputParser(StreamingParser, ReadingOutputParser[Turn], BaseTransformOutputParser[Turn]):
    r"""Reads a reply into a `Turn` and streams what it knows so far.

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
    def _listener(self) -> tuple[Tell, Tell]:
        reader = TurnReader(tools=self.toolbox, config=self._config)
        return reader.feed, lambda turn: [turn]

    @property
    def _type(self) -> str:
        return "loopmend-turn"
