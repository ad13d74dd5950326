"""How calls and answers are written down, in JSON and in the sections of ReAct."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.reading.offered import Call, only_string

Write = Callable[[list[Call], random.Random], str]


class Form(NamedTuple):
    """A way to write calls."""

    write: Write
    several: bool = False
    """Whether it has a place for several calls."""
    fits: Callable[[Call], bool] = lambda _: True
    """Whether it can carry a call without saying how to escape something."""


FORMS: dict[str, Form] = {}
THOUGHTS = (
    "I need to find this out first.",
    "The user gave me everything that is required, so one step is enough.",
    "Ich brauche dafür ein Werkzeug.",
    "Il me faut cette information avant de répondre.",
    "需要先查一下。",
)
CONCLUSIONS = (
    "I now know the answer.",
    "Nothing is left to be done.",
    "Das reicht für eine Antwort.",
    "已经知道答案了。",
)


def form(
    name: str, *, several: bool = False, fits: Callable[[Call], bool] = lambda _: True
) -> Callable[[Write], Write]:
    """Register a way to write calls."""

    def register(write: Write) -> Write:
        FORMS[name] = Form(write, several, fits)
        return write

    return register


def strings(value: Any) -> list[str]:
    """Return all strings in a value, keys aside."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in inside for text in strings(part)]


def dumped(value: Any) -> str:
    """Write a value as JSON in the way that models do."""
    return json.dumps(value, ensure_ascii=False)


def plain_text(call: Call) -> bool:
    """Tell whether a call can be written as a name and one line of bare text."""
    return only_string(call.name) and not any(
        set("\n[]<") & set(s) for s in strings(call.arguments)
    )


def only(call: Call) -> str:
    """Return the one string that a call carries."""
    return str(next(iter(call.arguments.values())))


def thought(chance: random.Random) -> str:
    """Return something to think before acting."""
    return chance.choice(THOUGHTS)


def conclusion(chance: random.Random) -> str:
    """Return something to think before answering."""
    return chance.choice(CONCLUSIONS)


def pythonic(call: Call) -> str:
    """Write a call in Python."""
    return f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})"


def named(call: Call, name: str = "name", arguments: str = "arguments") -> dict[str, Any]:
    """Return a call as an object with two keys."""
    return {name: call.name, arguments: call.arguments}


@form("ReAct, JSON input")
def _(calls: list[Call], chance: random.Random) -> str:
    name, arguments = calls[0]
    return f"Thought: {thought(chance)}\nAction: {name}\nAction Input: {dumped(arguments)}"


@form("ReAct, plain input", fits=plain_text)
def _(calls: list[Call], chance: random.Random) -> str:
    return f"Thought: {thought(chance)}\nAction: {calls[0].name}\nAction Input: {only(calls[0])}"


@form("ReAct, bracketed input", fits=plain_text)
def _(calls: list[Call], chance: random.Random) -> str:
    step = chance.randint(1, 4)
    return f"Thought {step}: {thought(chance)}\nAction {step}: {calls[0].name}[{only(calls[0])}]"


@form("ReAct, Python call")
def _(calls: list[Call], chance: random.Random) -> str:
    return f"Thought: {thought(chance)}\nAction: {pythonic(calls[0])}"


@form("ReAct, blob")
def _(calls: list[Call], chance: random.Random) -> str:
    blob = json.dumps(named(calls[0], "action", "action_input"), ensure_ascii=False, indent=2)
    return f"Thought: {thought(chance)}\nAction:\n```json\n{blob}\n```"


@form("contract JSON")
def _(calls: list[Call], _: random.Random) -> str:
    return dumped({"type": "tool_call", **named(calls[0])})


@form("name and arguments")
def _(calls: list[Call], _: random.Random) -> str:
    return dumped(named(calls[0]))


@form("name and parameters")
def _(calls: list[Call], _: random.Random) -> str:
    return dumped(named(calls[0], arguments="parameters"))


@form("list of objects", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return dumped([named(call) for call in calls])


@form("OpenAI message", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    entries = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": dumped(call.arguments)},
        }
        for number, call in enumerate(calls)
    ]
    return dumped({"role": "assistant", "content": None, "tool_calls": entries})


@form("OpenAI function_call")
def _(calls: list[Call], _: random.Random) -> str:
    inner = {"name": calls[0].name, "arguments": dumped(calls[0].arguments)}
    return dumped({"function_call": inner})


@form("action and action_input")
def _(calls: list[Call], _: random.Random) -> str:
    return dumped(named(calls[0], "action", "action_input"))


@form("fenced JSON")
def _(calls: list[Call], _: random.Random) -> str:
    return f"```json\n{json.dumps(named(calls[0]), ensure_ascii=False, indent=2)}\n```"


@form("thought and tool_calls", several=True)
def _(calls: list[Call], chance: random.Random) -> str:
    return dumped({"thought": thought(chance), "tool_calls": [named(call) for call in calls]})


@form("Python list", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return f"[{', '.join(pythonic(call) for call in calls)}]"


@form("Python call in a tag", several=True)
def _(calls: list[Call], _: random.Random) -> str:
    return "\n".join(f"<tool_call>{pythonic(call)}</tool_call>" for call in calls)


@form("Python call in a tool_code fence")
def _(calls: list[Call], _: random.Random) -> str:
    return f"```tool_code\n{pythonic(calls[0])}\n```"


ANSWERS: dict[str, Callable[[str, random.Random], str]] = {
    "ReAct answer": lambda answer, chance: f"Thought: {conclusion(chance)}\nFinal Answer: {answer}",
    "LlamaIndex answer": lambda answer, chance: f"Thought: {conclusion(chance)}\nAnswer: {answer}",
    "contract answer": lambda answer, _: dumped({"type": "final", "content": answer}),
    "contract question": lambda answer, _: dumped({"type": "ask_user", "question": answer}),
    "JSON Final Answer": lambda answer, _: dumped(
        {"action": "Final Answer", "action_input": answer}
    ),
    "XML answer": lambda answer, _: f"<final_answer>{answer}</final_answer>",
    "Harmony answer": lambda answer, chance: (
        f"<|channel|>analysis<|message|>{conclusion(chance)}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{answer}<|return|>"
    ),
    "thinking, then prose": lambda answer, chance: (
        f"<think>{conclusion(chance)}</think>\n\n{answer}"
    ),
    "prose": lambda answer, _: answer,
}
"""How an answer is written."""

REPLIES = (
    "The harbour is open until nine in the evening.",
    "Insgesamt sind es 42,50 €, die Rechnung ist damit bezahlt.",
    "There are three boats:\n\n- Ida, 12 m\n- Runa, 9 m\n- Oda, 15 m",
    "C'est fait : la photo porte désormais deux mots-clés.",
    "船は明日の朝、九時に出ます。",
    "No, the berth B-7 is taken until the 5th of April; B-9 is free.",
)
