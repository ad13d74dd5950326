"""Traces in files, whatever happens to those who write them."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from loopmend.errors import TraceFormatError
from loopmend.traces import files, load_traces
from loopmend.traces import store as module
from loopmend.traces.log import TraceLog
from loopmend.traces.store import TraceStore
from loopmend.traces.trace import Observation, Step, Trace, TraceCall

WRITER = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from loopmend.traces.log import TraceLog
from loopmend.traces.store import TraceStore
from loopmend.traces.trace import Trace

folder, tag, count, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store, log = TraceStore(folder + "/traces.db"), TraceLog(folder + "/traces.jsonl")


def work(tag):
    for number in range(count):
        name = f"{tag}-{number}"
        trace = Trace(question="x" * (number % 7 * 9_000), answer=name)
        store.add(trace)
        os.write(1, f"store {name}\\n".encode())
        log.add(trace)
        os.write(1, f"log {name}\\n".encode())


with ThreadPoolExecutor(threads) as pool:
    tags = [f"{tag}.{number}" for number in range(threads)] if threads > 1 else [tag]
    list(pool.map(work, tags))
"""
# `make fuzz` and whoever has the time set LOOPMEND_KILLS=100 or more.
KILLS, AT_ONCE = int(os.environ.get("LOOPMEND_KILLS", "20")), 5


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    """Return an empty store."""
    with TraceStore(tmp_path / "traces.db") as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> TraceLog:
    """Return an empty log."""
    return TraceLog(tmp_path / "traces.jsonl")


def writer(folder: Path, tag: str, count: int, threads: int = 1) -> subprocess.Popen[bytes]:
    """Start a process that adds traces and reports each one that is added."""
    command = [sys.executable, "-c", WRITER, str(folder), tag, str(count), str(threads)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def answers(traces: Any) -> list[str | None]:
    """Return what tells the traces of a test apart."""
    return [trace.answer for trace in traces]


def is_sound(path: Path) -> bool:
    """Tell whether SQLite finds nothing wrong with a file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


FULL = Trace(
    [
        Step(
            "look \ud800 \u2028 up",
            calls=[TraceCall("search", {"q": ["Oslo"]})],
            observations=[Observation("a\ncity\x00", "search", seconds=0.5)],
        )
    ],
    answer="Oslo 😀",
    metadata={"run": 1},
)


def test_what_is_added_comes_back(store: TraceStore) -> None:
    """A trace is the same after it was stored, also text that UTF-8 cannot encode."""
    number = store.add(FULL)
    assert store.get(number) == FULL
    assert store.get(number + 1) is None
    assert (list(store), len(store)) == ([FULL], 1)


def test_one_can_go_on_from_a_number(store: TraceStore) -> None:
    """Traces come in the order they were added, over pages, and from any number on."""
    numbers = [store.add(Trace(answer=str(n))) for n in range(150)]
    assert answers(store.traces()) == [str(n) for n in range(150)]
    assert answers(store.traces(since=numbers[147])) == ["148", "149"]
    assert [number for number, _ in store.items(since=numbers[148])] == [numbers[149]]


def test_a_store_is_durable_by_its_settings(store: TraceStore) -> None:
    """The file is in WAL mode, each commit is synced, and the version is written."""
    store.add(FULL)
    with store._connected() as connection:
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "user_version")
        ]
    assert settings == ["wal", 2, 1]


def test_a_store_is_opened_again(tmp_path: Path) -> None:
    """What one store wrote, the next one reads and continues."""
    with TraceStore(tmp_path / "traces.db") as first:
        one = first.add(Trace(answer="1"))
    with TraceStore(str(tmp_path / "traces.db")) as second:
        assert second.add(Trace(answer="2")) > one
        assert answers(second) == ["1", "2"]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """After `close`, which can be called twice, nothing is written or read."""
    store = TraceStore(tmp_path / "traces.db")
    store.close()
    store.close()
    for use in (lambda: store.add(FULL), lambda: len(store), lambda: list(store)):
        with pytest.raises(ValueError, match=r"traces\.db is closed"):
            use()


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    """A file of a later release is left alone, with both versions named."""
    path = tmp_path / "traces.db"
    TraceStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(TraceFormatError, match=r"has version 2, but .* versions up to 1"):
        TraceStore(path)


def test_another_process_was_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is made once, also where two see at the same time that it is missing."""
    path = tmp_path / "traces.db"
    TraceStore(path).close()
    seen = iter([1, 0, 1])
    monkeypatch.setattr(module, "_version", lambda *_: next(seen))
    TraceStore(path).close()
    assert list(seen) == []


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """A file that is no database is not touched."""
    path = tmp_path / "notes.txt"
    path.write_text("no database, " * 100)
    with pytest.raises(TraceFormatError, match=r"notes\.txt is not a trace store: file is not a"):
        TraceStore(path)
    assert path.read_text() == "no database, " * 100


def test_a_locked_file_is_waited_for() -> None:
    """While another process switches the file, one tries again, up to the timeout."""

    def failing(*errors: str) -> Any:
        left = list(errors)

        def attempt() -> None:
            if left:
                raise sqlite3.OperationalError(left.pop(0))

        return attempt

    files.patiently(failing("database is locked", "database is locked"), 5.0, module._is_busy)
    with pytest.raises(sqlite3.OperationalError, match="I/O"):
        files.patiently(failing("disk I/O error"), 5.0, module._is_busy)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        files.patiently(failing("database is locked"), -1.0, module._is_busy)


@pytest.mark.parametrize("kind", [TraceStore, TraceLog])
def test_nothing_is_written_of_what_cannot_be(tmp_path: Path, kind: Any) -> None:
    """A trace that is nested too deep, or whose redaction fails, leaves nothing behind."""

    def fail(_trace: Trace) -> Trace:
        raise RuntimeError("no")

    made = [kind(tmp_path / "traces", **options) for options in ({}, {"redact": fail})]
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="127"):
        made[0].add(Trace(metadata={"x": deep}))
    with pytest.raises(RuntimeError, match="no"):
        made[1].add(FULL)
    assert list(made[0]) == []
    for each in made:
        close = getattr(each, "close", lambda: None)
        close()


