"""`python -m tests.fuzz --seconds 60`: try texts of every dialect on all that reads text.

`--atheris turns` lets atheris, if it is installed, look for texts that reach new code of a target.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.core.reading.test_forms import EVERYTHING
from tests.fuzz import grammar
from tests.fuzz.targets import TARGETS, Target

SHARED = Path(__file__).parents[3] / "shared" / "corpus" / "outputs"
SLOW = 2.0
"""Seconds that no text of a few kilobytes may take."""
MOST_SHOWN = 20
REPORTED = 100_000
"""After so many executions it says how far it is, for whoever has to end it early."""


def main(arguments: list[str]) -> int:
    """Fuzz and return 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=list(TARGETS), action="append")
    parser.add_argument("--atheris", choices=list(TARGETS))
    options = parser.parse_args(arguments)
    if options.atheris:
        given = [options.atheris, str(options.seconds), str(options.seed)]
        command = [sys.executable, "-m", "tests.fuzz.with_atheris", *given]
        return subprocess.run(command, check=False).returncode
    return _at_random(options.target or list(TARGETS), options.seconds, options.seed)


def _at_random(names: list[str], seconds: float, seed: int) -> int:
    chance = random.Random(seed)
    seeds = list(_seeds())
    runs: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    deadline = time.monotonic() + seconds
    with suppress(KeyboardInterrupt):  # what was tried until then is told
        while time.monotonic() < deadline:
            text = _text(chance, seeds)
            if sum(runs.values()) % REPORTED < len(names):
                print(f"{sum(runs.values()):,} executions so far", flush=True)
            for name in names:
                drawn = chance.random()
                said = failure_of(TARGETS[name], text, drawn)
                runs[name] += 1
                if said is not None and said not in wrong:
                    wrong[said] = name
                    if len(wrong) <= MOST_SHOWN:
                        least = shrunk(TARGETS[name], text, drawn, said)
                        print(f"FAILED {name} ({said}) on {least!r}, drawn {drawn}", flush=True)
    print(f"{sum(runs.values()):,} executions, {len(wrong)} kinds of failures: {dict(runs)}")
    return int(bool(wrong))


def failure_of(target: Target, text: str, drawn: float) -> str | None:
    """Return what goes wrong with a text, in words that are the same for the same cause."""
    started = time.thread_time()
    try:
        target(text, random.Random(drawn))
    except Exception as error:  # noqa: BLE001 - finding any is the purpose
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(at.filename).name}:{at.lineno}"
    slow = time.thread_time() - started > SLOW
    return f"slow, {target.__name__}" if slow else None


def shrunk(target: Target, text: str, drawn: float, said: str) -> str:
    """Return a shorter text that fails alike: pieces are left out while it does."""
    size = len(text) // 2
    deadline = time.monotonic() + 20
    while size:
        at = 0
        while at < len(text) and time.monotonic() < deadline:
            shorter = text[:at] + text[at + size :]
            if failure_of(target, shorter, drawn) == said:
                text = shorter
            else:
                at += size
        size //= 2
    return text


def _seeds() -> Iterator[str]:
    """Yield the tests' own texts and, where it is there, the shared corpus."""
    for cases in EVERYTHING.values():
        yield from (text for text, _ in cases)
    for path in sorted(SHARED.glob("*.jsonl.gz")) if SHARED.is_dir() else ():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["input"][:3000] for line in lines)


def _text(chance: random.Random, seeds: list[str]) -> str:
    """Return a text of the grammar, or one of the seeds with another in it."""
    if chance.random() < 0.6:
        return grammar.text(chance)
    text = chance.choice(seeds)
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.randint(1, 40))
        put = chance.choice((grammar.text(chance, 1), text[at:end] * 2, ""))
        text = text[:at] + put + text[chance.choice((at, end, len(text))) :]
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
