"""Exceptions as a trace tells them: what went wrong, what paused, what was cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from loopmend.traces.readers.spans import ENDS

__all__ = ["causes", "ending_of", "is_fault"]


def ending_of(error: BaseException | None) -> str | None:
    """Return what an exception ends a run as, if it is no error; empty if it only jumps.

    >>> ending_of(KeyboardInterrupt()), ending_of(OSError())
    ('cancelled', None)
    """
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((ENDS[name] for name in names if name in ENDS), None)


def is_fault(error: BaseException | None) -> TypeGuard[BaseException]:
    """Tell whether something went wrong: to pause, to jump and to be cancelled is no error.

    >>> is_fault(OSError()), is_fault(GeneratorExit()), is_fault(None)
    (True, False, False)
    """
    return error is not None and ending_of(error) is None


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from.

    >>> [type(cause).__name__ for cause in causes(OSError())]
    ['OSError']
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__
