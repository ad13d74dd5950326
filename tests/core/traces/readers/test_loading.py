"""Loading: formats are told by content, rows brought together, and nothing hostile gets through."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import Trace, load_traces
from loopmend.traces import FORMATS, TraceLog, TraceStore
from loopmend.traces.readers import files
from tests.core.strategies import any_text, json_values

TALK = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
LOG = "What is it?\nThought 1: easy\nAction 1: Finish[4]"


def answers(source: Any, **options: Any) -> list[str | None]:
    """Return the answers of all traces."""
    return [trace.answer for trace in load_traces(source, **options)]


def reasons(source: Any, **options: Any) -> list[str]:
    """Return why things were skipped."""
    loaded = load_traces(source, **options)
    assert list(loaded) == []
    return [skipped.reason for skipped in loaded.skipped]


def lines(*values: Any) -> bytes:
    """Return lines of JSON."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (TALK, ["4"]),
        ({"messages": TALK, "id": 7}, ["4"]),
        ({"conversations": TALK}, ["4"]),
        ({"traj": json.dumps(TALK)}, ["4"]),
        ([{"messages": TALK}, {"messages": TALK}], ["4", "4"]),
        ([TALK, TALK], ["4", "4"]),
        ({"input": "2 + 2?", "output": [TALK[1]]}, ["4"]),
        ({"input": TALK[:1], "output": [TALK[1]]}, ["4"]),
        ({"output": [TALK[1]]}, ["4"]),
        ({"choices": [{"message": TALK[1]}]}, ["4"]),
        ({"scratchpad": LOG, "question": "x"}, ["4"]),
        ({"rows": [{"messages": TALK}]}, ["4"]),
        (Trace(answer="4").to_json().encode(), ["4"]),
        (lines(TALK), ["4"]),
        (lines(*TALK), ["4"]),
        (lines({"messages": TALK}, {"messages": TALK}), ["4", "4"]),
        (b"\n\n" + lines({"messages": TALK}) + b"\n", ["4"]),
        (b"\xef\xbb\xbf" + lines({"messages": TALK}), ["4"]),
        (json.dumps({"messages": TALK}, indent=1).encode(), ["4"]),
        (json.dumps([{"messages": TALK}] * 2, indent=1).encode(), ["4", "4"]),
        (b'{"messages": [{"ro\n' + lines({"messages": TALK}), ["4"]),
        (gzip.compress(lines({"messages": TALK}), mtime=0), ["4"]),
        (LOG.encode(), ["4"]),
        (io.BytesIO(lines({"messages": TALK})), ["4"]),
        (io.StringIO(LOG), ["4"]),
        ((each for each in TALK), ["4"]),
        (b"", []),
        ([], []),
        ({}, []),
    ],
)
def test_formats_are_told_by_content(source: Any, expected: list[str]) -> None:
    """Whatever it comes in, a run is found without being named."""
    assert answers(source) == expected


def test_stores_of_our_own(tmp_path: Path) -> None:
    """Logs and stores are read back, and a store is not written to."""
    log, store = TraceLog(tmp_path / "a.jsonl"), tmp_path / "a.db"
    log.add(Trace(answer="4"))
    with TraceStore(store) as kept:
        kept.add(Trace(answer="5"))
    before = store.read_bytes()
    assert (answers(str(log.path)), answers(store)) == (["4"], ["5"])
    assert store.read_bytes() == before
    with store.open("rb") as file:
        assert reasons(file) == ["is a database; pass its path"]
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    assert "not a trace store" in reasons(tmp_path / "other.db")[0]
    gone = list(files._stored(tmp_path / "gone.db"))
    assert "unable to open" in gone[0][1].reason
    connection = sqlite3.connect(store)
    connection.execute("INSERT INTO traces (body) VALUES ('{torn'), (x'00')")
    connection.commit()
    connection.close()
    loaded = load_traces(store)
    assert len(list(loaded)) == 1
    assert [(each.line, each.reason) for each in loaded.skipped] == [
        *((2, "is not JSON"), (3, "is not JSON")),
    ]


