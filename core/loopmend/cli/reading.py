"""Runs out of many files, on all cores, in bounded memory, in the order of the files.

A large file of JSON lines is read in parts by several processes. Rows of one run may stand in
different parts: a part returns where they are, and the runs are read when all parts are known. So
the result is that of one process that reads everything, in the same order.
"""

from __future__ import annotations

import json
import logging
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from loopmend.cli.inputs import STDIN, name_of, source_of
from loopmend.rendering.page import json_text
from loopmend.rendering.runs import run_data, step_data
from loopmend.traces.readers.files import LONGEST
from loopmend.traces.readers.files import _lines as values_of_lines
from loopmend.traces.readers.formats import Piece
from loopmend.traces.readers.loading import LoadedTraces, Skipped, load_traces
from loopmend.traces.readers.options import options_of
from loopmend.traces.redaction import Redactor, redact_secrets
from loopmend.traces.report import classify_trace
from loopmend.traces.trace import Trace

__all__ = [
    "Batch",
    "Run",
    "Task",
    "Wanted",
    "chosen",
    "do",
    "part_tasks",
    "row_tasks",
    "rows_here",
    "runs_in",
]

_LOG: Final = logging.getLogger(__name__)
PART: Final = 1024 * 1024
"""The length of a part of a file, in bytes: about a second's work, which Ctrl-C has to wait for."""
_FIRST: Final = 16 * 1024 * 1024
"""A first line that is longer counts as the whole file."""
_GROUPS: Final = 64
"""So many runs that are spread over a file are read in one go."""


class Run(NamedTuple):
    """A run as it is counted, shown and written: what `run_data` and `step_data` tell."""

    data: dict[str, Any]
    steps: str | None = None
    """Its steps as JSON, if somebody wants them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to read, and what of it.

    >>> Wanted(format="messages").steps
    False
    """

    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """What `load_traces` takes by name."""
    steps: bool = False
    redact: bool = True
    """Whether secrets are taken out of what is shown and written."""


Rows = dict[tuple[str, str], "array[int]"]
"""Where the rows of each run are: the places of their lines in the file, and the first's number."""


