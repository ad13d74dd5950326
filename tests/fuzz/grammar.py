"""Texts of every dialect: nested in each other, mixed, cut off, respelled."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.core.reading.pumps import PUMPS
from tests.core.strategies import PIECES

NAMES = ("search", "calculator", "f", "get_weather", "Finish", "no such", "a.b", "")
WORDS = (
    *(
        "Oslo",
        "I will look it up.",
        "Je vais chercher cela.",
        "让我查一下",
        "not",
        "Maybe",
        "2 + 2",
    ),
    *(
        'He said "Action: search".',
        "For example:",
        "`search`",
        "\ud800",
        "é\u0301",
        "\x00",
        "\x1b[2J",
    ),
    *("password=hunter2", "https://u:p@h/x?token=a1B2c3D4e5F6", "Error: no", "{", "<tool_call>"),
)


def text(chance: random.Random, depth: int = 3) -> str:
    """Return a text of some dialect, in which others may stand."""
    made = "".join(_piece(chance, depth) for _ in range(chance.choice((1, 1, 1, 2, 3))))
    if chance.random() < 0.2:
        made = made[: chance.randint(0, len(made))]
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        at = chance.randint(0, len(made))
        end = min(len(made), at + chance.randint(0, 12))
        put = chance.choice((chance.choice(PIECES), chance.choice(PUMPS), made[at:end], ""))
        made = made[:at] + put + made[chance.choice((at, end)) :]
    return made


def respelled(made: str, chance: random.Random) -> str:
    """Return the same text with other line ends, or blanks around it: neither has a meaning."""
    ends = made if "\r" in made else made.replace("\n", "\r\n")
    return chance.choice((ends, made + "\n", "\n" + made, made + "  "))


def value(chance: random.Random, depth: int = 3) -> Any:
    """Return a JSON value, with texts of dialects in it."""
    kind = chance.random()
    if depth == 0 or kind < 0.5:
        return chance.choice((1, -2.5, None, True, "", "Oslo", 10**20, chance.choice(WORDS)))
    if kind < 0.7:
        return [value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    keys = (
        "q",
        "name",
        "arguments",
        "role",
        "content",
        "type",
        "steps",
        "messages",
        "id",
        "password",
    )
    return {chance.choice(keys): value(chance, depth - 1) for _ in range(chance.randint(0, 4))}


def conversation(chance: random.Random) -> Any:
    """Return a value that looks like a trace of some format."""
    roles = ("user", "assistant", "ai", "human", "tool", "model", "system", "", None)
    rows = []
    for _ in range(chance.randint(0, 5)):
        row: dict[str, Any] = {chance.choice(("role", "type", "from")): chance.choice(roles)}
        row[chance.choice(("content", "value", "text", "parts"))] = value(chance, 2)
        if chance.random() < 0.4:
            call = {"id": "1", "name": "search", "arguments": value(chance, 1)}
            row[chance.choice(("tool_calls", "function_call", "calls"))] = chance.choice(
                ([call], call, [{"function": call, "type": "function"}], value(chance, 1))
            )
        rows.append(row)
    span = {
        "span_id": "1",
        "parent_id": None,
        "name": "x",
        "attributes": {
            "openinference.span.kind": chance.choice(("LLM", "TOOL", "AGENT", 7)),
            "output.value": value(chance, 1),
            "llm.output_messages.0.message.content": text(chance, 1),
        },
    }
    return chance.choice(
        (
            rows,
            {"messages": rows},
            {chance.choice(("traj", "history", "trajectory", "log")): rows},
            [span, {**span, "span_id": "2", "parent_id": "1"}],
            {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
            {"version": 1, "steps": [value(chance, 2)], "answer": text(chance, 1)},
            {"run_type": "llm", "id": "1", "inputs": value(chance, 2), "outputs": value(chance, 2)},
            {"observations": [value(chance, 2)], "id": "1"},
            {"schema_version": "ATIF-v1", "steps": rows},
            value(chance, 4),
        )
    )


def _piece(chance: random.Random, depth: int) -> str:
    name, said = chance.choice(NAMES), chance.choice(WORDS)
    inner = text(chance, depth - 1) if depth and chance.random() < 0.4 else said
    given = json.dumps(value(chance, 1), ensure_ascii=chance.random() < 0.5)
    call = json.dumps(
        {
            chance.choice(("name", "tool", "action")): name,
            chance.choice(("arguments", "parameters", "action_input", "args")): inner,
        }
    )
    return chance.choice(
        (
            said,
            inner,
            f"Thought: {inner}\nAction: {name}\nAction Input: {given}\n",
            f"Thought: {said}\nAction: {name}[{inner}]\nObservation: {said}\n",
            f"Thought: {said}\nFinal Answer: {inner}",
            f"<tool_call>{call}</tool_call>",
            f"<function={name}><parameter=q>{inner}</parameter></function>",
            f'<invoke name="{name}"><parameter name="q">{inner}</parameter></invoke>',
            f"```json\n{call}\n```",
            f"[TOOL_CALLS][{call}]",
            f"<|python_tag|>{name}.call(q={given})",
            f"{name}(q={given}, n=2)",
            f"<|channel|>commentary to=functions.{name}<|message|>{given}<|call|>",
            f"<think>{inner}</think>{call}",
            f'{{"type": "tool_call", "name": "{name}", "arguments": {given}}}',
            f'{{"type": "final", "content": {json.dumps(inner)}}}',
            f'<answer confidence="0.{len(name)}">{inner}<caveat>{said}</caveat></answer>',
            f"<stuck><attempts>{said}</attempts><request>{inner}</request></stuck>",
            f"I'll use `{name}` with {given}.",
            given,
        )
    )
