"""The texts that the weights are learnt from, one file for each author.

A row is a reply with `{call}` where the call stands, and whether its writer means the call or only
shows it. The authors had not seen the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loopmend.reading.weighing import Words

__all__ = ["FOLDER", "Row", "rows"]

FOLDER: Final = Path(__file__).parent / "rows"


@dataclass(frozen=True, slots=True)
class Row:
    """A reply around a call."""

    author: str
    text: str
    meant: bool

    @property
    def words(self) -> Words:
        """What is said around the call."""
        before, _, after = self.text.partition("{call}")
        return Words(before, after.strip())


def rows(folder: Path = FOLDER) -> Iterator[Row]:
    """Yield the rows of all authors."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Row(path.stem, *json.loads(line))
