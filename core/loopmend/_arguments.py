"""Refusing arguments of the wrong type, always with the same words."""

from __future__ import annotations


def not_text(value: object, name: str) -> TypeError:
    """Return the error for an argument that must be a `str` but is something else."""
    return TypeError(f"`{name}` must be a str, not {type(value).__name__}")


def wrong_type(value: object, name: str, expected: type) -> TypeError:
    """Return the error for an argument of another type than the expected one."""
    return TypeError(f"`{name}` must be a {expected.__name__}, not {type(value).__name__}")


def require_int(value: object, name: str) -> None:
    """Raise `TypeError` unless `value` is an `int`; a `bool` is not."""
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"`{name}` must be an int, not {type(value).__name__}"
        raise TypeError(msg)


def freeze_texts(value: object, *names: str) -> None:
    """Turn the named fields of a frozen value, sequences of text, into tuples of `str`."""
    for name in names:
        items = getattr(value, name)
        if isinstance(items, str):
            msg = f"`{name}` must be a sequence of str, not one str"
            raise TypeError(msg)
        texts = tuple(items)
        for text in texts:
            if not isinstance(text, str):
                raise not_text(text, name)
        object.__setattr__(value, name, texts)
