"""An output parser that says what a reply asks for while it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.output_parsers import BaseCumulativeTransformOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from pydantic import field_validator
from typing_extensions import override

from langchain_loopmend.messages import text_of
from langchain_loopmend.parsers import ReadingOutputParser
from loopmend import Turn, TurnReader

__all__ = ["Arrivals", "TurnOutputParser"]


class TurnOutputParser(ReadingOutputParser[Turn], BaseCumulativeTransformOutputParser[Turn]):
    r"""Reads a reply into a `Turn` and streams what is already known.

    The last turn of a stream is that of the whole reply, with its repairs and places. An
    unreadable reply raises there; LangChain's own cumulative parsers end in silence. Streaming
    costs linear time, however small the chunks are.

    >>> chunks = iter(["Thought: I have to look it up\nAct", "ion: search\nAction Input: Oslo"])
    >>> for turn in TurnOutputParser().transform(chunks):
    ...     print(turn.actions)
    ()
    (ToolCall(name='search', arguments='Oslo', type='tool_call'),)
    (ToolCall(name='search', arguments='Oslo', type='tool_call'),)
    """

    @field_validator("diff")
    @classmethod
    def _no_diff(cls, diff: bool) -> bool:  # noqa: FBT001 - pydantic's signature
        if diff:
            msg = "turns are streamed whole: `diff` is not supported"
            raise ValueError(msg)
        return diff

    @override
    def _result(self, text: str, turn: Turn) -> Turn:
        return turn

    @override
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Turn:
        """Read a reply, or what has arrived of it; a partial reply never fails."""
        if not partial:
            return super().parse_result(result)
        reader = self._reader()
        last = [*reader.feed(result[0].text)]
        return last[-1] if last else Turn()

    @override
    def _transform(self, input: Iterator[str | BaseMessage]) -> Iterator[Turn]:
        stream = _Stream(self)
        for chunk in input:
            yield from stream.feed(chunk)
        yield stream.finish()

    @override
    async def _atransform(self, input: AsyncIterator[str | BaseMessage]) -> AsyncIterator[Turn]:
        stream = _Stream(self)
        async for chunk in input:
            for turn in stream.feed(chunk):
                yield turn
        yield stream.finish()

    def _reader(self) -> TurnReader:
        return TurnReader(tools=self.toolbox, config=self._config)

    @property
    def _type(self) -> str:
        return "loopmend-turn"


class Arrivals:
    """The chunks of one stream."""

    def __init__(self) -> None:
        self._chunks: list[AIMessageChunk] = []

    def take(self, chunk: str | BaseMessage) -> str:
        """Take a chunk and return its text."""
        if isinstance(chunk, AIMessageChunk):
            self._chunks.append(chunk)
        elif isinstance(chunk, AIMessage):
            self._chunks.append(AIMessageChunk(**chunk.model_dump(exclude={"type"})))
        return text_of(chunk)

    def whole(self, text: str) -> Generation:
        """Return everything that arrived; `text` is its text."""
        if not self._chunks:
            return Generation(text=text)
        first, *rest = self._chunks
        # Added all at once: one after the other would take quadratic time.
        message: Any = first + rest if rest else first
        return ChatGeneration(message=message)


class _Stream(Arrivals):
    """What has arrived of one stream."""

    def __init__(self, parser: TurnOutputParser) -> None:
        super().__init__()
        self.parser = parser
        self.reader = parser._reader()  # noqa: SLF001 - part of the parser

    def feed(self, chunk: str | BaseMessage) -> Iterator[Turn]:
        return self.reader.feed(self.take(chunk))

    def finish(self) -> Turn:
        return self.parser.parse_result([self.whole(self.reader.text)])
