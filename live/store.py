"""Runs that are written down as they end, so that a measurement can go on where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from live.lines import add_line, read_lines
from live.record import Run
from live.tasks import Task

__all__ = ["RunStore", "Setting", "setting"]

_PACKAGES: Final = (
    "loopmend",
    "langchain",
    "langchain-classic",
    "langchain-core",
    "langchain-openai",
    "llama-index-core",
    "xllamacpp",
)
_SOURCES: Final = ("core", "integrations", "live")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run depends on; a run in another setting is another run."""

    model: str
    versions: Mapping[str, str]
    code: str
    """A digest of this repository's own code, which changes between two versions."""


def setting(model: str, root: Path) -> Setting:
    """Return today's setting.

    Args:
        model: What tells the model from others.
        root: The repository.
    """
    found = {package: _version(package) for package in _PACKAGES}
    files = (path for folder in _SOURCES for path in sorted((root / folder).rglob("*.py")))
    return Setting(model, found, _digest(files))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class RunStore:
    """A file of runs, one a line; those of other settings stay in it and are not seen."""

    def __init__(self, path: Path, within: Setting) -> None:
        self._path = path
        self._within = asdict(within)
        self._runs: dict[tuple[str, str, str], Run] = {}
        for data in read_lines(path):
            if data["within"] == self._within:
                key = data["arm"], data["column"], data["run"]["question"]
                self._runs[key] = Run.from_data(data["run"])

    def get(self, arm: str, column: str, task: Task) -> Run | None:
        """Return the run of an agent at a task, if it was made in this setting."""
        return self._runs.get((arm, column, task.question))

    def keep(self, arm: str, column: str, run: Run) -> None:
        """Write a run down."""
        self._runs[arm, column, run.task.question] = run
        data = {"within": self._within, "arm": arm, "column": column, "run": run.as_data()}
        add_line(self._path, data)
