"""Writing down values of any kind."""

from __future__ import annotations

import json
import reprlib
from typing import Final

__all__ = ["written"]

# Made once: to make an encoder takes as long as to write a short value.
_IN_ORDER: Final = json.JSONEncoder(sort_keys=True, default=repr)
_AS_IT_IS: Final = json.JSONEncoder(ensure_ascii=False, default=repr)


def written(value: object, *, in_order: bool = False) -> str:
    """Return a value as JSON if it has that form, else as its `repr`; never an error.

    Args:
        value: Anything.
        in_order: Whether keys are sorted, so that equal values are written alike.
    """
    try:
        return _IN_ORDER.encode(value) if in_order else _AS_IT_IS.encode(value)
    except (TypeError, ValueError, RecursionError):  # keys of any kind, within itself, too deep
        return _as_repr(value)


def _as_repr(value: object) -> str:
    try:
        return repr(value)
    except RecursionError:
        return reprlib.repr(value)
