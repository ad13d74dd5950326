"""What the agents are told: the same without and with loopmend, and in both frameworks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from live.tasks import Call, Example, Task
from live.tools import described, parameter

__all__ = [
    "HARD",
    "SOFT",
    "STEPS",
    "SYSTEM",
    "Said",
    "example_calls",
    "react_examples",
    "react_system",
]

STEPS: Final = 4
"""How often an agent may ask the model: one more than the longest task takes."""
SOFT: Final = 2
"""From how many equal calls with equal results on loopmend tells the model."""
HARD: Final = 3
"""From how many on it ends the run; both below its defaults, as there are few steps."""
SYSTEM: Final = "You are a helpful assistant. Use the tools to answer, in one short sentence."
_REACT: Final = """Answer the question. You have these tools:

{tools}

To use a tool, write:
Thought: what to do
Action: one of [{names}]
Action Input: {input}

When you know the answer, write:
Thought: I know the answer
{answer}: the answer"""


class Said(NamedTuple):
    """A message of a conversation in which tools are written as text."""

    role: str
    content: str


def react_system(task: Task, *, answer: str, as_json: bool) -> str:
    """Return how to call tools in words.

    Args:
        task: Tells the tools.
        answer: The word before a final answer, in which the frameworks differ.
        as_json: Whether inputs are objects or plain texts, in which they differ as well.
    """
    tools = task.group.tools
    return _REACT.format(
        tools="\n".join(f"{tool}({parameter(tool)}): {described(tool)}" for tool in tools),
        names=", ".join(tools),
        input="the input as JSON" if as_json else "the input",
        answer=answer,
    )


def react_examples(task: Task, *, answer: str, as_json: bool) -> list[Said]:
    """Return the examples as a conversation, but for those with several calls at once.

    In words calls come one by one, and an example of two that are alike only teaches this model
    to repeat itself.
    """
    return [
        said
        for example in task.group.examples
        if all(len(step) == 1 for step in example.steps)
        for said in _react_example(example, answer=answer, as_json=as_json)
    ]


def _react_example(example: Example, *, answer: str, as_json: bool) -> list[Said]:
    return [
        Said("user", example.question),
        *(said for [call] in example.steps for said in _react_step(call, as_json=as_json)),
        Said("assistant", f"Thought: I know the answer\n{answer}: {example.answer}"),
    ]


def _react_step(call: Call, *, as_json: bool) -> list[Said]:
    given = json.dumps({parameter(call.tool): call.input}) if as_json else call.input
    action = f"Thought: I need {call.tool}\nAction: {call.tool}\nAction Input: {given}"
    return [Said("assistant", action), Said("user", f"Observation: {call.result}")]


def example_calls(step: Sequence[Call]) -> list[tuple[str, str, dict[str, str]]]:
    """Return the calls of an example, each as an id, a name and its arguments."""
    return [
        (f"call_{at}", call.tool, {parameter(call.tool): call.input})
        for at, call in enumerate(step)
    ]
