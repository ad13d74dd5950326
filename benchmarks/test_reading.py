"""Reading against LangChain's ReAct parser and json_repair, and its growth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import json_repair
import pytest

from benchmarks.timing import fastest, ratio
from loopmend import read_turn
from loopmend.reading.values import decode_value

TIMES_LANGCHAIN = 1.7
TIMES_JSON_REPAIR = 1 / 5
MOST_GROWTH = 2.3
TRIES = 5

REACT = {
    "action": "Thought: I need to find out how many home runs the player hit last year, so I "
    "should search for it on the web.\nAction: Search\nAction Input: home runs of the player in "
    "the 2022 season of the major league",
    "answer": "Thought: I can now answer the question, because the search has given me the "
    "number that was asked for.\nFinal Answer: The player hit 34 home runs in the 2022 season.",
}
BROKEN = (
    '{"path": "notes.md", "content": "' + "A line of a file that a model writes.\n" * 20 + '",}',
    '{"query": "rust async", "limit": [1, 2,], "nested": {"deep": [1, 2, 3,],},}',
    "{'query': 'what is new', 'limit': 5, 'exact': True, 'lang': None}",
    '{query: "x", limit: 5, tags: [a, b, c], note: "several words in a row"}',
    '{"query": "line one\nline two", "limit": 3, "rest": {"a": "b"',
    '{"say": "he said "hello" to them", "n": 1 /* why */, "m": 2 // so\n}',
)
GROWING = {
    "prose": "It goes on and on, and nothing comes of it. ",
    "react": "Thought: t\nAction: a\nAction Input: b\nObservation: c\n",
    "objects": '{"name": "f", "arguments": {"a": [1, 2]}} ',
    "broken": "{'name': 'f', 'arguments': {'a': [1, 2,]}} ",
    "tags": '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
}


@pytest.mark.parametrize("case", list(REACT))
def test_against_langchain(case: str, report: list[str]) -> None:
    """On its own form, reading takes at most 1.7 times what LangChain's ReAct parser takes."""
    parsers = pytest.importorskip("langchain_classic.agents.output_parsers")
    parse = parsers.ReActSingleInputOutputParser().parse
    found = _best(TIMES_LANGCHAIN, partial(read_turn, REACT[case]), partial(parse, REACT[case]))
    report.append(f"read_turn, ReAct {case:8} {found:5.2f} x LangChain's ReAct parser")
    assert found <= TIMES_LANGCHAIN


def test_against_json_repair(report: list[str]) -> None:
    """Decoding broken JSON is at least five times as fast as json_repair."""

    def ours() -> None:
        for text in BROKEN:
            decode_value(text, 0)

    def theirs() -> None:
        for text in BROKEN:
            json_repair.loads(text)

    found = _best(TIMES_JSON_REPAIR, ours, theirs)
    report.append(f"broken JSON {1 / found:5.2f} times as fast as json_repair")
    assert found <= TIMES_JSON_REPAIR


@pytest.mark.parametrize("case", list(GROWING))
def test_growth(case: str, report: list[str]) -> None:
    """A megabyte takes at most 2.3 times as long as half of it."""
    unit = GROWING[case]
    half, whole = (unit * (size // len(unit)) for size in (512 * 1024, 1024 * 1024))
    found: list[float] = []
    while len(found) < TRIES and (not found or min(found) > MOST_GROWTH):
        slow, quick = (fastest(partial(read_turn, text), rounds=3) for text in (whole, half))
        found.append(slow / quick)
    report.append(f"read_turn, {case:10} 1 MB / 512 KB {min(found):5.2f}")
    assert min(found) <= MOST_GROWTH


def _best(enough: float, subject: Callable[[], Any], yardstick: Callable[[], Any]) -> float:
    found = [ratio(subject, yardstick)]
    while found[-1] > enough and len(found) < TRIES:
        found.append(ratio(subject, yardstick))
    return min(found)
