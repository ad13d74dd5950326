"""Files that hold traces: private, never behind a symbolic link, and whole or not there."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal
from uuid import uuid4

from loopmend.errors import TraceFormatError
from loopmend.traces.redaction import Redactor, redact_secrets
from loopmend.traces.trace import Trace

__all__ = [
    "OnBad",
    "Redact",
    "TraceFile",
    "body_of",
    "lock",
    "open_plain",
    "patiently",
    "refuse_links",
    "replace_whole",
    "write_all",
]

Redact = Callable[[Trace], Trace]
OnBad = Literal["skip", "raise"]

_MODE: Final = 0o600
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_LOG: Final = logging.getLogger(__name__)
_WORDS: Final = Redactor()


class TraceFile:
    """What a store and a log have in common; their docstrings say what the options are.

    >>> TraceFile("traces").skipped
    0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redact: Redact | None = redact_secrets,
        errors: OnBad = "skip",
        timeout: float = 5.0,
    ) -> None:
        if errors not in ("skip", "raise"):
            msg = f'errors must be "skip" or "raise", not {errors!r}'
            raise ValueError(msg)
        # The file may be opened anew, after a fork, when the working directory has changed.
        self.path: Final = Path(path).absolute()
        self.skipped = 0
        """How many lines the latest reading of a log skipped, or how many rows a store did."""
        self._redact = redact
        self._errors = errors
        self._timeout = timeout
        self._begin()

    def _begin(self) -> None:
        """Open or create the file."""

    def _trace(self, text: str, place: str) -> Trace | None:
        """Return the trace that stands in a place, or skip it, log and count that."""
        try:
            return Trace.from_json(text)
        except TraceFormatError as error:
            if self._errors == "raise":
                raise
            self._skip(place, f"contains no trace: {error}")
        return None

    def _skip(self, place: str, told: str) -> None:
        self.skipped += 1
        _LOG.warning("%s: %s %s; skipped it", self.path, place, _WORDS.text(told))


def body_of(trace: Trace, redact: Redact | None) -> str:
    """Write a trace as JSON that can be encoded; JSON has escapes for lone surrogates.

    >>> body_of(Trace(answer="4"), None)[:12]
    '{"version": '
    """
    line = (trace if redact is None else redact(trace)).to_json()
    return line.encode("utf-8", "backslashreplace").decode()


def refuse_links(*paths: Path) -> None:
    """Raise `OSError` if one of the paths is a symbolic link.

    >>> refuse_links(Path("no such file"))
    """
    for path in paths:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "will not follow a symbolic link", str(path))


def open_plain(path: Path, flags: int) -> int:
    """Open a file that is no symbolic link; a new one is for its owner alone.

    >>> os.close(open_plain(Path(os.devnull), os.O_RDONLY))
    """
    refuse_links(path)
    return os.open(path, flags | _NOFOLLOW, _MODE)


def replace_whole(path: Path, data: bytes) -> None:
    """Put a file in the place of another: who reads sees the old one or the new one, whole.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     replace_whole(Path(folder, "a"), b"1")
    ...     Path(folder, "a").read_bytes(), len(os.listdir(folder))
    (b'1', 1)
    """
    refuse_links(path)
    made = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, _MODE)
        try:
            write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        made.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):  # it was never made
            made.unlink()
        raise


def write_all(file: int, data: bytes) -> None:
    """Write all at once; the rest is for a disk that fills up, which then says so.

    >>> file = os.open(os.devnull, os.O_WRONLY)
    >>> write_all(file, b"1")
    >>> os.close(file)
    """
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def lock(file: int, seconds: float) -> None:
    """Keep other writers out until the file is closed; wait so long for them at most.

    Raises:
        TimeoutError: Somebody else keeps the file locked.

    >>> file = os.open(os.devnull, os.O_WRONLY)
    >>> lock(file, 1.0)
    >>> os.close(file)
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError as error:
        # On Windows; appending at once is as good as a lock as long as nobody is killed.
        _LOG.debug("files cannot be locked here: %s", error)
        return

    def attempt() -> None:
        flock(file, LOCK_EX | LOCK_NB)

    try:
        patiently(attempt, seconds, lambda error: isinstance(error, BlockingIOError))
    except BlockingIOError:
        msg = f"another process kept the file locked for {seconds:g} seconds"
        raise TimeoutError(msg) from None


def patiently(do: Callable[[], None], seconds: float, passes: Callable[[Any], bool]) -> None:
    """Do it again and again while it fails with what passes, for so many seconds at most.

    >>> patiently(lambda: None, 1.0, lambda error: True)
    """
    deadline = time.monotonic() + seconds
    while not _done(do, passes, last=time.monotonic() >= deadline):
        time.sleep(0.005)


def _done(do: Callable[[], None], passes: Callable[[Any], bool], *, last: bool) -> bool:
    try:
        do()
    except (OSError, sqlite3.Error) as error:
        if last or not passes(error):
            raise
        _LOG.debug("another process uses the file: %s", error)
        return False
    return True
