"""Files on all cores: the same rows as one process writes, and nothing done twice."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from loopmend import load_traces
from loopmend.batch import classify_files, files, read_rows, row_of


def run(number: int) -> dict[str, Any]:
    """Return a run as a line keeps it."""
    said = {"role": "assistant", "content": f"It is {number}."}
    asked = {"role": "user", "content": "How much?"}
    return {"id": str(number), "messages": [asked, said]}


def span(trace: int, number: int) -> dict[str, Any]:
    """Return a span of a run, as a row of an export."""
    said = {"openinference.span.kind": "LLM", "output.value": f"It is {number}."}
    return {"trace_id": f"t{trace}", "span_id": str(number), "attributes": said}


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of 300 runs that is taken in pieces, with a torn line in its midst."""
    monkeypatch.setattr(files, "PIECE", 1000)
    path = tmp_path / "runs.jsonl"
    rows = [json.dumps(run(number)) for number in range(300)]
    path.write_text("\n".join([*rows[:150], '{"torn', *rows[150:]]) + "\n")
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_give_what_the_whole_gives(lines: Path, tmp_path: Path, workers: int) -> None:
    """A file in pieces, in this process or in others, gives the rows of the file as a whole."""
    result = classify_files(lines, tmp_path / "out", workers)
    loaded = load_traces(lines)
    whole = [{"file": str(lines), **row_of(trace)} for trace in loaded]
    assert list(read_rows(tmp_path / "out")) == whole
    assert (result.runs, dict(result.verdicts)) == (300, {"answered": 300})
    assert dict(result.stop_reasons) == {"final_answer": 300}
    assert result.skipped == loaded.skipped
    assert [each.line for each in result.skipped] == [151]
    assert len(list((tmp_path / "out").iterdir())) > 10


def test_it_goes_on_where_it_stopped(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that failed half-way keeps what is finished and does not do it again."""
    out = tmp_path / "out"
    done: list[Any] = []

    def breaks(piece: Any, folder: Path) -> None:
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(piece)
        classify(piece, folder)

    classify = files._classify
    monkeypatch.setattr(files, "_classify", breaks)
    with pytest.raises(KeyboardInterrupt):
        classify_files(lines, out, 1)
    monkeypatch.setattr(files, "_classify", classify)
    result = classify_files(lines, out, 1)
    assert (result.resumed, result.runs) == (5, 300)
    assert classify_files(lines, out, 1).resumed == len(list(out.iterdir()))


def test_a_worker_that_dies_is_told(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is killed ends the batch with an error, and the parts that are there stay."""
    out = tmp_path / "out"
    monkeypatch.setattr(files, "_classify", _dies)
    with pytest.raises(BrokenProcessPool):
        classify_files(lines, out, 2)
    monkeypatch.undo()
    monkeypatch.setattr(files, "PIECE", 1000)
    assert classify_files(lines, out, 2).runs == 300


def _dies(*_: Any) -> None:
    os._exit(9)


def test_rows_of_a_run_stay_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of rows is taken as a whole, and so are compressed files and lists."""
    monkeypatch.setattr(files, "PIECE", 100)
    rows = "\n".join(json.dumps(span(n % 3, n)) for n in range(12))
    (tmp_path / "rows.jsonl").write_text(f"\n{rows}")
    (tmp_path / "runs.jsonl.gz").write_bytes(gzip.compress(json.dumps(run(1)).encode()))
    (tmp_path / "list.json").write_text(json.dumps([run(1), run(2)]))
    (tmp_path / "empty.jsonl").write_text("")
    names = ("rows.jsonl", "runs.jsonl.gz", "list.json", "empty.jsonl")
    result = classify_files([tmp_path / name for name in names], tmp_path / "out", 1)
    assert result.runs == 3 + 1 + 2
    assert [row["steps"] for row in read_rows(tmp_path / "out")] == [4, 4, 4, 1, 1, 1]


def test_options_are_those_of_the_readers(tmp_path: Path) -> None:
    """Options reach the readers, and other options make other parts."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"name": "buy", "args": {}}]}
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"messages": [call]}))
    assert classify_files(path, tmp_path / "out", 1).verdicts == {"unknown": 1}
    told = classify_files(path, tmp_path / "out", 1, finish=["buy"])
    assert (told.verdicts, told.resumed) == ({"answered": 1}, 0)
    assert told.findings == {}
    with pytest.raises(ValueError, match="unknown format"):
        classify_files(path, tmp_path / "out", format="odd")
    with pytest.raises(FileNotFoundError):
        classify_files(tmp_path / "none.jsonl", tmp_path / "out")


def test_findings_are_counted_by_runs(tmp_path: Path) -> None:
    """A kind counts once for each run that has it."""
    log = "Thought: x\nAction: Search[a]\nObservation: Could not find a\n" * 4
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"log": log}))
    result = classify_files(path, tmp_path / "out", 1, max_iterations=4)
    assert result.findings["tool_error"] == 1
    assert result.findings["cap"] == 1
