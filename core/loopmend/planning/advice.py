"""What is advised beyond the contract, step by step; each step notes what it changes.

The contract's confidences stay what they are, but for one case: with an open breaker
nothing that needs inference is more confident than the blocker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from loopmend.contracts.planner import ActionCandidate, PlannedAction, TaskExecutionPlan, plan
from loopmend.contracts.task_input import TaskStateInput
from loopmend.contracts.task_state import (
    RuntimeConstraints,
    TaskClassification,
    TaskOperatingState,
)
from loopmend.planning.advised import DifferenceKind, PlanDifference
from loopmend.planning.wording import HINT_RULES, RETRY_RULE, source_of

__all__ = ["Draft", "Proposal"]

_BLOCKER: Final = PlannedAction.RETURN_BLOCKER
_CERTAIN: Final = 1.0


class Proposal(NamedTuple):
    """A candidate, and who proposed it."""

    candidate: ActionCandidate
    source: str


def _of_contract(candidate: ActionCandidate) -> Proposal:
    return Proposal(candidate, source_of(candidate))


def _contract_says(constraints: RuntimeConstraints) -> Proposal:
    """Return what the contract proposes for a task about which nothing else is known."""
    state = TaskOperatingState(TaskClassification.TASK, runtime_constraints=constraints)
    return _of_contract(plan(state, TaskStateInput("")).candidates[0])


_GO_ON: Final = _contract_says(RuntimeConstraints())
_BREAKER_OPEN: Final = _contract_says(RuntimeConstraints(provider_breaker_open=True))


class Draft:
    """A plan in the making: what is proposed so far, and how that departs from the contract."""

    def __init__(self, contract: TaskExecutionPlan) -> None:
        self._contract = contract
        self._proposals = list(map(_of_contract, contract.candidates))
        self._differences: list[PlanDifference] = []

    def annotate_hints(self) -> None:
        """Leave out the rules that only have something to tell the model: that is not lost."""
        for source, cause in HINT_RULES.items():
            if self._leave_out(source):
                self._note(
                    "hint_annotated",
                    f"{cause} ({source}) is a hint to the model, not a competing action.",
                )

    def cap_retries(self, streak: int, most: int) -> None:
        """Leave out a correction that was made often enough."""
        if streak >= most and self._leave_out(RETRY_RULE):
            self._note(
                "retry_capped",
                f"{PlannedAction.NORMALIZATION_RETRY} ({RETRY_RULE}) is left out: the model "
                f"was corrected {streak} time(s) in a row, and the limit is {most}.",
            )

    def fall_back(self) -> None:
        """Go on as the contract does where none of its rules is left."""
        if not self._proposals:
            self._proposals.append(_GO_ON)

    def add_breaker(self) -> None:
        """Consider an open breaker also where the contract does not."""
        if all(proposal.candidate.action is not _BLOCKER for proposal in self._proposals):
            self._proposals.append(_BREAKER_OPEN)

    def add_own(self, proposals: Iterable[Proposal]) -> None:
        """Rank what the user's rules propose after the contract's of equal confidence."""
        for candidate, source in proposals:
            self._proposals.append(Proposal(candidate, source))
            self._note(
                "own_rule",
                f"{source} proposes {candidate.action} ({candidate.confidence:.2f}).",
            )

    def merge(self) -> None:
        """List each action once, with all reasons for it."""
        self._proposals.sort(key=lambda proposal: proposal.candidate.confidence, reverse=True)
        grouped: dict[PlannedAction, list[Proposal]] = {}
        for proposal in self._proposals:
            grouped.setdefault(proposal.candidate.action, []).append(proposal)
        self._proposals = [_merged(group) for group in grouped.values()]
        for action, group in grouped.items():
            if len(group) > 1:
                by = " and ".join(proposal.source for proposal in group)
                self._note("duplicate_merged", f"{action} is listed once: {by} agree on it.")

    def put_blocker_first(self, kind: DifferenceKind) -> None:
        """Rank the blocker before whatever needs inference, unless that is certain."""
        actions = [proposal.candidate.action for proposal in self._proposals]
        at = actions.index(_BLOCKER)
        blocker = self._proposals[at]
        certain = [p for p in self._proposals[:at] if p.candidate.confidence == _CERTAIN]
        passed = self._proposals[len(certain) : at]
        if not passed:
            return
        lowered = [
            Proposal(replace(candidate, confidence=blocker.candidate.confidence), source)
            for candidate, source in passed
        ]
        self._proposals = [*certain, blocker, *lowered, *self._proposals[at + 1 :]]
        names = ", ".join(proposal.candidate.action for proposal in passed)
        self._note(kind, f"{_BLOCKER} ranks before {names}: the provider's breaker is open.")

    def finish(self) -> tuple[TaskExecutionPlan, tuple[str, ...], tuple[PlanDifference, ...]]:
        """Return the plan, who proposed its candidates, and how it departs from the contract."""
        first = self._proposals[0].candidate
        advised = TaskExecutionPlan(
            tuple(proposal.candidate for proposal in self._proposals),
            first.action,
            first.rationale,
        )
        sources = tuple(proposal.source for proposal in self._proposals)
        # A rule that proposes what the contract does anyway makes no difference.
        differences = () if advised == self._contract else tuple(self._differences)
        return advised, sources, differences

    def _leave_out(self, source: str) -> bool:
        """Drop what a rule proposes and tell whether there was anything."""
        kept = [proposal for proposal in self._proposals if proposal.source != source]
        found = len(kept) < len(self._proposals)
        self._proposals = kept
        return found

    def _note(self, kind: DifferenceKind, message: str) -> None:
        self._differences.append(PlanDifference(kind, message))


def _merged(group: list[Proposal]) -> Proposal:
    """Return the most confident proposal for an action, with the reasons of all."""
    best = group[0].candidate
    reasons = dict.fromkeys(proposal.candidate.rationale for proposal in group)
    others = [reason for reason in reasons if reason and reason != best.rationale]
    rationale = ". Also: ".join([best.rationale.rstrip("."), *others]) if others else best.rationale
    source = ", ".join(proposal.source for proposal in group)
    return Proposal(replace(best, rationale=rationale), source)