def test_options_reach_every_reader() -> None:
    """Tools, caps and calls that end a run can be told for any format."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"name": "buy", "args": "x"}]}
    [trace] = load_traces([call], tools=["buy"], finish=["buy"], max_iterations=3)
    assert (trace.answer, trace.tools, trace.limits.max_iterations) == ("x", ("buy",), 3)
    [trace] = load_traces([call], handover=["buy"])
    assert trace.reason == "yielded"
    assert answers({"log": "Action: click[Buy Now]"}, finish=["click[Buy Now]"]) == [
        "click[Buy Now]"
    ]


def test_what_is_skipped(tmp_path: Path) -> None:
    """What is no trace is told with its file, its line and the reason; the others are read."""
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines({"messages": TALK}, {"some": "thing"}, [5]) + b"{torn\n")
    loaded = load_traces(path)
    assert [trace.answer for trace in loaded] == ["4"]
    assert [(each.file, each.line) for each in loaded.skipped] == [
        *((str(path), 2), (str(path), 3), (str(path), 4)),
    ]
    assert "torn" in loaded.skipped[-1].reason
    assert [trace.answer for trace in loaded] == ["4"]  # each loop reads anew
    assert len(loaded.skipped) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_formats_that_are_named(format: str) -> None:
    """A value that has not the named format yields nothing, and a reason."""
    loaded = load_traces({"some": "thing"}, format)
    assert [trace for trace in loaded if trace.steps] == []
    assert all(skipped.format == format for skipped in loaded.skipped)


def test_a_named_format_is_believed() -> None:
    """A text is a log if the user says so; a list of rows is what each row is."""
    assert answers(LOG.encode(), format="react_log") == ["4"]
    assert answers(lines(*TALK), format="messages") == ["4"]
    assert answers([Trace(answer="4").to_json()], format="loopmend") == []
    with pytest.raises(ValueError, match="unknown format 'xml' \\(known: loopmend, "):
        load_traces([], "xml")
    with pytest.raises(TypeError, match="`source` must be a path"):
        load_traces(5)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        list(load_traces("/no/such/file"))


def test_traces_of_another_version() -> None:
    """A trace that this package cannot read is skipped, with the reason."""
    loaded = load_traces({"version": 99, "steps": []})
    assert list(loaded) == []
    assert "version 99" in loaded.skipped[0].reason


def archive(**entries: Any) -> bytes:
    """Return a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, value in entries.items():
            packed.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return buffer.getvalue()


SAMPLE = {"id": 1, "epoch": 1, "messages": TALK}


