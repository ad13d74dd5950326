"""Reading vector files, whether plain or compressed."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).parent / "vectors"

Row = dict[str, Any]


def read_rows(directory: Path) -> Iterator[Row]:
    """Yield every row of every vector file in a directory, file by file."""
    for path in sorted(directory.iterdir()):
        if path.name.endswith(".jsonl"):
            yield from _decode(path.read_text(encoding="utf-8"))
        elif path.name.endswith(".jsonl.xz"):
            yield from _decode(lzma.decompress(path.read_bytes()).decode("utf-8"))


def function_of(row: Row) -> str:
    """Return the function that a row was asked of; its id starts with the name."""
    return str(row["id"]).partition("/")[0]


def plan_base() -> dict[str, Any]:
    """Return the state and input that the rows of `plan` change."""
    lines = (COMMITTED / "_plan_base.json").read_text(encoding="utf-8")
    base: dict[str, Any] = json.loads(lines)
    return base


def _decode(text: str) -> Iterator[Row]:
    return (json.loads(line) for line in text.split("\n") if line)
