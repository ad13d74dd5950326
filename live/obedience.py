"""`python -m live.obedience`: what a real model does when it is corrected, by wording.

First turns of the tasks that fail are collected, in ReAct text and through the tool interface, and
the turns after the first right call. Each is then asked about again in each way; a reply is usable if
mending accepts it, and right if it calls a tool that the task takes, or answers rightly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import httpx

from langchain_loopmend.schemas import tool_schemas, toolbox
from live.engine import SEED, served
from live.office import TASKS, OfficeTask, office_tools
from live.office_runs import PROMPT
from loopmend import (
    Done,
    FinalAnswer,
    Mending,
    Message,
    Reply,
    RetryPolicy,
    ToolCall,
    action_schema,
)
from loopmend.contracts import build_normalization_retry_prompt
from loopmend.mending import Form, NativeCall, constrained

__all__ = ["WORDINGS", "main"]

Protocol = Literal["react", "native"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model is asked in one turn of a task."""

    task: OfficeTask
    protocol: Protocol
    step: Literal["first", "after a result"]
    messages: tuple[Message, ...]


class Model:
    """A chat model behind an OpenAI-compatible server."""

    def __init__(self, url: str, tools: list[dict[str, Any]]) -> None:
        self._client = httpx.Client(base_url=url, timeout=900)
        self._tools = [{"type": "function", "function": tool} for tool in tools]

    def ask(self, turn: Turn, messages: Sequence[Message], schema: Any = None) -> Reply:
        """Return the reply to a conversation."""
        body: dict[str, Any] = {
            "messages": [_sent(message) for message in messages],
            "temperature": 0,
            "seed": SEED,
            "max_tokens": 120,
            "cache_prompt": True,
        }
        if schema is not None:
            named = {"name": "action", "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif turn.protocol == "native":
            body["tools"] = self._tools
        else:
            body["stop"] = ["\nObservation"]
        choice = self._client.post("chat/completions", json=body).json()["choices"][0]
        said = choice["message"]
        calls = [
            NativeCall(c["function"]["name"], c["function"]["arguments"], c.get("id"))
            for c in said.get("tool_calls") or ()
        ]
        return Reply(said.get("content") or "", tuple(calls), (), choice.get("finish_reason"))


def _sent(message: Message) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        sent["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in message.calls
        ]
    if message.call_id is not None:
        sent["tool_call_id"] = message.call_id
    return sent


def turns(tools: list[Callable[..., str]]) -> Iterator[Turn]:
    """Yield what is asked: each task in each protocol, as first step and after a result."""
    by_name = {tool.__name__: tool for tool in tools}
    lines = "\n".join(f"{t.__name__}: {t.__doc__}" for t in tools)
    for task in TASKS:
        name = task.calls[0] if task.calls else "opening_hours"
        given = _FIRST[name]
        result = by_name[name](**given)
        for step in ("first", "after a result"):
            pad = ""
            native = [Message("user", task.question)]
            if step != "first":
                written = json.dumps(given)
                pad = f" I look it up.\nAction: {name}\nAction Input: {written}\n"
                pad += f"Observation: {result}\nThought:"
                call = NativeCall(name, given, "call_1")
                native += [Message("assistant", "", (call,)), Message("tool", result, (), "call_1")]
            told = PROMPT.format(
                tools=lines,
                tool_names=", ".join(by_name),
                input=task.question,
                agent_scratchpad=pad,
            )
            yield Turn(task, "react", step, (Message("user", told),))
            yield Turn(task, "native", step, tuple(native))


def _mending(turn: Turn, box: Any, **policy: Any) -> Mending:
    form: Form = turn.protocol
    mending = Mending(box, form, policy=RetryPolicy(**{"constrain": False, **policy}))
    mending.start(turn.task.question, after_tool_result=turn.step != "first")
    return mending


def _seed(turn: Turn, bad: Reply, box: Any, model: Model) -> Reply:
    failed = _mending(turn, box, salvage=False)
    failed.reply(bad)
    words = build_normalization_retry_prompt(failed.refused[0].pattern.parent, len(box.tools))
    said = [Message("assistant", bad.text)] if bad.text.strip() else []
    return model.ask(turn, [*turn.messages, *said, Message("user", words)])


def _ours(*, shown: bool) -> Callable[..., Reply]:
    def asked(turn: Turn, bad: Reply, box: Any, model: Model) -> Reply:
        step: Any = _mending(turn, box, salvage=False, show_refused=shown).reply(bad)
        return model.ask(turn, [*turn.messages, *step.messages])

    return asked


def _schema(turn: Turn, bad: Reply, box: Any, model: Model) -> Reply:  # noqa: ARG001 - as the others
    messages = constrained(turn.messages, box)
    return model.ask(turn, messages, action_schema(box, ask_user=False))


WORDINGS: Final[dict[str, Callable[..., Reply]]] = {
    "the seed's text": _seed,
    "ours, refused reply shown": _ours(shown=True),
    "ours, refused reply dropped": _ours(shown=False),
    "constrained": _schema,
}


def _judged(turn: Turn, reply: Reply, box: Any) -> tuple[bool, bool]:
    """Return whether a reply is usable, and whether it is right."""
    verdict = _mending(turn, box).reply(reply)
    if not isinstance(verdict, Done) or not verdict.turn.actions:
        return isinstance(verdict, Done), False
    action = verdict.turn.actions[0]
    if isinstance(action, ToolCall):
        return True, action.name in turn.task.calls or action.name in ("desk_of", "multiply")
    said = action.content if isinstance(action, FinalAnswer) else ""
    called = turn.task.calls if turn.step != "first" else ()
    return True, turn.task.is_right(said, called)


def main(arguments: Sequence[str] | None = None) -> None:
    """Collect failing turns, ask about each in each way, and print the table."""
    given = _arguments().parse_args(arguments)
    called: list[str] = []
    tools = office_tools(called)
    schemas = tool_schemas(tools)
    box = toolbox(schemas)
    rows: list[list[Any]] = []
    if given.out.exists():
        rows = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()]
    failing = {tuple(row[:3]) for row in rows}
    with served(given.model, decoded=False) as url, given.out.open("a", encoding="utf-8") as out:
        model = Model(url, schemas)
        for turn in turns(tools):
            key = (turn.task.question, turn.protocol, turn.step)
            if key in failing or len(failing) >= given.turns:
                continue
            bad = model.ask(turn, turn.messages)
            if isinstance(_mending(turn, box, salvage=False).reply(bad), Done):
                continue
            failing.add(key)
            for wording, ask in WORDINGS.items():
                usable, right = _judged(turn, ask(turn, bad, box, model), box)
                rows.append([*key, wording, usable, right])
                print(json.dumps(rows[-1], ensure_ascii=False), file=out, flush=True)
    _print(rows)


def _print(rows: list[list[Any]]) -> None:
    for protocol in ("react", "native"):
        for step in ("first", "after a result"):
            for wording in WORDINGS:
                found = [r for r in rows if r[1:4] == [protocol, step, wording]]
                count = Counter(usable=sum(r[4] for r in found), right=sum(r[5] for r in found))
                said = f"usable {count['usable']:3}, right {count['right']:3} of {len(found):3}"
                print(f"{protocol:7} {step:15} {wording:28} {said}")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live.obedience", description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file to serve instead of the default")
    parser.add_argument("--out", type=Path, required=True, help="where each reply is written down")
    parser.add_argument("--turns", type=int, default=60, help="how many failing turns to collect")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
