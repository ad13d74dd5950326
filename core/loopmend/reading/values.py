"""Values that were found in a text."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from loopmend._json import decode
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Repair

__all__ = ["Value", "shifted", "verified"]


@dataclass(slots=True)
class Value:
    """A value that was found in a text; nobody changes it, but to see to that takes time."""

    value: Any
    start: int
    end: int
    repairs: tuple[Repair, ...] = ()
    torn: Tear = Tear.WHOLE
    """Whether the text stops before the value does."""
    twice: str | None = None
    """A key that an object has twice, so that nobody knows which one is meant."""
    strict: bool = False
    """Whether `json` read it; then `verified` has more to say."""


class _Pairs:
    """Builds objects and notes a key that comes twice."""

    __slots__ = ("twice",)

    def __init__(self) -> None:
        self.twice: str | None = None

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                self.twice = key
            found[key] = value
        return found


def verified(text: str, found: Value) -> Value:
    """Return a value with what the quick decoder does not tell: keys twice, odd numbers."""
    if not found.strict:
        return found
    part = text[found.start : found.end]
    pairs = _Pairs()
    json.JSONDecoder(object_pairs_hook=pairs).raw_decode(part)
    found = replace(found, twice=pairs.twice, strict=False)
    try:
        decode(part)
    except ValueError:
        repair = Repair("number or escape that JSON does not allow", (found.start, found.end))
        return replace(found, repairs=(repair,))
    return found


def shifted(found: Value, by: int) -> Value:
    """Return a value that was found in a part of a text with its place in the whole."""
    repairs = tuple([Repair(r.what, (r.span[0] + by, r.span[1] + by)) for r in found.repairs])
    return replace(found, start=found.start + by, end=found.end + by, repairs=repairs)
