"""How words around a call weigh, and that the weights come of the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reading.framings import MEANT, SHOWN
from loopmend import ToolCall, read_turn
from loopmend.reading.weighing import Weights, Words, features, lean, learnt
from tools.weighing.rows import Row, rows

ROWS = list(rows())
SMALL = [
    row
    for author, verb, what in (("a", "run", "page"), ("b", "send", "mail"), ("c", "do", "log"))
    for row in (
        Row(author, f"I'll {verb} it now:\n{{call}}", meant=True),
        Row(author, f"The {what} says:\n{{call}}", meant=False),
    )
]


@given(st.text(), st.text())
def test_any_words_lean_somewhere(before: str, after: str) -> None:
    """Whatever is said, there is a number, and the same one however often it is asked for."""
    leaning = lean(Words(before, after))
    assert math.isfinite(leaning)
    assert leaning == lean(Words(before, after))


def test_nothing_said_and_nothing_known() -> None:
    """Where nothing is said nothing speaks against a call; what nobody knows makes none."""
    assert lean(Words("1. \n\n", "")) > 0
    layout = Weights(frozenset(), 1000, {"end .": 5000, "1.": 9000})
    assert lean(Words("Zxqv vbnq wrtz.\n", ""), layout) < 0
    assert lean(Words("\u274c\n", "")) < 0
    assert lean(Words("", "?")) < 0


def test_a_negation_marks_what_it_denies() -> None:
    """Up to the next sign, and not for long."""
    found = set(features(Words("I won't run it now, ok", ""), {"i", "run", "now"}))
    assert {"1!run", "1!it", "1won't !run", "1ok"} <= found
    assert "1run" not in found
    far = set(features(Words("not a b c d e", ""), ()))
    assert {"1!d", "1e"} <= far


def test_paths_numbers_and_quotations_stand_for_any() -> None:
    """Paths, numbers and quoted words count by their kind, signs by themselves."""
    found = set(features(Words('I wipe /data, 12 files for $5 and "all that"', ""), ()))
    assert {"1/", "10", "1\u201d", "1$"} <= found
    assert not {"1/data", "112", "1all"} & found
    assert not {name for name in found if name.endswith(" $")} & {"1-- >>"}


def test_any_script() -> None:
    """A sign of Chinese is a word, and full stops and question marks of any script are the same."""
    assert {"1\u6211", "1\u6211 \u6765", "1."} <= set(features(Words("\u6211\u6765\u3002", ""), ()))
    assert "1?" in set(features(Words("\u0647\u0644\u061f", ""), ()))


def _judged(frames: Iterable[str], form: str) -> float:
    """Return the share of frames in which a call is made."""
    frames = list(frames)
    turns = [read_turn(frame.replace("{call}", form), tools=["wipe"]) for frame in frames]
    made = [any(isinstance(a, ToolCall) for a in turn.actions) for turn in turns]
    return sum(made) / len(frames)


@pytest.mark.parametrize("form", ["{}", "<tool_call>{}</tool_call>"])
def test_frames_that_nothing_was_learnt_from(form: str) -> None:
    """The frames of `make reading` are no rows: of these, too, few are misjudged."""
    call = form.replace("{}", '{"name": "wipe", "arguments": {"path": "/data"}}')
    assert not set(SHOWN.values()) & {row.text for row in ROWS}
    assert _judged(SHOWN.values(), call) <= 0.04
    assert _judged(MEANT.values(), call) >= 0.93


@pytest.mark.parametrize(
    "lead",
    [
        *("I will not delete {}:", "Do not delete {}:", "Should I delete {}?"),
        *("The README tells agents to delete {}:", "The page says to delete {}:"),
    ],
)
@pytest.mark.parametrize("path", ["/srv/x", "/data", "config.py", "not", "it"])
def test_what_a_call_is_given_changes_nothing(lead: str, path: str) -> None:
    """Whoever names in a refusal what the call is given refuses all the same."""
    call = json.dumps({"name": "wipe", "arguments": {"path": path}})
    assert read_turn(f"{lead.format(path)}\n\n{call}", tools=["wipe"]).actions == ()


def test_the_rows_of_the_house() -> None:
    """Rows that the code was tried on while it was built: nearly all are judged rightly."""
    judged = [(lean(row.words) > 0) == row.meant for row in ROWS if row.author == "house"]
    assert len(judged) > 400
    assert sum(judged) / len(judged) > 0.93


def test_the_rows_are_whole() -> None:
    """Each has its call once, and both kinds come from each author."""
    assert all(row.text.count("{call}") == 1 for row in ROWS)
    kinds = {(row.author, row.meant) for row in ROWS}
    assert len(kinds) == 2 * len({author for author, _ in kinds})


def test_the_weights_come_of_the_rows() -> None:
    """Who learns from the rows gets the weights of the package, but for what sums round off."""
    pytest.importorskip("numpy")
    from tools.weighing.learning import learn

    again, kept = learn(ROWS), learnt()
    assert again.common == kept.common
    assert again.bias == pytest.approx(kept.bias, abs=10)
    assert len(again.of.keys() ^ kept.of.keys()) < 0.01 * len(kept.of)
    assert all(
        again.of[name] == pytest.approx(kept.of[name], abs=20)
        for name in again.of.keys() & kept.of.keys()
    )


def test_learning_and_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few rows are enough to tell two authors apart, and each is judged by the other's words."""
    pytest.importorskip("numpy")
    from tools.weighing import __main__ as command
    from tools.weighing.learning import learn

    weights = learn(SMALL)
    assert lean(Words("I'll book it now:\n", ""), weights) > 0
    assert lean(Words("The note says:\n", ""), weights) < 0
    monkeypatch.setattr(command, "rows", lambda: iter(SMALL * 2))
    command.main(["--by-author"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("| all | 12 | ")
    monkeypatch.setattr(command, "files", lambda _: tmp_path)
    command.main([])
    assert (tmp_path / "weights.txt").read_text(encoding="utf-8") == command.written(
        learn(SMALL * 2)
    )
