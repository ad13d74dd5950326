"""Reading is total, deterministic and linear, and its turns survive JSON."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import Turn, from_json, read_turn, to_json
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
