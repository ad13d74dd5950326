"""Turns that are read when somebody looks: reading takes longer than all else about a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

__all__ = ["MOST_READ", "UNREAD", "Lazily", "Unread", "as_read", "cap_note"]

MOST_READ: Final = 100_000
"""So many signs of a reply are read for a trace; no honest reply is longer."""


class Unread:
    """Stands for the turn of a step whose text nobody has read yet.

    >>> from loopmend.traces import Step
    >>> Step("It is 4.", turn=UNREAD).turn.actions
    (FinalAnswer(content='It is 4.', type='final'),)
    """

    __slots__ = ()


UNREAD: Final[Any] = Unread()
"""Given in place of a turn: the step reads its text when somebody first looks."""


class Lazily:
    """The slot of a step's turn, which reads what is still unread."""

    __slots__ = ("slot",)

    def __init__(self, slot: Any) -> None:
        self.slot = slot

    def __get__(self, step: Any, owner: type) -> Any:
        if step is None:
            return self
        turn = self.slot.__get__(step, owner)
        if turn is UNREAD:
            turn = _read(step)
            self.slot.__set__(step, turn)
        return turn

    def __set__(self, step: Any, turn: Any) -> None:
        self.slot.__set__(step, turn)


def as_read(step: Any) -> Any:
    """Return a step's turn if it was read, without reading it now."""
    turn = type(step).__dict__["turn"].slot.__get__(step, type(step))
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
