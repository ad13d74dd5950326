"""All cores give what one core gives."""

from __future__ import annotations

import json
import logging
import os
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from loopmend.cli import pool, reading
from loopmend.cli.pool import cores, size_of, stream
from loopmend.cli.reading import Run, Task, Wanted, do, part_tasks
from loopmend.traces.readers import loading
from loopmend.traces.readers.loading import Skipped
from tests.core.cli.files import mixed, span, talk, write_lines


def results(files: list[str], **options: Any) -> tuple[list[Run], list[Skipped]]:
    """Return the runs and what was skipped."""
    wanted = Wanted(steps=True)
    found = list(stream(files, wanted, **options))
    runs = [each for each in found if isinstance(each, Run)]
    return runs, [each for each in found if isinstance(each, Skipped)]


@pytest.mark.parametrize("part", [64, 301, 1000, 4096])
@pytest.mark.parametrize("langsmith", [True, False])
def test_parts_give_what_the_whole_gives(tmp_path: Path, part: int, *, langsmith: bool) -> None:
    """Wherever a file is cut, the runs, their order, their numbers and what was skipped stay."""
    lines = [line for line in mixed() if langsmith or "run_type" not in line]
    file = write_lines(tmp_path / "mixed.jsonl", lines)
    whole = results([file], jobs=1)
    cut = results([file], jobs=2, part=part, worth=0)
    assert len(whole[0]) >= 12 + 4 + 5
    assert len(whole[1]) >= 12 + 1
    assert cut == whole
    assert len(part_tasks(file, Wanted(), part)) > 2


def test_many_files_come_in_order(tmp_path: Path) -> None:
    """Short files, long ones, the broken and the missing keep their places."""
    files = []
    for n in range(6):
        lines = [talk(f"{n} {m}") for m in range(1 + 40 * (n % 2))]
        files.append(write_lines(tmp_path / f"{n}.jsonl", lines))
    files.insert(2, str(tmp_path / "missing.jsonl"))
    whole = results(files, jobs=1)
    assert results(files, jobs=2, part=2000, worth=0) == whole
    asked = [run.data["question"] for run in whole[0]]
    assert asked == sorted(asked, key=lambda text: [int(n) for n in text.split()])
    assert [each.file for each in whole[1] if "cannot be read" in each.reason] == files[2:3]


def test_a_part_that_cannot_be_split_is_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long file without lines is streamed here, so that its runs need not wait in memory."""
    file = tmp_path / "long.json"
    file.write_text(json.dumps([talk(), talk()], indent=1))
    monkeypatch.setattr(pool, "_LARGE", 10)
    monkeypatch.setattr(reading, "do", None)
    runs, _ = results([str(file)], jobs=2, part=100, worth=0)
    assert [run.data["run"] for run in runs] == [1, 2]


def test_little_work_starts_no_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes are read before a process has started."""
    monkeypatch.setattr(pool, "ProcessPoolExecutor", None)
    assert len(results([write_lines(tmp_path / "a.jsonl", [talk()])])[0]) == 1


class DyingPool:
    """A pool whose process dies: at once, or with the task that it has begun."""

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once

    def __call__(self, *_: Any, **__: Any) -> DyingPool:
        """Stand in for the class."""
        return self

    def submit(self, *_: Any) -> Future[Any]:
        """Fail as `ProcessPoolExecutor` does."""
        if self.at_once:
            raise BrokenProcessPool
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool())
        return future

    def shutdown(self, **_: Any) -> None:
        """Have nothing to do."""


@pytest.mark.parametrize("at_once", [True, False])
def test_a_process_that_dies_loses_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    at_once: bool,
) -> None:
    """What a dead process had in hand is read again, here."""
    lines = [line for line in mixed() if "run_type" not in line]
    file = write_lines(tmp_path / "mixed.jsonl", lines)
    whole = results([file], jobs=1)
    monkeypatch.setattr(pool, "ProcessPoolExecutor", DyingPool(at_once=at_once))
    with caplog.at_level(logging.WARNING):
        assert results([file], jobs=2, part=500, worth=0) == whole
    assert ("died" in caplog.text) is not at_once


