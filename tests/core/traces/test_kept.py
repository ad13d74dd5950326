"""Traces that are kept, handed over and written, without a word to the host."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from loopmend import read_turn
from loopmend.traces import delivery as module
from loopmend.traces.delivery import Delivery
from loopmend.traces.kept import KeptTraces
from loopmend.traces.trace import Step, Trace, TraceError
from loopmend.traces.unread import UNREAD


def test_a_slow_receiver_costs_the_run_nothing() -> None:
    """A receiver that hangs delays nobody, and what does not fit into the queue is counted."""
    go, seen = threading.Event(), []

    def slow(trace: Trace) -> None:
        go.wait(10)
        seen.append(trace.answer)

    waiting = Delivery(slow, print, most=3)
    began = time.monotonic()
    for number in range(50):
        waiting.put(Trace(answer=str(number)))
    assert time.monotonic() - began < 1
    assert not waiting.flush(0.01)
    go.set()
    assert waiting.flush()
    assert seen == sorted(seen, key=lambda answer: int(answer or 0))
    assert seen[0] == "0"
    assert (len(seen) in (3, 4), len(seen) + waiting.dropped) == (True, 50)


def test_the_thread_ends_and_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without traces there is no thread, and a later trace starts a new one."""
    monkeypatch.setattr(module, "_LINGER", 0.01)
    seen: list[Trace] = []
    waiting = Delivery(seen.append, print)
    for count in (1, 2):
        waiting.put(Trace())
        assert waiting.flush()
        assert len(seen) == count
        deadline = time.monotonic() + 5
        while waiting._thread is not None and time.monotonic() < deadline:
            time.sleep(0.005)
        assert waiting._thread is None


def test_the_receiver_sees_the_context_of_the_run() -> None:
    """What the run set, such as the current span, is set for the receiver too."""
    current: ContextVar[str] = ContextVar("current", default="none")
    seen: list[str] = []
    waiting = Delivery(lambda _: seen.append(current.get()), print)
    token = current.set("span")
    waiting.put(Trace())
    current.reset(token)
    assert waiting.flush()
    assert seen == ["span"]


def test_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread starts, at the end of a process say, the trace is dropped and counted."""
    failed: list[BaseException] = []
    waiting = Delivery(print, failed.append)

    def refuse(_: Any) -> None:
        msg = "can't start new thread"
        raise RuntimeError(msg)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    waiting.put(Trace())
    assert (waiting.dropped, waiting.flush(), len(failed)) == (1, True, 1)


def test_a_child_leaves_the_queue_to_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fork the child begins with an empty queue and a thread of its own."""
    go, seen = threading.Event(), []

    def receive(trace: Trace) -> None:
        go.wait(10)
        seen.append(trace.answer)

    waiting = Delivery(receive, print)
    waiting.put(Trace(answer="parent"))
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    assert waiting.flush()
    waiting.put(Trace(answer="child"))
    go.set()
    assert waiting.flush()
    assert "child" in seen


def test_the_end_of_the_process_waits_for_receivers() -> None:
    """What is still in a queue when the process ends is handed over, if that takes no longer."""
    seen: list[Trace] = []

    def receive(trace: Trace) -> None:
        time.sleep(0.05)
        seen.append(trace)

    waiting = Delivery(receive, print)
    waiting.put(Trace())
    module._flush_all()
    assert len(seen) == 1


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("kind", [OSError, SystemExit, GeneratorExit])
def test_nothing_that_a_receiver_raises_gets_out(
    caplog: pytest.LogCaptureFixture,
    kind: type[BaseException],
    inline: bool,  # noqa: FBT001
) -> None:
    """An error or an exit is logged once, without secrets or control characters."""

    def refuse(_: Trace) -> None:
        msg = "password=hunter2 \x1b[2J"
        raise kind(msg)

    kept = KeptTraces(on_trace=refuse, inline=inline)
    with caplog.at_level(logging.WARNING):
        kept.keep(Trace())
        kept.keep(Trace())
        assert kept.flush()
    [record] = caplog.records
    assert kind.__name__ in record.getMessage()
    assert "hunter2" not in record.getMessage()
    assert "\x1b" not in record.getMessage()
    assert (len(kept.traces), kept.dropped) == (2, 0)


def test_a_person_may_interrupt_a_receiver() -> None:
    """Ctrl-C during a receiver in the run is the person's, and gets through."""

    def interrupted(_: Trace) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KeptTraces(on_trace=interrupted, inline=True).keep(Trace())


def test_what_is_written_is_redacted_and_private(tmp_path: Path) -> None:
    """A file of kept traces holds no secrets unless asked to, is the owner's, and no link."""
    kept = KeptTraces()
    kept.keep(Trace(answer="password=hunter2"))
    path = tmp_path / "traces.jsonl"
    path.write_text("old")
    path.chmod(0o644)
    kept.to_jsonl(path)
    assert "hunter2" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    kept.to_jsonl(path, redact=None)
    assert "hunter2" in path.read_text()
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="symbolic link"):
        kept.to_jsonl(tmp_path / "link")


def test_errors_carry_no_control_characters() -> None:
    """What an error says cannot command a terminal; line breaks and tabs stay."""
    error = TraceError("E\x07", "a\x1b[2J\x9b\rb\r\n\tc\x00")
    assert error == TraceError("E\\x07", "a\\x1b[2J\\x9b\\rb\r\n\tc\\x00")


def test_failures_carry_no_control_characters() -> None:
    """What a failure says cannot command a terminal, though it names what the model wrote."""
    failure = read_turn("Action: \x1b[2J\x1c\nAction Input: {").failure
    assert failure is not None
    assert failure.message.isprintable()


def test_a_long_reply_is_read_in_part() -> None:
    """A reader of traces looks at the start of a reply of 3 MB only, in little time."""
    step = Step("{" * 3_000_000, turn=UNREAD)
    assert step.turn is not None
    assert step.turn.span[1] <= 100_000


def test_memory_stays_flat() -> None:
    """After thousands of traces a keeper holds no more than it may."""
    kept = KeptTraces(max_traces=10, on_trace=lambda _: None)
    for number in range(5000):
        kept.keep(Trace(answer=str(number)))
    assert kept.flush()
    assert kept._delivery is not None
    assert (len(kept.traces), len(kept._delivery._waiting)) == (10, 0)
