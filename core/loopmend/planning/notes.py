"""What is remembered from one step of a run to the next, as plain data that a host keeps."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["Issue", "Notes"]

Issue = tuple[str | None, int]
"""What was wrong with the latest reply, and how often in a row it could not be mended."""

_ISSUE: Final = "issue"
_FINE: Final[Issue] = None, 0


class Notes:
    """The notes of one conversation: `kept` for good, and `turn` until the user's next message.

    >>> notes = Notes({"kept": {"issue": {"pattern": "empty", "streak": 2}}})
    >>> notes.issue, notes.turn
    (('empty', 2), {})
    """

    def __init__(self, stored: object = None) -> None:
        data: dict[str, Any] = stored if isinstance(stored, dict) else {}
        kept, turn = data.get("kept"), data.get("turn")
        self.kept: dict[str, Any] = dict(kept) if isinstance(kept, dict) else {}
        self.turn: dict[str, Any] = dict(turn) if isinstance(turn, dict) else {}
        self._before = dict(self.kept), dict(self.turn)

    def begin(self, last: Issue | None = None) -> None:
        """Begin a turn; where nothing is remembered, the issue of another run may be known."""
        self.turn.clear()
        if not self.kept and last is not None and last != _FINE:
            self.kept[_ISSUE] = {"pattern": last[0], "streak": last[1]}

    def note_issue(self, pattern: str | None) -> None:
        """Note what was wrong with a reply that could not be mended, or that it was fine."""
        if pattern is not None:
            self.kept[_ISSUE] = {"pattern": pattern, "streak": self.issue[1] + 1}
        elif _ISSUE in self.kept:
            del self.kept[_ISSUE]

    @property
    def issue(self) -> Issue:
        """What was wrong with the latest reply, and how often in a row it could not be mended."""
        held = self.kept.get(_ISSUE)
        return (held["pattern"], held["streak"]) if isinstance(held, dict) else _FINE

    @property
    def issue_changed(self) -> bool:
        """Whether something else is wrong than when the notes were read."""
        return self.kept.get(_ISSUE) != self._before[0].get(_ISSUE)

    def new(self) -> dict[str, Any] | None:
        """Return what to store; `None` if nothing is new."""
        if (self.kept, self.turn) == self._before:
            return None
        return {"kept": dict(self.kept), "turn": dict(self.turn)}
