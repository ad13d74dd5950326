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
from loopmend.traces.readers.files import LONGEST, Skip
from loopmend.traces.readers.files import _lines as values_of_lines
from loopmend.traces.readers.formats import Piece, pieces_of, read_group
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
"""A first line that is longer is taken for the whole file."""
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
    rows: tuple[tuple[tuple[str, str], int, array[int]], ...] | None = None
    """Runs that are spread over the file: which, from which line on, and where."""


def do(task: Task) -> Batch:
    """Do a task, in whatever process."""
    if task.rows is not None:
        return _read_rows(task)
    if task.stop is not None:
        return _read_part(task, task.stop)
    batch = Batch()
    for found in runs_in(task.file, task.wanted):
        if isinstance(found, Run):
            batch.runs.append(found)
        else:
            batch.skipped.append(found)
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


def _read_part(task: Task, stop: int) -> Batch:
    batch, wanted = Batch(), task.wanted
    with Path(task.file).open("rb") as file:
        lines = _Range(file, task.start, stop)
        for number, value in values_of_lines(lines, 0):  # type: ignore[arg-type]
            if isinstance(value, Skip):
                batch.skipped.append(Skipped(value.reason, task.file, number, value.format))
            else:
                _sort(batch, task.file, wanted, (number or 0, lines.place, value))
        batch.lines = lines.lines
    return batch


def _sort(batch: Batch, file: str, wanted: Wanted, found: tuple[int, int, Any]) -> None:
    """Read the whole runs of a line, and note where the rows of others are."""
    number, place, value = found
    try:
        pieces = list(pieces_of(value, wanted.format))
    except Exception as error:  # noqa: BLE001 - an odd value must not lose all others
        pieces = []
        batch.skipped.append(_failed(error, file, number, wanted.format))
    for piece in pieces:
        if piece.format == "unknown":
            reason = "has no format that loopmend knows"
            batch.skipped.append(Skipped(reason, file, number, wanted.format))
        elif piece.run is None:
            _read(batch, file, wanted, (piece.format, [piece.value], number), whole=True)
        else:
            # The first number is the line's, all others are places.
            places = batch.rows.setdefault((piece.format, piece.run), array("Q", [number]))
            if len(places) == 1 or places[-1] != place:
                places.append(place)


def _read(
    batch: Batch, file: str, wanted: Wanted, rows: tuple[str, list[Any], int], *, whole: bool
) -> None:
    format, values, number = rows
    try:
        trace = read_group(format, values, options_of(**wanted.options), whole=whole)
    except Exception as error:  # noqa: BLE001 - one odd run must not lose all others
        batch.skipped.append(_failed(error, file, number, format))
        return
    if trace.unreadable is None:
        batch.runs.append(_run(trace, file, wanted))
    else:
        batch.skipped.append(Skipped("nothing could be read", file, number, trace.unreadable))


def _failed(error: Exception, file: str, number: int, format: str | None) -> Skipped:
    return Skipped(f"could not be read: {error!r:.200}", file, number, format)


class _LoadedRows(LoadedTraces):
    """The runs whose rows are spread over a file, read as `load_traces` does."""

    def __init__(self, file: str, wanted: Wanted, rows: Rows) -> None:
        super().__init__(file, wanted.format, options_of(**wanted.options))
        self._file = file
        self._first = {places[1]: places[0] for places in rows.values()}
        self._all = sorted({place for places in rows.values() for place in places[1:]})

    def _values(self) -> Iterator[tuple[int | None, Any]]:
        with Path(self._file).open("rb") as file:
            for place in self._all:
                file.seek(place)
                yield self._first.get(place), json.loads(file.readline(LONGEST))

    def _pieces(self, value: Any, line: int | None) -> list[Piece]:
        return [piece for piece in super()._pieces(value, line) if piece.run is not None]


def rows_here(file: str, wanted: Wanted, rows: Rows) -> Iterator[Run | Skipped] | None:
    """Read spread runs here if their keys may not tell who belongs together; else return nothing.

    A run of LangSmith may name the run that it is part of and no trace: such a row is alone under
    its key, and only the loader, which sees all rows, brings it home.
    """
    alone = any(format == "langsmith" and len(rows[format, run]) == 2 for format, run in rows)  # noqa: PLR2004
    return _runs_of(_LoadedRows(file, wanted, rows), file, wanted) if alone else None


def row_tasks(file: str, wanted: Wanted, rows: Rows) -> Iterator[Task]:
    """Return tasks for the runs whose rows are spread over a file."""
    spread = [(key, places[0], places[1:]) for key, places in rows.items()]
    for start in range(0, len(spread), _GROUPS):
        yield Task(file, wanted, rows=tuple(spread[start : start + _GROUPS]))


def _read_rows(task: Task) -> Batch:
    batch = Batch()
    with Path(task.file).open("rb") as file:
        for key, number, places in task.rows or ():
            values: list[Any] = []
            for place in places:
                file.seek(place)
                pieces = pieces_of(json.loads(file.readline(LONGEST)), task.wanted.format)
                values += [piece.value for piece in pieces if (piece.format, piece.run) == key]
            _read(batch, task.file, task.wanted, (key[0], values, number), whole=False)
    return batch
