"""`python -m live`: run all tasks with each agent and print the rates side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from live.engine import served
from live.langchain_model import Watch, chat_model
from live.langchain_runs import ARMS, Arm, run_task
from live.record import Run
from live.report import as_json, progress, table
from live.tasks import TASKS, Task


def main() -> None:
    """Measure, and print."""
    given = _arguments().parse_args()
    results = _measure(given)
    for arm, columns in results.items():
        print(f"\n{table(arm, columns)}")
    if given.json is not None:
        given.json.write_text(as_json(results), encoding="utf-8")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live", description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file to serve instead of the default")
    parser.add_argument("--base-url", help="a server to ask instead, such as http://host:port/v1")
    parser.add_argument("--model-name", default="default", help="which model the server should use")
    parser.add_argument("--tasks", type=int, default=len(TASKS), help="how many tasks to run")
    parser.add_argument("--json", type=Path, help="a file to write every run to")
    parser.add_argument("--verbose", action="store_true", help="show what the model is told")
    return parser


@contextmanager
def _server(given: argparse.Namespace, arm: Arm) -> Iterator[str]:
    if given.base_url is not None:
        yield given.base_url
        return
    with served(given.model, decoded=arm.decoded) as url:
        yield url


Results = dict[str, dict[str, list[Run]]]


def _measure(given: argparse.Namespace) -> Results:
    """Run each kind of agent; a foreign server decodes calls in its own way only."""
    watch = Watch(verbose=given.verbose)
    results: Results = {}
    for arm in ARMS:
        if not arm.decoded and given.base_url is not None:
            continue
        with _server(given, arm) as url:
            model = chat_model(url, given.model_name)
            results[arm.name] = _run(arm, model, TASKS[: given.tasks], watch)
    return results


def _run(
    arm: Arm, model: BaseChatModel, tasks: Sequence[Task], watch: Watch
) -> dict[str, list[Run]]:
    """Run each task natively and with loopmend, directly after each other."""
    columns: dict[str, list[Run]] = {column: [] for column in arm.agents}
    print(f"\n{arm.name}: {', '.join(columns)}")
    for number, task in enumerate(tasks, 1):
        for column, agent in arm.agents.items():
            watch.tell(f"\n  {column}: {task.question}")
            columns[column].append(run_task(agent, model, task, watch))
        print(progress(number, len(tasks), task, columns), flush=True)
    return columns


if __name__ == "__main__":
    main()
