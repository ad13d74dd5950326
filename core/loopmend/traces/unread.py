"""Values that are worked out when somebody looks: a turn takes longer than all else of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = [
    "MOST_READ",
    "UNREAD",
    "Later",
    "Lazily",
    "as_read",
    "cap_note",
    "is_worth",
    "may_hold_call",
]

MOST_READ: Final = 100_000
"""So many signs of a reply are read for a trace; no honest reply is longer."""


# What a text has that holds a call; only then it is worth reading.
_MARKS: Final = ("{", "<", "Action:", "```", "[TOOL")
# 95 of 100 replies that only tell what the model will do are shorter; a longer one is an answer.
_LONGEST_PLAN: Final = 500


def may_hold_call(text: str) -> bool:
    """Tell whether a text has any of the marks that calls in a text have."""
    return any(mark in text for mark in _MARKS)


def is_worth(text: str) -> bool:
    """Tell whether a last reply is worth reading: reading takes longer than all else."""
    return len(text) <= _LONGEST_PLAN or may_hold_call(text)


class Later:
    """Stands for a value that nobody has looked at yet.

    >>> from loopmend.traces import Step
    >>> Step("It is 4.", turn=UNREAD).turn.actions
    (FinalAnswer(content='It is 4.', type='final'),)
    """

    __slots__ = ("work",)

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work


class Lazily(property):
    """The slot of a field that works out what is left for later."""

    def __init__(self, slot: Any) -> None:
        super().__init__(self._look, slot.__set__)
        self.slot = slot

    def _look(self, owner: Any) -> Any:
        value = self.slot.__get__(owner)
        if type(value) is Later:
            value = value.work(owner)
            self.slot.__set__(owner, value)
        return value


def as_read(step: Any) -> Any:
    """Return a step's turn if it was read, without reading it now."""
    turn = type(step).turn.slot.__get__(step)
    return None if turn is UNREAD else turn


def _read(step: Any) -> Any:
    if not step.text and not step.calls:
        return None
    # Imported here: who only looks at stop reasons does without the reader.
    from loopmend.reading.response import read_response

    native = [{"name": call.name, "args": call.arguments} for call in step.calls]
    return read_response(step.text[:MOST_READ], calls=native)


def cap_note(texts: Iterable[str]) -> dict[str, Any]:
    """Return what to note in a trace's metadata if texts of its steps are too long to be read.

    >>> cap_note(["short", "x" * 200_000]), cap_note(["short"])
    ({'read_up_to': 100000, 'cut_steps': [1]}, {})
    """
    cut = [number for number, text in enumerate(texts) if len(text) > MOST_READ]
    return {"read_up_to": MOST_READ, "cut_steps": cut} if cut else {}


UNREAD: Final[Any] = Later(_read)
"""Given in place of a turn: the step reads its text when somebody first looks."""
