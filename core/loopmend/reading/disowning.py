"""A value in a sentence that says it is not the answer."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.weighing import DENIED, SHOWN, TAIL, Words, lean

__all__ = ["is_disowned"]

_LEAD: Final = 80
# An order not to do something with it, and a sentence that says what it is not.
_DENIAL: Final = re.compile(
    r"(?:(?:\A|[.!?:;\n])\s*(?:please\s+)?(?:do\s+not|don't|never)\s+[a-z]+"
    r"|\b(?:is|was|are|were)\s+not)\s+\Z",
    re.IGNORECASE,
)
# What an answer would be like is not the answer.
_LIKENESS: Final = re.compile(
    r"(?:\b(?:would|could|might|may)\s+(?:[a-z]+\s+){1,2}like"
    r"|\b(?:something like|such as|e\.g\.,?|for (?:example|instance),?))\s+\Z",
    re.IGNORECASE,
)


def is_disowned(before: str, after: str) -> bool:
    """Tell whether a sentence surely says of a value in it that it is not the answer.

    Its form says so, right before the value, and how its words weigh agrees.

    Args:
        before: What is said before the value.
        after: What is said after it.

    >>> is_disowned("Do not use ", ", that order was cancelled.")
    True
    >>> is_disowned("I do not know the date, but the order is ", ".")
    False
    """
    near = max(0, len(before) - _LEAD)
    denied = _DENIAL.search(before, near) is not None
    if not denied and _LIKENESS.search(before, near) is None:
        return False
    return lean(Words(before, after[:TAIL])) < (DENIED if denied else SHOWN)
