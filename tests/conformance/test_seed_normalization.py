"""The 8 unit tests of the normalization specification, under their own names."""

from __future__ import annotations

from loopmend.contracts import (
    NormalizationPattern,
    build_normalization_retry_prompt,
    detect_normalization_failure,
)


def test_detects_malformed_tool_call_unbalanced_braces() -> None:
    """An opened but never closed brace is a malformed call."""
    content = 'Action: web_search\nAction Input: {"query": "rust async"'
    assert detect_normalization_failure(content) is NormalizationPattern.MALFORMED_TOOL_CALL


def test_detects_malformed_tool_call_no_json() -> None:
    """A call without any JSON is malformed."""
    content = "Action: web_search\nAction Input: query rust async"
    assert detect_normalization_failure(content) is NormalizationPattern.MALFORMED_TOOL_CALL


def test_detects_narrated_tool_use() -> None:
    """Telling what one would use is narration."""
    content = "I would use web_search to find recent articles on the topic."
    assert detect_normalization_failure(content) is NormalizationPattern.NARRATED_TOOL_USE


def test_detects_empty_action_whitespace_only() -> None:
    """White space is an empty action."""
    assert detect_normalization_failure("   \n\t  ") is NormalizationPattern.EMPTY_ACTION


def test_normal_tool_call_not_detected_as_failure() -> None:
    """A call with balanced JSON is no failure."""
    content = 'Action: web_search\nAction Input: {"query": "rust async"}'
    assert detect_normalization_failure(content) is None


def test_normal_text_response_not_detected_as_failure() -> None:
    """A plain answer is no failure."""
    content = "The answer is 42. Rust is a systems programming language."
    assert detect_normalization_failure(content) is None


def test_retry_prompt_includes_tool_count() -> None:
    """The prompt against narration says how many tools there are."""
    prompt = build_normalization_retry_prompt(NormalizationPattern.NARRATED_TOOL_USE, 7)
    assert "7 tools available" in prompt


def test_detects_empty_action_line() -> None:
    """A last `Action:` with nothing behind it is empty."""
    content = "Thought: I should search for this.\nAction:   "
    assert detect_normalization_failure(content) is NormalizationPattern.EMPTY_ACTION
