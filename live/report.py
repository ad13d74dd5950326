"""What came of the runs: rates side by side, what got worse, and each harm whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Runs", "report"]

Runs = dict[tuple[str, str, str], dict[str, Any]]
"""Each run by agent, column and question."""


def report(runs: Runs) -> str:
    """Return the tables and the harm cases as text.

    Columns are compared on the tasks that ran alone as well.
    """
    return "\n".join(
        [
            *_table(runs),
            "",
            *_by_kind(runs),
            "",
            "Harm: right alone, not right with loopmend.",
            *(_harms(runs) or ["none"]),
        ]
    )


def _pairs(runs: Runs) -> dict[tuple[str, str], list[tuple[Mapping[str, Any], Mapping[str, Any]]]]:
    """Return each run beside the one alone at the same task, by agent and column."""
    found: dict[tuple[str, str], list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
    for (agent, column, question), run in runs.items():
        alone = runs.get((agent, "alone", question))
        if alone is not None:
            found.setdefault((agent, column), []).append((alone, run))
    return found


def _table(runs: Runs) -> Iterator[str]:
    yield f"{'agent':14} {'column':14} {'right':>9} {'alone':>6} {'harm':>5} {'asked a task':>13}"
    for (agent, column), pairs in _pairs(runs).items():
        right = sum(run["right"] for _, run in pairs)
        alone = sum(before["right"] for before, _ in pairs)
        harm = sum(before["right"] and not run["right"] for before, run in pairs)
        asked = sum(run["model_calls"] for _, run in pairs) / len(pairs)
        rate = f"{right} of {len(pairs)}"
        yield f"{agent:14} {column:14} {rate:>9} {alone:>6} {harm:>5} {asked:>13.1f}"


def _by_kind(runs: Runs) -> Iterator[str]:
    kinds = list(dict.fromkeys(run["kind"] for run in runs.values()))
    yield "Right by class of task, all agents: alone -> column"
    for column in dict.fromkeys(column for _, column in _pairs(runs) if column != "alone"):
        pairs = [pair for (_, c), each in _pairs(runs).items() if c == column for pair in each]
        said = [
            _change(kind, [pair for pair in pairs if pair[1]["kind"] == kind]) for kind in kinds
        ]
        yield f"{column:14} {', '.join(said)}"


def _change(kind: str, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    alone, right = (sum(pair[at]["right"] for pair in pairs) for at in (0, 1))
    return f"{kind} {alone} -> {right} of {len(pairs)}"


def _harms(runs: Runs) -> list[str]:
    told: list[str] = []
    for (agent, column, question), run in runs.items():
        alone = runs.get((agent, "alone", question))
        if alone is not None and alone["right"] and not run["right"]:
            told += [f"{agent}, {column}: {question}"]
            told += [f"  {name}: {_told(each)}" for name, each in (("alone", alone), ("with", run))]
    return told


def _told(run: Mapping[str, Any]) -> str:
    return json.dumps(
        {name: run[name] for name in ("called", "answer", "error")}, ensure_ascii=False
    )
