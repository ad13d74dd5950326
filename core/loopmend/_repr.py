"""Writing down values of any kind."""

from __future__ import annotations

import json
import reprlib

__all__ = ["written"]


def written(value: object, *, in_order: bool = False) -> str:
    """Return a value as JSON if it has that form, else as its `repr`; never an error.

    Args:
        value: Anything.
        in_order: Whether keys are sorted, so that equal values are written alike.
    """
    try:
        return json.dumps(value, ensure_ascii=in_order, sort_keys=in_order, default=repr)
    except (TypeError, ValueError, RecursionError):  # keys of any kind, within itself, too deep
        return _as_repr(value)


def _as_repr(value: object) -> str:
    try:
        return repr(value)
    except RecursionError:
        return reprlib.repr(value)
