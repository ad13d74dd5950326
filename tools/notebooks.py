"""Execute the notebooks and keep what they show: `make notebooks`.

What differs from run to run (ids, times) is written alike each time, so that a notebook changes
only if what it shows does.
"""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from nbclient import NotebookClient

__all__ = ["NOTEBOOKS", "executed", "kept", "main", "stable"]

nbformat: Final[Any] = import_module("nbformat")  # has no types
NOTEBOOKS: Final = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
_SECONDS: Final = 600
_VARIES: Final = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=call_)[0-9a-f]{32}"), "0000"),
    (re.compile(r"(?<=seconds=)\d[\d.e-]*"), "0.001"),
    (re.compile(r"(?<=>)[\d.e-]+ s(?=<)"), "0.001 s"),
    (re.compile(r"(?<= at 0x)[0-9a-f]+"), "0"),
)


def stable(text: str) -> str:
    """Return a text without what differs from run to run.

    >>> stable("seconds=0.000452, id='01a1ec88-8549-763f-b6fe-a0b1c2d3e4f5'")
    "seconds=0.001, id='0000'"
    >>> stable("<b>0.0375 s</b>")
    '<b>0.001 s</b>'
    """
    for pattern, same in _VARIES:
        text = pattern.sub(same, text)
    return text


def kept(path: Path) -> Any:
    """Return a notebook as it is in the repository."""
    return nbformat.read(path, as_version=4)


def executed(path: Path) -> Any:
    """Return a notebook as a fresh run leaves it.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell raised.
    """
    notebook = kept(path)
    folder = {"metadata": {"path": str(path.parent)}}
    # A busy machine prints in several pieces: they are kept as one stream.
    client = NotebookClient(notebook, timeout=_SECONDS, resources=folder, coalesce_streams=True)
    asyncio.run(client.async_execute())
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            shown = json.loads(stable(json.dumps(cell.outputs, ensure_ascii=False)))
            cell.outputs = [nbformat.from_dict(output) for output in shown]
    return notebook


def main() -> None:
    """Execute each notebook, two at a time, and write down what it shows."""
    with ThreadPoolExecutor(2) as pool:
        for path, notebook in zip(NOTEBOOKS, pool.map(executed, NOTEBOOKS), strict=True):
            nbformat.write(notebook, path)
            print(path.name)


if __name__ == "__main__":
    main()
