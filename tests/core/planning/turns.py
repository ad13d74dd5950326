"""Turns to plan, and rules of one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from loopmend import AdvisedPlan
from loopmend.contracts import ActionCandidate, PlannedAction, TaskOperatingState, TaskStateInput
from loopmend.planning import PlanRule

TASK = TaskStateInput("go", intents=["execution"], remaining_budget_tokens=100)
"""A task to which no rule of the contract applies: the budget keeps memory from being inspected."""
BROKE = replace(TASK, previous_turn_had_protocol_issues=True)
OPEN = replace(TASK, provider_breaker_open=True)
DELEGATE = replace(
    TASK,
    explicit_specialist_workflow=True,
    taskable_agent_count=1,
    fit_agent_count=1,
    fit_agent_names=["ann"],
)
TALK = TaskStateInput("hello")
REPETITIVE = ["list"] * 3
SHRINKING = [90, 40, 5]

confidences = st.floats(0, 1)
candidates = st.builds(
    ActionCandidate, st.sampled_from(PlannedAction), confidences, st.text(max_size=5)
)


def proposes(action: str, confidence: Any, rationale: str = "mine") -> PlanRule:
    """Return a rule that always proposes this."""

    def mine(state: TaskOperatingState, input: TaskStateInput) -> ActionCandidate:  # noqa: ARG001
        return ActionCandidate(PlannedAction(action), confidence, rationale)

    return mine


def returns(value: Any) -> Any:
    """Return a rule that returns anything."""

    def odd(state: TaskOperatingState, input: TaskStateInput) -> Any:  # noqa: ARG001
        return value

    return odd


def confident(confidence: Any) -> ActionCandidate:
    """Return a candidate of this confidence, whatever it is."""
    return ActionCandidate(PlannedAction.COMPOSE_SKILL, confidence, "")


def kinds(advised: AdvisedPlan) -> list[str]:
    """Return in which ways a plan departs from the contract."""
    return [difference.kind for difference in advised.differences]


def ranked(advised: AdvisedPlan) -> list[tuple[str, float]]:
    """Return the advised candidates without their reasons."""
    return [(candidate.action.value, candidate.confidence) for candidate in advised.candidates]
