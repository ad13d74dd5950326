"""`python -m benchmarks.cluster RUNS FOLDER`: span rows on Ray, of which a worker is killed.

Starts Ray with two workers on this machine, kills one of them (`kill -9`) when half of the slices
are finished, in the midst of the next one, and compares all reports with those of Daft without Ray.
Needs Ray beside the extra `batch`: `pip install ray`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.batch import generate
from loopmend.batch import classify_spans

SLICES = 8
PORT = 26379
HEAD = f"127.0.0.1:{PORT}"
BEFORE_THE_KILL = 5
"""So many seconds of the slice pass before the worker is killed."""


@contextmanager
def cluster() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start a head without a CPU and two workers with one each; yield the workers."""
    ray = str(Path(sys.executable).with_name("ray"))
    common = ["--block", "--disable-usage-stats", "--node-ip-address=127.0.0.1"]
    roles = [["--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false"]]
    roles += [[f"--address={HEAD}", "--num-cpus=1", "--object-store-memory=2000000000"]] * 2
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, role in enumerate(roles):
            while nodes(ray) <= number:  # a start may time out on a busy machine
                if len(started) == number or started[number].poll() is not None:
                    command = [ray, "start", *role, *common]
                    started[number:] = [subprocess.Popen(command, stdout=subprocess.DEVNULL)]
                time.sleep(1)
        yield started[1:]
    finally:
        for process in reversed(started):
            kill(process)


def nodes(ray: str) -> int:
    """Return how many nodes of the cluster are up."""
    told = subprocess.run(
        [ray, "status", f"--address={HEAD}"], capture_output=True, text=True, check=False
    )
    return told.stdout.partition("Pending:")[0].count(" node_")


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a node and all that it started, without asking."""
    listed = subprocess.check_output(["/bin/ps", "-eo", "pid=,ppid="], text=True).splitlines()
    parents = [tuple(map(int, line.split())) for line in listed]
    found = [process.pid]
    for pid in found:
        found += [child for child, parent in parents if parent == pid]
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def killing(worker: subprocess.Popen[bytes], out: Path) -> None:
    """Wait until half of the slices are finished, and kill a worker in the midst of the next."""
    while len(list(out.glob("*/_finished"))) < SLICES // 2:
        time.sleep(0.2)
    time.sleep(BEFORE_THE_KILL)
    kill(worker)
    print("killed a worker in slice", SLICES // 2 + 1, flush=True)


def work(way: str, folder: Path) -> None:
    """Classify without Ray, or with it; print how long it took."""
    source, out = str(folder / "spans" / "*.parquet"), folder / way
    began = time.monotonic()
    if way == "daft":
        classify_spans(source, out, slices=SLICES)
    else:
        classify_spans(source, out, slices=SLICES, ray=HEAD)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{way}: {time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} s CPU here"
    )


def reports(way: str, folder: Path) -> dict[str, Any]:
    """Return what one way found, by trace."""
    parquet: Any = import_module("pyarrow.parquet")
    found: dict[str, Any] = {}
    for path in sorted((folder / way).glob("*/*.parquet")):
        table = parquet.read_table(path)
        told = (table[name].to_pylist() for name in ("trace", "report"))
        for trace, report in zip(*told, strict=True):
            assert trace not in found, f"{trace} is there twice"
            found[trace] = json.loads(report)
    return found


def main() -> None:
    """Run both ways and compare; what an earlier attempt left in the folder counts."""
    if sys.argv[1] in ("daft", "ray"):
        work(sys.argv[1], Path(sys.argv[2]))
        return
    runs, folder = int(sys.argv[1]), Path(sys.argv[2])
    if not folder.exists():
        folder.mkdir()
        print(f"{runs} runs, {generate(folder, runs)} spans", flush=True)
    command = [sys.executable, "-m", "benchmarks.cluster"]
    with cluster() as workers:
        killer = threading.Thread(target=killing, args=(workers[0], folder / "ray"), daemon=True)
        killer.start()
        subprocess.check_call([*command, "ray", str(folder)])
    subprocess.check_call([*command, "daft", str(folder)])
    alone, together = (reports(way, folder) for way in ("daft", "ray"))
    print("all reports are the same:", alone == together, len(alone), len(together))


if __name__ == "__main__":
    main()
