"""What is remembered about objects of others while they exist."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Beside"]

T = TypeVar("T")


class Beside(Generic[T]):
    """Values beside objects that cannot be hashed, each as long as its object exists.

    >>> class Memory: ...
    >>> memory, notes = Memory(), Beside[str]()
    >>> notes.put(memory, "empty")
    >>> notes.get(memory), notes.get(Memory())
    ('empty', None)
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, it: object) -> T | None:
        """Return the value beside an object, or `None`."""
        found = self._held.get(id(it))
        return found[1] if found is not None and found[0]() is it else None

    def kept(self, it: object, make: Callable[[], T]) -> T:
        """Return the value beside an object, made if there is none."""
        found = self._held.get(id(it))
        if found is not None and found[0]() is it:
            return found[1]
        self.put(it, made := make())
        return made

    def put(self, it: object, value: T) -> None:
        """Keep a value beside an object."""
        key = id(it)
        self._held[key] = weakref.ref(it, lambda _: self._held.pop(key, None)), value
