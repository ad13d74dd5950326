"""The notebooks as they are kept; `make notebooks` executes them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
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


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_outputs_are_kept(notebook: Path) -> None:
    """What is shown is what the code of today shows."""
    code = cells_of(notebook, "code")
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(notebook: Path) -> None:
    """Each relative link names a file of the repository."""
    text = "".join(line for cell in cells_of(notebook, "markdown") for line in cell["source"])
    targets = [link for link in _LINK.findall(text) if "://" not in link]
    assert [link for link in targets if not (notebook.parent / link).exists()] == []
