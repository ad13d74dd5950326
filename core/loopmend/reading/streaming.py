"""Reading a turn while it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from loopmend._arguments import not_text
from loopmend.reading.reader import read_turn
from loopmend.reading.tools import Tools, toolbox_of
from loopmend.reading.turn import ReadingConfig, Turn

__all__ = ["TurnReader"]

# Reading again only after the text has grown by a quarter keeps all readings together
# within a small multiple of the last one, however small the chunks are.
_GROWTH: Final = 1.25
_FIRST: Final = 32


class TurnReader:
    r"""Reads a turn chunk by chunk.

    `feed` yields what is known so far; `finish` returns exactly what `read_turn` returns for the
    whole text, including a failure.

    >>> reader = TurnReader()
    >>> for chunk in ("Thought: I have to add them up\nAct", "ion: add\nAction Input: 2 and 2"):
    ...     for partial in reader.feed(chunk):
    ...         print(partial.thought, partial.actions)
    I have to add them up
    Act ()
    I have to add them up (ToolCall(name='add', arguments='2 and 2', type='tool_call'),)
    >>> reader.finish().actions[0].name
    'add'
    """

    def __init__(self, *, tools: Tools = None, config: ReadingConfig | None = None) -> None:
        self._tools = toolbox_of(tools)
        self._config = ReadingConfig() if config is None else config
        self._chunks: list[str] = []
        self._length = 0
        self._next = _FIRST
        self._last: Turn | None = None

    @property
    def text(self) -> str:
        """Everything that has arrived."""
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""

    def feed(self, chunk: str) -> Iterator[Turn]:
        """Take a chunk and yield the turn as far as it is known, if it has changed.

        A partial turn has no failure: the next chunk may complete it.

        Raises:
            TypeError: `chunk` is not a `str`.
        """
        if not isinstance(chunk, str):
            raise not_text(chunk, "chunk")
        self._chunks.append(chunk)
        self._length += len(chunk)
        return self._partial()

    def _partial(self) -> Iterator[Turn]:
        if self._length < self._next:
            return
        self._next = int(self._length * _GROWTH) + 1
        turn = read_turn(self.text, tools=self._tools, config=self._config)
        if turn.failure is not None:
            turn = Turn((), turn.thought)
        turn = replace(turn, span=(0, 0), repairs=(), fidelity="exact")
        if turn != self._last:
            self._last = turn
            yield turn

    def finish(self) -> Turn:
        """Return the turn of the whole text."""
        return read_turn(self.text, tools=self._tools, config=self._config)
