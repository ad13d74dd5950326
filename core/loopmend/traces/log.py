"""Traces in a file with one trace per line, for other programs."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from typing import Final

from loopmend.traces.files import TraceFile, body_of, lock, open_plain, patiently, write_all
from loopmend.traces.trace import Trace

__all__ = ["TraceLog"]

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
"""Who opens a pipe for writing, or writes to a full one, would wait for ever."""


class TraceLog(TraceFile):
    """Traces in a file with one JSON object per line, for `tail -f`, `jq` and the like.

    Once `add` has returned, the trace is on disk. A killed writer may leave a torn line; the next
    writer starts a new line, and readers skip the torn one. Only its owner can read a new file.

    Args:
        path: The file; created if missing. It must not be a symbolic link.
        redact: Removes secrets from a trace before writing it; `None` keeps everything.
        errors: What to do with a line that is not a loopmend trace: `"skip"` it, log and count
            it in `skipped`, or `"raise"`. A torn line is always skipped.
        timeout: How many seconds to wait for another process that keeps the file locked, or
            that reads it if it is a pipe.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = TraceLog(f"{folder}/traces.jsonl")
    ...     log.add(Trace(answer="4"))
    ...     [trace.answer for trace in log], log.skipped
    (['4'], 0)
    """

    def _begin(self) -> None:
        self._cut = False
        if not self.path.exists():
            os.close(open_plain(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))

    def add(self, trace: Trace) -> None:
        """Append a trace.

        Raises:
            TypeError: The trace contains something that is not JSON.
            ValueError: The trace is nested deeper than 127 levels.
            OSError: Writing failed, for example because the disk is full or another process keeps
                the file locked; the file then contains nothing of the trace. Or the file is a
                pipe that nobody reads in time.
        """
        line = body_of(trace, self._redact).encode() + b"\n"
        # Opened each time: a lock belongs to what was opened, so that threads and forked
        # processes, which would share it, keep out of each other's way too.
        file = self._opened()
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                self._pass_on(file, line)
                return
            lock(file, self._timeout)
            size = os.fstat(file).st_size
            try:
                write_all(file, b"\n" + line if self._is_torn(size) else line)
                os.fsync(file)
            except OSError:
                os.ftruncate(file, size)
                raise
        finally:
            os.close(file)

    def __iter__(self) -> Iterator[Trace]:
        """Return the traces of the lines, also while others are added.

        Raises:
            TraceFormatError: A line is whole, but no trace that this package knows, and `errors`
                is `"raise"`.
        """
        self.skipped = 0
        with os.fdopen(open_plain(self.path, os.O_RDONLY), "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                text = _whole(line)
                if text is None:
                    self._skip(f"line {number}", "is torn")
                elif (trace := self._trace(text, f"line {number}")) is not None:
                    yield trace

    def _opened(self) -> int:
        """Open the file to append to it; whoever reads a pipe is waited for."""
        opened: list[int] = []
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_WAIT

        def attempt() -> None:
            opened.append(open_plain(self.path, flags))

        patiently(attempt, self._timeout, lambda error: error.errno == errno.ENXIO)
        return opened[0]

    def _pass_on(self, file: int, line: bytes) -> None:
        """Write to a pipe, say, which can be neither read back nor synced, and may be full."""
        left = b"\n" + line if self._cut else line

        def attempt() -> None:
            nonlocal left
            while left:
                self._cut = True
                left = left[os.write(file, left) :]

        patiently(attempt, self._timeout, lambda error: isinstance(error, BlockingIOError))
        self._cut = False

    def _is_torn(self, size: int) -> bool:
        if size == 0:
            return False
        with os.fdopen(open_plain(self.path, os.O_RDONLY), "rb") as file:
            file.seek(size - 1)
            return file.read(1) != b"\n"


def _whole(line: bytes) -> str | None:
    """Return the text of a line, or none if it is torn: the start of an object is no JSON."""
    try:
        text = line.decode()
        json.loads(text)
    except (ValueError, RecursionError):  # the caller logs it
        return None
    return text
