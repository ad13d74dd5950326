"""Keeping traces: an SQLite file, or a file with one trace per line for other programs."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from loopmend.errors import TraceFormatError
from loopmend.traces.redaction import redact_secrets
from loopmend.traces.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TraceLog", "TraceStore"]

Redact = Callable[[Trace], Trace]

_VERSION: Final = 1
_TIMEOUT: Final = 30.0
"""How long to wait for another process; each holds the file for milliseconds only."""
_PAGE: Final = 64
_LOG: Final = logging.getLogger(__name__)
_SCHEMA: Final = """
CREATE TABLE traces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    added TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    body TEXT NOT NULL
)
"""


class TraceStore:
    """Traces in an SQLite file, for several threads and processes at once.

    Once `add` has returned, the trace is on disk: it outlives the process, however that ends.
    All threads take turns on one connection: SQLite writes one at a time anyway, and a queue in
    the process is faster than one at the file.

    Args:
        path: The file; created if missing.
        redact: Removes secrets from a trace before writing it; `None` keeps everything.

    Raises:
        TraceFormatError: The file has a version that this package does not support.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, TraceStore(f"{folder}/traces.db") as store:
    ...     number = store.add(Trace(answer="4", metadata={"password": "hunter2"}))
    ...     print(len(store), store.get(number).answer, store.get(number).metadata)
    1 4 {'password': '[redacted]'}
    """

    def __init__(
        self, path: str | os.PathLike[str], *, redact: Redact | None = redact_secrets
    ) -> None:
        # The file may be opened anew, after a fork, when the working directory has changed.
        self.path: Final = Path(path).absolute()
        self._redact = redact
        self._closed = False
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = _open(self.path)
        _STORES.add(self)

    def add(self, trace: Trace) -> int:
        """Write a trace and return its number; later traces have higher ones.

        Raises:
            TypeError: It holds something that is not JSON.
            ValueError: It is nested deeper than 127 levels, or the store is closed.
            sqlite3.OperationalError: It cannot be written, for example because the disk is full.
        """
        body = _body(trace, self._redact)
        with self._connected() as connection, _transaction(connection):
            number = connection.execute("INSERT INTO traces (body) VALUES (?)", (body,)).lastrowid
        return number or 0

    def get(self, id: int) -> Trace | None:
        """Return the trace with this number, or `None`."""
        with self._connected() as connection:
            row = connection.execute("SELECT body FROM traces WHERE id = ?", (id,)).fetchone()
        return None if row is None else Trace.from_json(row[0])

    def traces(self, since: int | None = None) -> Iterator[Trace]:
        """Return the traces in the order of `add`.

        Args:
            since: The number of the last trace that you already have.
        """
        return (trace for _, trace in self.items(since))

    def items(self, since: int | None = None) -> Iterator[tuple[int, Trace]]:
        """Return the traces, each with its number, so you can go on from there."""
        last = -1 if since is None else since
        query = "SELECT id, body FROM traces WHERE id > ? ORDER BY id LIMIT ?"
        # In pages, so that no reader keeps the file from being tidied up.
        while True:
            with self._connected() as connection:
                rows = connection.execute(query, (last, _PAGE)).fetchall()
            if not rows:
                return
            for last, body in rows:
                yield last, Trace.from_json(body)

    def __iter__(self) -> Iterator[Trace]:
        return self.traces()

    def __len__(self) -> int:
        with self._connected() as connection:
            count: int = connection.execute("SELECT count(*) FROM traces").fetchone()[0]
        return count

    def close(self) -> None:
        """Close the file, after other threads have finished what they are doing."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                msg = f"the store {self.path} is closed"
                raise ValueError(msg)
            if self._connection is None:
                self._connection = _open(self.path)
            yield self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class TraceLog:
    """Traces in a file with one JSON object per line, for `tail -f`, `jq` and the like.

    Once `add` has returned, the trace is on disk. A killed writer may leave a torn line; the next
    writer starts a new line, and readers skip the torn one.

    Args:
        path: The file; created if missing.
        redact: Removes secrets from a trace before writing it; `None` keeps everything.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = TraceLog(f"{folder}/traces.jsonl")
    ...     log.add(Trace(answer="4"))
    ...     [trace.answer for trace in log]
    ['4']
    """

    def __init__(
        self, path: str | os.PathLike[str], *, redact: Redact | None = redact_secrets
    ) -> None:
        self.path: Final = Path(path).absolute()
        self._redact = redact
        if not self.path.exists():
            self.path.touch()

    def add(self, trace: Trace) -> None:
        """Append a trace.

        Raises:
            TypeError: It holds something that is not JSON.
            ValueError: It is nested deeper than 127 levels.
            OSError: It cannot be written, for example because the disk is full.
        """
        line = _body(trace, self._redact).encode() + b"\n"
        # Opened each time: a lock belongs to what was opened, so that threads and forked
        # processes, which would share it, keep out of each other's way too.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        file = os.open(self.path, flags, 0o666)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                _lock(file)
                _write(file, b"\n" + line if self._is_torn() else line)
                os.fsync(file)
            else:  # a pipe, say, which can be neither read back nor synced
                _write(file, line)
        finally:
            os.close(file)

    def __iter__(self) -> Iterator[Trace]:
        """Return the traces of the lines, also while others are added.

        Raises:
            TraceFormatError: A line is whole, but no trace that this package knows.
        """
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                text = _whole(line)
                if text is None:
                    _LOG.warning("%s: line %d is torn; skipped it", self.path, number)
                else:
                    yield Trace.from_json(text)

    def _is_torn(self) -> bool:
        with self.path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read() != b"\n"


