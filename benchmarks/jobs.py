"""`python -m benchmarks.jobs [RUNS]`: wall-clock time of `loopmend triage` on two processes.

The ways take turns, and each process has a session of its own: Linux shares a busy machine among
sessions, so that two processes of one session get no more of it than one. The third way is the
best that two processes can do: two commands at a time, each with one half of the runs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loopmend.cli import app, pool

ROUNDS = 3
WAYS = {"one process": "1", "two processes": "2", "two commands": "1"}


def apart() -> None:
    """Begin a worker as usual, but in a session of its own."""
    begin()
    os.setsid()


begin = pool._ignore_interrupts  # noqa: SLF001 - as the command does it


def triage(files: list[str], jobs: str) -> list[subprocess.Popen[bytes]]:
    """Start a command for each file."""
    command = [sys.executable, "-m", "benchmarks.jobs", "triage", "--jobs", jobs]
    quiet = subprocess.DEVNULL
    return [subprocess.Popen([*command, f], start_new_session=True, stdout=quiet) for f in files]


def measured(files: list[str], jobs: str) -> tuple[float, float]:
    """Return the wall-clock time and the CPU that some commands take together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    for command in triage(files, jobs):
        assert command.wait() == 0
    taken = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure all ways in turns."""
    if sys.argv[1:2] == ["triage"]:
        pool._ignore_interrupts = apart  # noqa: SLF001 - see above
        app.app()
    from benchmarks.batch import spans_of  # the command does without it

    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as name:
        whole, *halves = (Path(name) / f"{part}.jsonl" for part in ("whole", "first", "second"))
        lines = [json.dumps({"spans": list(spans_of(number))}) + "\n" for number in range(runs)]
        whole.write_text("".join(lines))
        for at, half in enumerate(halves):
            half.write_text("".join(lines[at * runs // 2 : (at + 1) * runs // 2]))
        print(f"{runs} runs, {whole.stat().st_size >> 20} MB")
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way, jobs in WAYS.items():
                files = halves if way == "two commands" else [whole]
                taken[way].append(measured([str(file) for file in files], jobs))
        one = min(taken["one process"])[0]
        for way, all_taken in taken.items():
            wall, cpu = min(each for each, _ in all_taken), min(each for _, each in all_taken)
            each = ", ".join(f"{w:.1f}" for w, _ in all_taken)
            print(f"{way:13} {wall:5.1f} s ({one / wall:.2f} x as fast), {cpu:.1f} s CPU; {each}")


if __name__ == "__main__":
    main()
