"""`python -m live`: agents at a file of tasks with a real model, alone and with loopmend.

Zero-shot, with the frameworks' own prompts. Columns: the framework alone; loopmend's defaults,
which make a call that the model wrote as text; the same without making it; and decoding
constrained from the start. What two columns ask in the same words is asked once. Runs are kept in a
file: a second start with the same model goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from live.engine import Client, Memory, default_model, served
from live.report import Runs, report
from live.tasks import Task, TaskFile, task_file

__all__ = ["add_server_options", "address", "main"]

# Frameworks are imported when their turn comes.
_MODULES: Final = {"LangChain": "live.langchain_agents", "LlamaIndex": "live.llama_index_agents"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tasks in each column, and print the rates side by side."""
    given = _arguments().parse_args(arguments)
    # What a framework warns of on the way is not about the model.
    warnings.simplefilter("ignore")
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    tasks = task_file(given.tasks)
    model = _model(given)
    done, memory = _known(given.out, model, {task.question for task in tasks.tasks}), Memory()
    with address(given) as url, given.out.open("a", encoding="utf-8") as out:
        for agent, column, run in _agents(given):
            for task in tasks.tasks[: given.first]:
                key = (agent, column, task.question)
                if key in done:
                    continue
                with Client(url, given.model_name, memory) as client:
                    done[key] = made = _one(run, client, tasks, task)
                print(json.dumps([model, *key, made], ensure_ascii=False), file=out, flush=True)
                said = "right" if made["right"] else "wrong"
                print(f"{', '.join(key)} {said}, {made['seconds']} s", file=sys.stderr, flush=True)
    print(f"{model}, tasks {given.tasks}\n")
    print(report(done))


def _agents(given: argparse.Namespace) -> Iterator[tuple[str, str, Any]]:
    for module in _MODULES.values():
        for agent, columns in import_module(module).AGENTS.items():
            for column, run in columns.items():
                if given.agent in agent and given.column in column:
                    yield agent, column, run


def _one(run: Any, client: Client, tasks: TaskFile, task: Task) -> dict[str, Any]:
    called: list[str] = []
    started = time.monotonic()
    try:
        answer, error = run(client, tasks.noted(called), task.question), None
    except Exception as raised:  # noqa: BLE001 - whatever an agent raises is a result here
        answer, error = "", f"{type(raised).__name__}: {raised}"[:300]
    return {
        "kind": task.kind,
        "answer": answer,
        "error": error,
        "called": called,
        "model_calls": client.calls,
        "right": error is None and tasks.is_right(task, answer, called),
        "seconds": round(time.monotonic() - started, 1),
    }


def _model(given: argparse.Namespace) -> str:
    """Return which model is asked; runs of another one do not count."""
    if given.base_url is not None:
        return f"{given.model_name} at {given.base_url.rstrip('/')}"
    return str(given.model or default_model().name)


def _known(path: Path, model: str, questions: Container[str]) -> Runs:
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {
        (agent, column, question): run
        for by, agent, column, question, run in rows
        if by == model and question in questions
    }


@contextmanager
def address(given: argparse.Namespace) -> Iterator[str]:
    """Give the address of the server to ask: the one that was named, or one of our own."""
    if given.base_url is not None:
        yield given.base_url.rstrip("/")
        return
    with served(given.model) as url:
        yield url


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which model is asked."""
    parser.add_argument("--model", type=Path, help="a GGUF file to serve instead of the default")
    parser.add_argument("--base-url", help="a server to ask instead, such as http://host:port/v1")
    parser.add_argument("--model-name", default="default", help="which model the server should use")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live", description=__doc__)
    add_server_options(parser)
    parser.add_argument(
        "--tasks",
        default="clinic",
        help="clinic, harbour, museum, observatory, railway, or a Python file of your own",
    )
    parser.add_argument("--first", type=int, help="only so many tasks")
    parser.add_argument("--agent", default="", help="only those whose name holds this")
    parser.add_argument("--column", default="", help="only those whose name holds this")
    parser.add_argument(
        "--out", type=Path, default=Path(".live.jsonl"), help="where each run is written down"
    )
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
