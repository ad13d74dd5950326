"""Values: an advised plan, and how it departs from the contract's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from loopmend._rich import html_of
from loopmend.contracts.planner import ActionCandidate, PlannedAction, TaskExecutionPlan
from loopmend.contracts.task_input import TaskStateInput
from loopmend.contracts.task_state import TaskOperatingState

__all__ = ["AdvisedPlan", "DifferenceKind", "PlanDifference"]

DifferenceKind = Literal[
    "blocker_in_conversation",
    "breaker_first",
    "duplicate_merged",
    "hint_annotated",
    "own_rule",
    "retry_capped",
]
"""The ways in which an advised plan can depart from the contract's."""


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """One way in which an advised plan departs from the contract's.

    >>> from loopmend import Planner
    >>> from loopmend.contracts import TaskStateInput
    >>> turn = TaskStateInput("hello", provider_breaker_open=True)
    >>> [difference.kind for difference in Planner().advise(turn).differences]
    ['blocker_in_conversation']
    """

    kind: DifferenceKind
    """What it is."""
    message: str
    """The same in a sentence."""


@dataclass(frozen=True, slots=True)
class AdvisedPlan:
    """The planner's advice about the next step, and the contract's plan.

    >>> from loopmend import Planner
    >>> from loopmend.contracts import TaskStateInput
    >>> advised = Planner().advise(TaskStateInput("hello", provider_breaker_open=True))
    >>> advised.selected.value, advised.contract.selected.value
    ('ReturnBlocker', 'AnswerDirectly')
    """

    contract: TaskExecutionPlan
    """The contract's plan, as `plan` returns it."""
    advised: TaskExecutionPlan
    """The planner's advice; equal to the contract's plan if nothing differs."""
    sources: tuple[str, ...]
    """Which rule proposed each candidate, such as `rule 3`, `fallback` or `own rule cheap`."""
    differences: tuple[PlanDifference, ...]
    """How the two differ; empty if and only if they are equal."""
    correction: str | None
    """The correction for the model, if its last reply broke the tool protocol."""
    hints: tuple[str, ...]
    """What rules 9 and 10 would tell the model; only advice: they guess at the user's taste."""
    state: TaskOperatingState
    """The state that the plan is based on."""
    input: TaskStateInput
    """The host's knowledge."""

    @property
    def candidates(self) -> tuple[ActionCandidate, ...]:
        """All advised candidates, the most confident first."""
        return self.advised.candidates

    @property
    def selected(self) -> PlannedAction:
        """The advised action."""
        return self.advised.selected

    @property
    def selected_rationale(self) -> str:
        """Why the planner advises it."""
        return self.advised.selected_rationale

    def data(self) -> dict[str, Any]:
        """Return the plan's data for an event, as JSON."""
        return {
            "selected": self.selected.value,
            "rationale": self.selected_rationale,
            "candidates": [
                {
                    "action": each.action.value,
                    "confidence": each.confidence,
                    "rationale": each.rationale,
                    "source": source,
                }
                for each, source in zip(self.candidates, self.sources, strict=True)
            ],
            "differences": [difference.message for difference in self.differences],
            "hints": list(self.hints),
        }

    def _repr_html_(self) -> str:
        return html_of("plan", self)
