"""A call as it is written, before anybody fits it to a tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopmend.reading.pythonic import PythonCall
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["Call"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the model wrote it."""

    name: str
    arguments: Any
    """An object, text, or anything else that was written."""
    span: tuple[int, int]
    positional: tuple[Any, ...] = ()
    """Arguments without a name, in order."""
    raw: bool = False
    """Whether the values are text that only the tool's schema can turn into values."""
    torn: Tear = Tear.WHOLE
    """Whether the text stops before the call does."""
    twice: str | None = None
    """An argument that is given twice."""
    repairs: tuple[Repair, ...] = ()
    missing: bool = False
    """Whether an input was announced or required by the form, and is not there."""

    @classmethod
    def of_value(cls, name: str, arguments: Any, span: tuple[int, int], value: Value) -> Call:
        """Return a call whose arguments a value holds."""
        torn, twice = value.torn, value.twice
        return cls(name, arguments, span, torn=torn, twice=twice, repairs=value.repairs)

    @classmethod
    def of_python(cls, call: PythonCall) -> Call:
        """Return a call that is written as in Python."""
        return cls(
            call.name,
            call.named,
            call.span,
            call.positional,
            torn=call.torn,
            twice=call.twice,
            repairs=call.repairs,
        )
