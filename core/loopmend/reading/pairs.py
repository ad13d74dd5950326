"""Objects with an eye on keys that come twice, and values that nest too deep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from loopmend._json import MAX_DEPTH, too_deep

__all__ = ["TwiceError", "nests_too_deep", "noting", "quick_value"]

_NOT_BRACKETS: Final = bytes(code for code in range(256) if chr(code) not in "[]{}")


def noting(twice: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return what builds objects for `json` and notes keys that come twice.

    >>> import json
    >>> twice = []
    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=noting(twice)), twice
    ({'a': 2}, ['a'])
    """

    def built(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice.append(_twice(pairs))
        return found

    return built


class TwiceError(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def quick_value(text: str) -> Any:
    """Return the JSON value that is all of a text.

    Raises:
        TwiceError: An object in it has a key twice.
        ValueError: It is not strict JSON, or nests too deep.

    >>> quick_value('{"a": [1]}')
    {'a': [1]}
    """
    if nests_too_deep(text):
        msg = "nested too deep"
        raise ValueError(msg)
    try:
        value, end = _SCAN(text, 0)
    except (StopIteration, RecursionError):
        msg = "no value"
        raise ValueError(msg) from None
    if end != len(text):
        msg = "more than a value"
        raise ValueError(msg)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise TwiceError(_twice(pairs))
    return found


def _twice(pairs: list[tuple[str, Any]]) -> str:
    return Counter(key for key, _ in pairs).most_common(1)[0][0]


_SCAN: Final = json.JSONDecoder(object_pairs_hook=_once).scan_once  # type: ignore[attr-defined]


def nests_too_deep(text: str) -> bool:
    """Tell whether a text nests deeper than is read.

    Taking out empty pairs again and again is quick for what is not deep at all.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    brackets = text.encode("utf-8", "surrogatepass").translate(None, _NOT_BRACKETS)
    for _ in range(8):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return too_deep(text)