def test_a_failed_write_is_undone(store: TraceStore) -> None:
    """After an error inside a transaction the store goes on as if it had not begun."""
    with store._connected() as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON traces BEGIN SELECT raise(FAIL, 'full'); END"
        )
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        store.add(FULL)
    with store._connected() as connection:
        assert not connection.in_transaction
        connection.execute("DROP TRIGGER full")
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON traces BEGIN SELECT raise(ROLLBACK, 'full'); END"
        )
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        store.add(FULL)
    assert len(store) == 0


@pytest.mark.parametrize("kind", [TraceStore, TraceLog])
def test_secrets_never_reach_the_file(tmp_path: Path, kind: Any) -> None:
    """What is written is redacted, by the default, by a function of one's own, or not at all."""
    trace = Trace(answer="password=hunter2")
    kept = []
    for name, options in (
        ("a", {}),
        ("b", {"redact": lambda _: Trace(answer="b")}),
        ("c", {"redact": None}),
    ):
        made = kind(tmp_path / name, **options)
        made.add(trace)
        kept.append(next(iter(made)).answer)
        written = b"".join(path.read_bytes() for path in tmp_path.glob(f"{name}*"))
        assert (b"hunter2" in written) == (name == "c")
        if isinstance(made, TraceStore):
            made.close()
    assert kept == ["password=[redacted]", "b", "password=hunter2"]


def test_many_threads_share_a_store_and_a_log(store: TraceStore, log: TraceLog) -> None:
    """Eight threads write and read at the same time, and nothing is lost or doubled."""

    def work(name: int) -> list[int]:
        numbers = []
        for turn in range(15):
            numbers.append(store.add(Trace(answer=f"{name}-{turn}")))
            log.add(Trace(answer=f"{name}-{turn}"))
            assert len(store) >= len(numbers)
        return numbers

    with ThreadPoolExecutor(8) as pool:
        numbers = [number for made in pool.map(work, range(8)) for number in made]
    expected = sorted(f"{name}-{turn}" for name in range(8) for turn in range(15))
    assert len(set(numbers)) == 120
    assert sorted(answers(store), key=str) == sorted(answers(log), key=str) == expected


