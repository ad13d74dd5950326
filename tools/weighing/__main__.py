"""Learn the weights of words anew, or say by author how well they do: `make weights`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from loopmend.reading.weighing import Weights, lean
from tools.weighing.learning import learn
from tools.weighing.rows import Row, rows

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn from all rows, or from those of all authors but one, each in turn."""
    parser = argparse.ArgumentParser(prog="python -m tools.weighing", description=__doc__)
    parser.add_argument(
        "--by-author", action="store_true", help="learn without an author, judge on it, for each"
    )
    given = parser.parse_args(arguments)
    held = list(rows())
    if given.by_author:
        print("\n".join(_by_author(held)))
        return
    path = Path(str(files("loopmend.reading"))) / "weights.txt"
    path.write_text(written(learn(held)), encoding="utf-8")
    print(f"{path.name}: learnt from {len(held)} texts of {len({r.author for r in held})} authors")


def written(weights: Weights) -> str:
    """Return weights as the package keeps them."""
    pairs = (f"{name}\t{value}" for name, value in sorted(weights.of.items()))
    return "\n".join([" ".join(sorted(weights.common)), str(weights.bias), *pairs, ""])


def _by_author(held: Sequence[Row]) -> Iterator[str]:
    yield "| author | texts | shown and made | meant and missed |\n|---|---|---|---|"
    total = [0, 0, 0, 0]
    for author in sorted({row.author for row in held}):
        weights = learn([row for row in held if row.author != author])
        own = [(lean(row.words, weights) > 0, row.meant) for row in held if row.author == author]
        shown = [made for made, meant in own if not meant]
        missed = [not made for made, meant in own if meant]
        counts = sum(shown), len(shown), sum(missed), len(missed)
        total = [a + b for a, b in zip(total, counts, strict=True)]
        yield _line(author, counts)
    yield _line("all", total)


def _line(name: str, counts: Sequence[int]) -> str:
    shown, of_shown, missed, of_meant = counts
    rates = f"{100 * shown / max(of_shown, 1):.1f} % | {100 * missed / max(of_meant, 1):.1f} %"
    return f"| {name} | {of_shown + of_meant} | {rates} |"


if __name__ == "__main__":
    main()
