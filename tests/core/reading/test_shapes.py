"""The shapes in which a decoded value describes a call or an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend.reading.answers import Answered
from loopmend.reading.decoding import decode_value
from loopmend.reading.shapes import Described, describe
from loopmend.reading.tools import Toolbox

BOX = Toolbox(
    [
        {
            "name": "weather",
            "parameters": {
                "properties": {"city": {"type": "string"}, "input": {"type": "string"}},
                "required": ["city"],
            },
        },
        {"name": "now", "parameters": {"properties": {}}},
        {"name": "loose"},
        {
            "name": "ask",
            "parameters": {"properties": {"args": {"type": "object"}, "input": {"type": "string"}}},
        },
    ]
)


def _read(value: Any, tools: Toolbox | None = BOX, *, marked: bool = False) -> Described:
    return describe(decode_value(json.dumps(value), 0), tools, marked=marked)


def _calls(
    value: Any, tools: Toolbox | None = BOX, *, marked: bool = False
) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in _read(value, tools, marked=marked).calls]


OSLO = {"city": "Oslo"}
CALL = [("weather", OSLO)]


@pytest.mark.parametrize(
    "value",
    [
        {"name": "weather", "arguments": OSLO},
        {"tool": "weather", "args": OSLO},
        {"action": "weather", "action_input": OSLO},
        {"toolName": "weather", "Parameters": OSLO},
        {"function_name": "weather", "kwargs": OSLO, "id": 7, "type": "function", "thought": "x"},
        {"type": "tool_call", "name": "weather", "arguments": OSLO},
        {"tool": "weather", "city": "Oslo"},
        {"type": "weather", "city": "Oslo"},
        {"type": "weather", "args": OSLO},
        {"weather": OSLO},
        {"weather": OSLO, "thought": "x"},
        ["weather", OSLO],
        {"thoughts": {"text": "x"}, "command": {"name": "weather", "args": OSLO}},
        {"tool_calls": [{"function": {"name": "weather", "arguments": OSLO}}]},
        {"tool_call": json.dumps({"name": "weather", "arguments": OSLO})},
        [{"name": "weather", "arguments": OSLO}],
        json.dumps({"name": "weather", "arguments": OSLO}),
        {"name": "weather", "arguments": OSLO, "message": "Looking."},
    ],
)
def test_one_call(value: Any) -> None:
    """Any spelling of the keys, any wrapper that is a call's: the same call."""
    assert _calls(value) == CALL


def test_texts_that_are_calls() -> None:
    """A tool's name with text as arguments, or a call in quotes, is a call too."""
    assert _calls({"weather": '{"city": "Oslo"}'}) == [("weather", '{"city": "Oslo"}')]
    found = _read({"content": ['weather(city="Oslo")']})
    assert [(call.name, call.arguments) for call in found.calls] == CALL
    assert [repair.what for repair in found.calls[0].repairs] == ["call in quotes"]
    assert _calls(["weather", "[a b"]) == []
    assert _calls(['{"weather": {"city": "Oslo"}} and more']) == []
    assert _calls(['{"weather": {"city": "Oslo"']) == []
    assert _calls(["other(city='Oslo')"]) == []


def test_several_calls() -> None:
    """Lists and keys hold several calls in their order; a broken sibling is announced."""
    both = [*CALL, ("now", {})]
    assert _calls([{"weather": OSLO}, {"tool": "now"}]) == both
    assert _calls({"weather": OSLO, "now": {}}) == both
    broken = _read([{"weather": OSLO}, 7])
    assert broken.calls == []
    assert broken.announced