def test_closing_waits_for_those_who_write(tmp_path: Path) -> None:
    """A store that is closed under a writer has each trace whose `add` returned."""
    store, done = TraceStore(tmp_path / "traces.db"), []

    def work() -> None:
        with pytest.raises(ValueError, match="closed"):  # noqa: PT012 - one of many raises
            while True:
                done.append(store.add(FULL))

    thread = threading.Thread(target=work)
    thread.start()
    while len(done) < 3:
        time.sleep(0.001)
    store.close()
    thread.join()
    with TraceStore(tmp_path / "traces.db") as again:
        assert [number for number, _ in again.items()] == done


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    """Two processes of eight threads that start on a missing file end with all their traces."""
    writers = [writer(tmp_path, str(number), 6, threads=8) for number in range(2)]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    expected = sorted(
        f"{tag}.{thread}-{number}" for tag in range(2) for thread in range(8) for number in range(6)
    )
    with TraceStore(tmp_path / "traces.db") as store:
        assert sorted(answers(store), key=str) == expected
    assert sorted(answers(TraceLog(tmp_path / "traces.jsonl")), key=str) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_store_lives_through_a_fork(store: TraceStore) -> None:
    """Parent and child go on with the same store, each on a connection of its own."""
    store.add(Trace(answer="before"))
    child = os.fork()
    inherited = store._connection is not None
    if child == 0:  # pragma: no cover - coverage ends with the child
        try:
            for _ in range(20):
                store.add(Trace(answer="child"))
            os._exit(inherited)
        finally:
            os._exit(2)
    assert not inherited
    for _ in range(20):
        store.add(Trace(answer="parent"))
    assert os.waitpid(child, 0)[1] == 0
    found = answers(store)
    assert [found.count(name) for name in ("before", "child", "parent")] == [1, 20, 20]
    assert is_sound(store.path)


HOSTILE = {
    "a view in place of the table": "CREATE VIEW traces AS SELECT 1 AS id, '{}' AS body",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON traces BEGIN DELETE FROM traces; END",
    "a second table": "CREATE TABLE other (x)",
    "an index on an expression": "CREATE INDEX i ON traces (abs(id))",
    "another table of the name": "CREATE TABLE traces (id, added, body)",
}


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_foreign_database_is_refused(tmp_path: Path, name: str, version: int) -> None:
    """A file with anything but our table in it is refused with a word, and left as it is."""
    path = tmp_path / "traces.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if " traces (id)" not in HOSTILE[name] and "ON traces" in HOSTILE[name]:
            connection.execute(module._SCHEMA)
        connection.execute(HOSTILE[name])
        connection.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(TraceFormatError, match=r"traces\.db is not a trace store: version"):
        TraceStore(path)
    loaded = load_traces(path)
    assert list(loaded) == []
    assert "is not a trace store: version" in loaded.skipped[0].reason
    assert path.read_bytes() == before


def test_a_trigger_under_a_name_of_sqlites_own_is_refused(tmp_path: Path) -> None:
    """Who writes into the schema can call a trigger as SQLite calls a table; it deletes all."""
    path = tmp_path / "traces.db"
    with TraceStore(path) as store:
        store.add(Trace(answer="kept"))
    trigger = "CREATE TRIGGER sqlite_sequence AFTER INSERT ON traces BEGIN DELETE FROM traces; END"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        row = ("trigger", "sqlite_sequence", "traces", 0, trigger)
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    with pytest.raises(TraceFormatError, match="trigger 'sqlite_sequence'"):
        TraceStore(path)


def test_a_damaged_database_says_so(tmp_path: Path) -> None:
    """Where pages were overwritten, one gets an error that names the file, not one of SQLite's."""
    path = tmp_path / "traces"
    with TraceStore(path) as store:
        for number in range(60):
            store.add(Trace(question="x" * 2000, answer=str(number)))
    data = bytearray(path.read_bytes())
    data[20_000:80_000] = b"\xff" * 60_000
    path.write_bytes(data)
    with TraceStore(path) as store, pytest.raises(TraceFormatError, match="traces is damaged: "):
        list(store)


