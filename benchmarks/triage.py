"""`python -m benchmarks.triage DIR`: findings against the labels of recorded runs.

DIR holds `hotpotqa_react.jsonl.gz`, `webshop_react.jsonl.gz` and `trail.jsonl.gz` in the form of
the corpus beside this repository.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from loopmend import StopReason, Trace, TraceReport, classify_trace
from loopmend.traces.detectors.repetition import LOOPS
from loopmend.traces.react_log import read_react_log

DEFAULT = Path(__file__).parents[2] / "shared/corpus/traces"
_SCORE = re.compile(r"Your score .*?: ([\d.]+)")
FORMATTING = frozenset({"parse_failure", "malformed_arguments", "tool_error"})


class Rates(NamedTuple):
    """Precision, recall, and both as one number."""

    precision: float
    recall: float
    f1: float

    def __str__(self) -> str:
        return f"P {self.precision:.2f}  R {self.recall:.2f}  F1 {self.f1:.2f}"


def rates(labels: Iterable[bool], found: Iterable[bool]) -> Rates:
    """Compare what was found with what is so."""
    pairs = list(zip(labels, found, strict=True))
    hits = sum(label and hit for label, hit in pairs)
    precision = hits / max(sum(hit for _, hit in pairs), 1)
    recall = hits / max(sum(label for label, _ in pairs), 1)
    return Rates(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of one file."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def hotpotqa(folder: Path) -> None:
    """Stop reasons and loops in question answering."""
    data = rows(folder, "hotpotqa_react")
    read = [Trace.from_react_log(r["scratchpad"], max_iterations=r["max_steps"]) for r in data]
    reports = [classify_trace(trace) for trace in read]
    halted = [row["label"] == "HALTED" for row in data]
    no_answer = [r.stop_reason is not StopReason.FINAL_ANSWER for r in reports]
    loops = [bool(report.kinds() & LOOPS) for report in reports]
    right = [row["label"] == "CORRECT" for row in data]
    steps = [len(re.findall(r"^Action \d+:", r["scratchpad"], re.MULTILINE)) for r in data]
    whole = sum(t.iterations == n for t, n in zip(read, steps, strict=True)) / len(data)
    print(f"HotpotQA, {len(data)} runs")
    print(f"  logs read with the right number of steps  {whole:.1%}")
    print(f"  stop reason against HALTED                {rates(halted, no_answer)}")
    alarms = sum(loop and good for loop, good in zip(loops, right, strict=True))
    print(f"  loop findings against HALTED              {rates(halted, loops)}")
    print(f"  … alarms on the {sum(right)} CORRECT runs            {alarms}")
    six = [trace for trace in read if trace.iterations == max(steps)]
    print(f"  a trace of {max(steps)} steps                        {_cost(six):.0f} us")


def _cost(traces: list[Trace]) -> float:
    best = float("inf")
    for _ in range(5):
        started = time.thread_time()
        for trace in traces:
            classify_trace(trace)
        best = min(best, time.thread_time() - started)
    return best / max(len(traces), 1) * 1e6


def webshop(folder: Path) -> None:
    """Runs that bought nothing."""
    data = rows(folder, "webshop_react")
    scores = [_SCORE.search(row["log"]) for row in data]
    nothing = [score is None or float(score[1]) == 0 for score in scores]
    read = [
        read_react_log(r["log"], max_iterations=r["max_steps"], finish=["click[Buy Now]"])
        for r in data
    ]
    steps = [len(re.findall(r"^Action:", row["log"], re.MULTILINE)) for row in data]
    whole = sum(t.iterations == n for t, n in zip(read, steps, strict=True)) / len(data)
    found = ["no_final_answer" in classify_trace(trace).kinds() for trace in read]
    print(f"WebShop, {len(data)} runs")
    print(f"  logs read with the right number of steps  {whole:.1%}")
    print(f"  no final answer against reward 0          {rates(nothing, found)}")


def trail(folder: Path) -> None:
    """Human labels on runs of code agents."""
    data = rows(folder, "trail")
    labels = [{e["category"].strip() for e in row["labels"]["errors"]} for row in data]
    reports = [classify_trace(Trace.from_spans(row["trace"]["spans"])) for row in data]
    print(f"TRAIL, {len(data)} runs")

    def line(name: str, label: str, hit: Callable[[TraceReport], bool]) -> None:
        compared = rates([label in each for each in labels], [hit(report) for report in reports])
        print(f"  {name:41} {compared}")

    line(
        "loop findings against Resource Abuse", "Resource Abuse", lambda r: bool(r.kinds() & LOOPS)
    )
    line(
        "errors against Formatting Errors",
        "Formatting Errors",
        lambda r: bool(r.kinds() & FORMATTING),
    )
    plans = sum("end_plan" in f.message + f.evidence for r in reports for f in r.findings)
    print(f"  findings about <end_plan>                 {plans}")


def main() -> None:
    """Measure all files of a folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    for measure in (hotpotqa, webshop, trail):
        measure(folder)


if __name__ == "__main__":
    main()
