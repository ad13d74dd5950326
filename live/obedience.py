"""`python -m live.obedience`: what a real model does when it is corrected, by wording.

It collects turns that fail, in ReAct text and through the tool interface, as the first step and
after the result of a task's first call, until it has half of them in ReAct and enough in all. Then
it asks about each again in each way. A reply is usable if mending accepts it, and right if it calls
a tool that the task takes, or answers rightly. A second start goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TextIO

from langchain_loopmend.schemas import tool_schemas, toolbox
from live.__main__ import add_server_options, address
from live.engine import OPTIONS, Client
from live.langchain_agents import PROMPT
from live.tasks import Task, TaskFile, Tool, task_file
from loopmend import Done, FinalAnswer, Mending, Reply, RetryPolicy, ToolCall, action_schema
from loopmend.contracts import build_normalization_retry_prompt
from loopmend.mending import Form, Message, NativeCall, constrained

__all__ = ["WORDINGS", "main"]

Protocol = Literal["react", "native"]
Step = Literal["first", "after a result"]
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model is asked in one turn of a task."""

    file: str
    task: Task
    protocol: Protocol
    step: Step
    messages: tuple[Message, ...]
    due: bool = False
    """Whether only a call will do."""

    @property
    def key(self) -> Key:
        """What the turn is known by in the file of replies."""
        return self.file, self.task.question, self.protocol, self.step