@pytest.mark.parametrize(
    "value",
    [
        {"name": "weather"},
        {"name": "nope", "city": "Oslo"},
        {"tool": "weather", "town": "Oslo"},
        {"tool": "weather", "city": "Oslo", "execute": False},
        {"tool": "loose", "city": "Oslo"},
        {"name": "weather", "arguments": OSLO, "execute": False},
        {"name": "weather", "arguments": OSLO, "description": "x"},
        {"type": "weather", "args": OSLO, "execute": False},
        {"type": "weather", "name": "other"},
        {"type": "weather", "args": OSLO, "confirmed": False},
        {"type": "weather", "thought": "x"},
        {"type": "nope", "city": "Oslo"},
        {"type": 7},
        {"weather": OSLO, "execute": False},
        {"weather": "Oslo"},
        {"proposed_call": {"name": "weather", "arguments": OSLO}},
        {"call": {"name": "weather", "arguments": OSLO}, "execute": False},
        {"call": "Oslo"},
        {"name": "weather", "arguments": OSLO, "input": {}, "example": "x"},
        {"name": "loose", "arguments": {}, "args": {}},
        {"name": " ", "arguments": {}},
        {"name": "weather", "arguments": OSLO, "message": {"a": 1}},
        {"name": "weather", "arguments": OSLO, "rejected": None},
        ["nope", OSLO],
        [],
        {},
        7,
        "plain text",
        {"type": "final"},
        {"answer": 7},
    ],
)
def test_no_call(value: Any) -> None:
    """What is missing, denied, beside the point or not a tool's is no call."""
    found = _read(value)
    assert found.calls == []
    assert found.answer is None


@pytest.mark.parametrize(
    "value",
    [
        {"name": "weather", "arguments": OSLO, "execute": False},
        {"call": {"name": "weather", "arguments": OSLO}, "execute": False},
    ],
)
def test_what_looks_like_a_call_is_announced(value: Any) -> None:
    """Whatever objects to a call, it was one: a failure can say so."""
    assert _read(value).announced


def test_arguments_that_are_parameters() -> None:
    """Where two keys could hold the arguments, the one that is no parameter does."""
    value = {"name": "ask", "arguments": {"input": "x"}, "input": "y"}
    assert _calls(value) == []
    assert _calls({"name": "weather", "arguments": OSLO, "input": None}) == CALL


def test_marked_values() -> None:
    """Markup that says `call` lets a name stand without arguments, and a key without a tool."""
    assert _calls({"name": "weather"}, marked=True) == [("weather", {})]
    assert _calls({"weather": OSLO}, None, marked=True) == CALL
    assert _calls({"weather": OSLO}, None) == []
    assert _calls({"name": "f", "arguments": {}}, None) == [("f", {})]
    assert _calls(["f", {}], None) == []


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"type": "final", "content": "4"}, Answered("4")),
        ({"type": "final", "answer": "4"}, Answered("4")),
        ({"type": "ask_user", "question": "Which?"}, Answered("Which?", question=True)),
        ({"action": "Final Answer", "action_input": "4"}, Answered("4")),
        ({"action": "Final Answer", "action_input": {"answer": "4"}}, Answered("4")),
        ({"action": "Final Answer", "action_input": {"a": 1}}, Answered('{"a": 1}')),
        ({"action": "Final Answer", "action_input": None}, Answered("")),
        ({"action": "finish", "action_input": "4"}, Answered("4")),
        ({"name": "respond", "arguments": {"text": "4"}}, Answered("4")),
        ([{"type": "final", "content": "4"}], Answered("4")),
        ([{"type": "final", "content": "4"}, {"type": "final", "content": "5"}], None),
        ({"action": "finish", "action_input": {"a": 1}}, None),
        ({"call": {"type": "final", "content": "4"}, "execute": False}, None),
    ],
)
def test_answers(value: Any, answer: Answered | None) -> None:
    """An answer or a question in the shape of a call is what it says."""
    assert _read(value).answer == answer


def test_a_tool_named_finish_is_a_tool() -> None:
    """Names of answers are names of tools where a tool has them."""
    box = Toolbox([{"name": "finish", "parameters": {"properties": {"text": {"type": "string"}}}}])
    assert _calls({"name": "finish", "arguments": {"text": "x"}}, box) == [
        ("finish", {"text": "x"})
    ]


def test_the_contract() -> None:
    """The contract's own forms are known as such, and others are not."""
    assert _read({"type": "final", "content": "4"}).contract
    assert not _read({"type": "final", "content": "4", "id": 1}).contract
    assert _read({"type": "tool_call", "name": "weather", "arguments": OSLO}).contract
    assert not _read({"type": "tool_call", "name": "weather", "arguments": OSLO, "id": 1}).contract


def test_depth_is_bounded() -> None:
    """A call under too many wrappers is not looked for."""
    value: Any = {"name": "weather", "arguments": OSLO}
    for _ in range(12):
        value = {"call": value}
    assert _calls(value) == []