@pytest.mark.parametrize("body", ["?", "7", "'no json'", "'{}'", "CAST(? AS TEXT)"])
def test_a_bad_row_does_not_stop_a_store(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    """A row that holds no trace is skipped, logged and counted, or raised by choice."""
    path = tmp_path / "traces.db"
    with TraceStore(path) as store:
        store.add(Trace(answer="1"))
        with store._connected() as connection:
            values = (b"\x00\xff",) * body.count("?")
            statement = f"INSERT INTO traces (body) VALUES ({body})"  # noqa: S608 - our own
            connection.execute(statement, values)
        store.add(Trace(answer="3"))
        assert (answers(store), store.get(2), store.skipped) == (["1", "3"], None, 2)
    assert "row 2 contains no trace" in caplog.text
    assert [trace.answer for trace in load_traces(path)] == ["1", "3"]
    with TraceStore(path, errors="raise") as strict, pytest.raises(TraceFormatError):
        list(strict)


@pytest.mark.parametrize("kind", [TraceStore, TraceLog])
def test_files_are_private(tmp_path: Path, kind: Any) -> None:
    """All files are made for their owner alone, whatever the umask says."""
    before = os.umask(0)
    try:
        made = kind(tmp_path / "traces")
        made.add(FULL)
        assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {"0o600"}
    finally:
        os.umask(before)
    getattr(made, "close", lambda: None)()


@pytest.mark.parametrize("kind", [TraceStore, TraceLog])
@pytest.mark.parametrize("end", ["", "-wal"])
def test_links_are_not_followed(tmp_path: Path, kind: Any, end: str) -> None:
    """A symbolic link in place of a file is refused, and what it points to stays."""
    target = tmp_path / "target"
    target.write_text("keep")
    (tmp_path / f"traces{end}").symlink_to(target)
    if kind is TraceStore or not end:
        with pytest.raises(OSError, match="symbolic link"):
            kind(tmp_path / "traces").add(FULL)
    assert target.read_text() == "keep"


def test_a_locked_store_does_not_stall(tmp_path: Path) -> None:
    """While another process keeps the file locked, threads get an error within the bound."""
    path = tmp_path / "traces.db"
    with TraceStore(path, timeout=0.1) as store, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()

        def work(_: int) -> str:
            try:
                store.add(FULL)
            except sqlite3.OperationalError as error:
                return str(error)
            return ""

        with ThreadPoolExecutor(8) as pool:
            said = list(pool.map(work, range(8)))
        assert all("database is locked" in each for each in said), said
        assert time.monotonic() - began < 5
        other.rollback()
        assert store.add(FULL) == 1


def test_a_busy_store_does_not_stall(tmp_path: Path) -> None:
    """Neither opening a locked file nor a thread that holds the store stalls others for long."""
    path = tmp_path / "traces.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            TraceStore(path, timeout=0.01)
    late = pytest.raises(sqlite3.OperationalError, match=r"busy for 0\.02 seconds")
    with TraceStore(path, timeout=0.01) as store, store._lock, late:
        store.add(FULL)


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed write leaves the old file, and nothing beside it."""
    path = tmp_path / "traces.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="No such file"):
        files.replace_whole(tmp_path / "nowhere" / "x", b"new")
    monkeypatch.setattr(os, "fsync", _refuse)
    with pytest.raises(OSError, match="Read-only"):
        files.replace_whole(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["traces.jsonl"]
    assert path.read_bytes() == b"old"


def test_a_locked_log_does_not_stall(log: TraceLog) -> None:
    """While another process keeps the log locked, one gets an error within the bound."""
    fcntl = pytest.importorskip("fcntl")
    impatient = TraceLog(log.path, timeout=0.05)
    with log.path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match=r"locked for 0\.05 seconds"):
            impatient.add(FULL)
    impatient.add(FULL)
    assert list(log) == [FULL]


def test_errors_has_two_values(tmp_path: Path) -> None:
    """A third way to treat what is bad is refused."""
    kinds: list[Any] = [TraceStore, TraceLog]
    for kind in kinds:
        with pytest.raises(ValueError, match='"skip" or "raise", not'):
            kind(tmp_path / "x", errors="ignore")


FULL_DISK = """
import resource, signal, sys
from loopmend.traces import Trace, TraceLog, TraceStore

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
kind, path, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
made = {"store": TraceStore, "log": TraceLog}[kind](path)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
done = 0
for number in range(200):
    try:
        made.add(Trace(question="x" * 3000, answer=str(number)))
        print(number)
    except Exception as error:
        print(type(error).__name__, file=sys.stderr)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
made.add(Trace(answer="later"))
"""


@pytest.mark.parametrize("kind", ["store", "log"])
def test_a_full_disk_loses_nothing(tmp_path: Path, kind: str) -> None:
    """When the disk is full, `add` says so, what was confirmed stays, and later one goes on."""
    pytest.importorskip("resource")
    path = tmp_path / "traces"
    command = [sys.executable, "-c", FULL_DISK, kind, str(path), "200000"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == {"store": "OperationalError", "log": "OSError"}[kind]
    confirmed = ran.stdout.split()
    assert len(confirmed) > 10
    made: Any = TraceStore(path) if kind == "store" else TraceLog(path)
    assert answers(made) == [*confirmed, "later"]
    assert made.skipped == 0
    getattr(made, "close", lambda: None)()


def test_a_folder_that_is_read_only() -> None:
    """Where nothing may be written, one gets an `OSError` at once."""
    nobody, me = 65534, os.geteuid()
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        try:
            os.seteuid(me or nobody)  # root may write anywhere
            for kind in (TraceStore, TraceLog):
                with pytest.raises(OSError, match="ermission"):
                    kind(Path(folder, "traces"))
        finally:
            os.seteuid(me)
            Path(folder).chmod(0o700)


@pytest.mark.parametrize("kind", [TraceStore, TraceLog])
def test_a_file_that_became_read_only(tmp_path: Path, kind: Any, monkeypatch: Any) -> None:
    """A write that the system refuses is an error, and what was there stays."""
    made = kind(tmp_path / "traces")
    made.add(FULL)
    if kind is TraceLog:
        monkeypatch.setattr(os, "fsync", _refuse)
    else:
        with made._connected() as connection:
            connection.execute("PRAGMA query_only = ON")
    with pytest.raises((OSError, sqlite3.OperationalError), match=r"ead-only|readonly"):
        made.add(FULL)
    assert list(made) == [FULL]
    getattr(made, "close", lambda: None)()


def _refuse(_file: int) -> None:
    raise OSError(30, "Read-only file system")


def test_a_clock_that_goes_backwards(store: TraceStore) -> None:
    """The order of traces is that of `add`, whatever the clock says."""
    for day in ("2026-01-03", "2026-01-02", "2026-01-01"):
        number = store.add(Trace(answer=day))
        with store._connected() as connection:
            connection.execute("UPDATE traces SET added = ? WHERE id = ?", (day, number))
    assert answers(store) == ["2026-01-03", "2026-01-02", "2026-01-01"]
    assert answers(store.traces(since=2)) == ["2026-01-01"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_does_not_wait_for_a_busy_store(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork waits a bounded time for a store that is busy; the child then keeps its hands off."""
    monkeypatch.setattr(module, "_FORK_WAIT", 0.05)
    store.add(Trace(answer="before"))
    with store._connected():
        began = time.monotonic()
        child = os.fork()
        if child == 0:  # pragma: no cover - coverage ends with the child
            try:
                for use in (lambda: store.add(FULL), lambda: TraceStore(store.path)):
                    with pytest.raises(sqlite3.OperationalError, match="forked while"):
                        use()
                os._exit(0)
            finally:
                os._exit(1)
        assert time.monotonic() - began < 2
    assert os.waitpid(child, 0)[1] == 0
    store.add(Trace(answer="after"))
    assert answers(store) == ["before", "after"]


def test_what_a_child_gives_up(store: TraceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fork a busy store has no connection and refuses its file."""
    monkeypatch.setattr(module, "_FORK_WAIT", 0.01)
    monkeypatch.setattr(module, "_ABANDONED", {})
    kept = store._connection
    with store._connected():
        module._before_fork()
        module._after_fork_in_child()
    with pytest.raises(sqlite3.OperationalError, match="forked while"):
        store.add(FULL)
    monkeypatch.setattr(module, "_ABANDONED", {})
    assert kept is not None
    kept.close()
    assert store.add(FULL) == 1


def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """After many kills at random moments all that was reported is there, in sound files."""
    moments = random.Random(5)  # noqa: S311 - seeded, and no secret
    reported: set[str] = set()
    for batch in range(KILLS // AT_ONCE):
        writers = [writer(tmp_path, f"{batch}.{n}", 1_000_000) for n in range(AT_ONCE)]
        first = [_killed_after(process, moments) for process in writers]
        for process, begun in zip(writers, first, strict=True):
            rest, _ = process.communicate()
            assert process.returncode == -signal.SIGKILL
            reported |= {line for line in (begun + rest).decode().split("\n")[:-1] if line}
    assert len(reported) > KILLS
    assert is_sound(tmp_path / "traces.db")
    with TraceStore(tmp_path / "traces.db") as store:
        kept = answers(store)
    logged = answers(TraceLog(tmp_path / "traces.jsonl"))
    assert len(set(kept)) == len(kept)
    assert len(set(logged)) == len(logged)
    there = {f"store {name}" for name in kept} | {f"log {name}" for name in logged}
    assert reported - there == set()


def _killed_after(process: subprocess.Popen[bytes], moments: random.Random) -> bytes:
    """Kill a process, one in five while it starts, and return what it had said until then."""
    begun = b""
    if moments.random() < 0.2:
        time.sleep(moments.uniform(0, 0.1))
    else:
        assert process.stdout is not None
        begun = process.stdout.readline()
        time.sleep(moments.uniform(0, 0.03))
    process.send_signal(signal.SIGKILL)
    return begun
