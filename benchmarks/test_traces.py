"""What it costs to classify a trace, as a ratio and by its growth."""

from __future__ import annotations

import json
from functools import partial

from benchmarks.timing import fastest, ratio
from loopmend import Trace, classify_trace
from loopmend.traces import Observation, Step, TraceCall

MOST_GROWTH = 2.3
TRIES = 5


def run(steps: int) -> Trace:
    """Return a run of so many steps, each with a paragraph to look at."""
    return Trace(
        [
            Step(
                text=f"Thought {n}: …",
                thought=f"I have to look at page {n} of the book to find out who wrote it",
                calls=[TraceCall("search", f"who wrote page {n}")],
                observations=[Observation(f"Page {n} was written by author {n}. " * 12, "search")],
            )
            for n in range(steps)
        ]
    )


def test_a_trace_of_six_steps(report: list[str]) -> None:
    """Classifying six steps takes at most thirty times what writing them as JSON takes."""
    trace = run(6)
    data = json.loads(trace.to_json())
    found = ratio(partial(classify_trace, trace), partial(json.dumps, data))
    report.append(f"classify_trace, 6 steps {found:5.1f} x json.dumps of the same trace")
    assert found <= 30


def test_growth(report: list[str]) -> None:
    """Ten thousand steps take at most 2.3 times as long as five thousand."""
    half, whole = run(5_000), run(10_000)
    found: list[float] = []
    while len(found) < TRIES and (not found or min(found) > MOST_GROWTH):
        slow, quick = (fastest(partial(classify_trace, trace), rounds=3) for trace in (whole, half))
        found.append(slow / quick)
    report.append(f"classify_trace, 10,000 / 5,000 steps {min(found):5.2f}")
    assert min(found) <= MOST_GROWTH