@dataclass(slots=True)
class Batch:
    """What came of a task.

    >>> Batch().runs
    []
    """

    runs: list[Run] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    lines: int = 0
    """How many lines the part has."""
    rows: Rows = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work for a process: a file, a part of it, or runs that are spread over it.

    >>> Task("a.jsonl", Wanted(), start=0, stop=100).rows is None
    True
    """

    file: str
    wanted: Wanted
    start: int = 0
    stop: int | None = None
    """Where the part ends; none for all of the file."""
    rows: Rows | None = None
    """Runs that are spread over the file, and where."""


def do(task: Task) -> Batch:
    """Do a task, in whatever process."""
    batch, part = Batch(), None
    if task.rows is not None:
        found = _runs_of(_LoadedRows(task.file, task.wanted, task.rows), task.file, task.wanted)
    elif task.stop is not None:
        part = _LoadedPart(task, task.stop)
        found = _runs_of(part, task.file, task.wanted)
    else:
        found = runs_in(task.file, task.wanted)
    for each in found:
        if isinstance(each, Run):
            batch.runs.append(each)
        else:
            batch.skipped.append(each)
    if part is not None:
        batch.lines, batch.rows = part.lines, part.rows
    return batch


def runs_in(file: str, wanted: Wanted) -> Iterator[Run | Skipped]:
    """Read a file from its beginning to its end, run by run; what is skipped comes last."""
    source: Any = source_of(file)
    return _runs_of(load_traces(source, wanted.format, **wanted.options), file, wanted)


def _runs_of(loaded: LoadedTraces, file: str, wanted: Wanted) -> Iterator[Run | Skipped]:
    try:
        for trace in loaded:
            yield _run(trace, file, wanted)
    except OSError as error:
        yield Skipped(f"cannot be read: {error.strerror or error}", file)
    yield from (replace(skipped, file=file) for skipped in loaded.skipped)


def _run(trace: Trace, file: str, wanted: Wanted) -> Run:
    clean = Redactor().text if wanted.redact else str
    data = {"file": name_of(file), "run": 0, **run_data(trace, classify_trace(trace), clean)}
    if not wanted.steps:
        return Run(data)
    try:
        shown = redact_secrets(trace) if wanted.redact else trace
    except ValueError as error:
        _LOG.warning("%s: the steps of a run are left out: %s", name_of(file), error)
        return Run(data)
    return Run(data, json_text(step_data(shown)))


def chosen(left: Iterator[tuple[int, Trace]], run: str) -> Trace | None:
    """Return the run with this number; only if no run has it, the first with this id."""
    named = None
    for number, trace in left:
        if str(number) == run:
            return trace
        if named is None and trace.id == run:
            named = trace
            if not run.isdecimal():
                break
    return named


def part_tasks(file: str, wanted: Wanted, part: int = PART) -> list[Task]:
    """Return a task for each part of a file of JSON lines; none if it is not one, or short."""
    if file == STDIN or wanted.format == "react_log":
        return []
    try:
        size = Path(file).stat().st_size
        if size <= part or not _has_lines(file):
            return []
    except OSError:  # whoever reads it tells
        return []
    return [Task(file, wanted, start, min(start + part, size)) for start in range(0, size, part)]


def _has_lines(file: str) -> bool:
    """Tell whether a file holds one JSON value a line, as `load_traces` tells it."""
    with Path(file).open("rb") as opened:
        first = opened.readline(_FIRST)
    try:
        return first.endswith(b"\n") and isinstance(json.loads(first), (dict, list))
    except (ValueError, RecursionError):
        return False


class _Range:
    """The lines that begin in a part of a file."""

    def __init__(self, file: Any, start: int, stop: int) -> None:
        self._file, self._stop = file, stop
        self._next, self._begins = start, True
        self.place = start
        """Where the latest line begins."""
        self.lines = 0
        """How many lines have begun."""
        if start:  # what is left of the line before belongs to the part in which that begins
            file.seek(start - 1)
            while (rest := file.readline(LONGEST)) and not rest.endswith(b"\n"):
                pass
            self._next = file.tell()

    def readline(self, most: int) -> bytes:
        """Return the next line, or nothing at the end of the part."""
        if self._next >= self._stop:
            return b""
        line: bytes = self._file.readline(most)
        self.place, self._next = self._next, self._next + len(line)
        self.lines += self._begins
        self._begins = line.endswith(b"\n")
        return line


class _LoadedPart(LoadedTraces):
    """The whole runs of a part of a file, and where the rows of others are."""

    def __init__(self, task: Task, stop: int) -> None:
        super().__init__(task.file, task.wanted.format, options_of(**task.wanted.options))
        self._file, self._start, self._stop = task.file, task.start, stop
        self.lines, self._place = 0, 0
        self.rows: Rows = {}

    def _values(self) -> Iterator[tuple[int | None, Any]]:
        with Path(self._file).open("rb") as file:
            lines = _Range(file, self._start, self._stop)
            for number, value in values_of_lines(lines, 0):  # type: ignore[arg-type]
                self._place = lines.place
                yield number, value
            self.lines = lines.lines

    def _keep(self, run: tuple[str, str], row: Any, line: int | None) -> None:  # noqa: ARG002
        # The first number is the line's, all others are places.
        places = self.rows.setdefault(run, array("Q", [line or 0]))
        if len(places) == 1 or places[-1] != self._place:
            places.append(self._place)


class _LoadedRows(LoadedTraces):
    """Runs whose rows are spread over a file."""

    def __init__(self, file: str, wanted: Wanted, rows: Rows) -> None:
        super().__init__(file, wanted.format, options_of(**wanted.options))
        self._file, self._rows = file, rows
        self._first = {places[1]: places[0] for places in rows.values()}
        self._all = sorted({place for places in rows.values() for place in places[1:]})

    def _values(self) -> Iterator[tuple[int | None, Any]]:
        with Path(self._file).open("rb") as file:
            for place in self._all:
                file.seek(place)
                yield self._first.get(place), json.loads(file.readline(LONGEST))

    def _pieces(self, value: Any, line: int | None) -> list[Piece]:
        pieces = super()._pieces(value, line)
        return [piece for piece in pieces if (piece.format, piece.run) in self._rows]


def rows_here(file: str, wanted: Wanted, rows: Rows) -> Iterator[Run | Skipped] | None:
    """Read spread runs here if their keys may not tell who belongs together; else return nothing.

    A run of LangSmith may name the run that it is part of and no trace: such a row is alone under
    its key, and only the loader, which sees all rows, brings it home.
    """
    alone = any(format == "langsmith" and len(rows[format, run]) == 2 for format, run in rows)  # noqa: PLR2004
    return _runs_of(_LoadedRows(file, wanted, rows), file, wanted) if alone else None


def row_tasks(file: str, wanted: Wanted, rows: Rows) -> Iterator[Task]:
    """Return tasks for the runs whose rows are spread over a file."""
    spread = list(rows.items())
    for start in range(0, len(spread), _GROUPS):
        yield Task(file, wanted, rows=dict(spread[start : start + _GROUPS]))
