"""ReAct text that simple parsers make a call or an answer of."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import ReadingConfig, ToolCall
from loopmend.reading import Toolbox
from loopmend.reading.loose_react import read_react

TOOL = {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}
CONFIG = ReadingConfig(detect_signals=False)
CALL = "Thought: t\nAction: {}\nAction Input: {}"


@pytest.mark.parametrize(
    ("action", "given", "arguments"),
    [
        ("add", 'Engine({"a": 1})', {"a": 1}),
        ("add (add numbers)", '{"a": 1}', {"a": 1}),
        ("add", 'Engine({"b": 1})', None),
        ("subtract", 'Engine({"a": 1})', None),
        ("add", "Engine({a)", None),
        ("add", "Engine([1])", None),
    ],
)
def test_the_first_object_is_the_input(action: str, given: str, arguments: Any) -> None:
    """Words around it are nothing to refuse, if it fits the tool as it is."""
    turn = read_react(CALL.format(action, given), Toolbox([TOOL]), CONFIG)
    made = [each.arguments for each in turn.actions if isinstance(each, ToolCall)]
    assert made == ([] if arguments is None else [arguments])


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Thought: I can add. Answer: 8", "8"),
        ("Thought: I will use add. Answer:", None),
        ("Thought: I will use the add tool.", None),
    ],
)
def test_an_answer_on_the_line_of_its_thought(text: str, answer: str | None) -> None:
    """The label counts wherever it stands behind a thought, if something follows it."""
    turn = read_react(text, Toolbox([TOOL]), CONFIG)
    said = [each.content for each in turn.actions if not isinstance(each, ToolCall)]  # type: ignore[union-attr]
    assert said == ([] if answer is None else [answer])