def test_archives(tmp_path: Path) -> None:
    """The samples of Inspect's archives are read, and what is wrong with them is told."""
    packed = archive(**{"header.json": {}, "samples/1_epoch_1.json": SAMPLE})
    path = tmp_path / "log.eval"
    path.write_bytes(packed)
    assert (answers(packed), answers(path)) == (["4"], ["4"])
    assert reasons(archive(**{"header.json": {}})) == ["contains no Inspect samples"]
    assert "neither JSON" in reasons(archive(**{"samples/1.json": "{torn"}))[0]
    assert "broken archive" in reasons(packed[:-30])[0]
    broken = packed.replace(b"samples/1_epoch_1.json", b"samples/2_epoch_1.json", 1)
    assert "is broken" in reasons(broken)[0]
    unknown = bytearray(packed)
    at = unknown.rindex(b"PK\x01\x02")
    unknown[at + 10] = 93  # Zstandard
    assert "cannot be unpacked" in reasons(bytes(unknown))[0]


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, texts and archives that are too long are skipped, and the rest is read."""
    packed = archive(**{"samples/1.json": SAMPLE, "samples/2.json": "[" + " " * 900 + "]"})
    monkeypatch.setattr(files, "LONGEST", 400)
    long = json.dumps({"messages": TALK, "pad": "x" * 900}).encode()
    loaded = load_traces(lines({"messages": TALK}) + long + b"\n" + lines({"messages": TALK}))
    assert [trace.answer for trace in loaded] == ["4", "4"]
    assert loaded.skipped[0].reason == "is longer than 400 bytes"
    loaded = load_traces(lines({"messages": TALK}) + long)
    assert ([trace.answer for trace in loaded], len(loaded.skipped)) == (["4"], 1)
    exact = long[:390].ljust(399) + b"\n"
    assert len(reasons(lines(5) + exact)) == 2
    assert "longer than 400" in reasons(json.dumps({"a": "x" * 900}, indent=1).encode())[0]
    loaded = load_traces(packed[:0] + packed)
    assert len(packed) < 400
    assert [trace.answer for trace in loaded] == ["4"]
    assert "longer than 400" in loaded.skipped[0].reason
    monkeypatch.setattr(files, "_MOST", 900)
    assert "more than 900" in reasons(packed)[0]


def test_bombs() -> None:
    """Deep nesting and broken compression end in a reason, and in no error."""
    assert reasons(b"[" * 200_000) == ["is neither JSON nor a ReAct log"]
    assert reasons(b"just words\n") == ["is neither JSON nor a ReAct log"]
    assert "is broken" in reasons(gzip.compress(lines({"messages": TALK}))[:-12])[0]
    assert reasons(b"PAR1....") == ["is Parquet; convert it to JSON lines"]
    deep: Any = "x"
    for _ in range(500):
        deep = {"a": [deep]}
    call = {"role": "assistant", "content": "", "tool_calls": [{"name": "f", "args": deep}]}
    [trace] = load_traces([call])
    assert trace.steps[0].calls[0].arguments == deep


def test_an_odd_run_loses_no_other() -> None:
    """What fails inside a reader is told, and the next run is read."""

    class Odd(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            if key == "steps":
                return []
            raise RuntimeError(key)

        def get(self, key: str, default: Any = None) -> Any:
            return 1 if key == "version" else default

        def __contains__(self, key: object) -> bool:
            return key in ("version", "steps")

        def __iter__(self) -> Any:
            return iter(["version", "steps"])

        def __len__(self) -> int:
            return 2

    loaded = load_traces([Odd(), {"messages": TALK}])
    assert [trace.answer for trace in loaded] == ["4"]
    assert "could not be read" in loaded.skipped[0].reason

    class Odder(Odd):
        def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002 - like a mapping's
            raise RuntimeError(key)

    assert "could not be read" in reasons(Odder())[0]


keys = st.sampled_from(
    [
        *("role", "content", "type", "messages", "attributes", "span_id", "traceId", "startTime"),
        *("run_type", "id", "outputs", "inputs", "child_runs", "trajectory", "history", "info"),
        *("steps", "schema_version", "source", "message", "tool_calls", "observation", "epoch"),
        *("intermediate_steps", "observations", "resourceSpans", "scopeSpans", "spans", "output"),
    ]
)
values = st.recursive(
    json_values | st.sampled_from(["assistant", "tool", "GENERATION", "llm", "ATIF-v1", "agent"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)


@given(values)
def test_loading_is_total(value: Any) -> None:
    """Any JSON is read or skipped, in any format, without an error."""
    if not isinstance(value, (list, dict)):
        return
    for format in (None, *FORMATS):
        list(load_traces(value, format))


@given(st.binary() | any_text.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_loading_bytes_is_total(data: bytes) -> None:
    """Any bytes are read or skipped without an error."""
    loaded = load_traces(data)
    assert not list(loaded) or not loaded.skipped or data


def _seconds(source: Any) -> float:
    started = time.thread_time()
    list(load_traces(source))
    return time.thread_time() - started


def _calls(count: int) -> list[Any]:
    ids = [str(n) for n in range(count)]
    asked = [{"id": id, "name": "f", "args": {}} for id in ids]
    results = [{"role": "tool", "tool_call_id": id, "content": "x"} for id in reversed(ids)]
    return [{"role": "assistant", "content": "", "tool_calls": asked}, *results]


def _talk(count: int) -> list[Any]:
    lost = {"role": "tool", "tool_call_id": "nobody's", "content": "x"}
    return [{"role": "assistant", "content": "hm"}, lost] * count


def _tools(count: int) -> list[Any]:
    kind = {"openinference.span.kind": "TOOL", "output.value": "x"}
    return [{"span_id": f"{n}", "name": "f", "attributes": kind} for n in range(count)]


def _nested(count: int) -> list[Any]:
    kind = {"openinference.span.kind": "LLM", "output.value": "x"}
    return [
        {"span_id": f"{n}", "parent_id": f"{n - 1}", "start_time": n, "attributes": kind}
        for n in range(count)
    ]


@pytest.mark.parametrize("made", [_calls, _talk, _tools, _nested])
def test_time_is_linear(made: Callable[[int], list[Any]]) -> None:
    """Four times as many calls, results or nested spans take about four times as long."""
    few, many = made(500), made(2000)
    assert any(_seconds(many) < 9 * _seconds(few) + 0.05 for _ in range(3))
