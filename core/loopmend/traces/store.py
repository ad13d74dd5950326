"""Traces in an SQLite file."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from loopmend.errors import TraceFormatError
from loopmend.traces.files import TraceFile, body_of, patiently, refuse_links
from loopmend.traces.trace import Trace

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TraceStore", "check_database"]

_VERSION: Final = 1
_PAGE: Final = 64
_SCHEMA: Final = """
CREATE TABLE traces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    added TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    body TEXT NOT NULL
)
"""
# What SQLite keeps for AUTOINCREMENT.
_NUMBERS: Final = ("table", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)")


class TraceStore(TraceFile):
    """Traces in an SQLite file, for several threads and processes at once.

    Once `add` has returned, the trace is on disk and survives the process, however that ends.
    All threads take turns on one connection: SQLite writes one at a time anyway, and a queue in
    the process is faster than one at the file.

    Args:
        path: The file; created if missing, readable only by its owner. Not a symbolic link.
        redact: Removes secrets from a trace before writing it; `None` keeps everything.
        errors: What to do with a row that is not a trace: `"skip"` it, log and count it in
            `skipped`, or `"raise"`.
        timeout: How many seconds to wait for another process that keeps the file locked; other
            threads wait at most twice as long.

    Raises:
        TraceFormatError: The file is not a trace store, also contains a view, a trigger or anything
            else, or has a version that this package does not support. The file stays unchanged. A
            damaged file raises this when you read the damaged part.
        OSError: The file is a symbolic link, or cannot be created.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, TraceStore(f"{folder}/traces.db") as store:
    ...     number = store.add(Trace(answer="4", metadata={"password": "hunter2"}))
    ...     print(len(store), store.get(number).answer, store.get(number).metadata)
    1 4 {'password': '[redacted]'}
    """

    def _begin(self) -> None:
        self._closed = False
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = _open(self.path, self._timeout)
        _STORES.add(self)

    def add(self, trace: Trace) -> int:
        """Write a trace and return its number; later traces have higher ones.

        Raises:
            TypeError: The trace contains something that is not JSON.
            ValueError: The trace is nested deeper than 127 levels, or the store is closed.
            sqlite3.OperationalError: Writing failed, for example because the disk is full or
                another process keeps the file locked.
        """
        body = body_of(trace, self._redact)
        with self._connected() as connection, _transaction(connection):
            number = connection.execute("INSERT INTO traces (body) VALUES (?)", (body,)).lastrowid
        return number or 0

    def get(self, id: int) -> Trace | None:
        """Return the trace with this number, or `None`.

        Raises:
            TraceFormatError: The row is not a trace, and `errors` is `"raise"`.
        """
        with self._connected() as connection:
            row = connection.execute("SELECT body FROM traces WHERE id = ?", (id,)).fetchone()
        return None if row is None else self._read(id, row[0])

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
                trace = self._read(last, body)
                if trace is not None:
                    yield last, trace

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

    def _read(self, id: int, body: Any) -> Trace | None:
        return self._trace(body if isinstance(body, str) else "", f"row {id}")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        lock = self._lock  # a fork may put another in its place
        if not lock.acquire(timeout=2 * self._timeout):
            msg = f"database is locked: {self.path} was busy for {2 * self._timeout:g} seconds"
            raise sqlite3.OperationalError(msg)
        try:
            if self._closed:
                msg = f"the store {self.path} is closed"
                raise ValueError(msg)
            if self._connection is None:
                self._connection = _open(self.path, self._timeout)
            yield self._connection
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:
                raise
            msg = f"{self.path} is damaged: {error}"
            raise TraceFormatError(msg) from error
        finally:
            lock.release()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _open(path: Path, timeout: float) -> sqlite3.Connection:
    if path in _ABANDONED:
        msg = f"this process was forked while another thread wrote to {path}: write in the parent"
        raise sqlite3.OperationalError(msg)
    refuse_links(path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")))
    with suppress(FileExistsError):
        # Only a file that is not there yet: to close one that SQLite has open drops its locks.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    # Transactions are begun by hand: Python's own would take the lock too late.
    connection = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        # Before anything is written: a stranger's file stays as it is.
        patiently(lambda: check_database(connection, path), timeout, _is_busy)
        patiently(lambda: _use_wal(connection), timeout, _is_busy)
        connection.execute("PRAGMA synchronous = FULL")
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def check_database(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that holds anything but our table: a view or a trigger could do anything.

    Raises:
        TraceFormatError: It holds something else.

    >>> check_database(sqlite3.connect(":memory:"), Path("empty"))
    """
    # Functions in a schema run only if they are harmless; a row without UTF-8 stops no others.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = _text
    try:
        with _transaction(connection, "BEGIN"):  # both from the same moment
            version = _version(connection, path)
            held = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    except sqlite3.OperationalError:  # busy, or cannot be read: this is not about what it holds
        raise
    except sqlite3.DatabaseError as error:
        msg = f"{path} is not a trace store: {error}"
        raise TraceFormatError(msg) from error
    # By all of it, not by its name: a trigger that is written into the schema can have that too.
    own = [row for row in held if row != _NUMBERS]
    if own != ([("table", "traces", _SCHEMA.strip())] if version else []):
        found = ", ".join(f"{kind} {name!r}" for kind, name, _ in own[:3]) or "nothing"
        msg = f"{path} is not a trace store: version {version} with {found}"
        raise TraceFormatError(msg)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _use_wal(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")


def _is_busy(error: Exception) -> bool:
    """Tell whether another process is opening the file, for which SQLite does not always wait."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


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
def _transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    connection.execute(begin)
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
_BUSY: Final[list[TraceStore]] = []
_ABANDONED: Final[dict[Path, list[Any]]] = {}
"""Files that this process must not open, with the connections that it must not close."""
_FORK_WAIT: Final = 1.0
"""How many seconds a fork waits for those who write, all together."""


def _before_fork() -> None:
    deadline = time.monotonic() + _FORK_WAIT
    for store in list(_STORES):
        if store._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):  # noqa: SLF001
            store._disconnect()  # noqa: SLF001
            _PAUSED.append(store)
        else:
            _BUSY.append(store)


def _after_fork() -> None:
    while _PAUSED:
        _PAUSED.pop()._lock.release()  # noqa: SLF001
    _BUSY.clear()


def _after_fork_in_child() -> None:
    """Give up the stores that were busy: their connections belong to the parent."""
    for store in _BUSY:
        left = [store._connection, store._lock]  # noqa: SLF001
        # One reference too many, so that not even the end of the process closes it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(left[0]))
        _ABANDONED.setdefault(store.path, []).append(left)
        store._connection, store._lock = None, threading.Lock()  # noqa: SLF001
    _after_fork()


with suppress(AttributeError):  # Windows knows no fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child
    )
