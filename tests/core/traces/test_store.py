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
from typing import Any

import pytest

from loopmend.errors import TraceFormatError
from loopmend.traces import store as module
from loopmend.traces.store import TraceLog, TraceStore
from loopmend.traces.trace import Observation, Step, Trace, TraceCall

WRITER = """
import os, sys
from loopmend.traces.store import TraceLog, TraceStore
from loopmend.traces.trace import Trace

folder, tag, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store, log = TraceStore(folder + "/traces.db"), TraceLog(folder + "/traces.jsonl")
for number in range(count):
    name = f"{tag}-{number}"
    trace = Trace(question="x" * (number % 7 * 9_000), answer=name)
    store.add(trace)
    os.write(1, f"store {name}\\n".encode())
    log.add(trace)
    os.write(1, f"log {name}\\n".encode())
"""
KILLS, AT_ONCE = 50, 5


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    """Return an empty store."""
    with TraceStore(tmp_path / "traces.db") as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> TraceLog:
    """Return an empty log."""
    return TraceLog(tmp_path / "traces.jsonl")


def writer(folder: Path, tag: str, count: int) -> subprocess.Popen[bytes]:
    """Start a process that adds traces and reports each one that is added."""
    command = [sys.executable, "-c", WRITER, str(folder), tag, str(count)]
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
    seen = iter([0, 1])
    monkeypatch.setattr(module, "_version", lambda *_: next(seen))
    TraceStore(path).close()
    assert list(seen) == []


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """A file that is no database is not touched."""
    path = tmp_path / "notes.txt"
    path.write_text("no database, " * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        TraceStore(path)
    assert path.read_text() == "no database, " * 100


class Switching:
    """A connection to a file that others are switching to WAL mode."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)

    def execute(self, _command: str) -> None:
        """Fail as long as there are errors left."""
        if self.errors:
            raise sqlite3.OperationalError(self.errors.pop(0))


def test_a_locked_file_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process switches the file, one tries again, up to the timeout."""
    waiting: Any = Switching("database is locked", "database is locked")
    module._use_wal(waiting)
    assert waiting.errors == []
    broken: Any = Switching("disk I/O error")
    with pytest.raises(sqlite3.OperationalError, match="I/O"):
        module._use_wal(broken)
    monkeypatch.setattr(module, "_TIMEOUT", -1.0)
    late: Any = Switching("database is locked")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        module._use_wal(late)


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
    """Four processes that start on a missing file end with all their traces in it."""
    writers = [writer(tmp_path, str(number), 25) for number in range(4)]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    expected = sorted(f"{tag}-{number}" for tag in range(4) for number in range(25))
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


def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """After 50 kills at random moments all that was reported is there, and the files are sound."""
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
