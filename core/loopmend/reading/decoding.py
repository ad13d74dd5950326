"""Decoding a value inside text: strictly if possible, by simple repairs, or leniently."""

from __future__ import annotations

import json
from typing import Final

from loopmend.reading.lenient import LenientError, Scanner
from loopmend.reading.pairs import NO_KEY
from loopmend.reading.rewriting import rewritten_value
from loopmend.reading.values import Value, shifted

__all__ = ["LenientError", "decode_value", "repaired_value", "scanned_value"]

_STRICT: Final = json.JSONDecoder()
_NEAR_THE_END: Final = 4000
_BRACKETS: Final = ("{", "[")


def decode_value(text: str, start: int, stop: int | None = None, *, strictly: bool = True) -> Value:
    """Decode the value that starts at a place, strictly if possible.

    Args:
        text: Where it stands.
        start: Where it starts.
        stop: Where to stop looking.
        strictly: Whether to try the strict decoder first.

    Raises:
        LenientError: If there is none.
    """
    if stop is not None and stop < len(text):
        return shifted(decode_value(text[start:stop], 0, strictly=strictly), start)
    if strictly and text[start + 1 : start + 2] not in NO_KEY:
        try:
            value, end = _STRICT.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        else:
            return Value(value, start, end, strict=True)
    # To rewrite a value looks at all that follows: many in a long text would take too long.
    pays = start == 0 or len(text) - start <= _NEAR_THE_END
    return repaired_value(text, start, rewrite=pays and text.startswith(_BRACKETS, start))


def repaired_value(text: str, start: int, *, rewrite: bool = True) -> Value:
    """Decode the value that starts at a place and needs repair.

    Args:
        text: Where it stands.
        start: Where it starts.
        rewrite: Whether it is worth while to look for simple repairs first.

    Raises:
        LenientError: If there is none.
    """
    found = rewritten_value(text, start) if rewrite else None
    return scanned_value(text, start) if found is None else found


def scanned_value(text: str, start: int) -> Value:
    """Decode the value that starts at a place and that needs repair.

    Raises:
        LenientError: If there is none.
    """
    scanner = Scanner(text, start)
    value = scanner.value()
    if scanner.unmatched:
        scanner = Scanner(text, start, typos=True)
        value = scanner.value()
        if scanner.unmatched:
            scanner.fail("brackets that do not match")
    return Value(value, start, scanner.at, tuple(scanner.repairs), scanner.torn, scanner.twice)
