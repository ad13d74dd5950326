r"""Text rules of the contracts where Python's own differ from Rust's.

Only the differences live here. Python's `str.strip` and `\s` also eat U+001C to
U+001F, `\w` lacks combining marks and joiners, and `float()` and `int()` accept
blanks, underscores and foreign digits: each would change a contract's answer.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from decimal import Decimal
from typing import Final

WHITESPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode White_Space, which is what Rust trims and what its `\\s` matches."""

U32_MAX: Final = 2**32 - 1

_WORD_CATEGORIES: Final = frozenset(
    {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"}
)
# Alphabetic by property though their category is So: circled and squared letters.
_WORD_SYMBOLS: Final = re.compile(
    "[\u200c\u200d\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]"
)
# Each digit run is followed by something it cannot itself match, so a long run of
# digits that fails in the end is given up in linear time.
_F32: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)",
    re.IGNORECASE | re.ASCII,
)
_U32: Final = re.compile(r"\+?[0-9]+")


def trim(text: str) -> str:
    """Strip Unicode white space from both ends, and nothing else."""
    return text.strip(WHITESPACE)


def is_word_char(char: str) -> bool:
    r"""Tell whether Rust's `\w` matches `char`, by this interpreter's Unicode tables."""
    return unicodedata.category(char) in _WORD_CATEGORIES or _WORD_SYMBOLS.match(char) is not None


def parse_u32(text: str) -> int | None:
    """Read an unsigned 32-bit integer as strictly as Rust does."""
    if _U32.fullmatch(text) is None:
        return None
    # Leading zeros are dropped first: CPython refuses to convert very long digit runs.
    digits = text.lstrip("+").lstrip("0") or "0"
    if len(digits) > len(str(U32_MAX)):
        return None
    number = int(digits)
    return number if number <= U32_MAX else None


def parse_f32(text: str) -> float | None:
    """Read a 32-bit float as strictly as Rust does, rounded once.

    Going through a 64-bit float rounds twice. That is wrong only where the 64-bit
    value lies exactly between two 32-bit ones, so only there the decimal is consulted.
    """
    if _F32.fullmatch(text) is None:
        return None
    double = float(text)
    try:
        single: float = _as_f32(double)
    except OverflowError:
        return float("inf") if double > 0 else float("-inf")
    if single == double or double != double:
        return single
    other = _f32_neighbour(single, towards=double)
    if double - single != other - double:
        return single
    exact, middle = Decimal(text), Decimal(double)
    if exact == middle:
        return single
    return max(single, other) if exact > middle else min(single, other)


def _as_f32(number: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


def _f32_neighbour(single: float, *, towards: float) -> float:
    """Return the 32-bit float next to `single` on the side of `towards`."""
    if single == 0.0:
        return _as_f32(2.0**-149 if towards > 0 else -(2.0**-149))
    (bits,) = struct.unpack("<i", struct.pack("<f", single))
    away_from_zero = abs(towards) > abs(single)
    neighbour: float = struct.unpack("<f", struct.pack("<i", bits + (1 if away_from_zero else -1)))[
        0
    ]
    return neighbour
