"""The 10 unit tests of the action parser specification, under their own names."""

from __future__ import annotations

import json

import pytest

from loopmend import AskUser, FinalAnswer, ToolCall
from loopmend.contracts import InvalidJson, MissingField, UnknownType, parse_action


def test_parse_final_variant() -> None:
    """A final action is read."""
    assert parse_action(json.dumps({"type": "final", "content": "Hello!"})) == FinalAnswer("Hello!")


def test_parse_tool_call_variant() -> None:
    """A tool call is read with its arguments."""
    text = json.dumps({"type": "tool_call", "name": "search", "arguments": {"q": "rust"}})
    assert parse_action(text) == ToolCall("search", {"q": "rust"})


def test_parse_ask_user_variant() -> None:
    """A question is read."""
    text = json.dumps({"type": "ask_user", "question": "Which file?"})
    assert parse_action(text) == AskUser("Which file?")


def test_reject_missing_type_field() -> None:
    """Without a type there is no action."""
    with pytest.raises(MissingField):
        parse_action(json.dumps({"content": "Hello!"}))


def test_reject_unknown_type() -> None:
    """A type that names no action is refused as such."""
    with pytest.raises(UnknownType):
        parse_action(json.dumps({"type": "explode", "payload": 42}))


def test_reject_non_json_text() -> None:
    """Prose is not JSON."""
    with pytest.raises(InvalidJson):
        parse_action("this is not json")


def test_reject_missing_required_field_for_variant() -> None:
    """A tool call needs arguments."""
    with pytest.raises((InvalidJson, MissingField)):
        parse_action(json.dumps({"type": "tool_call", "name": "search"}))


def test_handle_json_code_fence() -> None:
    """A fence tagged json is taken off."""
    text = f"```json\n{json.dumps({'type': 'final', 'content': 'done'})}\n```"
    assert isinstance(parse_action(text), FinalAnswer)


def test_handle_plain_code_fence() -> None:
    """A fence without a tag is taken off."""
    text = f"```\n{json.dumps({'type': 'ask_user', 'question': 'yes?'})}\n```"
    assert isinstance(parse_action(text), AskUser)


def test_handle_extra_whitespace() -> None:
    """White space around the object does not matter."""
    text = f"  \n\n  {json.dumps({'type': 'final', 'content': 'hi'})}  \n\n  "
    assert isinstance(parse_action(text), FinalAnswer)
