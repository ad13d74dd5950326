"""Files with one JSON value a line, which may have been cut off anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["add_line", "read_lines"]


def read_lines(path: Path) -> Iterator[Any]:
    """Give all values; a line that was cut off has none, and is written again in its time."""
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        yield value


def add_line(path: Path, value: Any) -> None:
    """Add a value, also after a line that was cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cut_off = path.exists() and path.stat().st_size and not _tail(path).endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" * bool(cut_off) + json.dumps(value, ensure_ascii=False) + "\n")


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read()
