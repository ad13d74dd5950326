"""Traces as lines of a file, whole or torn."""

from __future__ import annotations

import json
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loopmend.errors import TraceFormatError
from loopmend.traces.log import TraceLog
from loopmend.traces.trace import Trace

FULL = Trace(question="look \ud800 \u2028 up\n\x00", answer="Oslo 😀", metadata={"run": 1})


@pytest.fixture
def log(tmp_path: Path) -> TraceLog:
    """Return an empty log."""
    return TraceLog(tmp_path / "traces.jsonl")


def answers(log: TraceLog) -> list[str | None]:
    """Return what tells the traces of a test apart."""
    return [trace.answer for trace in log]


def test_a_log_is_one_line_each(log: TraceLog) -> None:
    """Other programs find one JSON object a line, and the same traces are read back."""
    log.add(FULL)
    log.add(Trace(answer="2"))
    lines = log.path.read_bytes().split(b"\n")
    assert [json.loads(line)["version"] for line in lines[:-1]] == [1, 1]
    assert lines[-1] == b""
    assert list(log) == [FULL, Trace(answer="2")]


@pytest.mark.parametrize("cut", [1, 2, 40, 100])
def test_torn_lines_are_skipped_with_a_word(
    log: TraceLog, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    """A torn last line is skipped and logged, and what is added later has its own line."""
    log.add(Trace(answer="1"))
    whole = log.path.read_bytes()
    log.add(FULL)
    log.path.write_bytes(log.path.read_bytes()[:-cut])
    with caplog.at_level(logging.WARNING):
        assert answers(log) == ["1", "Oslo 😀"][: 2 if cut == 1 else 1]
    assert ("line 2 is torn" in caplog.text) == (cut > 1)
    log.add(Trace(answer="3"))
    assert answers(log)[-1] == "3"
    assert log.path.read_bytes().startswith(whole)


def test_a_line_torn_inside_a_character_is_skipped(log: TraceLog) -> None:
    """Half a character is as torn as half an object, and empty lines are nothing."""
    log.add(Trace(answer="1"))
    log.path.write_bytes(b"\n" + log.path.read_bytes() + '{"answer": "😀'.encode()[:-1])
    assert answers(log) == ["1"]


def test_one_bad_line_does_not_stop_a_log(log: TraceLog, caplog: pytest.LogCaptureFixture) -> None:
    """A newer version or a stranger's line is skipped, logged and counted, or raised by choice."""
    log.add(Trace(answer="1"))
    with log.path.open("a") as file:
        file.write('{"version": 2}\n[]\n{"vers\n')
    log.add(Trace(answer="5"))
    assert [answers(log), log.skipped] == [["1", "5"], 3]
    assert [answers(log), log.skipped] == [["1", "5"], 3]
    assert "line 2 contains no trace: unsupported trace version 2" in caplog.text
    with pytest.raises(TraceFormatError, match="version 2"):
        list(TraceLog(log.path, errors="raise"))


def test_bad_lines_are_told_in_few_plain_words(
    log: TraceLog, caplog: pytest.LogCaptureFixture
) -> None:
    """What is said of a line that anybody wrote commands no terminal, is short, and is redacted."""
    made = [{"type": "\x1b[2J password=hunter2 " + "x" * 5000}]
    lines = [{"version": 1, "steps": [{"turn": {"actions": made}}]}, {"version": "y" * 10**6}]
    log.path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert [answers(log), log.skipped] == [[], 2]
    assert all(len(said) < 1500 for said in caplog.messages)
    assert "\x1b" not in caplog.text
    assert "\\x1b[2J password=[redacted]" in caplog.text
    with pytest.raises(TraceFormatError) as caught:
        list(TraceLog(log.path, errors="raise"))
    assert "\\x1b[2J" in str(caught.value)


def test_a_log_can_be_a_pipe(tmp_path: Path) -> None:
    """What cannot be synced or read back is written to all the same."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(path.read_text)
        TraceLog(path).add(FULL)
        assert Trace.from_json(read.result()) == FULL


def test_a_pipe_that_nobody_reads_does_not_stall(tmp_path: Path) -> None:
    """Who adds waits no longer than the timeout, whether nobody opens the pipe or it is full."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    log = TraceLog(path, timeout=0.05)
    with pytest.raises(OSError, match="No such device"):
        log.add(FULL)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    long = Trace(answer="long" * 50_000)
    with pytest.raises(BlockingIOError):
        log.add(long)
    assert long.to_json().startswith(os.read(reading, 1_000_000).decode())
    log.add(FULL)
    assert os.read(reading, 1_000_000).startswith(b"\n{")  # not behind the piece of the other
    log.add(FULL)
    assert os.read(reading, 1_000_000).startswith(b"{")
    os.close(reading)


def test_a_short_write_is_continued(log: TraceLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system takes only a part at once, the rest follows."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:100]))
    log.add(FULL)
    assert list(log) == [FULL]


def test_a_log_does_without_locks(
    log: TraceLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a system without file locks traces are appended all the same, with a word in the log."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with caplog.at_level(logging.DEBUG):
        log.add(FULL)
    assert list(log) == [FULL]
    assert "cannot be locked" in caplog.text
