"""The notebooks as they are kept: a fresh run shows the same; `make notebooks` writes it down."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tools.notebooks import NOTEBOOKS, executed, kept, stable

_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def cells_of(notebook: Path, kind: str) -> list[dict[str, Any]]:
    """Return the cells of one kind."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def test_there_are_five_and_the_contracts() -> None:
    """The five that a newcomer goes through, in their order, and one for the contracts."""
    assert [path.stem for path in NOTEBOOKS] == [
        *("1-reading", "2-langchain", "3-llama-index", "4-triage", "5-planner"),
        "contracts",
    ]


@pytest.fixture(scope="module")
def fresh() -> Iterator[dict[Path, Future[Any]]]:
    """Execute the notebooks, two at a time, each in a process of its own."""
    with ThreadPoolExecutor(2) as pool:
        yield {path: pool.submit(executed, path) for path in NOTEBOOKS}


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_is_what_a_fresh_run_shows(
    notebook: Path, fresh: dict[Path, Future[Any]]
) -> None:
    """The outputs are today's: `make notebooks` writes them anew. Fonts may differ in pictures."""
    assert [shown(cell) for cell in kept(notebook).cells] == [
        shown(cell) for cell in fresh[notebook].result().cells
    ]


def shown(cell: Any) -> list[Any]:
    """Return what a cell shows, with the name of a picture in place of its dots."""
    pictures = ("image/png",)
    return [
        {
            **output,
            "data": {kind: kind in pictures or data for kind, data in output.data.items()},
        }
        if "data" in output
        else dict(output)
        for output in cell.get("outputs", ())
    ]


def test_ids_and_times_are_written_alike() -> None:
    """A second run changes nothing in what is kept."""
    once, again = (
        f"id='call_{c * 32}', <b>{n} s</b> at 0x7f{c}" for c, n in (("a", 1), ("b", 2.5))
    )
    assert once != again
    assert stable(once) == stable(again)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(notebook: Path) -> None:
    """Each relative link names a file of the repository."""
    text = "".join(line for cell in cells_of(notebook, "markdown") for line in cell["source"])
    targets = [link for link in _LINK.findall(text) if "://" not in link]
    assert [link for link in targets if not (notebook.parent / link).exists()] == []