class Model:
    """A chat model behind an OpenAI-compatible server."""

    def __init__(self, client: Client, tools: list[dict[str, Any]]) -> None:
        self._client = client
        self._tools = [{"type": "function", "function": tool} for tool in tools]

    def ask(self, turn: Turn, messages: Sequence[Message], schema: Any = None) -> Any:
        """Return the server's first choice."""
        body: dict[str, Any] = {"messages": [_sent(message) for message in messages], **OPTIONS}
        if schema is not None:
            named = {"name": "action", "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif turn.protocol == "native":
            body["tools"] = self._tools
        else:
            body["stop"] = ["\nObservation"]
        return self._client.ask(body)["choices"][0]


def _reply(choice: Any) -> Reply:
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


def turns(file: str, tasks: TaskFile, *, due: bool = False) -> Iterator[Turn]:
    """Yield what is asked: each task in each protocol, and after the result of its first call.

    Where a call is due, yield only the first step of the tasks that need one.
    """
    by_name = {tool.__name__: tool for tool in tasks.tools}
    lines = "\n".join(f"{name}: {tool.__doc__}" for name, tool in by_name.items())
    prompt = PROMPT.partial(tools=lines, tool_names=", ".join(by_name))
    for task in tasks.tasks:
        for step, pad, native in _steps(task, by_name):
            told = prompt.format(input=task.question, agent_scratchpad=pad)
            asked = Message("user", task.question)
            if not due or (step == "first" and task.calls):
                yield Turn(file, task, "react", step, (Message("user", told),), due)
                yield Turn(file, task, "native", step, (asked, *native), due)


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
    rules = RetryPolicy(**{"constrain": False, **policy})
    mending = Mending(box, form, needs_call=turn.due, policy=rules)
    mending.start(turn.task.question, after_tool_result=turn.step != "first")
    return mending


def _seed(turn: Turn, bad: Reply, box: Any, model: Model) -> Any:
    failed = _mending(turn, box, salvage=False)
    failed.reply(bad)
    words = build_normalization_retry_prompt(failed.refused[0].pattern.parent, len(box.tools))
    said = [Message("assistant", bad.text)] if bad.text.strip() else []
    return model.ask(turn, [*turn.messages, *said, Message("user", words)])


def _ours(*, shown: bool) -> Callable[..., Any]:
    def asked(turn: Turn, bad: Reply, box: Any, model: Model) -> Any:
        step: Any = _mending(turn, box, salvage=False, show_refused=shown).reply(bad)
        return model.ask(turn, [*turn.messages, *step.messages])

    return asked


def _schema(turn: Turn, bad: Reply, box: Any, model: Model) -> Any:  # noqa: ARG001 - as the others
    messages = constrained(turn.messages, box)
    return model.ask(turn, messages, action_schema(box, answer=not turn.due, ask_user=False))


WORDINGS: Final[dict[str, Callable[..., Any]]] = {
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


class Measure:
    """One measurement: every reply is written down, so that it can be stopped at any time."""

    def __init__(self, given: argparse.Namespace, client: Client, out: TextIO) -> None:
        self._files = {Path(name).stem: task_file(name) for name in given.tasks}
        schemas = {name: tool_schemas(list(file.tools)) for name, file in self._files.items()}
        self._models = {name: Model(client, each) for name, each in schemas.items()}
        self._boxes = {name: toolbox(each) for name, each in schemas.items()}
        self._turns = [
            turn
            for name, file in self._files.items()
            for turn in turns(name, file, due=given.calls_only)
        ]
        self._first, self.rows = _known(given.out)
        self._out = out

    def failing(self, wanted: int) -> list[Turn]:
        """Return turns that fail: half of them ReAct if there are so many, and as many as wanted.

        Protocols go one after the other, because the server keeps the beginning that turns share.
        """
        found: list[Turn] = []
        quotas: list[tuple[Protocol, int]] = [
            *(("react", wanted // 2), ("native", wanted), ("react", wanted))
        ]
        for protocol, quota in quotas:
            for turn in (each for each in self._turns if each.protocol == protocol):
                if len(found) < quota and turn not in found and self._fails(turn):
                    found.append(turn)
        return found

    def ask(self, turn: Turn, wording: str) -> None:
        """Ask about a turn again in one wording, and judge the reply."""
        asked_before = any(tuple(row[:5]) == (*turn.key, wording) for row in self.rows)
        if not asked_before:
            box, bad = self._boxes[turn.file], _reply(self._first[turn.key])
            choice = WORDINGS[wording](turn, bad, box, self._models[turn.file])
            made = isinstance(_mending(turn, box).reply(bad), Done)
            verdict = _judged(turn, _reply(choice), box, self._files[turn.file])
            self.rows.append([*turn.key, wording, *verdict, made])
            self._keep([*self.rows[-1], choice])

    def _fails(self, turn: Turn) -> bool:
        if turn.key not in self._first:
            self._first[turn.key] = self._models[turn.file].ask(turn, turn.messages)
            self._keep([*turn.key, None, self._first[turn.key]])
        reply = _reply(self._first[turn.key])
        verdict = _mending(turn, self._boxes[turn.file], salvage=False).reply(reply)
        return not isinstance(verdict, Done)

    def _keep(self, row: list[Any]) -> None:
        print(json.dumps(row, ensure_ascii=False), file=self._out, flush=True)


def _known(path: Path) -> tuple[dict[Key, Any], list[list[Any]]]:
    """Return the first replies by turn, and the rows about asking again, that a file holds."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    first = {tuple(row[:4]): row[-1] for row in rows if row[4] is None}
    return first, [row[:-1] for row in rows if row[4] is not None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Collect failing turns, ask about each in each way, and print the table."""
    given = _arguments().parse_args(arguments)
    with (
        address(given) as url,
        Client(url, given.model_name) as client,
        given.out.open("a", encoding="utf-8") as out,
    ):
        measure = Measure(given, client, out)
        failing = measure.failing(given.turns)
        for wording in WORDINGS:
            for turn in failing:
                measure.ask(turn, wording)
    print("\n".join(_table(measure.rows)))


def _table(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield what came of each wording: by protocol and step, by file of tasks, and in all."""
    groups: dict[str, list[Sequence[Any]]] = {}
    for row in rows:
        file, _, protocol, step, _, _, _, made = row
        named = f"{protocol}, {step}", f"tasks {file}", "all"
        for name in (*named, *(() if made else ("all that the defaults ask about",))):
            groups.setdefault(name, []).append(row)
    for name, found in sorted(groups.items(), key=lambda each: each[0].startswith("all")):
        by_wording = {each: [row for row in found if row[4] == each] for each in WORDINGS}
        by_wording["as the defaults ask"] = [row for row in found if row[4] == _by_default(row[3])]
        for wording, asked in by_wording.items():
            usable, right = (sum(row[at] for row in asked) for at in (5, 6))
            said = f"usable {usable:3}, right {right:3} of {len(asked):3}"
            yield f"{name:32} {wording:28} {said}"


def _by_default(step: Step) -> str:
    """Return the wording that `RetryPolicy()` chooses, if the provider takes no schema."""
    shown = RetryPolicy().shows(Reply(), after_result=step != "first")
    return f"ours, refused reply {'shown' if shown else 'dropped'}"


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live.obedience", description=__doc__)
    add_server_options(parser)
    parser.add_argument(
        "--tasks",
        nargs="+",
        default=["clinic", "museum", "railway"],
        help="names or Python files of your own; a later one counts where turns are missing",
    )
    parser.add_argument("--out", type=Path, required=True, help="where each reply is written down")
    parser.add_argument(
        "--calls-only",
        action="store_true",
        help="ask only about first steps that need a tool, and refuse answers: for a model that "
        "answers in prose, which breaks no protocol",
    )
    parser.add_argument("--turns", type=int, default=60, help="how many failing turns to collect")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
