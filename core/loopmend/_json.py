"""Strict JSON: what serde_json accepts, and nothing that only `json.loads` accepts.

The differences from `json.loads` are: NaN and the infinities, numbers that overflow
a double, nesting beyond 127 levels and lone surrogates are refused; integers beyond
64 bits and `-0` become floats. All checks run in linear time, and the depth is
checked before decoding, so hostile nesting never reaches the recursive decoder.

Floats are CPython's, correctly rounded. Only whether a number is too large is decided
as serde_json does, which rounds on the way and gives up a hair below the largest double.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from math import copysign, inf, isinf
from typing import Any, Final

MAX_DEPTH: Final = 127
"""Deepest nesting accepted, counting the outermost array or object as one."""

_U64_MAX: Final = 2**64 - 1
_I64_MIN: Final = -(2**63)
_LONGEST_64_BIT: Final = len(str(_I64_MIN))
_NEARLY_TOO_LARGE: Final = 1.79e308
_LARGEST_POWER: Final = 308

_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
# Escapes in the order they stand: a proper pair, a lone half, anything else. Reading
# them in sequence keeps `\\ud800` (a backslash and plain text) from being taken for one.
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\.",
    re.DOTALL,
)
_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{\]}]|[-+.0-9A-Za-z]+', re.DOTALL)
_NOT_BRACKETS: Final = bytes(code for code in range(256) if chr(code) not in "[]{}")
_STEP: Final = tuple({"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(code), 0) for code in range(256))


class _RefusedNumberError(ValueError):
    """A literal that `json` would accept; the scanner does not say where it stands."""

    def __init__(self, reason: str, literal: str) -> None:
        super().__init__(reason, literal)
        self.reason = reason
        self.literal = literal


def decode(text: str) -> Any:
    """Decode one JSON value that fills `text` from its first to its last character.

    Raises:
        json.JSONDecodeError: For everything that is not strict JSON.
    """
    if too_deep(text):
        msg = f"nesting deeper than {MAX_DEPTH} levels"
        raise json.JSONDecodeError(msg, text, _depth_position(text))
    try:
        value, end = _DECODER.raw_decode(text)
    except _RefusedNumberError as refused:
        position = _token_position(text, refused.literal)
        raise json.JSONDecodeError(refused.reason, text, position) from None
    if end != len(text):
        msg = "trailing characters"
        raise json.JSONDecodeError(msg, text, end)
    _refuse_lone_surrogates(text)
    return value


def too_deep(text: str) -> bool:
    """Tell whether brackets outside strings nest beyond `MAX_DEPTH`."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    unescaped = text.replace("\\\\", "").replace('\\"', "")
    outside = "".join(unescaped.split('"')[::2])
    brackets = outside.encode("utf-8", "surrogatepass").translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > MAX_DEPTH


def _refuse_lone_surrogates(text: str) -> None:
    """Refuse them in the text itself, where a later duplicate key cannot hide them."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            msg = "lone surrogate"
            raise json.JSONDecodeError(msg, text, error.start) from None
    if "\\u" in text and _SURROGATE_ESCAPE.search(text):
        for escape in _ESCAPE.finditer(text):
            if escape["lone"]:
                msg = "lone surrogate escape"
                raise json.JSONDecodeError(msg, text, escape.start())


def _parse_int(literal: str) -> int | float:
    if len(literal) > _LONGEST_64_BIT:
        return _parse_float(literal)
    number = int(literal)
    if number == 0 and literal[0] == "-":
        return -0.0
    return number if _I64_MIN <= number <= _U64_MAX else float(number)


def _parse_float(literal: str) -> float:
    number = float(literal)
    if -_NEARLY_TOO_LARGE < number < _NEARLY_TOO_LARGE:
        return number
    coarse = _coarse_float(literal)
    if isinf(coarse):
        msg = "number out of range"
        raise _RefusedNumberError(msg, literal)
    return copysign(coarse, number) if isinf(number) else number


def _coarse_float(literal: str) -> float:
    """Return the magnitude as serde_json finds it: 64 bits of digits times a power of ten."""
    mantissa, _, exponent = literal.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    significand, taken = _leading_digits(0, whole)
    power = len(whole) - taken
    significand, taken = _leading_digits(significand, fraction)
    power += _exponent(exponent) - taken
    return significand * float(f"1e{power}") if power <= _LARGEST_POWER else inf


def _exponent(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0")
    # Anything longer overflows all the same, and `int` refuses very long digit runs.
    size = int(digits[:12] or "0")
    return -size if text.startswith("-") else size


def _leading_digits(significand: int, digits: str) -> tuple[int, int]:
    """Append digits while the number fits 64 bits; return it and how many were taken."""
    for taken, digit in enumerate(digits):
        longer = significand * 10 + int(digit)
        if longer > _U64_MAX:
            return significand, taken
        significand = longer
    return significand, len(digits)


def _parse_constant(literal: str) -> float:
    msg = f"{literal} is not JSON"
    raise _RefusedNumberError(msg, literal)


_DECODER: Final = json.JSONDecoder(
    parse_int=_parse_int, parse_float=_parse_float, parse_constant=_parse_constant
)


def _depth_position(text: str) -> int:
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += _STEP[ord(token[0][0]) & 0xFF] if len(token[0]) == 1 else 0
        if depth > MAX_DEPTH:
            return token.start()
    return 0  # broken quoting, which the two ways of counting take differently


def _token_position(text: str, literal: str) -> int:
    return next((t.start() for t in _TOKEN.finditer(text) if t[0].startswith(literal)), 0)
