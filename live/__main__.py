"""`python -m live`: run all tasks with each agent, and write down the rates side by side."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from live.arms import COLUMNS, Arm, arms_for, run_task
from live.asking import Memory, Server
from live.engine import default_model, needed, served
from live.record import Run
from live.report import Results, figures, summary, written
from live.store import RunStore, Setting, setting
from live.tasks import TASKS, Task

ROOT: Final = Path(__file__).parents[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the report if everything was measured."""
    given = _arguments().parse_args(arguments)
    # What a framework warns of on the way would tear the progress bar apart.
    warnings.simplefilter("ignore")
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    within = setting(_model(given), ROOT)
    results = _measure(given, within)
    print(summary(results))
    complete = given.tasks >= len(TASKS) and not given.arms and given.base_url is None
    if complete and given.model is None and not given.no_report:
        today = datetime.now(tz=timezone.utc).date()
        page = given.report
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        page.write_text(written(before, figures(results, within, today)), encoding="utf-8")
        print(f"\nWritten to {page}")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m live", description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file to serve instead of the default")
    parser.add_argument("--base-url", help="a server to ask instead, such as http://host:port/v1")
    parser.add_argument("--model-name", default="default", help="which model the server should use")
    parser.add_argument("--tasks", type=int, default=len(TASKS), help="how many tasks to run")
    parser.add_argument("--arms", default="", help="only those whose name holds this")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs and replies")
    parser.add_argument("--kept", type=Path, default=ROOT / ".live", help="where to keep them")
    parser.add_argument("--report", type=Path, default=ROOT / "docs" / "live.md")
    parser.add_argument("--no-report", action="store_true", help="only print")
    parser.add_argument("--verbose", action="store_true", help="show what the model is told")
    return parser


def _model(given: argparse.Namespace) -> str:
    if given.base_url is not None:
        return f"{given.model_name} at {given.base_url}"
    engine = needed("xllamacpp").__name__
    path = given.model or default_model()
    return f"{path.name} ({path.stat().st_size} bytes) in {engine} {version(engine)}"


@contextmanager
def _server(given: argparse.Namespace, arm: Arm, memory: Memory) -> Iterator[Server]:
    engine = f"{_model(given)}, decoded: {arm.decoded}"
    tell = print if given.verbose else lambda _: None
    if given.base_url is not None:
        yield Server(given.base_url, given.model_name, engine, memory, tell)
        return
    with served(given.model, decoded=arm.decoded) as url:
        yield Server(url, given.model_name, engine, memory, tell, primes=True)


def _measure(given: argparse.Namespace, within: Setting) -> Results:
    """Run each kind of agent."""
    runs, replies = given.kept / "runs.jsonl", given.kept / "replies.jsonl"
    if given.fresh:
        runs.unlink(missing_ok=True)
        replies.unlink(missing_ok=True)
    store, memory = RunStore(runs, within), Memory(replies)
    arms = arms_for(given.arms, foreign=given.base_url is not None)
    tasks = TASKS[: given.tasks]
    results: Results = {}
    with _progress(given, len(arms) * len(tasks) * len(COLUMNS)) as progress:
        for arm in arms:
            with _server(given, arm, memory) as server:
                results[arm.name] = _run(arm, server, tasks, store, progress)
    return results


def _run(
    arm: Arm, server: Server, tasks: Sequence[Task], store: RunStore, progress: Any
) -> dict[str, list[Run]]:
    """Run each task without and with loopmend, directly after each other."""
    columns: dict[str, list[Run]] = {column: [] for column in COLUMNS}
    # One group after the other, as the tasks of a group share what their prompts begin with.
    for task in sorted(tasks, key=lambda task: task.group.tools):
        for column, runs in columns.items():
            run = store.get(arm.name, column, task)
            if run is None:
                server.tell(f"\n  {arm.name}, {column}: {task.question}")
                run = run_task(arm.agent(column), server, task)
                store.keep(arm.name, column, run)
            runs.append(run)
            done = {name: sum(run.completed for run in made) for name, made in columns.items()}
            said = ", ".join(f"{name} {count}" for name, count in done.items())
            progress(f"{arm.name}: {said} of {len(runs)}")
    return columns


@contextmanager
def _progress(given: argparse.Namespace, runs: int) -> Iterator[Any]:
    """Show a bar, or nothing beside what is told in full."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=given.verbose) as bar:
        shown = bar.add_task("", total=runs)
        yield lambda said: bar.update(shown, advance=1, description=said)


if __name__ == "__main__":
    main()
