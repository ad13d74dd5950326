"""Text rules that differ between Python and the specifications' Rust."""

from __future__ import annotations

import struct
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend._text import U32_MAX, is_word_char, parse_f32, parse_u32, trim


def test_trim_leaves_the_information_separators() -> None:
    """U+001C to U+001F are white space to Python, not to the contracts."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    differing = {char for char in everything if bool(char.strip()) != bool(trim(char))}
    assert differing == {"\x1c", "\x1d", "\x1e", "\x1f"}


@pytest.mark.parametrize("char", ["a", "_", "\u0301", "\u200d", "\u203f", "Ⓐ", "🅐", "٣", "Ⅷ", "漢"])
def test_word_characters(char: str) -> None:
    """Letters, marks, digits, connectors, joiners and circled letters are word characters."""
    assert is_word_char(char)


@pytest.mark.parametrize("char", ["²", "½", "-", "\u200b", "😀", "€", "\ud800"])
def test_other_characters(char: str) -> None:
    """Superscripts, fractions and symbols are not."""
    assert not is_word_char(char)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("+3", 3),
        ("007", 7),
        (str(U32_MAX), U32_MAX),
        ("0" * 10_000 + "5", 5),
        ("", None),
        ("-0", None),
        (" 3", None),
        ("3.0", None),
        ("1_0", None),
        ("٣", None),
        (str(U32_MAX + 1), None),
        ("9" * 100_000, None),
    ],
)
def test_u32(text: str, value: int | None) -> None:
    """Unsigned integers are read as strictly as Rust reads them."""
    assert parse_u32(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".5", 0.5),
        ("5.", 5.0),
        ("+0.5e0", 0.5),
        ("-0", -0.0),
        ("INFINITY", float("inf")),
        ("-inf", float("-inf")),
        ("1e39", float("inf")),
        ("-1e39", float("-inf")),
        ("1e-50", 0.0),
        ("0.99999999", 1.0),
        ("0.50000002980232238769531250000000001", 0.5000000596046448),
        ("0.5000000298023223876953125", 0.5),
        ("0.50000002980232238769531249999999999", 0.5),
        ("0.5000000894069671630859375", 0.5000001192092896),
        ("7.006492321624085e-46", 0.0),
        ("7.006492321624085354618e-46", 0.0),
        ("7.0064923216240854e-46", 1.401298464324817e-45),
        ("-7.0064923216240854e-46", -1.401298464324817e-45),
        ("-0.50000002980232238769531250000000001", -0.5000000596046448),
    ],
)
def test_f32(text: str, value: float) -> None:
    """Floats are rounded to 32 bits once, ties to even."""
    assert repr(parse_f32(text)) == repr(value)


@pytest.mark.parametrize(
    "text", ["", ".", " 0.5", "0.5 ", "1_0", "٠.٥", "50%", "0x1", "1e", "e5", "0.5.5"]
)
def test_f32_refuses(text: str) -> None:
    """What Python's `float` is lenient about is refused."""
    assert parse_f32(text) is None


def test_f32_nan_is_read() -> None:
    """NaN is a float, whatever its sign."""
    value = parse_f32("-NaN")
    assert value is not None
    assert value != value


@given(st.integers(0, 2**24 - 1), st.integers(0, 40), st.sampled_from(["", "1", "9"]))
def test_f32_near_midpoints(significand: int, shift: int, tail: str) -> None:
    """Around the middle of two neighbours the nearest, or the even one, is chosen."""
    middle = Fraction(2 * significand + 1, 2 ** (25 + shift))
    text = f"{middle.numerator * 10**70 // middle.denominator:071d}"
    decimal = Fraction(int(text + tail), 10 ** (70 + len(tail)))
    value = parse_f32("0." + text[-70:] + tail)
    assert value is not None
    assert Fraction(value) == _nearest_f32(decimal)


def _nearest_f32(exact: Fraction) -> Fraction:
    """Return the nearest 32-bit float by comparing with its neighbours, ties to even."""
    guess = struct.unpack("<I", struct.pack("<f", float(exact)))[0]
    bits = [guess + step for step in (-1, 0, 1) if guess + step >= 0]
    floats = [(Fraction(struct.unpack("<f", struct.pack("<I", b))[0]), b) for b in bits]
    return min(floats, key=lambda pair: (abs(pair[0] - exact), pair[1] % 2))[0]
