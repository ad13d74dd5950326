"""What opens and closes in values: quotes and brackets, and what a string leaves open."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CLOSERS", "QUOTES", "holds_open", "is_open", "laid_out"]

QUOTES: Final = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": "\u201d\u201c",
    "\u201d": "\u201d",
    "\u2018": "\u2019\u2018",
    "\u2019": "\u2019",
    "\u201e": "\u201c\u201d",
    "\u00ab": "\u00bb",
    "\u300c": "\u300d",
}
"""What opens a string, and what may close it."""
CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
"""What opens an object, an array or a tuple, and what closes it."""
# What has an end of its own within a string. A quote opens right before what it holds.
_ENCLOSING: Final = re.compile(
    r"\\(?:(?P<inner>[\"'])(?=\w)|(?P<escaped>[\"'])|.)"
    r"|(?P<open>[{\[(])|(?P<close>[}\])])|(?<![\w.!?,;:)\]}%\"'])(?P<quote>[\"'])(?=[^\s,:}\])])|(?P<last>[\"'])"
)
_OPENS_ITEM: Final = re.compile(r",\s{1,20}[\"']")
_DEEPEST: Final = 50


def is_open(found: str, quote: str, *, item: bool = False) -> bool:
    """Tell whether a string ends within something that it quotes: brackets, or quotes of its kind.

    Then the quote that seems to end it may belong to what is quoted.

    Args:
        found: What is read of it.
        quote: The quote that seems to end it.
        item: Whether one of its quotes may also open the next item of an array.
    """
    if item and _OPENS_ITEM.search(found):
        return True
    held: list[str] = []
    for match in _ENCLOSING.finditer(found):
        sign = match["inner"] or match["escaped"] or match[0]
        if len(held) > _DEEPEST:
            return True
        if sign in CLOSERS:
            held.append(CLOSERS[sign])
        elif match["close"] or sign == quote:
            # An escaped quote within quotes that are not escaped is one of another kind.
            opened = match[0] if sign in held else sign
            closed = match[0] if match[0] in held else sign
            if (match["quote"] or match["inner"]) and opened not in held:
                held.append(opened)
            elif closed in held:
                del held[len(held) - 1 - held[::-1].index(closed) :]
    return bool(held)


def holds_open(text: str) -> bool:
    """Tell whether brackets in a text are open at its end, as far as a count shows."""
    return any(text.count(one) > text.count(other) for one, other in CLOSERS.items())


def laid_out(found: str, last: str) -> str:
    """Leave out a raw line end right before the closing quote: JSON has none, so it is layout."""
    plain = last.rstrip(" \t\r\n")
    blanks = last[len(plain) :]
    return found[: len(found) - len(blanks)] if "\n" in blanks else found