def _body(trace: Trace, redact: Redact | None) -> str:
    """Write a trace as JSON that can be encoded; JSON has escapes for lone surrogates."""
    line = (trace if redact is None else redact(trace)).to_json()
    return line.encode("utf-8", "backslashreplace").decode()


def _lock(file: int) -> None:
    """Keep other writers out until the file is closed."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError as error:
        # On Windows; appending at once is as good as a lock as long as nobody is killed.
        _LOG.debug("files cannot be locked here: %s", error)
    else:
        flock(file, LOCK_EX)


def _write(file: int, data: bytes) -> None:
    """Write all at once; the rest is for a disk that fills up, which then says so."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def _whole(line: bytes) -> str | None:
    """Return the text of a line, or none if it is torn: the start of an object is no JSON."""
    try:
        text = line.decode()
        json.loads(text)
    except (ValueError, RecursionError):  # the caller logs it
        return None
    return text


def _open(path: Path) -> sqlite3.Connection:
    # Transactions are begun by hand: Python's own would take the lock too late.
    connection = sqlite3.connect(
        path, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False
    )
    try:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log, for which SQLite does not wait by itself."""
    deadline = time.monotonic() + _TIMEOUT
    while not _has_switched(connection, last=time.monotonic() > deadline):
        time.sleep(0.01)


def _has_switched(connection: sqlite3.Connection, *, last: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if last or "locked" not in str(error):
            raise
        _LOG.debug("another process is switching the same file: %s", error)
        return False
    return True


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the table, unless it is there; only the first of several processes does."""
    if _version(connection, path) == _VERSION:
        return
    with _transaction(connection):
        if _version(connection, path) == 0:
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_VERSION}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 0 <= version <= _VERSION:
        msg = f"{path} has version {version}, but this package supports versions up to {_VERSION}"
        raise TraceFormatError(msg)
    return version


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# SQLite keeps its locks by process, so that no connection may live through a fork: not even
# opening the file anew is safe in a child that has inherited one.
_STORES: Final[WeakSet[TraceStore]] = WeakSet()
_PAUSED: Final[list[TraceStore]] = []


def _before_fork() -> None:
    for store in list(_STORES):
        store._lock.acquire()  # noqa: SLF001
        store._disconnect()  # noqa: SLF001
        _PAUSED.append(store)


def _after_fork() -> None:
    while _PAUSED:
        _PAUSED.pop()._lock.release()  # noqa: SLF001


with suppress(AttributeError):  # Windows knows no fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
