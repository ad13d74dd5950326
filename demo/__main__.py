"""`python -m demo`: agents that fail in five ways, without and with loopmend, offline."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from demo.picture import save_picture
from demo.runs import FAILURES, Ran, Run
from demo.screen import show

__all__ = ["main"]

_WIDTH = 140


def main(arguments: list[str] | None = None, console: Console | None = None) -> None:
    """Run all of them, and show what came of it."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--svg", type=Path, help="also write the table to a picture")
    given = parser.parse_args(arguments)
    console = console or Console(highlight=False, record=given.svg is not None)
    console.width = min(console.width, _WIDTH)
    results = _run_all(console)
    show(console, results)
    if given.svg is not None:
        save_picture(given.svg, results)


def _run_all(console: Console) -> dict[tuple[str, str], tuple[Ran, Ran]]:
    """Run each failure in each framework, without and with loopmend, with a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    results: dict[tuple[str, str], tuple[Ran, Ran]] = {}
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("loading LangChain and LlamaIndex …", total=4 * len(FAILURES))
        for name, run in _frameworks().items():
            for failure in FAILURES:
                progress.update(bar, description=f"{name}: {failure}")
                native = run(failure, False)  # noqa: FBT003 - without loopmend
                progress.advance(bar)
                results[name, failure] = native, run(failure, True)  # noqa: FBT003 - mended
                progress.advance(bar)
    return results


def _frameworks() -> dict[str, Run]:
    # Late, because they take seconds to load and something should be on the screen by then.
    from demo import langchain_side, llama_index_side

    return {"LangChain": langchain_side.run, "LlamaIndex": llama_index_side.run}


if __name__ == "__main__":
    main()
