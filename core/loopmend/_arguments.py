"""Refusing arguments of the wrong type, always with the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def not_text(value: object, name: str) -> TypeError:
    """Return the error for an argument that must be a `str` but is something else."""
    return TypeError(f"`{name}` must be a str, not {type(value).__name__}")


def wrong_type(value: object, name: str, expected: type) -> TypeError:
    """Return the error for an argument of another type than the expected one."""
    return TypeError(f"`{name}` must be a {expected.__name__}, not {type(value).__name__}")


def require_int(value: object, name: str, least: int | None = None) -> None:
    """Raise `TypeError` unless `value` is an `int`, and `ValueError` if it is too small.

    >>> require_int(3, "max_retries", 0)
    """
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"`{name}` must be an int, not {type(value).__name__}"
        raise TypeError(msg)
    if least is not None and value < least:
        msg = f"{name} must be {least} or more, not {value}"
        raise ValueError(msg)


def require_several(value: object, name: str, of: str) -> None:
    """Raise `TypeError` for one `str` or mapping, whose letters or keys nobody means.

    >>> require_several(["search"], "tools", "tools")
    """
    one = isinstance(value, (str, Mapping))
    if one or not isinstance(value, Iterable):
        kind = f"one {type(value).__name__}" if one else type(value).__name__
        msg = f"`{name}` must be a collection of {of}, not {kind}"
        raise TypeError(msg)


def names_in(value: Iterable[object], name: str) -> frozenset[str]:
    """Return a collection of tool names as a set.

    Raises:
        TypeError: It is one `str`, no collection, or holds anything but `str`.

    >>> names_in(["search"], "exclude_tools")
    frozenset({'search'})
    """
    require_several(value, name, "tool names")
    for each in (given := list(value)):
        if not isinstance(each, str):
            msg = f"`{name}` must hold tool names, not {type(each).__name__}"
            raise TypeError(msg)
    return frozenset(map(str, given))


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
