"""Reading is total, deterministic and linear, and its turns survive JSON."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import ReadingConfig, Turn, read_turn
from loopmend.contracts import from_json, to_json
from loopmend.reading.reader import read_slowly
from loopmend.reading.tools import Toolbox
from tests.core.strategies import emitted_text

PIECES = (
    *("{", "[", "(", "<", "`", "```", '"', "'", "\\", ":", "a(", "[a(", '{"a":', "{'a':", "x", " "),
    *(
        "<tool_call>",
        "<tool_call>{",
        "<function=a>",
        "<function=a><parameter=b>",
        "<invoke name='a'>",
    ),
    *("Action:", "Action: a\n", "Action: a\nAction Input: b\n", "Observation: x\n", "Search["),
    *(
        "<think>",
        "</think>",
        "<think></think>",
        "<|channel|>analysis<|message|>",
        "to=a<|message|>",
    ),
    *(
        "[TOOL_CALLS]",
        "[TOOL_CALLS]a{",
        "<answer>",
        "<answer></answer>",
        "<yield>",
        "I will ",
        "\n",
    ),
    *(
        "I'm stuck ",
        "call:a{",
        "<|tool_call>call:a{",
        "<arg_key>",
        "f(a=1)",
        "f(a=1)\n",
        "[f(a=1)]",
    ),
    *("/*", "...", "{}", "{a:", "[1,", "f(", "f(a=[", "functools[", "<tool>", "a.b.", "1. ", "\t"),
    *('{"name":"a","arguments":{}}', '{"a":"b" ', "]<]minimax[>[", "if I'm stuck ", "我将", "{]"),
)


@given(emitted_text, st.sampled_from([None, ["search"], [{"name": "f", "parameters": {}}]]))
def test_reading_is_total(text: str, tools: Any) -> None:
    """Any text is actions, a signal or a failure, twice the same, and survives JSON."""
    turn = read_turn(text, tools=tools)
    assert turn == read_turn(text, tools=tools) or "nan" in repr(turn)
    assert turn.actions or turn.failure or turn.signal
    assert not (turn.actions and turn.failure)
    spans = [repair.span for repair in turn.repairs]
    spans += [turn.failure.span] if turn.failure else [turn.span]
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert from_json(Turn, to_json(turn)) == turn or "nan" in repr(turn) or "inf" in repr(turn)


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_repetition_is_linear(piece: str) -> None:
    """Any piece of any protocol, repeated, costs time in proportion to its length."""

    def cost(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.thread_time()
        read_turn(text)
        read_turn(text, tools=["a", "f", "search"])
        return time.thread_time() - started

    half, whole = cost(25_000), cost(50_000)
    assert whole < 4 * half + 0.5


STARTS = (
    "Action:",
    "Action: a",
    "Action: a\nAction Input:",
    "Thought:",
    "Answer:",
    "<tool_call>",
    "{",
)


@pytest.mark.parametrize("blank", [" ", "\n", "`", "*", "\t", ". ", "> "])
@pytest.mark.parametrize("start", STARTS)
def test_a_start_and_nothing_after_it_is_linear(start: str, blank: str) -> None:
    """Neither do blanks after a header or an opener cost more than their length."""
    text = start + blank * (50_000 // len(blank))
    started = time.thread_time()
    read_turn(text)
    read_turn(text, tools=["a", "search"])
    assert time.thread_time() - started < 1


CONFIGS = [
    ReadingConfig(),
    ReadingConfig(calls="any"),
    ReadingConfig(native=True),
    ReadingConfig(strict=True),
    ReadingConfig(salvage=True, after_tool_result=True),
    ReadingConfig(plain_text="error", action_and_answer="action", detect_signals=False),
]


@given(emitted_text, st.sampled_from(CONFIGS), st.sampled_from([None, ["search", "f"]]))
def test_the_long_way_is_total(text: str, config: ReadingConfig, tools: Any) -> None:
    """However it is to be read, any text is read, and what is refused is not done."""
    turn = read_slowly(text, Toolbox(tools) if tools else None, None, config)
    assert turn.actions or turn.failure or turn.signal
    assert turn.fidelity == "salvaged" or not (turn.actions and turn.failure)
    assert not (config.strict and turn.actions and turn.repairs)
    assert (turn.fidelity == "exact") or turn.repairs or turn.fidelity == "salvaged"


@given(emitted_text)
def test_sure_calls_are_among_any_calls(text: str) -> None:
    """Who takes any call takes those that are sure alike."""
    sure = read_turn(text, tools=["search", "f"])
    if sure.dialect is not None and sure.failure is None:
        every = read_turn(text, tools=["search", "f"], config=ReadingConfig(calls="any"))
        assert every.actions == sure.actions or "nan" in repr(sure)
