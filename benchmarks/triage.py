"""`python -m benchmarks.triage DIR`: findings against the labels of recorded runs.

DIR holds `hotpotqa_react.jsonl.gz`, `webshop_react.jsonl.gz`, `tau_airline.jsonl.gz` and
`trail.jsonl.gz` in the form of the corpus beside this repository.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from loopmend import StopReason, Trace, TraceReport, classify_trace
from loopmend.traces.detectors.repetition import LOOPS

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


class Run(NamedTuple):
    """A run with its label."""

    trace: Trace
    report: TraceReport
    failed: bool


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


def hotpotqa(folder: Path) -> list[Run]:
    """Stop reasons and loops in question answering."""
    data = rows(folder, "hotpotqa_react")
    read = [Trace.from_react_log(r["scratchpad"], max_iterations=r["max_steps"]) for r in data]
    reports = [classify_trace(trace) for trace in read]
    halted = [row["label"] == "HALTED" for row in data]
    no_answer = [r.stop_reason is not StopReason.FINAL_ANSWER for r in reports]
    steps = [len(re.findall(r"^Action \d+:", r["scratchpad"], re.MULTILINE)) for r in data]
    whole = sum(t.iterations == n for t, n in zip(read, steps, strict=True)) / len(data)
    print(f"HotpotQA, {len(data)} runs")
    print(f"  logs read with the right number of steps  {whole:.1%}")
    print(f"  stop reason against HALTED                {rates(halted, no_answer)}")
    failed = [row["label"] != "CORRECT" for row in data]
    _loops("HALTED", read, halted)
    _loops("not CORRECT", read, failed)
    six = [trace for trace in read if trace.iterations == max(steps)]
    print(f"  a trace of {max(steps)} steps                        {_cost(six):.0f} us")
    return [Run(*each) for each in zip(read, reports, failed, strict=True)]


def _loops(label: str, traces: list[Trace], labels: list[bool]) -> None:
    """Judge loops on runs cut before their last step, so that no ending gives the label away."""
    cut = [replace(t, steps=t.steps[:-1], answer=None, reason=None, error=None) for t in traces]
    found = [bool(classify_trace(trace).kinds() & LOOPS) for trace in cut]
    many = [sum(len(step.calls) for step in trace.steps) >= 5 for trace in cut]
    print(f"  loops in cut runs against {label:16}{rates(labels, found)}")
    print(f"  … 5 or more calls                         {rates(labels, many)}")
    for of, wanted in (("5 or more", True), ("fewer", False)):
        runs = [pair for *pair, more in zip(labels, found, many, strict=True) if more is wanted]
        looping = [label for label, loop in runs if loop]
        others = [label for label, loop in runs if not loop]
        print(
            f"  … of runs with {of} calls: {sum(looping)} of {len(looping)} with a loop, "
            f"{sum(others)} of {len(others)} without"
        )


def _cost(traces: list[Trace]) -> float:
    best = float("inf")
    for _ in range(5):
        started = time.thread_time()
        for trace in traces:
            classify_trace(trace)
        best = min(best, time.thread_time() - started)
    return best / max(len(traces), 1) * 1e6


def webshop(folder: Path) -> list[Run]:
    """Runs that bought nothing."""
    data = rows(folder, "webshop_react")
    scores = [_SCORE.search(row["log"]) for row in data]
    nothing = [score is None or float(score[1]) == 0 for score in scores]
    buys = ["click[Buy Now]"]
    read = [
        Trace.from_react_log(r["log"], max_iterations=r["max_steps"], finish=buys) for r in data
    ]
    steps = [len(re.findall(r"^Action:", row["log"], re.MULTILINE)) for row in data]
    whole = sum(t.iterations == n for t, n in zip(read, steps, strict=True)) / len(data)
    reports = [classify_trace(trace) for trace in read]
    found = ["no_final_answer" in report.kinds() for report in reports]
    print(f"WebShop, {len(data)} runs")
    print(f"  logs read with the right number of steps  {whole:.1%}")
    print(f"  no final answer against reward 0          {rates(nothing, found)}")
    _loops("reward 0", read, nothing)
    return [Run(*each) for each in zip(read, reports, nothing, strict=True)]


def tau(folder: Path) -> list[Run]:
    """Conversations of an airline's agent."""
    data = rows(folder, "tau_airline")
    read = [Trace.from_messages(row["messages"]) for row in data]
    reports = [classify_trace(trace) for trace in read]
    failed = [row["reward"] < 1 for row in data]
    print(f"tau airline, {len(data)} runs")
    _loops("reward 0", read, failed)
    return [Run(*each) for each in zip(read, reports, failed, strict=True)]


def trail(folder: Path) -> None:
    """Human labels on runs of code agents, compared without case and number."""
    data = rows(folder, "trail")
    labels = [{_plain(e["category"]) for e in row["labels"]["errors"]} for row in data]
    reports = [classify_trace(Trace.from_spans(row["trace"]["spans"])) for row in data]
    print(f"TRAIL, {len(data)} runs")

    def line(name: str, label: str, hit: Callable[[TraceReport], bool]) -> None:
        compared = rates([label in each for each in labels], [hit(report) for report in reports])
        print(f"  {name:41} {compared}")

    line(
        "loop findings against Resource Abuse", "resource abuse", lambda r: bool(r.kinds() & LOOPS)
    )
    line(
        "errors against Formatting Errors",
        "formatting error",
        lambda r: bool(r.kinds() & FORMATTING),
    )
    plans = sum("end_plan" in f.message + f.evidence for r in reports for f in r.findings)
    print(f"  findings about <end_plan>                 {plans}")
    for label, kinds in (
        ("resource abuse", sorted(LOOPS)),
        ("formatting error", sorted(FORMATTING)),
    ):
        base = sum(label in each for each in labels) / len(data)
        for kind in kinds:
            having = [each for each, r in zip(labels, reports, strict=True) if kind in r.kinds()]
            hits = sum(label in each for each in having)
            lift = f"{hits / len(having) / base:.2f} ({len(having)})" if having else "-"
            print(f"  lift of {kind:24} on {label:17} {lift}")


