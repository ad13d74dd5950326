"""What is reported: which tests fail with loopmend that do not without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from tools.peers.suites import Outcome

MISSING: Final = Outcome("missing", "was not run")
HEAD: Final = ("suite", "arm", "tests", "reached", "failing without", "failing with", "more")
WIDTH: Final = 160


@dataclass
class Comparison:
    """One arm beside the same suite without loopmend."""

    suite: str
    arm: str
    without: Mapping[str, Outcome] = field(default_factory=dict)
    with_it: Mapping[str, Outcome] = field(default_factory=dict)
    unsteady: Sequence[str] = ()
    """Tests that failed with loopmend, but not when they were run again one by one."""
    inevitable: Sequence[str] = ()
    """Tests that fail as well with something in the same place that does nothing."""
    note: str = ""
    """Why there is nothing to compare."""

    def suspects(self) -> list[str]:
        """Return the tests that do not fail without loopmend, but do with it."""
        return [
            test
            for test, before in self.without.items()
            if is_worse(before, self.with_it.get(test, MISSING))
        ]

    def more(self) -> dict[str, Outcome]:
        """Return the tests that fail because of loopmend, and how."""
        return {
            test: self.with_it.get(test, MISSING)
            for test in self.suspects()
            if test not in self.unsteady
        }

    def told(self) -> dict[str, Sequence[str]]:
        """Return the tests in which loopmend logged a warning, and the warnings."""
        return {test: outcome.told for test, outcome in self.with_it.items() if outcome.told}

    def to_data(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            **dict(zip(HEAD, self.row(), strict=True)),
            "note": self.note,
            "failures": {test: asdict(outcome) for test, outcome in self.more().items()},
            "failures_without": failing(self.without),
            "unsteady": list(self.unsteady),
            "inevitable": list(self.inevitable),
            "told": self.told(),
        }

    def row(self) -> tuple[str | int, ...]:
        """Return the line of the table."""
        if self.note:
            return self.suite, self.arm, *["-"] * 5
        tests, reached = len(self.without), [one.reached for one in self.with_it.values()]
        failures = len(failing(self.without)), len(failing(self.with_it))
        return self.suite, self.arm, tests, sum(reached), *failures, len(self.more())


def is_worse(before: Outcome, after: Outcome) -> bool:
    """Whether a test no longer does what it did."""
    return before.outcome != "failed" and after.outcome not in (before.outcome, "passed")


def failing(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return the tests that fail."""
    return [test for test, outcome in outcomes.items() if outcome.outcome == "failed"]


def table(rows: Iterable[Sequence[str | int]]) -> str:
    """Return rows as aligned columns under their heads."""
    cells = [[str(cell) for cell in row] for row in (HEAD, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(_aligned, row, widths, range(len(row)))).rstrip() for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column < HEAD.index("tests") else cell.rjust(width)


def report(comparisons: Sequence[Comparison]) -> str:
    """Return the table, and below it what fails in each arm and why."""
    parts = [table(comparison.row() for comparison in comparisons)]
    for comparison in comparisons:
        lines = list(details(comparison))
        if lines:
            parts.append("\n".join([f"{comparison.suite}, {comparison.arm}", *lines]))
    return "\n\n".join(parts)


def details(comparison: Comparison) -> Iterable[str]:
    """Yield what there is to say about one arm."""
    if comparison.note:
        yield f"  {comparison.note}"
    for test, outcome in comparison.more().items():
        yield f"  {short(test)}"
        yield f"    {shortened(outcome.line or outcome.outcome)}"
        if test in comparison.inevitable:
            yield "    (inevitable: something idle in the same place fails it too)"
    for test in comparison.unsteady:
        yield f"  unsteady, passes when run alone: {short(test)}"
    for test, told in comparison.told().items():
        yield from (f"  logged in {short(test)}: {shortened(text)}" for text in told)


def short(test: str) -> str:
    """Return an id without the folder that all tests are in."""
    return test.removeprefix("tests/unit_tests/")


def shortened(text: str) -> str:
    """Return a line that fits."""
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
