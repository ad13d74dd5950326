"""Plans, advice and explanations in a notebook."""

from __future__ import annotations

from dataclasses import replace

from loopmend import Planner, explain
from loopmend.contracts import (
    ActionCandidate,
    PlannedAction,
    TaskExecutionPlan,
    plan,
    synthesize_task_state,
)
from tests.core.planning.turns import BROKE, DELEGATE, OPEN, TALK
from tests.core.rendering.pages import shown


def test_a_plan() -> None:
    """The candidates are ranked, and the selected one stands out."""
    turn = replace(DELEGATE, provider_breaker_open=True)
    page = shown(plan(synthesize_task_state(turn), turn))
    assert page.text("span chip good") == "DelegateToSpecialist"
    assert page.text("tr picked").startswith("1DelegateToSpecialist0.90rule 3")
    assert page.count("tr") == 3


def test_advice_that_departs_from_the_contract() -> None:
    """What the contract selects, how the advice departs, and what to tell the model."""
    turn = replace(DELEGATE, provider_breaker_open=True, recent_response_skeletons=["list"] * 3)
    page = shown(Planner().advise(turn))
    assert page.text("span chip good") == "ReturnBlocker"
    assert page.text("span note") == "The contract selects DelegateToSpecialist."
    assert page.text("p").endswith("Differs from the contract:Hints:")
    assert "the provider's breaker is open" in page.text("li")


def test_advice_that_does_not() -> None:
    """Where the two are the same, nothing is added."""
    page = shown(Planner().advise(TALK))
    assert page.text("p") == "AnswerDirectly"
    assert page.count("ul") == 0


def test_an_explanation() -> None:
    """The words come first, then the table."""
    explanation = explain(Planner().advise(OPEN))
    page = shown(explanation)
    assert page.text("p") == explanation.text
    assert page.count("tr") == 1 + len(explanation.rows)
    assert shown(explain(Planner().advise(BROKE))).text("tr picked").startswith("1Normalization")


def test_odd_plans() -> None:
    """Confidences that are none fill no bar; of very many candidates the first are shown."""
    odd = [ActionCandidate(PlannedAction.COMPOSE_SKILL, n, "x") for n in (0.5, float("nan"), 7.0)]
    page = shown(TaskExecutionPlan(tuple(odd * 20), PlannedAction.ANSWER_DIRECTLY, "y"))
    assert page.count("tr", "picked") == 0
    assert page.text("span note") == "… and 10 more candidates"
    assert page.count("tr") == 51
    assert page.styles[:3] == ["width: 50%", "width: 0%", "width: 0%"]
