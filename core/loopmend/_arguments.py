"""Refusing arguments of the wrong type, always with the same words."""

from __future__ import annotations


def not_text(value: object, name: str) -> TypeError:
    """Return the error for an argument that must be a `str` but is something else."""
    return TypeError(f"`{name}` must be a str, not {type(value).__name__}")


def require_int(value: object, name: str) -> None:
    """Raise `TypeError` unless `value` is an `int`; a `bool` is not."""
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"`{name}` must be an int, not {type(value).__name__}"
        raise TypeError(msg)
