"""Which files a user means: files, folders, patterns, and what comes through the pipe."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from loopmend.rendering.html import visible

__all__ = ["STDIN", "NotFound", "files_of", "name_of", "overwritten", "source_of", "unknown_keys"]

STDIN: Final = "-"
"""Stands for what comes through the pipe."""
# What holds traces, by the names that exporters give; in a folder, everything else is passed over.
_ENDINGS: Final = (
    *(".json", ".jsonl", ".ndjson", ".eval", ".traj", ".db", ".sqlite", ".sqlite3", ".log", ".txt"),
    *(".json.gz", ".jsonl.gz", ".ndjson.gz", ".log.gz", ".txt.gz"),
)


class NotFound(Exception):
    """A path or a pattern that names nothing.

    >>> str(NotFound("x"))
    'x'
    """


def files_of(paths: Iterable[str], odd: list[str]) -> list[str]:
    """Return the files that paths, folders and patterns name, each once, in a fixed order.

    Pipes, sockets and devices that stand in a folder are not read, but added to `odd`.

    Raises:
        NotFound: One of them names nothing.

    >>> files_of(["-"], odd=[])
    ['-']
    """
    return list(dict.fromkeys(file for path in paths for file in _named(path, odd)))


def overwritten(files: Iterable[str], outputs: Iterable[str]) -> str | None:
    """Return the first output that is one of the files, by whatever name.

    >>> overwritten(["a.json"], ["./a.json"]), overwritten(["-"], ["-"])
    ('./a.json', None)
    """
    read = {mark for file in files if file != STDIN for mark in _marks(file)}
    return next((out for out in outputs if out != STDIN and read.intersection(_marks(out))), None)


def _marks(path: str) -> list[object]:
    """Return what tells a file from all others: where it is, and which one it is."""
    found: list[object] = [os.path.realpath(path)]
    try:
        status = os.stat(path)  # noqa: PTH116 - as the line above
    except (OSError, ValueError):  # it is not there, so only its place counts
        return found
    return [*found, (status.st_dev, status.st_ino)] if stat.S_ISREG(status.st_mode) else found


def _named(path: str, odd: list[str]) -> Iterator[str]:
    if path == STDIN:
        yield path
        return
    matching = glob.glob(path, recursive=True)  # noqa: PTH207 - a pattern may be absolute
    found = [path] if os.path.lexists(path) else sorted(matching)
    files = [file for each in found for file in _inside(Path(each), odd)]
    if not files:
        kind = "contains no trace files" if found else "matches no file"
        msg = f"{visible(path)} {kind}"
        raise NotFound(msg)
    yield from files


def _inside(path: Path, odd: list[str]) -> Iterator[str]:
    """Yield a file, or the files in a folder whose names say that they may hold traces."""
    if not path.is_dir():
        yield str(path)
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.lower().endswith(_ENDINGS) or name.startswith("."):
                continue
            if os.path.isfile(file := str(Path(folder, name))):  # noqa: PTH113 - never raises
                yield file
            else:
                odd.append(file)


def source_of(file: str) -> object:
    """Return what `load_traces` reads: a path, or the pipe."""
    return sys.stdin.buffer if file == STDIN else file


def name_of(file: str) -> str:
    r"""Return a file's name as it may be shown.

    >>> name_of("-"), name_of("a\x1b[2J.json")
    ('(standard input)', 'a␛[2J.json')
    """
    return "(standard input)" if file == STDIN else visible(file)


def unknown_keys(given: Any, known: Any, place: str = "") -> Iterator[str]:
    """Yield the keys of what was given that are not in what was read from it.

    >>> list(unknown_keys({"a": [{"b": 1}], "c": 2}, {"a": [{}]}))
    ['a.0.b', 'c']
    """
    if isinstance(given, dict) and isinstance(known, dict):
        for key, value in given.items():
            if key in known:
                yield from unknown_keys(value, known[key], f"{place}{key}.")
            else:
                yield f"{place}{key}"
    elif isinstance(given, list) and isinstance(known, list):
        for number, pair in enumerate(zip(given, known, strict=False)):
            yield from unknown_keys(*pair, f"{place}{number}.")
