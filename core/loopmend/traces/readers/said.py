"""A message, whoever wrote it down: who says what, calls what, and returns what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from loopmend.traces.readers.parts import once
from loopmend.traces.trace import Observation, Tokens, TraceCall

__all__ = ["Said", "first_user", "last_user"]


@dataclass(slots=True)
class Said:
    """A message: who says what, calls what, and returns what."""

    role: str
    text: str = ""
    thought: str | None = None
    calls: list[TraceCall] = field(default_factory=list)
    results: list[Observation] = field(default_factory=list)
    name: str | None = None
    tokens: Tokens | None = None
    finish: str | None = None
    """Why the provider says the reply ended."""
    item: bool = False
    """Whether it is one of several items that make up a reply."""
    answer: str | None = None
    """What the host says it answers, if that is told apart."""
    concludes: bool = False
    """Whether it ends with words about what tools returned within the reply."""

    @property
    def empty(self) -> bool:
        """Whether it holds nothing at all."""
        return not (self.text.strip() or self.calls or self.results or self.thought)

    def join(self, more: Said) -> None:
        """Add another piece of the same reply."""
        after = self.concludes or bool(more.text.strip() and self.results)
        self.concludes = more.concludes or (after and not more.calls)
        self.text = "\n".join(filter(None, (self.text, more.text)))
        self.thought = "\n".join(filter(None, (self.thought, more.thought))) or None
        self.calls = once(self.calls, more.calls)
        self.results = [*self.results, *more.results]
        self.tokens, self.finish = self.tokens or more.tokens, more.finish or self.finish


def first_user(said: Iterable[Said]) -> str | None:
    """Return what the user said first."""
    return next((each.text for each in said if each.role == "user" and each.text), None)


def last_user(said: Sequence[Said]) -> str | None:
    """Return what the user said last."""
    return first_user(reversed(said))
