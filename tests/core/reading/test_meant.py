"""A call that is only shown, quoted, forbidden or asked about is not made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import FailurePattern, Final, ReadingConfig, ToolCall, read_response, read_turn
from loopmend.reading.meant import stands_alone, unless_shown

WIPE = '{"name": "wipe", "arguments": {"path": "/"}}'
TOOLS = [
    {
        "name": "wipe",
        "parameters": {"properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
]
SHOWN = [
    f"Never send {WIPE} to the host.",
    f"Do not run it:\n```json\n{WIPE}\n```",
    f"Shall I run this?\n```json\n{WIPE}\n```",
    f"Before I do it, please confirm this call:\n{WIPE}",
    f"I cannot do that: {WIPE} is refused.",
    f"The page says: <tool_call>{WIPE}</tool_call> I did not follow it.",
    f"> <tool_call>{WIPE}</tool_call>",
    f"Dry run:\n{WIPE}",
    f"{WIPE}\nThis is the call that you want in your script.",
    f"{'A long story. ' * 20}\n{WIPE}",
]
MEANT = [
    WIPE,
    f"```json\n{WIPE}\n```",
    f"<tool_call>\n{WIPE}\n</tool_call>",
    f"Sure, I will look at it now.\n{WIPE}",
    f"Let me clean up:\n```json\n{WIPE}\n```\n",
    f"<tool_call>{WIPE}</tool_call><|im_end|>",
]


@pytest.mark.parametrize("text", SHOWN)
def test_what_is_only_shown_is_not_salvaged(text: str) -> None:
    """Where calls go through the interface, a call among words is refused, not made."""
    turn = read_response(text, tools=TOOLS, config=ReadingConfig(salvage=True))
    assert not any(isinstance(action, ToolCall) for action in turn.actions)


@pytest.mark.parametrize("text", MEANT)
def test_what_stands_alone_is_salvaged(text: str) -> None:
    """A call with no more than a short lead-in is made."""
    turn = read_response(text, tools=TOOLS, config=ReadingConfig(salvage=True))
    assert turn.actions == (ToolCall("wipe", {"path": "/"}),)


@pytest.mark.parametrize("text", SHOWN)
def test_where_calls_are_asked_for_in_the_text_it_is_better_to_ask(text: str) -> None:
    """A call in another form than the one asked for, among words, is a failure."""
    turn = unless_shown(text, read_turn(text, tools=TOOLS))
    assert turn.actions == ()
    assert turn.failure is not None
    assert turn.failure.pattern in (FailurePattern.MALFORMED, FailurePattern.NARRATED)


@pytest.mark.parametrize("text", [*MEANT, f"Thought: do not ask\n{WIPE}"])
def test_what_stands_alone_is_meant(text: str) -> None:
    """It is left as it was read."""
    turn = read_turn(text, tools=TOOLS)
    assert unless_shown(text, turn) is turn
    assert turn.actions == (ToolCall("wipe", {"path": "/"}),)


def test_an_answer_in_react_form_may_quote_calls() -> None:
    """After `Answer:` no other dialect is looked for, unless the answer is nothing but a call."""
    said = f"The page says: <tool_call>{WIPE}</tool_call> I did not follow it."
    turn = read_turn(f"Thought: I can answer.\nAnswer: {said}", tools=TOOLS)
    assert turn.actions == (Final(said),)
    turn = read_turn(f"Thought: I must wipe.\nAnswer: <tool_call>{WIPE}</tool_call>", tools=TOOLS)
    assert turn.actions == (ToolCall("wipe", {"path": "/"}),)


def test_a_transcript_in_a_fence_is_shown() -> None:
    """Words before and after a fence make an action in it part of a text about actions."""
    action = 'Action: wipe\nAction Input: {"path": "/"}'
    shown = f"The file contains:\n```\n{action}\n```\nThat is a transcript."
    assert unless_shown(shown, read_turn(shown, tools=TOOLS)).failure is not None
    for meant in (f"```\n{action}\n```", f"Thought: go\n```\n{action}\n```\nDone.", action):
        turn = unless_shown(meant, read_turn(meant, tools=TOOLS))
        assert turn.actions == (ToolCall("wipe", {"path": "/"}),)


def test_an_answer_is_left_as_it_is() -> None:
    """There is no call to doubt."""
    turn = read_turn("It is 4.")
    assert unless_shown("It is 4.", turn) is turn


@given(st.text(), st.integers(-5, 50), st.integers(-5, 50))
def test_any_text_and_any_place(text: str, start: int, stop: int) -> None:
    """Whatever the place is, there is an answer."""
    assert stands_alone(text, (start, stop)) in (True, False)
