"""`python -m tests.conformance [DIR]`: replay vector files and report every mismatch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.conformance.replay import REFERENCE_ONLY, Tally, replay
from tests.conformance.rows import COMMITTED, read_rows


def main(arguments: list[str]) -> int:
    """Replay the files in the given directory, or the committed ones.

    Returns 0 if every row of the contracts agrees, 1 if any does not, 2 if there are none.
    """
    if len(arguments) > 1:
        print("usage: python -m tests.conformance [DIR]", file=sys.stderr)
        return 2
    directory = Path(arguments[0]) if arguments else COMMITTED
    if not directory.is_dir():
        print(f"no such directory: {directory}", file=sys.stderr)
        return 2
    tallies = replay(read_rows(directory))
    if not tallies:
        print(f"no vector files in {directory}", file=sys.stderr)
        return 2
    for function, tally in sorted(tallies.items()):
        _report(function, tally)
    contracts = {name: t for name, t in tallies.items() if name not in REFERENCE_ONLY}
    _summary("contracts", contracts)
    _summary("reference only", {n: t for n, t in tallies.items() if n in REFERENCE_ONLY})
    return int(any(tally.mismatches for tally in contracts.values()))


def _report(function: str, tally: Tally) -> None:
    deviating = sum(tally.deviations.values())
    print(
        f"{function:34} {tally.rows:6} rows  {tally.matches:6} match  {deviating:4} deviate"
        f"  {tally.skipped:3} skipped  {len(tally.mismatches):4} mismatch"
    )
    for name, count in sorted(tally.deviations.items()):
        print(f"    agreed: {name}: {count}")
    for row, answer in tally.mismatches:
        print(f"    MISMATCH {json.dumps(row)}\n        got {json.dumps(answer)}")


def _summary(title: str, tallies: dict[str, Tally]) -> None:
    rows = sum(tally.rows for tally in tallies.values())
    wrong = sum(len(tally.mismatches) for tally in tallies.values())
    if rows:
        print(f"{title}: {wrong} mismatches in {rows:,} rows")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
