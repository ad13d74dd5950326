"""Values beside objects of others that cannot be hashed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Beside"]

T = TypeVar("T")


class Beside(Generic[T]):
    """Values beside objects of others that cannot be hashed, each as long as its object exists.

    >>> class Model:
    ...     __hash__ = None
    >>> model, known = Model(), Beside()
    >>> known.kept(model, lambda: "open"), known.get(model), known.get(Model())
    ('open', 'open', None)
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, it: object) -> T | None:
        """Return the value beside an object, or `None`."""
        found = self._held.get(id(it))
        return found[1] if found is not None and found[0]() is it else None

    def kept(self, it: object, make: Callable[[], T]) -> T:
        """Return the value beside an object, made if there is none."""
        found = self.get(it)
        if found is None:
            self.put(it, found := make())
        return found

    def put(self, it: object, value: T) -> None:
        """Keep a value beside an object."""
        key = id(it)
        self._held[key] = weakref.ref(it, lambda _: self._held.pop(key, None)), value
