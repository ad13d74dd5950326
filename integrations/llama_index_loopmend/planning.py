"""Planning a step: what is known of it, and what the planner makes of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from llama_index_loopmend.notes import Notes
from llama_index_loopmend.observing import StepView, observed
from llama_index_loopmend.outputs import DIALECTS
from llama_index_loopmend.recall import RecallProbe
from llama_index_loopmend.steps import Step
from loopmend import (
    ActionCandidate,
    AdvisedPlan,
    Breaker,
    PlannedAction,
    Planner,
    RosterMatch,
    TaskOperatingState,
    TaskStateInput,
)

__all__ = ["Match", "Observe", "StepPlanner", "are"]

Observe = Callable[[StepView], Mapping[str, Any]]
"""Returns fields of `TaskStateInput` that the host knows better."""
Match = Callable[[str, Mapping[str, str]], RosterMatch]
"""Finds the specialists that a message asks for."""

_BUDGET_CONFIDENCE: Final = 0.97
_PLANNED_FROM: Final = ("user_text", "roster", "state", "context_window", "streaming")


class StepPlanner:
    """Plans steps with all that can be known of them."""

    def __init__(  # noqa: PLR0913 - all by name
        self,
        planner: Planner,
        *,
        match: Match,
        authority: str | None = None,
        observe: Observe | None = None,
        breaker: Breaker | None = None,
        token_budget: int | None = None,
        recall: RecallProbe | None = None,
    ) -> None:
        if token_budget is not None:
            planner = replace(planner, rules=[*planner.rules, _budget_rule(token_budget)])
        self._planner = planner
        self._authority = authority
        self._observe = observe
        self._match = match
        self._breaker = breaker
        self._token_budget = token_budget
        self._recall = recall
        self._latest: tuple[object, list[ChatMessage], AdvisedPlan] | None = None
        self._latest_match: tuple[object, RosterMatch] | None = None

    @property
    def needs_window(self) -> bool:
        """Whether it matters how much the model can read: some models work that out each time."""
        return bool(self._recall or self._observe or self._planner.rules)

    def plan(self, step: Step, view: StepView) -> AdvisedPlan:
        """Plan a step, unless all is as it was at the latest one: in most runs nothing changes."""
        known = self._known(view, step.notes)
        said = [m for m in view.messages if m.role != MessageRole.SYSTEM]
        facts = (known, step.kind, step.toolbox, *(getattr(view, name) for name in _PLANNED_FROM))
        latest = self._latest
        if latest is not None and latest[0] == facts and are(latest[1], said):
            return latest[2]
        planned = self._planner.advise(observed(view, **known), dialect=DIALECTS[step.kind])
        # A rule of the user's own may look at anything, so that it is asked each time.
        self._latest = None if self._planner.rules else (facts, said, planned)
        return planned

    def _known(self, view: StepView, notes: Notes) -> dict[str, Any]:
        """Gather what is known: from the framework, from ours, and from the user's callback."""
        found = self._fitting(view, notes.delegated)
        known: dict[str, Any] = {
            "fit_agent_count": len(found.names),
            "fit_agent_names": found.names,
            "explicit_specialist_workflow": found.explicit,
            "previous_turn_had_protocol_issues": notes.streak > 0,
            "normalization_retry_streak": max(0, notes.streak - 1),
        }
        if self._authority is not None:
            known["authority"] = self._authority
        if self._token_budget is not None:
            known["remaining_budget_tokens"] = max(0, self._token_budget - notes.tokens)
        metrics = None if self._recall is None else self._recall.metrics()
        if metrics is not None:
            known["retrieval_metrics"] = metrics
        if self._observe is not None:
            known |= self._observe(view)
        if self._breaker is not None and "provider_breaker_open" not in known:
            # Asked last: it may let one call through, which has to be made then.
            known["provider_breaker_open"] = _is_open(self._breaker, notes)
        return known

    def _fitting(self, view: StepView, delegated: list[str]) -> RosterMatch:
        """Find who fits, once for all steps of a turn: the message stays the same."""
        if view.agent_name in delegated:
            # Who was handed over to does the work, and is not sent on before that.
            return RosterMatch()
        free = {name: does for name, does in view.roster.items() if name not in delegated}
        asked = view.agent_name, view.user_text, free
        latest = self._latest_match
        if latest is None or latest[0] != asked:
            self._latest_match = latest = asked, self._found(*asked)
        return latest[1]

    def _found(self, agent_name: str, text: str, free: dict[str, str]) -> RosterMatch:
        found = self._match(text, free)
        if found.explicit and found.names:
            own = self._match(text, {agent_name: ""})
            if own.explicit and agent_name in own.names:
                # Who asks for the very agent that has the turn has what they want.
                return RosterMatch()
        return found


def are(some: Sequence[object], others: Sequence[object]) -> bool:
    """Tell whether two sequences hold the very same things.

    >>> are([1, 2], (1, 2)), are([[]], [[]])
    (True, False)
    """
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _is_open(breaker: Breaker, notes: Notes) -> bool:
    """Ask a breaker, unless it let a call through that was not made yet."""
    notes.may_call = notes.may_call or not breaker.is_open()
    return not notes.may_call


def _budget_rule(
    budget: int,
) -> Callable[[TaskOperatingState, TaskStateInput], ActionCandidate | None]:
    spent = ActionCandidate(
        PlannedAction.RETURN_BLOCKER, _BUDGET_CONFIDENCE, f"Token budget of {budget} is used up"
    )

    def token_budget(
        state: TaskOperatingState,  # noqa: ARG001 - a rule
        input: TaskStateInput,
    ) -> ActionCandidate | None:
        return spent if input.remaining_budget_tokens == 0 else None

    return token_budget
