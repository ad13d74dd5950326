"""Writing down values of any kind."""

from __future__ import annotations

import json
import re
import reprlib
from typing import Final

__all__ = ["without_controls", "written"]

# Made once: to make an encoder takes as long as to write a short value.
_IN_ORDER: Final = json.JSONEncoder(sort_keys=True, default=repr)
_AS_IT_IS: Final = json.JSONEncoder(ensure_ascii=False, default=repr)


def written(value: object, *, in_order: bool = False) -> str:
    """Return a value as JSON if it has that form, else as its `repr`; never an error.

    Args:
        value: Anything.
        in_order: Whether keys are sorted, so that equal values are written alike.

    >>> written({"b": 1, "a": 2}, in_order=True)
    '{"a": 2, "b": 1}'
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


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def without_controls(text: str) -> str:
    r"""Return a text with its control characters written as escapes; line breaks and tabs stay.

    >>> print(without_controls("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if text.isprintable():
        return text
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
