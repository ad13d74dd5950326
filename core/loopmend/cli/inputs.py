"""Which files a user means: files, folders, patterns, and what comes through the pipe."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from loopmend.rendering.html import visible

__all__ = ["STDIN", "NotFound", "files_of", "name_of", "source_of"]

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


def files_of(paths: Iterable[str]) -> list[str]:
    """Return the files that paths, folders and patterns name, each once, in a fixed order.

    Raises:
        NotFound: One of them names nothing.

    >>> files_of(["-"])
    ['-']
    """
    return list(dict.fromkeys(file for path in paths for file in _named(path)))


def _named(path: str) -> Iterator[str]:
    if path == STDIN:
        yield path
        return
    matching = glob.glob(path, recursive=True)  # noqa: PTH207 - a pattern may be absolute
    found = [path] if os.path.lexists(path) else sorted(matching)
    files = [file for each in found for file in _inside(Path(each))]
    if not files:
        kind = "holds no file that could hold traces" if found else "names no file"
        msg = f"{visible(path)} {kind}"
        raise NotFound(msg)
    yield from files


def _inside(path: Path) -> Iterator[str]:
    """Yield a file, or the files in a folder whose names say that they may hold traces."""
    if not path.is_dir():
        yield str(path)
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(_ENDINGS) and not name.startswith("."):
                yield str(Path(folder, name))


def source_of(file: str) -> object:
    """Return what `load_traces` reads: a path, or the pipe."""
    return sys.stdin.buffer if file == STDIN else file


def name_of(file: str) -> str:
    r"""Return a file's name as it may be shown.

    >>> name_of("-"), name_of("a\x1b[2J.json")
    ('(standard input)', 'a␛[2J.json')
    """
    return "(standard input)" if file == STDIN else visible(file)
