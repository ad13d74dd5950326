"""Normalization: the three patterns, to the letter."""

from __future__ import annotations

import json

import pytest

from loopmend.contracts import (
    MAX_NORMALIZATION_RETRIES,
    NormalizationPattern,
    build_normalization_retry_prompt,
    detect_normalization_failure,
)

MALFORMED = NormalizationPattern.MALFORMED_TOOL_CALL
NARRATED = NormalizationPattern.NARRATED_TOOL_USE
EMPTY = NormalizationPattern.EMPTY_ACTION


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", EMPTY),
        ("\x85\u3000", EMPTY),
        ("\x1c", None),
        ("ACTION : ", EMPTY),
        ("Action\xa0:\u3000", EMPTY),
        ("My Reaction:", EMPTY),
        ('Action: a {"x":1} and Action:', EMPTY),
        ("Act\u0131on:", None),
        ("ACT\u0130ON:", None),
        ("Plan of action: do X", MALFORMED),
        ("I made a TOOL_CALL earlier", MALFORMED),
        ("Action: Finish[42]", MALFORMED),
        ('Action: s\nAction Input: {"q": "a } b"}', MALFORMED),
        ("Action:   \nmore text", MALFORMED),
        ("action \n : x", MALFORMED),
        ("action without a colon", None),
        ("Action: x }{", None),
        ('Transaction: {"id": 1}', None),
        ("I would use web_search. Action: {}", None),
        ("i WOULD use x", NARRATED),
        ("I'll run\nls", NARRATED),
        ("Let me use the calculator", NARRATED),
        ("I would u\u017fe web", NARRATED),
        ("I need to invo\u212ae x", NARRATED),
        ("\u0130 would use web", None),
        ("I would use \u0301", NARRATED),
        ("I would use \xb2", None),
        ("I would use `x`. But I would use it", NARRATED),
        ("I\u2019ll run the tests", None),
        ("I'll run.", None),
        ("I need to invoke ", None),
    ],
)
def test_detection(content: str, expected: NormalizationPattern | None) -> None:
    """Rules, their order, and the corners where Python's matching differs from Rust's."""
    assert detect_normalization_failure(content) is expected


def test_two_retries() -> None:
    """A turn is corrected twice at most."""
    assert MAX_NORMALIZATION_RETRIES == 2


@pytest.mark.parametrize("pattern", list(NormalizationPattern))
def test_prompts_accept_wire_names(pattern: NormalizationPattern) -> None:
    """A pattern read from JSON works as well as the member, and prints as its name."""
    name = json.loads(json.dumps(pattern))
    assert str(pattern) == name == pattern.value
    assert build_normalization_retry_prompt(name, 1) == build_normalization_retry_prompt(pattern, 1)


def test_prompt_arguments_are_checked() -> None:
    """An unknown pattern, a negative count and a count that is no integer are refused."""
    with pytest.raises(ValueError, match="NoSuchPattern"):
        build_normalization_retry_prompt("NoSuchPattern", 1)
    with pytest.raises(ValueError, match="negative"):
        build_normalization_retry_prompt(EMPTY, -1)
    with pytest.raises(TypeError, match="`pattern` must be a str"):
        build_normalization_retry_prompt(None, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be an int"):
        build_normalization_retry_prompt(EMPTY, True)
