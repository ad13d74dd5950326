"""Public names that are loaded when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["late"]


def late(
    package: str, where: Mapping[str, str], public: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`.

    Args:
        package: Its name.
        where: The module of each name that is loaded late.
        public: All its public names.

    >>> load, names = late("loopmend", {"read_turn": "loopmend.reading.reader"}, ["read_turn"])
    >>> load("read_turn").__name__, names()
    ('read_turn', ['read_turn'])
    """

    def load(name: str) -> Any:
        if name not in where:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        found = getattr(import_module(where[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted(public)
