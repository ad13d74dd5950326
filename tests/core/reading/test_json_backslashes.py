"""Backslashes in strings: escapes where they make sense, else as they are written."""

from __future__ import annotations

import json

import pytest

from loopmend import JsonReader, read_json

SCHEMA = {"type": "object", "properties": {"f": {"type": "string"}}, "required": ["f"]}
RAW = (
    r"\frac{1}{2}",
    r"\beta + 1",
    r"$\frac{a}{b}$ and \boxed{42}",
    r"\(\frac{1}{2}\)",
    r"\alpha + \beta",
    r"\d+\s*",
    r"\bword\b",
    r"\b\w+\b",
    r"^\d{3}-\d{4}$",
    r"\underline{x} \sum_{i=1}^{n}",
    r"\b(foo|bar)\b",
    r"\b[A-Z]+\b",
    r"[A-Z]{2}\b-",
    r"foo\b",
    r"foo\b|bar",
    r"\forall x",
    r"$\forall x$",
    r"x^\beta",
    r"\alpha one\ftwo",
)


@pytest.mark.parametrize("text", RAW)
@pytest.mark.parametrize("reply", ['{"f": "%s"}', 'Here:\n```json\n{"f": "%s"}\n```\nDone.'])
def test_commands_and_patterns_stay_as_they_are_written(text: str, reply: str) -> None:
    """The signs of one stand beside the backslash; a repair says what was done."""
    reading = read_json(reply % text, SCHEMA)
    assert reading.value == {"f": text}
    assert reading.fidelity == "repaired"


@pytest.mark.parametrize(
    "text",
    [
        *(r"\frac", "\b", "\f", "a\fB", "\n\f\t", "\\beta", "a\\\\b", "page one\fpage two"),
        *("One.\fpage two", "one \ftwo", "One.\n\ftwo", "n\bna\bam", "_\bf_\bo", "(1)\fpage [2]"),
    ],
)
def test_what_is_escaped_is_what_json_says(text: str) -> None:
    """An escaped backslash, a form feed in prose and a struck letter are clean JSON."""
    reading = read_json(json.dumps({"f": text}), SCHEMA)
    assert reading.value == {"f": text}
    assert reading.fidelity == "exact"


@pytest.mark.parametrize(
    "text",
    [
        r"\frac{a}{b} \theta",
        r"\theta \frac{a}{b}",
        r"\(\theta\)",
        r"\alpha \times \beta",
        r"\left(\right)",
        r"\begin{array} a \\ b \end{array}",
        r"\underline{x} \nu",
    ],
)
def test_an_escape_beside_a_raw_backslash_may_be_raw_too(text: str) -> None:
    r"""Whether `\t` beside `\frac` is a tab, or `\\` the end of a row, nobody can know."""
    failure = read_json(f'{{"f": "{text}"}}', SCHEMA).failure
    assert failure is not None
    assert "two ways" in failure.message


def test_line_ends_beside_raw_backslashes_are_line_ends() -> None:
    r"""No command starts with `\n` and a capital, a blank or a backslash."""
    assert read_json(r'{"f": "\sum_i\nThen\n\frac{1}{2}\n- b"}').value == {
        "f": "\\sum_i\nThen\n\\frac{1}{2}\n- b"
    }


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_shows_no_form_feed_that_turns_out_to_be_a_command(size: int) -> None:
    """Partial values only grow, towards what the whole reply says."""
    reply = r'{"a": "x", "f": "of \frac{1}{2} and more of the same, so that it is read again"}'
    reader = JsonReader()
    for start in range(0, len(reply), size):
        part = reader.feed(reply[start : start + size]) or {}
        assert r"of \frac{1}{2} and more".startswith(part.get("f", "")[:23])
    assert reader.close() == read_json(reply)
