"""What became a fifth slower fails, on any machine, however busy it is."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from benchmarks import gate


def test_nothing_became_slower() -> None:
    """No case costs a fifth more than `benchmarks/gate.json` says; nothing is timed."""
    run = [sys.executable, "-m", "benchmarks.gate"]
    done = subprocess.run(run, cwd=gate.HOME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_fifth_more_is_found() -> None:
    """A loop that goes a quarter more often is found, and one that goes as often is not."""
    mine = (__file__,)
    stored = {"loop": gate.Counter().of(lambda: _loop(400), mine)}
    same = {"loop": gate.Counter().of(lambda: _loop(400), mine)}
    more = {"loop": gate.Counter().of(lambda: _loop(500), mine)}
    assert gate.slower(same, stored, gate.MOST) == []
    assert gate.slower(more, stored, gate.MOST) == ["loop: 1.25 x what gate.json says"]
    assert gate.slower({"new": 1.0}, stored, gate.MOST) == ["new: not in gate.json"]


@pytest.mark.parametrize(
    ("method", "given", "signs"),
    [
        ("search", ("a" * 40,), 40),  # looks in vain, to the end
        ("search", ("a" * 20 + "b" + "a" * 19,), 21),
        ("search", ("a" * 40, 30), 10),
        ("match", ("b" * 40,), 1),
        ("match", ("a" * 40,), 1),
        ("sub", ("", "a" * 40), 40),
        ("split", ("a" * 40,), 40),
    ],
)
def test_patterns_count_what_they_look_at(method: str, given: tuple[str, ...], signs: int) -> None:
    """A pattern that looks through more of a text costs more, though it is one call."""
    counter = gate.Counter()
    pattern = gate.Pattern(re.compile("b"), counter)
    assert pattern.pattern == "b"
    getattr(pattern, method)(*given)
    assert counter.done == signs / gate.SIGNS


def test_all_that_is_counted_is_stored() -> None:
    """The figures are of the cases that there are."""
    stored = json.loads(gate.STORED.read_text())["costs"]
    assert len(stored) > 20
    assert min(stored.values()) > 0


def _loop(times: int) -> None:
    for _ in range(times):
        pass
