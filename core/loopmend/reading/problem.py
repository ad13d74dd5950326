"""Where a value departs from its schema, in words that repeat nothing of the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Path", "Problem", "kind_of", "place"]

Path = tuple["str | int", ...]
"""Keys and indices that lead to a part of a value."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One part of a value that does not fit its schema.

    >>> print(Problem(("users", 0, "age"), "an integer", "a string"))
    `users[0].age` must be an integer, not a string
    >>> print(Problem(("name",), "a string", "nothing"))
    `name` is missing: a string
    """

    path: Path
    """Keys and indices that lead to the part; empty for the whole value."""
    expected: str
    """What the schema expects there."""
    came: str
    """The type of what the model wrote there; `nothing` if it left it out."""

    def __str__(self) -> str:
        where = f"`{place(self.path)}`" if self.path else "The value"
        if self.came == "nothing":
            return f"{where} is missing: {self.expected}"
        if not self.expected:
            return f"{where} is not a known key"
        return f"{where} must be {self.expected}, not {self.came}"


def place(path: Path) -> str:
    """Return a path as people write it.

    >>> place(("users", 0, "age"))
    'users[0].age'
    """
    found = ""
    for step in path:
        if isinstance(step, int):
            found += f"[{step}]"
        else:
            found += f".{step[:80]}" if found else step[:80]
    return found


def kind_of(value: Any) -> str:
    """Return in a word or two what a value is.

    >>> kind_of([]), kind_of(None), kind_of(True)
    ('an array', 'null', 'a boolean')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string" if value.strip() else "an empty string"
    return "an array" if isinstance(value, (list, tuple)) else "an object"
