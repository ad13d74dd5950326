"""Work that is written once, as coroutines, for callers that wait and for those that block."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar, cast

__all__ = ["at_once", "each_at_once"]

T = TypeVar("T")


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, without an event loop.

    Raises:
        RuntimeError: It does suspend.

    >>> async def asked(waits):
    ...     return "an answer"
    >>> at_once(asked(waits=False))
    'an answer'
    """
    try:
        work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    work.close()
    msg = "a blocking call must not wait"
    raise RuntimeError(msg)


def each_at_once(values: AsyncGenerator[T, None]) -> Iterator[T]:
    """Yield the items of an async generator that never suspends; stopping early closes it.

    >>> async def tokens():
    ...     yield "in"
    ...     yield "Norway"
    >>> list(each_at_once(tokens()))
    ['in', 'Norway']
    """

    async def following() -> tuple[T, ...]:
        async for value in values:
            return (value,)
        return ()

    try:
        while found := at_once(following()):
            yield found[0]
    finally:
        at_once(values.aclose())
