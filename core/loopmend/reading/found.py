"""What a dialect finds, before it is fitted to the tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from loopmend.reading.scalars import Tear
from loopmend.reading.segments import Segments
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, Repair

__all__ = ["Call", "Dialect", "Found", "Source"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model wrote it."""

    name: str
    arguments: Any
    """An object, text, or the positional arguments as a list with `positional` set."""
    span: tuple[int, int]
    positional: tuple[Any, ...] = ()
    """Arguments without a name, in order."""
    raw: bool = False
    """Whether the values are text that only the tool's schema can turn into values."""
    torn: Tear = Tear.WHOLE
    """Whether the text stops before the call does."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a dialect made of a text: calls, or an answer, or a failure with certainty."""

    span: tuple[int, int]
    calls: Sequence[Call] = ()
    answer: str | None = None
    question: str | None = None
    failure: Failure | None = None
    thought: str | None = None
    repairs: Sequence[Repair] = field(default_factory=tuple)
    exact: bool = True
    """Whether the dialect's own grammar was kept."""


@dataclass(frozen=True, slots=True)
class Source:
    """What there is to read."""

    segments: Segments
    tools: Toolbox | None

    @property
    def text(self) -> str:
        """The text with its thinking blanked out."""
        return self.segments.visible


class Dialect(Protocol):
    """One way in which models write actions: a module, or any object with these two.

    >>> from loopmend.reading.dialects import DIALECTS
    >>> [dialect.name for dialect in DIALECTS][:3]
    ['sequences', 'elements', 'tagged']
    """

    @property
    def name(self) -> str:
        """What the turn says it was read in."""

    @property
    def read(self) -> Callable[[Source], Found | None]:
        """Read the text, or return `None` if it is not in this dialect."""
