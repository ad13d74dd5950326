"""How parsers are called: at once, although async, and while a reply arrives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, Generation

from langchain_loopmend.messages import put_together, text_of
from loopmend.adapting import each_at_once

__all__ = ["Immediate", "StreamingParser", "Tell"]


Tell = Callable[[Any], Iterable[Any]]


class Immediate:
    """A parser with nothing to await: its async methods need no thread."""

    async def aparse(self: Any, text: str) -> Any:
        """Read a text."""
        return self.parse(text)

    async def aparse_result(self: Any, result: list[Generation], *, partial: bool = False) -> Any:
        """Read what a model returned."""
        return self.parse_result(result, partial=partial)


class StreamingParser(Immediate):
    """A parser that tells what it knows of a reply while it arrives."""

    @abstractmethod
    def _listener(self) -> tuple[Tell, Tell]:
        """Return what tells of more text of one stream, and what tells of its result."""

    def _transform(self, input: Iterator[str | BaseMessage]) -> Iterator[Any]:
        async def each() -> AsyncIterator[str | BaseMessage]:
            for chunk in input:
                yield chunk

        return each_at_once(self._atransform(each()))

    async def _atransform(
        self: Any, input: AsyncIterator[str | BaseMessage]
    ) -> AsyncGenerator[Any, None]:
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
