"""What a planned agent remembers from step to step: JSON under one key of the context's store."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

__all__ = ["NOTES_KEY", "Notes"]

NOTES_KEY: Final = "loopmend"
"""The key of the store that holds the notes; nothing else is written there."""

_KEPT: Final = 20
_LONGEST: Final = 500


@dataclass(slots=True)
class Notes:
    """The notes of one context.

    >>> Notes.of({"streak": 2, "delegated": ["writer"], "unknown": 1}).streak
    2
    """

    streak: int = 0
    """How many steps in a row ended with a reply that could not be mended."""
    gave_up: bool = False
    """Whether that happened in this turn."""
    tokens: int = 0
    """How many tokens this turn has used."""
    inspected: bool = False
    """Whether memory was looked into in this turn."""
    composed: bool = False
    """Whether something was composed in this turn."""
    may_call: bool = False
    """Whether the breaker let a call through that was not made yet: it is asked once for each."""
    delegated: list[str] = field(default_factory=list)
    """To whom this turn was handed over."""
    plans: list[dict[str, Any]] = field(default_factory=list)
    """The latest decisions that something came of, oldest first."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    """The latest replies that were refused, oldest first."""

    @classmethod
    def of(cls, stored: object) -> Notes:
        """Return what is stored, as far as it can be used: it may have been through JSON."""
        notes = cls()
        if isinstance(stored, dict):
            for name in _FIELDS:
                value = stored.get(name)
                if type(value) is type(getattr(notes, name)):
                    setattr(notes, name, list(value) if isinstance(value, list) else value)
        return notes

    def start_turn(self) -> None:
        """Forget what holds for one turn of the user only."""
        self.tokens = 0
        self.inspected = self.composed = self.gave_up = False
        self.delegated = []

    def plan(self, agent: str, selected: str, outcome: str) -> None:
        """Note a decision that something came of."""
        self.plans = [
            *self.plans[1 - _KEPT :],
            {"agent": agent, "selected": selected, "outcome": outcome[:_LONGEST]},
        ]

    def issue(self, agent: str, pattern: str, outcome: str) -> None:
        """Note a reply that was refused."""
        self.issues = [
            *self.issues[1 - _KEPT :],
            {"agent": agent, "pattern": pattern, "outcome": outcome},
        ]

    def data(self) -> dict[str, Any]:
        """Return the notes as JSON."""
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS: Final = tuple(each.name for each in fields(Notes))
