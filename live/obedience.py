"""`python -m live.obedience`: what a real model does when it is corrected, by wording.

Turns that fail are collected, in ReAct text and through the tool interface, as the first step and
after the result of a task's first call. Each is then asked about again in each way; a reply is
usable if mending accepts it, and right if it calls a tool that the task takes, or answers rightly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from langchain_loopmend.schemas import tool_schemas, toolbox
from live.__main__ import add_server_options, address
from live.engine import OPTIONS, Client
from live.langchain_agents import PROMPT
from live.tasks import Task, TaskFile, Tool, task_file
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
Step = Literal["first", "after a result"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model is asked in one turn of a task."""

    task: Task
    protocol: Protocol
    step: Step
    messages: tuple[Message, ...]


class Model:
    """A chat model behind an OpenAI-compatible server."""

    def __init__(self, client: Client, tools: list[dict[str, Any]]) -> None:
        self._client = client
        self._tools = [{"type": "function", "function": tool} for tool in tools]

    def ask(self, turn: Turn, messages: Sequence[Message], schema: Any = None) -> Reply:
        """Return the reply to a conversation."""
        body: dict[str, Any] = {"messages": [_sent(message) for message in messages], **OPTIONS}
        if schema is not None:
            named = {"name": "action", "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif turn.protocol == "native":
            body["tools"] = self._tools
        else:
            body["stop"] = ["\nObservation"]
        choice = self._client.ask(body)["choices"][0]
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


def turns(tasks: TaskFile) -> Iterator[Turn]:
    """Yield what is asked: each task in each protocol, and after the result of its first call."""
    by_name = {tool.__name__: tool for tool in tasks.tools}
    lines = "\n".join(f"{name}: {tool.__doc__}" for name, tool in by_name.items())
    prompt = PROMPT.partial(tools=lines, tool_names=", ".join(by_name))
    for task in tasks.tasks:
        for step, pad, native in _steps(task, by_name):
            told = prompt.format(input=task.question, agent_scratchpad=pad)
            yield Turn(task, "react", step, (Message("user", told),))
            yield Turn(task, "native", step, (Message("user", task.question), *native))


def _steps(task: Task, tools: Mapping[str, Tool]) -> Iterator[tuple[Step, str, list[Message]]]:
    """Yield each step with what came before it, as ReAct text and as messages."""
    yield "first", "", []
    if task.calls:
        name, result = task.calls[0], tools[task.calls[0]](**task.first)
        pad = f" I look it up.\nAction: {name}\nAction Input: {json.dumps(task.first)}\n"
        call = NativeCall(name, dict(task.first), "call_1")
        native = [Message("assistant", "", (call,)), Message("tool", result, (), "call_1")]
        yield "after a result", f"{pad}Observation: {result}\nThought:", native


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


def _judged(turn: Turn, reply: Reply, box: Any, tasks: TaskFile) -> tuple[bool, bool]:
    """Return whether a reply is usable, and whether it is right."""
    verdict = _mending(turn, box).reply(reply)
    if not isinstance(verdict, Done) or not verdict.turn.actions:
        return isinstance(verdict, Done), False
    action = verdict.turn.actions[0]
    if isinstance(action, ToolCall):
        return True, action.name in (*turn.task.calls, *turn.task.helps)
    said = action.content if isinstance(action, FinalAnswer) else ""
    called = turn.task.calls if turn.step != "first" else ()
    return True, tasks.is_right(turn.task, said, called)


def main(arguments: Sequence[str] | None = None) -> None:
    """Collect failing turns, ask about each in each way, and print the table."""
    given = _arguments().parse_args(arguments)
    tasks = task_file(given.tasks)
    schemas = tool_schemas(list(tasks.tools))
    box = toolbox(schemas)
    rows: list[list[Any]] = []
    if given.out.exists():
        rows = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()]
    failing = {tuple(row[:3]) for row in rows}
    with (
        address(given) as url,
        Client(url, given.model_name) as client,
        given.out.open("a", encoding="utf-8") as out,
    ):
        model = Model(client, schemas)
        for turn in turns(tasks):
            key = (turn.task.question, turn.protocol, turn.step)
            if key in failing or len(failing) >= given.turns:
                continue
            bad = model.ask(turn, turn.messages)
            if isinstance(_mending(turn, box, salvage=False).reply(bad), Done):
                continue
            failing.add(key)
            for wording, ask in WORDINGS.items():
                usable, right = _judged(turn, ask(turn, bad, box, model), box, tasks)
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
    add_server_options(parser)
    parser.add_argument("--out", type=Path, required=True, help="where each reply is written down")
    parser.add_argument("--turns", type=int, default=60, help="how many failing turns to collect")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
