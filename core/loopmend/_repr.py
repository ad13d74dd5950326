"""Writing down values of any kind."""

from __future__ import annotations

import reprlib

__all__ = ["safe_repr"]


def safe_repr(value: object) -> str:
    """Return the `repr` of a value, cut short where it is nested deeper than Python can follow."""
    try:
        return repr(value)
    except RecursionError:
        return reprlib.repr(value)
