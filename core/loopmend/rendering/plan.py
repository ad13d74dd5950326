"""A plan: what could happen next, ranked, and how advice departs from the contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from loopmend.contracts.planner import TaskExecutionPlan
from loopmend.planning.advised import AdvisedPlan
from loopmend.planning.explanation import Explanation, PlanRow, explain
from loopmend.rendering.html import Markup, card, clipped, element
from loopmend.rendering.pieces import LONGEST, chip, note, table

__all__ = ["html"]

_MOST: Final = 50
_HEADER: Final = ("", "action", "confidence", "source", "rationale")


def html(shown: TaskExecutionPlan | AdvisedPlan | Explanation) -> Markup:
    """Return a plan, or what explains one, as HTML."""
    if isinstance(shown, Explanation):
        return card(element("p", clipped(shown.text, 2 * LONGEST)), *_table(shown.rows))
    rows = _table(explain(shown).rows)
    if isinstance(shown, AdvisedPlan):
        return card(element("p", *_selected(shown)), *rows, *_advice(shown))
    return card(element("p", chip(shown.selected, "good")), *rows)


def _selected(plan: AdvisedPlan) -> Iterator[Markup]:
    yield chip(plan.selected, "good")
    if plan.contract.selected is not plan.selected:
        yield note(f"The contract selects {plan.contract.selected}.")


def _table(rows: tuple[PlanRow, ...]) -> Iterator[Markup]:
    yield table(map(_row, rows[:_MOST]), _HEADER)
    if len(rows) > _MOST:
        yield note(f"… and {len(rows) - _MOST:,} more candidates")


def _row(row: PlanRow) -> Markup:
    cells = (str(row.rank), row.action, _bar(row.confidence), row.source, row.rationale)
    return element(
        "tr", *(element("td", cell) for cell in cells), css="picked" if row.selected else ""
    )


def _bar(confidence: float) -> Markup:
    share = confidence if 0 <= confidence <= 1 else 0
    filled = element("span", style=f"width: {share:.0%}")
    return element("span", element("span", filled, css="bar"), f"{confidence:.2f}")


def _advice(plan: AdvisedPlan) -> Iterator[Markup]:
    yield from _list("Differs from the contract:", (d.message for d in plan.differences))
    yield from _list("Tell the model:", (plan.correction,) if plan.correction else ())
    yield from _list("Hints:", plan.hints)


def _list(title: str, sentences: Iterable[str]) -> Iterator[Markup]:
    items = [element("li", clipped(sentence, LONGEST)) for sentence in sentences]
    if items:
        yield element("p", element("b", title))
        yield element("ul", *items)
