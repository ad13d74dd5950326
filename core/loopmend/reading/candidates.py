"""What a text asks for, before it is fitted to the tools and judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopmend.reading.answers import Answered
from loopmend.reading.turn import Failure, Repair
from loopmend.reading.written_calls import Call

__all__ = ["Candidate", "Found"]


@dataclass(slots=True)
class Candidate:
    """A place that announces calls or gives an answer."""

    span: tuple[int, int]
    calls: list[Call] = field(default_factory=list)
    answer: Answered | None = None
    failure: Failure | None = None
    form: str = "json"
    shown: str | None = None
    """What it stands in, if that only shows it."""
    thought: bool = False
    """Whether a thought of ReAct leads to it."""
    loose: bool = False
    """Whether it would be prose if it were not meant, such as `f(x)` in a sentence."""


@dataclass(slots=True)
class Found:
    """All that a text asks for and says, by place."""

    candidates: list[Candidate] = field(default_factory=list)
    thoughts: list[tuple[int, int]] = field(default_factory=list)
    """Where it thinks, markup included."""
    thought_texts: list[tuple[int, int]] = field(default_factory=list)
    """What it thinks."""
    noise: list[tuple[int, int]] = field(default_factory=list)
    """Tokens and tags that say nothing."""
    answer: tuple[str, tuple[int, int]] | None = None
    """An answer in a form of its own, and where it stands."""
    answer_form: str = "react"
    question: bool = False
    headers: int = 0
    """How many headers of ReAct there are."""
    no_action: bool = False
    """Whether a thought leads nowhere."""
    observed: int | None = None
    """Where the model makes up a tool's output or goes on for another speaker."""
    afterthought: tuple[int, int] | None = None
    """What is thought there, if no tool's output comes first."""
    too_many: bool = False
    """Whether there is more than is looked at."""
    other_turn: bool = False
    """Whether it goes on for another speaker there, not with a tool's output."""
    made_up: bool = False
    """Whether a tool's output is all that it writes."""
    repairs: list[Repair] = field(default_factory=list)
    open_thought: int | None = None
    """Where thinking starts that never ends."""
    leftovers: list[tuple[int, int]] = field(default_factory=list)
    """Markup of calls without a call."""
