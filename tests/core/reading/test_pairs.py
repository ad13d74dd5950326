"""Strict JSON, or the word that a text is none."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend.reading.pairs import (
    NO_JSON,
    NoJsonError,
    TwiceError,
    codec_at_hand,
    quick_value,
    sure_value,
    value_or_none,
    whole_value,
)

LONG = '{"a": "' + "x" * 200 + '"'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"a": 1} ', None),
        ('{"a": 1, "a": 2}', None),
        ("{a: 1}", None),
        (LONG + "}", {"a": "x" * 200}),
        (LONG + ",}", None),
        (LONG + '} "b"', None),
        (LONG + ', "a": 1}', None),
    ],
)
def test_all_of_a_text_is_a_value_or_nothing(text: str, value: Any) -> None:
    """Short texts and long ones are read in two ways, and say the same."""
    assert whole_value(text) == value


@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize("text", ["{'a': 1}", "[1,]", r'["\frac"]', "", "{NaN"])
def test_what_does_not_start_with_json_is_none(text: str, load: bool) -> None:  # noqa: FBT001 - a column
    """With and without the quick codec."""
    codec = codec_at_hand(load=True) if load else None
    assert value_or_none(text, codec) is NO_JSON
    with pytest.raises(NoJsonError):
        quick_value(text, codec)


@pytest.mark.parametrize("text", ["[NaN]", "[1e999]", "[1] 2", "[1" + "0" * 5000])
def test_what_starts_with_json_is_another_error(text: str) -> None:
    """A number that JSON lacks, or more than a value."""
    with pytest.raises(ValueError, match=r".") as caught:
        value_or_none(text)
    assert not isinstance(caught.value, NoJsonError)


def test_a_colon_may_be_escaped() -> None:
    """It is not counted as one that parts a key from its value."""
    assert quick_value(r'{"a": "\u003a"}', codec_at_hand(load=True)) == {"a": ":"}


def test_a_flat_object_has_each_key_once() -> None:
    """Its form was looked at before."""
    assert sure_value('{"a": 1, "b": 2}') == {"a": 1, "b": 2}
    with pytest.raises(TwiceError):
        sure_value('{"a": 1, "a": 2}')
