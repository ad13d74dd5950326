"""Reading is total, deterministic and linear, and its turns survive JSON."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import ReadingConfig, Repair, ToolCall, Turn, from_json, read_turn, to_json
from loopmend.reading.fitting import fit, fits
from loopmend.reading.found import Call, Source
from loopmend.reading.intent import is_plain
from loopmend.reading.tools import Toolbox
from tests.core.strategies import emitted_text, json_values

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


TOOL = {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}}


prose = st.lists(
    st.sampled_from(
        [
            *("The", "answer", "is", "Oslo", "search", "Search", "use", "will", "checking", "?"),
            *("Checking", "Thought", "Observation", "created", "confirmed", "stuck", "cannot", "N"),
            *("times", "should", "be", "one", "of", "x", "Do", "need", "to", "a", "No", "Yes", "."),
        ]
    ),
    max_size=9,
).map(" ".join)


@given((emitted_text | prose).filter(is_plain), st.sampled_from([None, ["search"]]))
def test_the_short_way_of_prose_is_the_long_one(text: str, tools: Any) -> None:
    """What is prose beyond doubt is the answer to every dialect and every rule."""
    ways: list[Any] = [False, "tags"]
    for signals in ways:
        short = ReadingConfig(detect_signals=signals)
        long = ReadingConfig(detect_signals=signals, dialects=(_Silent(),))
        assert read_turn(text, tools=tools, config=short) == read_turn(
            text, tools=tools, config=long
        )


@given(
    st.sampled_from(["search", "Search", "functions.search", "other", "7"]),
    st.sampled_from(["Oslo", "1", "Oslo and more", "null"]),
    st.sampled_from([[TOOL], ["search"], [TOOL, "other"]]),
)
def test_the_short_way_with_tools_is_the_long_one(name: str, given: str, tools: list[Any]) -> None:
    """A turn that keeps the form is read alike whether or not the short way is taken."""
    text = f"Thought: x\nAction: {name}\nAction Input: {given}"
    assert read_turn(text, tools=tools) == read_turn(
        text, tools=tools, config=ReadingConfig(dialects=(_Silent(),))
    )


class _Silent:
    """A dialect that reads nothing, but keeps the reader from the short way."""

    name = "silent"

    def read(self, source: Source) -> None:
        """Read nothing."""


@given(
    st.dictionaries(st.sampled_from(["q", "n", "o", "x"]), json_values | st.text(max_size=3)),
    st.sampled_from(["find", "Find", "nope"]),
)
def test_calls_that_fit_at_once_are_those_that_fit(arguments: dict[str, Any], name: str) -> None:
    """The quick check says yes only where fitting would return the call as it is."""
    schema = {
        "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "o": {}},
        "required": ["q"],
    }
    tools = Toolbox([{"name": "find", "parameters": schema}])
    repairs: list[Repair] = []
    fitted = fit(Call(name, arguments, (0, 0)), tools, repairs)
    if fits(name, arguments, tools):
        assert fitted == ToolCall(name, arguments)
        assert repairs == []
