"""What is printed and written about the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Final

from live.arms import COLUMNS
from live.record import Run, Totals, totals
from live.store import Setting
from live.tasks import KINDS

__all__ = ["BEGIN", "END", "Results", "figures", "goals", "summary", "written"]

Results = dict[str, dict[str, list[Run]]]
"""The runs of each kind of agent, without and with loopmend."""

BEGIN: Final = "<!-- figures: begin; written by `make live` -->"
END: Final = "<!-- figures: end -->"

_COMPLETION_GOAL: Final = 1.5
_CALLS_GOAL: Final = 1.3

Row = Sequence[str]


def summary(results: Results) -> str:
    """Return the figures of all agents as plain text, for a terminal."""
    rows = [_HEADER, *(_row(name.strip("*"), runs) for name, runs in _by_arm(results))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def figures(results: Results, within: Setting, today: date) -> str:
    """Return all figures as Markdown."""
    return "\n\n".join(
        [
            f"Measured on {today.isoformat()} with {within.model}; "
            + ", ".join(f"{name} {number}" for name, number in within.versions.items())
            + f"; code {within.code}.",
            "### Goals",
            _table(("goal", "reached", "measured"), goals(results)),
            "### All kinds of agents",
            _table(_HEADER, (_row(name, runs) for name, runs in _by_arm(results))),
            "### All classes of tasks",
            _table(_HEADER, (_row(kind, runs) for kind, runs in _by_kind(results))),
            "### Each class with each kind of agent: completed, native → loopmend",
            _table(("", *KINDS), _crossed(results)),
            "### Why the runs stopped",
            _table(("", *COLUMNS), _stops(results)),
        ]
    )


def written(before: str, figures: str) -> str:
    r"""Return a page with new figures; what is written by hand around them stays.

    >>> written(f"# By hand\n{BEGIN}\nold\n{END}\nBy hand.", "new").splitlines()[3::3]
    ['new', 'By hand.']
    """
    head, found, rest = before.partition(BEGIN)
    tail = rest.partition(END)[2] if found else "\n"
    return f"{head if found else before}{BEGIN}\n\n{figures}\n\n{END}{tail}"


def goals(results: Results) -> list[Row]:
    """Return what was to be reached, and what was."""
    native, mended = _column(results, "native"), _column(results, "loopmend")
    before, after = totals(native), totals(mended)
    worse = [
        f"{kind} with {arm}"
        for arm, columns in results.items()
        for kind in KINDS
        if _completed(columns["loopmend"], kind) < _completed(columns["native"], kind)
    ]
    worse_over_all = [kind for kind in KINDS if _completed(mended, kind) < _completed(native, kind)]
    return [
        _goal(
            f"completion at least {_COMPLETION_GOAL}x native",
            _ratio(after.completed, before.completed),
            lambda ratio: ratio >= _COMPLETION_GOAL,
        ),
        (
            "no class worse, over all agents",
            "no" if worse_over_all else "yes",
            ", ".join(worse_over_all) or "none is",
        ),
        (
            "no class worse, with any agent",
            "no" if worse else "yes",
            ", ".join(worse) or "none is",
        ),
        _goal(
            f"at most {_CALLS_GOAL}x the model calls",
            _ratio(after.model_calls, before.model_calls),
            lambda ratio: ratio <= _CALLS_GOAL,
        ),
    ]


def _goal(name: str, ratio: float | None, reached: Callable[[float], bool]) -> Row:
    if ratio is None:
        return name, "-", "nothing to compare with"
    return name, "yes" if reached(ratio) else "no", f"{ratio:.2f}x"


def _ratio(after: int, before: int) -> float | None:
    return after / before if before else None


def _completed(runs: Iterable[Run], kind: str) -> int:
    return sum(run.completed for run in runs if run.task.kind == kind)


def _column(results: Results, column: str) -> list[Run]:
    return [run for columns in results.values() for run in columns[column]]


Both = Mapping[str, Sequence[Run]]


def _by_arm(results: Results) -> list[tuple[str, Both]]:
    over_all = {column: _column(results, column) for column in COLUMNS}
    return [*results.items(), ("**all**", over_all)]


def _by_kind(results: Results) -> list[tuple[str, Both]]:
    return [
        (
            kind,
            {
                column: [run for run in _column(results, column) if run.task.kind == kind]
                for column in COLUMNS
            },
        )
        for kind in KINDS
    ]


_HEADER: Final = (
    "",
    "completed, native",
    "completed, loopmend",
    "ratio",
    "in the model's words",
    "wrong calls",
    "model calls",
    "ratio of calls",
)


def _row(name: str, runs: Both) -> Row:
    native, mended = (totals(runs[column]) for column in COLUMNS)
    return (
        name,
        _share(native),
        _share(mended),
        _shown(_ratio(mended.completed, native.completed)),
        f"{native.own_words} → {mended.own_words}",
        f"{native.wrong_calls} → {mended.wrong_calls}",
        f"{native.model_calls} → {mended.model_calls}",
        _shown(_ratio(mended.model_calls, native.model_calls)),
    )


def _shown(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _share(total: Totals) -> str:
    low, high = total.interval
    return f"{total.completed}/{total.tasks} ({100 * low:.0f} to {100 * high:.0f} %)"


def _crossed(results: Results) -> list[Row]:
    return [
        (
            arm,
            *(
                f"{_completed(columns['native'], kind)} → {_completed(columns['loopmend'], kind)}"
                f" of {sum(run.task.kind == kind for run in columns['native'])}"
                for kind in KINDS
            ),
        )
        for arm, columns in results.items()
    ]


def _stops(results: Results) -> list[Row]:
    return [
        (
            name,
            *(
                ", ".join(
                    f"{reason} {count}"
                    for reason, count in totals(runs[column]).stop_reasons.items()
                )
                for column in COLUMNS
            ),
        )
        for name, runs in _by_arm(results)
    ]


def _table(header: Row, rows: Iterable[Row]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