def test_progress_counts_all_bytes(tmp_path: Path) -> None:
    """Whoever watches sees all bytes go by, however they are read."""
    file = write_lines(tmp_path / "mixed.jsonl", mixed())
    for options in ({"jobs": 1}, {"jobs": 2, "worth": 0}, {"jobs": 2, "worth": 0, "part": 900}):
        seen: list[int] = []
        results([file], advance=seen.append, **options)
        assert sum(seen) == size_of(file)


def test_what_is_read_in_parts(tmp_path: Path) -> None:
    """Only lines of JSON are read in parts; the rest has no lines that stand for themselves."""
    rows = write_lines(tmp_path / "rows.jsonl", [talk()] * 9)
    texts = {"log": "Thought: x\n" * 99, "torn": "{\n" * 99, "words": '"a"\n' * 99}
    others = [tmp_path / name for name in texts]
    for path in others:
        path.write_text(texts[path.name])
    assert len(part_tasks(rows, Wanted(), 100)) > 9
    assert part_tasks(rows, Wanted("react_log"), 100) == []
    assert part_tasks(rows, Wanted(), 1_000_000) == []
    for name in (*map(str, others), "-", str(tmp_path / "none"), str(tmp_path)):
        assert part_tasks(name, Wanted(), 100) == []


def test_odd_values_are_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value or a run that a reader fails on is named, and the others are read."""
    file = write_lines(tmp_path / "a.jsonl", [talk(), span("t", 1)])

    def fail(*_: Any, **__: Any) -> Any:
        raise KeyError("odd")

    monkeypatch.setattr(loading, "read_group", fail)
    batch = do(Task(file, Wanted(), 0, 10_000))
    assert [(each.line, each.reason) for each in batch.skipped] == [
        (1, "could not be read: KeyError('odd')"),
        (2, "is not JSON: torn, or nested too deep"),
    ]
    monkeypatch.setattr(loading, "pieces_of", fail)
    assert [each.line for each in do(Task(file, Wanted(), 0, 10_000)).skipped] == [1, 2, 4]


def test_a_line_that_is_too_long_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part in which a line begins counts it, even if it ends many parts later."""
    monkeypatch.setattr(reading, "LONGEST", 300)
    monkeypatch.setattr("loopmend.traces.readers.files.LONGEST", 300)
    file = tmp_path / "a.jsonl"
    short = json.dumps({"messages": [{"role": "ai", "content": "4"}]})
    file.write_text("\n".join([short, json.dumps(["x" * 5000]), "{", short]))
    runs, skipped = results([str(file)], jobs=2, part=100, worth=0)
    parts = [do(task) for task in part_tasks(str(file), Wanted(), 100)]
    assert sum(part.lines for part in parts) == 4
    assert [run.data["answer"] for run in runs] == ["4", "4"]
    assert [(each.line, each.reason[:17]) for each in skipped] == [
        (2, "is longer than 30"),
        (3, "is not JSON: torn"),
    ]


def test_a_run_without_anything_is_skipped(tmp_path: Path) -> None:
    """What has the marks of a format and nothing to read is named with that format."""
    empty = {"id": "x", "run_type": "llm", "trace_id": "t", "inputs": {}, "outputs": {}}
    file = write_lines(tmp_path / "a.jsonl", [empty, empty])
    rows = do(Task(file, Wanted(), 0, 10_000)).rows
    batch = do(Task(file, Wanted(), rows=rows))
    assert [(each.reason, each.format) for each in batch.skipped] == [
        ("nothing could be read", "langsmith")
    ]


def test_a_whole_file_is_a_task_too(tmp_path: Path) -> None:
    """A short file is done in one go, with what was skipped."""
    batch = do(Task(write_lines(tmp_path / "a.jsonl", [talk(), {"odd": 1}]), Wanted()))
    assert ([run.data["answer"] for run in batch.runs], len(batch.skipped)) == (["In Norway."], 2)


def test_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as this process may use, or as the machine has where nobody tells."""
    assert 1 <= cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == os.cpu_count()
    assert size_of("no such file") == size_of("a\0b") == 0


def test_workers_leave_interrupts_to_the_command() -> None:
    """Ctrl-C goes to all processes of a terminal; only the first decides what is finished."""
    import signal

    before = signal.getsignal(signal.SIGINT)
    try:
        pool._ignore_interrupts()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
