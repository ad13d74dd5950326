"""`import loopmend` against `import pydantic`, each in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys

MOST = 1.3
ROUNDS = 15


def seconds_to_import(module: str) -> float:
    """Return the seconds that the import takes in a new interpreter."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def test_import(report: list[str]) -> None:
    """Importing loopmend takes at most 1.3 times as long as importing pydantic."""
    pairs = [(seconds_to_import("loopmend"), seconds_to_import("pydantic")) for _ in range(ROUNDS)]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    report.append(f"import loopmend {ours / theirs:5.2f} x import pydantic")
    assert ours <= theirs * MOST
