"""What hooks remember from step to step: JSON under one key of the context's store."""

from __future__ import annotations

from typing import Any, Final

from llama_index_loopmend.beside import Beside

__all__ = ["NOTES_KEY", "Notes"]

NOTES_KEY: Final = "loopmend"
"""The key of the store that holds the notes; nothing else is written there."""

_KEPT: Final = 20
_ISSUE: Final = "issue"
# What went wrong at the end of the last run with a memory.
_last_runs: Final[Beside[Any]] = Beside()


class Notes:
    """The notes of one context: `kept` for good, and `turn` until the user's next message.

    >>> notes = Notes({"kept": {"streak": 2}})
    >>> notes.kept["streak"], notes.turn
    (2, {})
    """

    def __init__(self, stored: object = None) -> None:
        data: dict[Any, Any] = stored if isinstance(stored, dict) else {}
        parts = (data.get(name) for name in ("kept", "turn"))
        self.kept, self.turn = (dict(part) if isinstance(part, dict) else {} for part in parts)
        self._before = self._copy()

    def add(self, name: str, item: dict[str, Any]) -> None:
        """Append to a list, of which the latest 20 are kept."""
        self.kept[name] = [*self.kept.get(name, ())[1 - _KEPT :], item]

    def note_issue(self, pattern: str | None) -> None:
        """Note what was wrong with a reply that could not be mended, or that it was fine."""
        if pattern is None:
            self.kept.pop(_ISSUE, None)
        else:
            self.kept[_ISSUE] = {"pattern": pattern, "streak": self.streak + 1}

    @property
    def issue(self) -> str | None:
        """What was wrong with the latest reply, see `loopmend.FailurePattern`."""
        return self.kept[_ISSUE]["pattern"] if self.streak else None

    @property
    def streak(self) -> int:
        """How many steps in a row ended with a reply that could not be mended."""
        held = self.kept.get(_ISSUE)
        return held["streak"] if isinstance(held, dict) else 0

    def start_turn(self, memory: object) -> None:
        """Forget the last turn; a new context goes by the last run with the same memory."""
        self.turn = {}
        if not self.kept and (issue := _last_runs.get(memory)) is not None:
            self.kept[_ISSUE] = issue

    def changed(self, memory: object) -> dict[str, Any] | None:
        """Return the notes as JSON if there is anything new, or `None`."""
        now = self._copy()
        if now == self._before:
            return None
        if now[0].get(_ISSUE) != self._before[0].get(_ISSUE):
            _last_runs.put(memory, self.kept.get(_ISSUE))
        return {"kept": now[0], "turn": now[1]}

    def _copy(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return dict(self.kept), dict(self.turn)
