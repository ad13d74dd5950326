"""Span rows on Daft: the same rows as one process writes, slice by slice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loopmend import load_traces
from loopmend.batch import classify_spans, row_of, spans
from loopmend.batch.spans import _report, _reports


def rows() -> list[dict[str, Any]]:
    """Return the spans of 20 runs in an order of no meaning."""
    found = []
    for trace in range(20):
        for number in range(3):
            said = {"openinference.span.kind": "LLM", "output.value": f"It is {number}."}
            found.append(
                {
                    "trace_id": f"t{trace}",
                    "span_id": str(number),
                    "start_time": str(number),
                    "parent_id": None,
                    "attributes": json.dumps(said),
                }
            )
    return sorted(found, key=lambda row: (row["span_id"], row["trace_id"]))


def embedded() -> dict[str, Any]:
    """Return what one process makes of the same rows."""
    given = [{k: v for k, v in row.items() if v is not None} for row in rows()]
    return {str(trace.id): row_of(trace) for trace in load_traces(given)}


def test_slices_give_what_the_whole_gives(tmp_path: Path) -> None:
    """Daft gives the same report for each run as one process, and does no slice twice."""
    daft = pytest.importorskip("daft")
    frame = daft.from_pylist(rows())
    frame.write_parquet(str(tmp_path / "spans"))
    source = str(tmp_path / "spans" / "*.parquet")
    assert classify_spans(source, tmp_path / "out", slices=3) == 3
    assert classify_spans(source, tmp_path / "out", slices=3) == 0
    told = daft.read_parquet(str(tmp_path / "out" / "**" / "*.parquet")).to_pylist()
    assert {row["trace"]: json.loads(row["report"]) for row in told} == embedded()
    assert classify_spans(frame, tmp_path / "whole", trace_id="trace_id") == 1
    with pytest.raises(ValueError, match="no column holds the trace id"):
        classify_spans(frame.select("span_id"), tmp_path / "none")


def test_a_run_is_classified_from_its_rows() -> None:
    """What Daft calls for each group reads the rows, and says why it could not."""
    given = [row for row in rows() if row["trace_id"] == "t7"]
    assert json.loads(_report(given)) == embedded()["t7"]
    assert "skipped" in json.loads(_report([{"odd": 1, "none": None}]))
    assert _reports(SimpleNamespace(to_pylist=lambda: [given])) == [_report(given)]


def test_a_cluster_is_told_to_daft(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With an address, Daft runs on that cluster of Ray."""
    daft = pytest.importorskip("daft")
    told: list[Any] = []
    monkeypatch.setattr(daft, "set_runner_ray", lambda **given: told.append(given["address"]))
    classify_spans(daft.from_pylist(rows()), tmp_path / "out", ray="ray://head:10001")
    assert told == ["ray://head:10001"]


def test_daft_is_given_a_moment_at_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process waits before it ends, once: Daft's threads would abort it."""
    daft = pytest.importorskip("daft")
    due: set[Any] = set()
    slept: list[float] = []
    hooks = SimpleNamespace(register=due.add, unregister=due.discard)
    monkeypatch.setattr("loopmend.batch.spans.atexit", hooks)
    monkeypatch.setattr("loopmend.batch.spans.time", SimpleNamespace(sleep=slept.append))
    for _ in range(2):
        with pytest.raises(ValueError, match="no column"):
            classify_spans(daft.from_pydict({"a": [1]}), tmp_path)
    [wait] = due
    wait()
    assert slept == [1.0]


def test_without_daft(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Daft, one sentence names the extra."""
    monkeypatch.setitem(sys.modules, "daft", None)
    with pytest.raises(ImportError, match=r"loopmend\[batch\]"):
        classify_spans("x.parquet", tmp_path)


@pytest.mark.parametrize(("failures", "done"), [(2, True), (3, False)])
def test_a_slice_that_fails_on_a_cluster_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, *, done: bool
) -> None:
    """A worker that is lost costs one attempt; what fails each time is raised."""
    daft = pytest.importorskip("daft")
    monkeypatch.setattr(daft, "set_runner_ray", lambda **_: None)
    lost = iter([RuntimeError("a worker died")] * failures)
    write = spans._write

    def flaky(*given: Any) -> None:
        error = next(lost, None)
        if error is not None:
            raise error
        write(*given)

    monkeypatch.setattr(spans, "_write", flaky)
    frame = daft.from_pylist(rows())
    if done:
        assert classify_spans(frame, tmp_path / "out", ray="ray://head:10001") == 1
        told = daft.read_parquet(str(tmp_path / "out" / "**" / "*.parquet")).to_pylist()
        assert {row["trace"]: json.loads(row["report"]) for row in told} == embedded()
    else:
        with pytest.raises(RuntimeError, match="a worker died"):
            classify_spans(frame, tmp_path / "out", ray="ray://head:10001")


def test_a_slice_that_fails_here_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine nobody is lost: what fails once fails."""
    daft = pytest.importorskip("daft")
    tried: list[Any] = []

    def fail(*given: Any) -> None:
        tried.append(given)
        raise OSError(28, "disk full")

    monkeypatch.setattr(spans, "_write", fail)
    with pytest.raises(OSError, match="disk full"):
        classify_spans(daft.from_pylist(rows()), tmp_path / "out")
    assert len(tried) == 1
