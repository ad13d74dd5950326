"""`python -m benchmarks.batch [RUNS]`: CPU of batches over generated runs, beside a bare pool.

Each way runs in a process of its own; all of them must give the same reports.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from loopmend import load_traces
from loopmend.batch import classify_files, classify_spans, read_rows, row_of
from loopmend.cli.pool import stream
from loopmend.cli.reading import Wanted

WAYS = ("pool", "files", "daft")
FILES = 8
IN_MEMORY = 20_000
"""So many runs are shuffled at a time."""


def spans_of(number: int) -> Iterator[dict[str, Any]]:
    """Yield the spans of a run: some loop, some fail, some do not answer."""
    steps = 4 + number % 5
    root = {"openinference.span.kind": "AGENT", "input.value": f"Question {number}?"}
    yield span(number, "r", 0, root)
    for at in range(steps):
        said: dict[str, Any] = {"openinference.span.kind": "LLM"}
        prefix = "llm.output_messages.0.message."
        said[f"{prefix}role"] = "assistant"
        if at == steps - 1 and number % 7:
            said[f"{prefix}content"] = f"Answer {number}."
            yield span(number, f"l{at}", 2 * at + 1, said)
            return
        page = at if number % 5 else 0
        call = f"{prefix}tool_calls.0.tool_call."
        said |= {f"{call}id": f"c{at}", f"{call}function.name": "search"}
        said[f"{call}function.arguments"] = json.dumps({"page": page})
        yield span(number, f"l{at}", 2 * at + 1, said)
        seen = {"openinference.span.kind": "TOOL", "tool.name": "search", "tool_call.id": f"c{at}"}
        failed = number % 11 == 0 and at == 1
        seen["output.value"] = "Error: no such page" if failed else f"text of page {page}"
        yield span(number, f"t{at}", 2 * at + 2, seen)


def span(run: int, id: str, at: int, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return a span as a row."""
    about = {"trace_id": f"{run:032x}", "span_id": id, "parent_id": "" if id == "r" else "r"}
    return {**about, "start_time": f"{at:06}", "attributes": json.dumps(attributes)}


def generate(folder: Path, runs: int) -> int:
    """Write the same runs as lines and as shuffled rows of Parquet; return how many rows."""
    pa: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    drawn, spans, count = random.Random(0), folder / "spans", 0
    spans.mkdir()
    held: list[list[dict[str, Any]]] = [[] for _ in range(FILES)]
    with ExitStack() as stack:
        lines = stack.enter_context((folder / "runs.jsonl").open("w"))
        schema = pa.schema([(name, pa.string()) for name in span(0, "r", 0, {})])
        paths = [spans / f"{number}.parquet" for number in range(FILES)]
        files = [stack.enter_context(parquet.ParquetWriter(path, schema)) for path in paths]
        for number in range(runs):
            rows = list(spans_of(number))
            count += len(rows)
            lines.write(json.dumps({"spans": rows}) + "\n")
            for row in rows:  # those of a run lie in several files, and in no order
                drawn.choice(held).append(row)
            if (number + 1) % IN_MEMORY == 0 or number + 1 == runs:
                for file, some in zip(files, held, strict=True):
                    drawn.shuffle(some)
                    file.write_table(pa.Table.from_pylist(some, schema))
                    some.clear()
    return count


def bare(line: str) -> str:
    """Do what every way does with a run, and nothing else."""
    return json.dumps([row_of(trace) for trace in load_traces(json.loads(line))])


def work(way: str, folder: Path) -> None:
    """Classify in one way, and print the CPU that it took."""
    out = folder / way
    if way == "pool":
        with Pool(2) as pool, (folder / "runs.jsonl").open() as lines, out.open("w") as written:
            for row in pool.imap(bare, lines, chunksize=64):
                written.write(f"{row}\n")
            pool.close()
            pool.join()
    elif way == "files":
        classify_files(folder / "runs.jsonl", out, 2)
    elif way == "triage":
        for _ in stream([str(folder / "runs.jsonl")], Wanted(), jobs=2):
            pass
    else:
        classify_spans(str(folder / "spans" / "*.parquet"), out)
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        print(used.ru_utime + used.ru_stime)


def reports(way: str, folder: Path) -> dict[str, Any]:
    """Return what one way found, by trace."""
    import daft

    if way == "pool":
        held = [row for line in (folder / way).open() for row in json.loads(line)]
    elif way == "files":
        held = [{k: v for k, v in r.items() if k != "file"} for r in read_rows(folder / way)]
    else:
        told = daft.read_parquet(str(folder / way / "**" / "*.parquet")).to_pylist()
        held = [json.loads(row["report"]) for row in told]
    return {row["trace"]: row for row in held}


def main() -> None:
    """Measure all ways."""
    if len(sys.argv) > 2:
        work(sys.argv[1], Path(sys.argv[2]))
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{runs} runs, {generate(folder, runs)} spans")
        taken = {}
        for way in (*WAYS, "triage"):
            command = [sys.executable, "-m", "benchmarks.batch", way, name]
            own, rest = map(float, subprocess.check_output(command, text=True).split()[-2:])
            taken[way] = own + rest
            times = taken[way] / taken["pool"]
            print(f"{way:6} {taken[way]:6.1f} s CPU ({own:.1f} of the first process),", end=" ")
            print(f"{times:.2f} x a bare pool")
        first, *others = (reports(way, folder) for way in WAYS)
        print("all reports are the same:", all(first == other for other in others), len(first))


if __name__ == "__main__":
    main()
