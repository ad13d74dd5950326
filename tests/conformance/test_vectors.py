"""The committed vectors, replayed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.__main__ import main
from tests.conformance.replay import REFERENCE_ONLY, Tally, replay
from tests.conformance.rows import COMMITTED, read_rows

SHARED = Path(__file__).parents[3] / "shared" / "vectors"


@pytest.fixture(scope="module")
def tallies() -> dict[str, Tally]:
    """Replay the committed vectors once."""
    return replay(read_rows(COMMITTED))


def test_no_row_of_the_contracts_mismatches(tallies: dict[str, Tally]) -> None:
    """All 20,233 rows match, or deviate as agreed, or cannot be received by Rust."""
    contracts = {name: t for name, t in tallies.items() if name not in REFERENCE_ONLY}
    assert sum(tally.rows for tally in contracts.values()) == 20_233
    assert {name: tally.mismatches for name, tally in contracts.items() if tally.mismatches} == {}


def test_skipped_rows_are_few(tallies: dict[str, Tally]) -> None:
    """Only the 19 rows that Rust's types cannot receive are skipped."""
    assert sum(tally.skipped for tally in tallies.values()) == 19


def test_deviations_are_counted(tallies: dict[str, Tally]) -> None:
    """No row hides behind a deviation that does not concern it."""
    counted: Counter[str] = sum((t.deviations for t in tallies.values()), start=Counter())
    unicode16 = counted.pop("Unicode tables are the interpreter's", 0)
    assert unicode16 <= 1
    assert counted == {
        "panic: the element is not there": 71,
        "exit_code is not truncated": 204,
        "NaN confidence is the default": 4,
        "floats are CPython's": 8,
        "intents compare without case": 47,
    }


def test_synthesis_agrees_with_the_go_port(tallies: dict[str, Tally]) -> None:
    """The reference rows agree too, but for the case of intents."""
    tally = tallies["synthesize_task_state"]
    assert (tally.rows, tally.mismatches) == (1_138, [])


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_committed_vectors_are_the_shared_ones() -> None:
    """The compressed copies are the originals, row by row."""
    assert list(read_rows(COMMITTED)) == list(read_rows(SHARED))


def test_command_reports_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    """Without arguments the command replays the committed files and exits with 0."""
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert "contracts: 0 mismatches in 20,233 rows" in printed
    assert "MISMATCH" not in printed


def test_command_prints_every_mismatch_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every wrong row is printed, also one that raises, and the exit code is 1."""
    rows = [
        {"id": "parse_action/x1", "args": {"content": "{}"}, "result": {"type": "final"}},
        {"id": "parse_action/x2", "args": {"content": "1"}, "error": {"kind": "InvalidJson"}},
        {"id": "plan/x3", "args": {}, "result": {"candidates": []}},
        {"id": "no_such_function/x4", "args": {}, "result": None},
        {"id": "plan/x5", "args": {"input": {"authority": 1}}, "result": None},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert [f"/x{n}" in printed for n in (1, 2, 3, 4, 5)] == [True] * 5
    assert "contracts: 5 mismatches in 5 rows" in printed


def test_numbers_are_compared_as_json_would(tmp_path: Path) -> None:
    """An answer of 1.0 where Rust says 1, or of 0.0 where it says -0.0, is a mismatch."""
    content = '{"type":"tool_call","name":"n","arguments":[1,-0]}'
    row = {
        "id": "parse_action/x",
        "args": {"content": content},
        "result": {"type": "tool_call", "name": "n", "arguments": [1.0, -0.0]},
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    row["result"]["arguments"] = [1, -0.0]  # type: ignore[index]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert main([str(tmp_path)]) == 0


@pytest.mark.parametrize("arguments", [["/no/such/directory"], ["a", "b"]])
def test_command_refuses_what_it_cannot_use(arguments: list[str]) -> None:
    """A missing directory and a second argument are errors, not a silent success."""
    assert main(arguments) == 2


def test_command_refuses_an_empty_directory(tmp_path: Path) -> None:
    """No vectors is not the same as no mismatches."""
    assert main([str(tmp_path)]) == 2
