"""Meta-signals as models write them."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import AskUser, FinalAnswer, ReadingConfig, ToolCall, read_turn
from loopmend.contracts import Answer, Clarification, MoreContext, Stuck, Thinking, Uncertain, Yield


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("<ANSWER Confidence='0.5'>Paris</ANSWER>", Answer("Paris", 0.5)),
        ("< answer confidence = 0.5 >Paris</ answer >", Answer("Paris", 0.5)),
        ("<answer>a <answer>b</answer> c</answer>", Answer("a <answer>b", Answer("x").confidence)),
        (
            "<Stuck><Request>more context please</Request></Stuck>",
            Stuck(request=MoreContext("more context please")),
        ),
        ("<yield reason='x'><expertise>law</expertise></yield>", Yield(None, ("law",))),
        ("<uncertain level='2'><partial>4</partial></uncertain>", Uncertain("4")),
        ("<thinking direction='plan' steps=2>x</thinking>", Thinking("plan", 2)),
        ("I\u2019m stuck here.", Stuck),
        ("I'm not sure, but 4.", Uncertain("I'm not sure, but 4.")),
        ("I don't think I'm stuck.", None),
        ("If I'm stuck I will ask.", None),
        ('He said "I\'m stuck".', None),
        ("Write `<answer>x</answer>` to answer.", None),
        ("> I'm stuck\nNo, it is 4.", None),
        ("If I'm stuck I ask. Now I'm stuck.", Stuck),
        ("<answer>never ends", None),
        ("</answer> stray", None),
        ("The answer is 4.", None),
    ],
)
def test_signals(text: str, signal: Any) -> None:
    """Case, attributes, spacing and nesting do not matter; quotes and denials do."""
    found = read_turn(text).signal
    if isinstance(signal, type):
        assert isinstance(found, signal)
    else:
        assert found == signal


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("<answer>Paris</answer>", (FinalAnswer("Paris"),)),
        ("<uncertain><partial>4</partial></uncertain>", (FinalAnswer("4"),)),
        ("<uncertain><missing>year</missing></uncertain>", ()),
        ("<stuck><request>clarify the year</request></stuck>", (AskUser("clarify the year"),)),
        ("<stuck><request>more context</request></stuck>", ()),
        ("<yield><expertise>law</expertise></yield>", ()),
    ],
)
def test_a_signal_alone_is_what_it_asks_for(text: str, actions: Any) -> None:
    """A lone signal becomes the answer or the question in it, or stays a signal."""
    turn = read_turn(text)
    assert (turn.actions, turn.failure) == (actions, None)
    assert turn.signal is not None


def test_a_call_is_never_ended_by_a_signal() -> None:
    """Beside a call only signals that do not end a run count; in one, a call is asked about."""
    call = '{"name": "f", "arguments": {}}'
    assert read_turn(f"I'm stuck. {call}").signal is None
    assert isinstance(read_turn(f"I'm not sure. {call}").signal, Uncertain)
    for text in (f"I'm stuck. {call}", f"I'm not sure. {call}"):
        assert read_turn(text).actions == (ToolCall("f", {}),)
    assert read_turn(f"<yield>{call}</yield>").failure is not None


def test_clarification_is_kept() -> None:
    """The question is also in the signal."""
    turn = read_turn("<stuck><request>please clarify</request></stuck>")
    assert isinstance(turn.signal, Stuck)
    assert turn.signal.request == Clarification(("please clarify",))


def test_signals_can_be_switched_off() -> None:
    """Who does not need them does not pay for them."""
    off = ReadingConfig(detect_signals=False)
    assert read_turn("I'm stuck.", config=off).signal is None
    assert read_turn('I\'m not sure. {"name": "f", "arguments": {}}', config=off).signal is None
