"""A plan in words and as a table, for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

from loopmend._arguments import wrong_type
from loopmend._rich import html_of
from loopmend.contracts.planner import ActionCandidate, PlannedAction, TaskExecutionPlan
from loopmend.planning.advised import AdvisedPlan
from loopmend.planning.wording import one_line, source_of

__all__ = ["Explanation", "PlanRow", "action_in_words", "explain"]

_LONGEST: Final = 160
_HEADER: Final = ("", "rank", "action", "confidence", "source", "rationale")
_IN_WORDS: Final = {
    PlannedAction.ANSWER_DIRECTLY: "answer directly",
    PlannedAction.CONTINUE_CENTRALIZED: "go on with the model call",
    PlannedAction.INSPECT_MEMORY: "look deeper into memory",
    PlannedAction.COMPOSE_SKILL: "create the missing skill",
    PlannedAction.COMPOSE_SUBAGENT: "create a specialist",
    PlannedAction.DELEGATE_TO_SPECIALIST: "hand over to a specialist",
    PlannedAction.RETURN_BLOCKER: "tell the user why the run cannot go on",
    PlannedAction.NORMALIZATION_RETRY: "correct the model",
}


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One candidate of a plan, as it is shown.

    >>> PlanRow(1, PlannedAction.INSPECT_MEMORY, 0.7, "recall gap", "rule 6", True).rank
    1
    """

    rank: int
    """The candidate's rank, from 1."""
    action: PlannedAction
    confidence: float
    rationale: str
    """The reason, on one line; shortened if long."""
    source: str
    """The rule that proposed it, such as `rule 3`, `fallback` or `own rule cheap`."""
    selected: bool
    """Whether the plan selects it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan in readable form.

    >>> from loopmend.contracts import TaskStateInput, plan, synthesize_task_state
    >>> turn = TaskStateInput("hello")
    >>> print(explain(plan(synthesize_task_state(turn), turn)).table())
       rank  action          confidence  source  rationale
    >  1     AnswerDirectly  0.95        rule 1  Turn classified as conversation, not task
    """

    text: str
    """The next step, the reason, the alternatives, and departures from the contract."""
    rows: tuple[PlanRow, ...]
    """The candidates, best first."""

    def table(self) -> str:
        """Return the candidates as aligned lines of text; `>` marks the selected one."""
        cells = [_HEADER, *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(_line(row, widths) for row in cells)

    def __str__(self) -> str:
        return f"{self.text}\n\n{self.table()}"

    def _repr_html_(self) -> str:
        return html_of("plan", self)


def action_in_words(action: PlannedAction) -> str:
    """Describe an action in a few words.

    >>> action_in_words(PlannedAction.INSPECT_MEMORY)
    'look deeper into memory'
    """
    return _IN_WORDS[action]


def explain(plan: TaskExecutionPlan | AdvisedPlan) -> Explanation:
    """Explain a plan as text and as a table.

    Rationales may contain text from a model or a user, so each is on one line, without control
    characters, and shortened if long.

    Raises:
        TypeError: `plan` is not a plan.

    >>> from loopmend import Planner
    >>> from loopmend.contracts import TaskStateInput
    >>> turn = TaskStateInput("hello", provider_breaker_open=True)
    >>> print(explain(Planner().advise(turn)).text)
    ... # doctest: +NORMALIZE_WHITESPACE
    Next: tell the user why the run cannot go on (ReturnBlocker).
    Why: Provider circuit breaker open; cannot proceed with inference.
    Also considered: AnswerDirectly (0.80).
    The contract selects AnswerDirectly. The difference: ReturnBlocker ranks before
    AnswerDirectly: the provider's breaker is open.
    """
    if isinstance(plan, AdvisedPlan):
        rows = _rows(plan.advised, plan.sources)
        text = [*_told(plan.advised, rows), *_advice(plan)]
    elif isinstance(plan, TaskExecutionPlan):
        rows = _rows(plan, tuple(map(source_of, plan.candidates)))
        text = _told(plan, rows)
    else:
        raise wrong_type(plan, "plan", TaskExecutionPlan)
    return Explanation(" ".join(text), rows)


def _rows(plan: TaskExecutionPlan, sources: Sequence[str]) -> tuple[PlanRow, ...]:
    actions = [candidate.action for candidate in plan.candidates]
    selected = actions.index(plan.selected) if plan.selected in actions else None
    known = zip(plan.candidates, chain(sources, repeat("other")), strict=False)
    return tuple(
        _row(at, candidate, source, selected=at == selected)
        for at, (candidate, source) in enumerate(known)
    )


def _row(at: int, candidate: ActionCandidate, source: str, *, selected: bool) -> PlanRow:
    rationale = one_line(candidate.rationale, _LONGEST)
    source = one_line(source, _LONGEST)
    return PlanRow(at + 1, candidate.action, candidate.confidence, rationale, source, selected)


def _told(plan: TaskExecutionPlan, rows: tuple[PlanRow, ...]) -> list[str]:
    """Say what is done, why, and what else was considered."""
    why = one_line(plan.selected_rationale, _LONGEST)
    others = [f"{row.action} ({row.confidence:.2f})" for row in rows if not row.selected]
    return [
        f"Next: {_IN_WORDS[plan.selected]} ({plan.selected}).",
        f"Why: {_ended(why)}" if why else "The plan gives no reason.",
        f"Also considered: {', '.join(others)}." if others else "Nothing else was considered.",
    ]


def _advice(plan: AdvisedPlan) -> list[str]:
    """Say what departs from the contract, and what to tell the model."""
    told = ["The contract agrees."]
    if plan.differences:
        same = plan.contract.selected is plan.selected
        selects = "the same action" if same else plan.contract.selected
        count = "difference" if len(plan.differences) == 1 else "differences"
        messages = (_ended(one_line(d.message, 2 * _LONGEST)) for d in plan.differences)
        told = [f"The contract selects {selects}. The {count}:", *messages]
    if plan.correction is not None:
        told += ["Tell the model:", _ended(one_line(plan.correction, 2 * _LONGEST))]
    if plan.hints:
        told += ["Hints:", *(_ended(one_line(hint, 2 * _LONGEST)) for hint in plan.hints)]
    return told


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def _cells(row: PlanRow) -> tuple[str, ...]:
    mark = ">" if row.selected else ""
    return mark, str(row.rank), row.action, f"{row.confidence:.2f}", row.source, row.rationale


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()