def _plain(label: str) -> str:
    return label.strip().lower().removesuffix("s")


def lifts(sets: dict[str, list[Run]]) -> None:
    """Say how much more often runs with a finding failed than runs in general."""
    kinds: dict[str, dict[str, str]] = {}
    idle: list[str] = []
    for name, runs in sets.items():
        base = sum(run.failed for run in runs) / len(runs)
        good = [run.report for run in runs if not run.failed]
        errors = [[f for f in r.findings if f.severity == "error"] for r in good]
        alarms, proven = (
            sum(map(bool, errors)),
            sum(f.certainty == "proven" for e in errors for f in e),
        )
        print(f"{name}: {alarms} of {len(good)} good runs have an error finding, {proven} proven")
        seen: Counter[str] = Counter()
        bad: Counter[str] = Counter()
        for run in runs:
            for kind in {f"{f.kind}{' (recovered)' * f.recovered}" for f in run.report.findings}:
                seen[kind] += 1
                bad[kind] += run.failed
        told = {f.kind for run in runs for f in run.report.findings if f.severity != "info"}
        idle += [f"{kind} ({name})" for kind in told if bad[kind] / seen[kind] <= base]
        for kind, count in seen.items():
            lift = f"{bad[kind] / count / base:.2f} ({count})"
            kinds.setdefault(kind, {})[name] = lift
    print(f"errors and warnings with a lift of 1 or less: {', '.join(idle) or 'none'}")
    print(f"{'lift (runs)':32}" + "".join(f"{name:>16}" for name in sets))
    for kind in sorted(kinds):
        print(f"{kind:32}" + "".join(f"{kinds[kind].get(name, '-'):>16}" for name in sets))


def beside_tracelint(folder: Path) -> None:
    """Measure reading and classifying beside tracelint, if it is installed, in turns.

    It has no reader for ReAct logs, so that it gets these as messages, already taken apart.
    """
    if find_spec("tracelint") is None:
        print("tracelint is not installed: no comparison of speed")
        return
    tracelint: Any = import_module("tracelint")
    talks = [row["messages"] for row in rows(folder, "tau_airline")]
    trees = [list(_flat(row["trace"]["spans"])) for row in rows(folder, "trail")]
    react = [row["scratchpad"] for row in rows(folder, "hotpotqa_react")]
    shop = [row["log"] for row in rows(folder, "webshop_react")]
    chat, log, lint = Trace.from_messages, Trace.from_react_log, tracelint.lint_openai_trace
    for name, runs, ours, its_runs, theirs in (
        ("tau airline", talks, chat, talks, lint),
        ("HotpotQA", react, log, [_as_messages(log(run)) for run in react], lint),
        ("WebShop", shop, log, [_as_messages(log(run)) for run in shop], lint),
        ("TRAIL", trees, Trace.from_spans, trees, tracelint.lint_otel_traces),
    ):
        best = [float("inf")] * 3
        texts = [json.dumps(each) for each in runs]
        for _ in range(5):
            for at, (work, given) in enumerate(
                (
                    (lambda run: classify_trace(ours(run)), runs),  # noqa: B023
                    (theirs, its_runs),
                    (json.loads, texts),
                )
            ):
                started = time.thread_time()
                for each in given:
                    work(each)
                best[at] = min(best[at], (time.thread_time() - started) / len(runs))
        mine, its, decoding = best
        print(
            f"{name}: {mine * 1e3:.2f} ms a run ({mine / decoding:.0f} x json.loads), "
            f"tracelint {its * 1e3:.2f} ms ({its / decoding:.0f} x): {its / mine:.1f} times as fast"
        )


def _as_messages(trace: Trace) -> list[dict[str, Any]]:
    """Return a run of one call a step as OpenAI's messages."""
    said: list[dict[str, Any]] = [{"role": "user", "content": trace.question or ""}]
    for number, step in enumerate(trace.steps):
        reply = {"role": "assistant", "content": step.thought or step.text}
        calls = [
            {"id": f"c{number}", "type": "function"}
            | {"function": {"name": call.name, "arguments": json.dumps({"input": call.arguments})}}
            for call in step.calls
        ]
        said.append(reply | ({"tool_calls": calls} if calls else {}))
        said += [
            {"role": "tool", "tool_call_id": f"c{number}", "content": seen.text}
            for seen in step.observations
        ]
    return said


def _flat(spans: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for span in spans:
        yield {key: value for key, value in span.items() if key != "child_spans"}
        yield from _flat(span.get("child_spans") or [])


def main() -> None:
    """Measure all files of a folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    sets = {"HotpotQA": hotpotqa(folder), "WebShop": webshop(folder), "tau": tau(folder)}
    trail(folder)
    lifts(sets)
    beside_tracelint(folder)


if __name__ == "__main__":
    main()
