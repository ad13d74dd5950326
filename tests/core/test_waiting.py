"""Work that is written once, for callers that wait and for those that block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from loopmend._waiting import at_once, each_at_once

closed: list[bool] = []


async def numbers() -> AsyncGenerator[int, None]:
    """Yield two numbers."""
    try:
        yield 1
        yield 2
    finally:
        closed.append(True)


def test_what_waits_does_not_block() -> None:
    """A coroutine that suspends is an error of ours, not a deadlock."""
    with pytest.raises(RuntimeError, match="must not wait"):
        at_once(asyncio.sleep(0))


def test_who_stops_early_closes() -> None:
    """Each value comes when it is asked for, and nothing stays open."""
    assert list(each_at_once(numbers())) == [1, 2]
    closed.clear()
    values = each_at_once(numbers())
    assert next(values) == 1
    values.close()  # type: ignore[attr-defined] # a generator
    assert closed == [True]
