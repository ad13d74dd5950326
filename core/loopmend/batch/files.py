"""Files on all cores of a machine, with the standard library alone and in bounded memory.

A file whose first lines are whole runs is classified in pieces; a file of rows, of which several
make a run, as a whole. Each piece becomes a part of the output when it is finished, so that a batch
which was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple, Union

from loopmend.batch.rows import row_of
from loopmend.traces.readers.formats import pieces_of
from loopmend.traces.readers.loading import Skipped, load_traces

__all__ = ["BatchResult", "classify_files"]

PIECE: Final = 8 * 1024 * 1024
"""How many bytes of a file a worker takes at once."""
_LOOKED_AT: Final = 20
_LONGEST_LOOK: Final = 1024 * 1024

Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


class _Piece(NamedTuple):
    """A piece of a file, or a whole one if it has no end."""

    path: str
    start: int
    end: int | None
    part: str
    """The part of the output that it becomes."""
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     classify_files([], folder).runs
    0
    """

    runs: int = 0
    """How many runs the batch classified."""
    verdicts: Counter[str] = field(default_factory=Counter)
    stop_reasons: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    """In how many runs each kind of finding occurs."""
    skipped: tuple[Skipped, ...] = ()
    """The unreadable parts: file, line, reason."""
    resumed: int = 0
    """How many parts an earlier batch had finished."""


def classify_files(
    paths: Paths, out: str | os.PathLike[str], workers: int | None = None, **options: Any
) -> BatchResult:
    """Classify the runs in files on all cores, and write one JSON line per run.

    If you start it again with the same files and options, it resumes. Memory is bounded by a few
    pieces of 8 MB, and by the largest file in which several rows make a run.

    Args:
        paths: One or more files, in any format that `load_traces` reads.
        out: A folder for the parts of the output; `read_rows(out)` reads them back.
        workers: How many processes; by default one per core. With 1, it starts no process.
        options: What `load_traces` takes: `format`, `tools`, `finish`, `handover`,
            `max_iterations`.

    Raises:
        OSError: A file cannot be read, or the folder cannot be written to.
        ValueError: There is no such format.

    >>> import json, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "runs.jsonl"
    ...     run = {"messages": [{"role": "assistant", "content": "It is 4."}]}
    ...     _ = path.write_text((json.dumps(run) + chr(10)) * 3)
    ...     classify_files(path, Path(folder) / "out", workers=1).verdicts
    Counter({'answered': 3})
    """
    load_traces([], **options)  # refuses options that it does not know
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [piece for at, path in enumerate(given) for piece in _pieces(at, Path(path), options)]
    due = [piece for piece in pieces if not (folder / piece.part).exists()]
    count = min(workers or os.cpu_count() or 1, len(due))
    if count > 1:
        _in_processes(due, folder, count)
    else:
        for piece in due:
            _classify(piece, folder)
    return _summed(pieces, folder, len(pieces) - len(due))


def _pieces(at: int, path: Path, options: dict[str, Any]) -> Iterator[_Piece]:
    """Yield the pieces of a file, under names that are the same for the same content."""
    about = path.stat()
    step = PIECE if _has_runs_as_lines(path, options) else max(about.st_size, 1)
    told = [str(path.absolute()), about.st_size, about.st_mtime_ns, step]
    key = hashlib.sha256(json.dumps([told, options], default=sorted).encode()).hexdigest()[:16]
    for number, start in enumerate(range(0, max(about.st_size, 1), step)):
        whole = step >= about.st_size
        part = f"{at:06}-{number:06}-{key}.jsonl"
        yield _Piece(str(path), start, None if whole else start + step, part, options)


def _has_runs_as_lines(path: Path, options: dict[str, Any]) -> bool:
    """Tell whether each line of a file is a whole run, as far as its first lines tell."""
    with path.open("rb") as file:
        for _ in range(_LOOKED_AT):
            line = file.readline(_LONGEST_LOOK)
            if not line:
                break
            try:
                value = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                return False
            pieces = pieces_of(value, options.get("format"))
            if isinstance(value, list) or any(piece.run is not None for piece in pieces):
                return False
    return True


def _in_processes(due: Sequence[_Piece], folder: Path, count: int) -> None:
    """Classify pieces in other processes, with few of them waiting at a time."""
    waiting: set[Future[None]] = set()
    with ProcessPoolExecutor(count) as pool:
        try:
            for piece in due:
                waiting.add(pool.submit(_classify, piece, folder))
                if len(waiting) >= 2 * count:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for each in done:
                        each.result()
            for each in waiting:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # what is finished stays
            raise


def _classify(piece: _Piece, folder: Path) -> None:
    """Classify a piece and write its part, which appears when it is whole."""
    source, lines = _source(piece)
    loaded = load_traces(source, **piece.options)
    unfinished = folder / f"{piece.part}.{os.getpid()}"
    with unfinished.open("w", encoding="utf-8", errors="backslashreplace") as part:
        for trace in loaded:
            row = {"file": piece.path, **row_of(trace)}
            part.write(json.dumps(row, ensure_ascii=False) + "\n")
        skipped = [[each.reason, each.line, each.format] for each in loaded.skipped]
        part.write(json.dumps({"lines": lines, "skipped": skipped}) + "\n")
    unfinished.replace(folder / piece.part)


def _source(piece: _Piece) -> tuple[Any, int]:
    """Return the lines that start in a piece of a file, and how many they are."""
    if piece.end is None:
        return piece.path, 0
    with Path(piece.path).open("rb") as file:
        file.seek(max(piece.start - 1, 0))
        if piece.start:
            file.readline()  # it belongs to the piece before
        first = file.tell()
        data = file.read(max(piece.end - first, 0))
        if data and not data.endswith(b"\n"):
            data += file.readline()
    return BytesIO(data), data.count(b"\n")


def _summed(pieces: Sequence[_Piece], folder: Path, resumed: int) -> BatchResult:
    """Count what the parts hold."""
    result = BatchResult(resumed=resumed)
    runs, skipped = 0, []
    before: Counter[str] = Counter()
    for piece in pieces:
        with (folder / piece.part).open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if "lines" in row:
                    for reason, line, format in row["skipped"]:
                        at = None if line is None else line + before[piece.path]
                        skipped.append(Skipped(reason, piece.path, at, format))
                    before[piece.path] += row["lines"]
                    continue
                runs += 1
                result.verdicts[row["verdict"]] += 1
                result.stop_reasons[row["stop_reason"]] += 1
                result.findings.update({finding["kind"] for finding in row["findings"]})
    return BatchResult(
        runs,
        result.verdicts,
        result.stop_reasons,
        result.findings,
        tuple(skipped),
        resumed,
    )
