"""All cores at work: tasks are handed out as they are needed, results come back in order."""

from __future__ import annotations

import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from loopmend.cli.inputs import STDIN
from loopmend.cli.reading import (
    PART,
    Batch,
    Rows,
    Run,
    Task,
    Wanted,
    do,
    part_tasks,
    row_tasks,
    rows_here,
    runs_in,
)
from loopmend.traces.readers.loading import Skipped

__all__ = ["cores", "size_of", "stream"]

_LOG: Final = logging.getLogger(__name__)
_WORTH: Final = 8 * 1024 * 1024
"""Less than so many bytes are read faster than processes start."""
_LARGE: Final = 32 * 1024 * 1024
"""A longer file that cannot be read in parts is read here, run by run, to save memory."""


def cores() -> int:
    """Return how many cores this process may use.

    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not on Linux


def size_of(file: str) -> int:
    """Return the length of a file in bytes; 0 for what has none.

    >>> size_of("-")
    0
    """
    try:
        return 0 if file == STDIN else Path(file).stat().st_size
    except (OSError, ValueError):  # whoever reads it tells
        return 0


def stream(  # noqa: PLR0913 - all but the first two by name
    files: Iterable[str],
    wanted: Wanted,
    *,
    jobs: int | None = None,
    part: int = PART,
    worth: int = _WORTH,
    advance: Callable[[int], object] = lambda _: None,
) -> Iterator[Run | Skipped]:
    """Yield the runs of files in order, numbered from 1 in each file, and what was skipped.

    Args:
        files: As `files_of` returns them.
        wanted: How to read.
        jobs: How many processes; by default one for each core.
        part: The length of the parts in which large files are read.
        worth: How many bytes are worth several processes.
        advance: Told how many bytes were read.
    """
    listed = list(files)
    many = cores() if jobs is None else jobs
    with ExitStack() as stack:
        pool: ProcessPoolExecutor | None = None
        if many > 1 and sum(map(size_of, listed)) >= worth:
            pool = ProcessPoolExecutor(many, initializer=_ignore_interrupts)
            # What has begun is finished, what has not is given up.
            stack.callback(pool.shutdown, cancel_futures=True)
        yield from _Reading(pool, many, wanted, part, advance).run(listed)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that knows what is finished."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Reading:
    def __init__(
        self,
        pool: ProcessPoolExecutor | None,
        jobs: int,
        wanted: Wanted,
        part: int,
        advance: Callable[[int], object],
    ) -> None:
        self.pool, self.jobs, self.wanted, self.part = pool, jobs, wanted, part
        self.advance = advance

    def run(self, files: list[str]) -> Iterator[Run | Skipped]:
        short: list[Task] = []
        for file in files:
            parts = part_tasks(file, self.wanted, self.part) if self.pool else []
            alone = self.pool is None or file == STDIN or size_of(file) > _LARGE
            if not parts and not alone:
                short.append(Task(file, self.wanted))
                continue
            yield from self._short(short)
            short = []
            yield from self._parts(file, parts) if parts else self._alone(file)
        yield from self._short(short)

    def _alone(self, file: str) -> Iterator[Run | Skipped]:
        yield from _numbered(runs_in(file, self.wanted), 1)
        self.advance(size_of(file))

    def _short(self, tasks: list[Task]) -> Iterator[Run | Skipped]:
        for task, batch in self._done(tasks):
            yield from _numbered(batch.runs, 1)
            yield from batch.skipped
            self.advance(size_of(task.file))

    def _parts(self, file: str, tasks: list[Task]) -> Iterator[Run | Skipped]:
        """Read the parts of a file, then the runs whose rows are spread over them."""
        rows: Rows = {}
        number, line = 1, 0
        for task, batch in self._done(tasks):
            yield from _numbered(batch.runs, number)
            yield from (_at(skipped, line) for skipped in batch.skipped)
            for key, places in batch.rows.items():
                places[0] += line
                if key in rows:
                    rows[key].extend(places[1:])
                else:
                    rows[key] = places
            number, line = number + len(batch.runs), line + batch.lines
            self.advance((task.stop or 0) - task.start)
        here = rows_here(file, self.wanted, rows)
        if here is not None:
            yield from _numbered(here, number)
            return
        for _, batch in self._done(row_tasks(file, self.wanted, rows)):
            yield from _numbered(batch.runs, number)
            yield from batch.skipped
            number += len(batch.runs)

    def _done(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Batch]]:
        """Yield tasks with what came of them, in order; a few are under way at a time."""
        waiting: deque[tuple[Task, Future[Batch] | None]] = deque()
        left = iter(tasks)
        while True:
            while len(waiting) < 2 * self.jobs and (task := next(left, None)) is not None:
                waiting.append((task, self._submitted(task)))
            if not waiting:
                return
            task, future = waiting.popleft()
            yield task, self._result(task, future)

    def _submitted(self, task: Task) -> Future[Batch] | None:
        try:
            return None if self.pool is None else self.pool.submit(do, task)
        except BrokenProcessPool:
            return None

    def _result(self, task: Task, future: Future[Batch] | None) -> Batch:
        if future is not None:
            try:
                return future.result()
            except BrokenProcessPool:
                _LOG.warning("a process reading %s died; continuing without it", task.file)
                self.pool = None
        return do(task)


def _numbered(found: Iterable[Any], number: int) -> Iterator[Any]:
    for each in found:
        if isinstance(each, Run):
            each.data["run"] = number
            number += 1
        yield each


def _at(skipped: Skipped, line: int) -> Skipped:
    return replace(skipped, line=line + (skipped.line or 0))
