"""Plans in words and as tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import AdvisedPlan, Planner, explain
from loopmend.contracts import (
    ActionCandidate,
    PlannedAction,
    TaskExecutionPlan,
    TaskStateInput,
    plan,
    synthesize_task_state,
)
from loopmend.planning import Explanation
from tests.core.strategies import any_text

TURN = TaskStateInput(
    "Book it",
    intents=["execution"],
    explicit_specialist_workflow=True,
    taskable_agent_count=1,
    fit_agent_count=1,
    fit_agent_names=["ann"],
    remaining_budget_tokens=100,
    recent_user_message_lengths=[90, 40, 5],
)


def of(*candidates: ActionCandidate, selected: str = "ContinueCentralized") -> TaskExecutionPlan:
    """Return a plan that no rule would make."""
    return TaskExecutionPlan(candidates, PlannedAction(selected), "")


def cells(explanation: Explanation) -> list[list[str]]:
    """Return the table's lines, split where its columns are."""
    return [line.split() for line in explanation.table().split("\n")]


def test_the_contracts_plan() -> None:
    """What is done, why, and what else was considered."""
    explanation = explain(plan(synthesize_task_state(TURN), TURN))
    assert explanation.text == (
        "Next: hand over to a specialist (DelegateToSpecialist). "
        "Why: Explicit delegation requested; 1 specialist(s) fit: ann. "
        "Also considered: ContinueCentralized (0.50)."
    )
    assert [(row.rank, row.source, row.selected) for row in explanation.rows] == [
        (1, "rule 3", True),
        (2, "rule 10", False),
    ]


def test_an_advised_plan() -> None:
    """How it departs from the contract and what to tell the model is said as well."""
    explanation = explain(Planner().advise(TURN))
    assert explanation.text == (
        "Next: hand over to a specialist (DelegateToSpecialist). "
        "Why: Explicit delegation requested; 1 specialist(s) fit: ann. "
        "Nothing else was considered. "
        "The contract selects the same action. The difference: Declining engagement (rule 10) is "
        "a hint to the model, not a competing action. "
        "Hints: The user's messages are getting shorter. Change your approach or ask "
        "one focused question."
    )


def test_a_correction_is_told() -> None:
    """What the model is told about its last reply stands apart from hints."""
    turn = TaskStateInput("go", intents=["execution"], previous_turn_had_protocol_issues=True)
    explanation = explain(Planner().advise(turn))
    assert "Tell the model: Your last reply broke the tool protocol." in explanation.text


def test_several_differences() -> None:
    """Each is told, after what the contract selects."""

    def shout(state: object, input: TaskStateInput) -> ActionCandidate:  # noqa: ARG001
        return ActionCandidate(PlannedAction.RETURN_BLOCKER, 0.95, "Nobody is to be booked!")

    explanation = explain(Planner([shout]).advise(TURN))
    assert "Why: Nobody is to be booked! Also considered" in explanation.text
    assert "The contract selects DelegateToSpecialist. The differences: Decl" in explanation.text
    assert "own rule shout proposes ReturnBlocker (0.95)." in explanation.text


def test_an_advised_plan_that_does_not_depart() -> None:
    """That is said, and nothing more."""
    explanation = explain(Planner().advise(TaskStateInput("hello")))
    assert explanation.text.endswith("Nothing else was considered. The contract agrees.")


def test_the_table_is_aligned() -> None:
    """Columns start under their heads, and the words come first."""
    explanation = explain(plan(synthesize_task_state(TURN), TURN))
    assert explanation.table().split("\n") == [
        "   rank  action                confidence  source   rationale",
        ">  1     DelegateToSpecialist  0.90        rule 3   Explicit delegation requested; "
        "1 specialist(s) fit: ann",
        "   2     ContinueCentralized   0.50        rule 10  User engagement declining: messages "
        "are getting shorter and more directive. Consider changing strategy or asking a focused "
        "question.",
    ]
    assert str(explanation) == f"{explanation.text}\n\n{explanation.table()}"


def test_plans_made_by_hand() -> None:
    """What no rule proposes is told as it is, also without candidates or reasons."""
    empty = explain(of())
    assert empty.text == (
        "Next: go on with the model call (ContinueCentralized). The plan gives no reason. "
        "Nothing else was considered."
    )
    assert empty.rows == ()
    assert cells(empty) == [["rank", "action", "confidence", "source", "rationale"]]
    odd = ActionCandidate(PlannedAction.COMPOSE_SKILL, float("nan"), "")
    explanation = explain(of(odd))
    assert cells(explanation)[1] == ["1", "ComposeSkill", "nan", "other"]
    assert not explanation.rows[0].selected


def test_only_one_row_is_selected() -> None:
    """The first of the selected action, wherever it stands."""
    actions = ["ComposeSkill", "InspectMemory", "InspectMemory"]
    candidates = [ActionCandidate(PlannedAction(action), 0.5, "") for action in actions]
    rows = explain(of(*candidates, selected="InspectMemory")).rows
    assert [row.selected for row in rows] == [False, True, False]


def test_foreign_text_stays_on_its_line() -> None:
    """Line breaks, control characters and direction marks go, and long text is cut."""
    nasty = "a\n> 1\u2028b\x1b[2J\x00\u202ec\ud800" + "x" * 500
    explanation = explain(of(ActionCandidate(PlannedAction.COMPOSE_SKILL, 0.5, nasty)))
    shown = explanation.rows[0].rationale
    assert shown.startswith("a > 1 b [2J c xxx")
    assert (len(shown), shown[-1]) == (160, "…")
    assert len(explanation.table().splitlines()) == 2
    assert explanation.table().encode()


@given(any_text, st.floats(), st.sampled_from(PlannedAction), st.sampled_from(PlannedAction))
def test_explaining_is_total(
    text: str, confidence: float, action: PlannedAction, selected: PlannedAction
) -> None:
    """Any plan is told in one line, and each candidate in one more."""
    candidate = ActionCandidate(action, confidence, text)
    explanation = explain(TaskExecutionPlan((candidate,) * 2, selected, text))
    assert len(str(explanation).splitlines()) == 5
    assert str(explanation).isprintable() is False
    assert all(line.isprintable() for line in str(explanation).split("\n"))


@given(any_text, st.from_type(TaskStateInput))
def test_explaining_advice_is_total(text: str, turn: TaskStateInput) -> None:
    """Also what a user's rule says, in any turn."""

    def rule(state: object, input: object) -> ActionCandidate:  # noqa: ARG001
        return ActionCandidate(PlannedAction.COMPOSE_SKILL, 0.97, text)

    explanation = explain(Planner([rule]).advise(turn))
    assert all(line.isprintable() for line in str(explanation).split("\n"))


@given(st.from_type(AdvisedPlan))
def test_explaining_made_up_advice_is_total(plan: AdvisedPlan) -> None:
    """Also advice that no planner would give, with a row for each candidate."""
    assert [row.action for row in explain(plan).rows] == [c.action for c in plan.candidates]


def test_only_plans_are_explained() -> None:
    """Something else is refused by name."""
    with pytest.raises(TypeError, match="`plan` must be a TaskExecutionPlan, not str"):
        explain("a plan")  # type: ignore[arg-type]
