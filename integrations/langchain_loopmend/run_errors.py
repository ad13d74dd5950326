"""What an exception means for a run: a fault, a pause, a jump or a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent import futures
from typing import Final, TypeGuard

from loopmend.traces.trace import TraceError

__all__ = ["CANCELS", "causes", "error_of", "is_control_flow", "is_fault", "is_interrupt"]

CANCELS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, futures.CancelledError)
_CONTROL: Final = frozenset({"GraphBubbleUp", "GraphInterrupt", "ParentCommand"})


def is_fault(error: BaseException | None) -> TypeGuard[BaseException]:
    """Tell whether something went wrong: to pause, to jump and to be cancelled is no error."""
    return error is not None and not isinstance(error, CANCELS) and not is_control_flow(error)


def is_control_flow(error: BaseException | None) -> bool:
    """Tell whether an exception only steers a graph."""
    return any(kind.__name__ in _CONTROL for kind in type(error).__mro__)


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception means that the run waits for a human."""
    return any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__)


def error_of(error: BaseException, origin: str) -> TraceError:
    """Return an exception as a trace holds it."""
    return TraceError(type(error).__name__, str(error), origin)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it was raised from."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__
