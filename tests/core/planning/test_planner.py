"""The advised layer: each departure from the contract, with an example and a counter-example."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import AdvisedPlan, FailurePattern, Planner
from loopmend.contracts import (
    ActionCandidate,
    BehavioralHistory,
    DecompositionProposal,
    PlannedAction,
    RuntimeConstraints,
    TaskClassification,
    TaskOperatingState,
    TaskStateInput,
    from_json,
    plan,
    synthesize_task_state,
    to_json,
)
from loopmend.mending.corrections import mistake_in_words
from loopmend.planning import plan_hints
from tests.core.planning.turns import (
    BROKE,
    DELEGATE,
    OPEN,
    REPETITIVE,
    SHRINKING,
    TALK,
    TASK,
    candidates,
    kinds,
    proposes,
    ranked,
    returns,
)

# Properties


@given(
    st.from_type(TaskOperatingState) | st.none(),
    st.from_type(TaskStateInput),
    st.lists(candidates | st.none(), max_size=4),
)
def test_the_contract_stays_what_it_is(
    state: TaskOperatingState | None, turn: TaskStateInput, own: list[ActionCandidate | None]
) -> None:
    """The contract's plan is `plan`'s, and differences are named exactly where plans differ."""
    advised = Planner([returns(candidate) for candidate in own]).advise(turn, state)
    known = synthesize_task_state(turn) if state is None else state
    assert advised.contract == plan(known, turn)
    assert (advised.differences == ()) is (advised.advised == advised.contract)
    assert len(advised.sources) == len(advised.candidates)


@given(
    st.from_type(TaskOperatingState),
    st.from_type(TaskStateInput),
    st.lists(candidates, max_size=4),
)
def test_an_advised_plan_is_in_order(
    state: TaskOperatingState, turn: TaskStateInput, own: list[ActionCandidate]
) -> None:
    """Candidates stand by confidence, each action once, and the first is selected."""
    advised = Planner([returns(candidate) for candidate in own]).advise(turn, state)
    order = [candidate.confidence for candidate in advised.candidates]
    assert order == sorted(order, reverse=True)
    actions = [candidate.action for candidate in advised.candidates]
    assert len(set(actions)) == len(actions)
    assert (advised.selected, advised.selected_rationale) == (
        advised.candidates[0].action,
        advised.candidates[0].rationale,
    )
    assert {candidate.action for candidate in own} <= set(actions)


@given(st.from_type(TaskOperatingState), st.from_type(TaskStateInput), candidates)
def test_an_open_breaker_comes_first(
    state: TaskOperatingState, turn: TaskStateInput, own: ActionCandidate
) -> None:
    """Whatever is known and proposed, only certainty comes before the blocker."""
    state = replace(state, runtime_constraints=RuntimeConstraints(provider_breaker_open=True))
    advised = Planner([returns(own)]).advise(turn, state)
    assert advised.selected is PlannedAction.RETURN_BLOCKER or own.confidence == 1


@given(st.from_type(TaskStateInput))
def test_advised_plans_survive_json(turn: TaskStateInput) -> None:
    """An advised plan becomes JSON and comes back."""
    advised = Planner([proposes("ComposeSkill", 0.7)]).advise(turn)
    assert repr(from_json(AdvisedPlan, to_json(advised))) == repr(advised)


# Where nothing differs


@pytest.mark.parametrize("turn", [TASK, BROKE, OPEN, DELEGATE, TALK])
def test_where_nothing_differs(turn: TaskStateInput) -> None:
    """Without a reason to depart the contract's plan is advised as it is."""
    advised = Planner().advise(turn)
    assert advised.advised == advised.contract
    assert advised.differences == ()


# Retries


@pytest.mark.parametrize(("streak", "capped"), [(0, False), (1, False), (2, True), (9, True)])
def test_corrections_are_capped(streak: int, *, capped: bool) -> None:
    """After two corrections in a row the contract goes on correcting; the advice does not."""
    advised = Planner().advise(replace(BROKE, normalization_retry_streak=streak))
    assert advised.contract.selected is PlannedAction.NORMALIZATION_RETRY
    selected = "ContinueCentralized" if capped else "NormalizationRetry"
    assert advised.selected == selected
    assert kinds(advised) == (["retry_capped"] if capped else [])
    assert (advised.correction is None) is capped


def test_the_cap_can_be_set() -> None:
    """None at all, or more than by default."""
    assert Planner(max_normalization_retries=0).advise(BROKE).selected == "ContinueCentralized"
    later = replace(BROKE, normalization_retry_streak=4)
    assert Planner(max_normalization_retries=5).advise(later).selected == "NormalizationRetry"


def test_other_rules_go_on_after_the_cap() -> None:
    """What the contract would have done next is done."""
    turn = replace(BROKE, normalization_retry_streak=2, missing_skills=["pdf"], authority="Creator")
    assert ranked(Planner().advise(turn)) == [("ComposeSkill", 0.65)]


# Breaker


def test_the_breaker_comes_before_delegation() -> None:
    """A specialist needs inference too; without the breaker it is asked."""
    advised = Planner().advise(replace(DELEGATE, provider_breaker_open=True))
    assert advised.contract.selected is PlannedAction.DELEGATE_TO_SPECIALIST
    assert ranked(advised) == [("ReturnBlocker", 0.8), ("DelegateToSpecialist", 0.8)]
    assert kinds(advised) == ["breaker_first"]
    assert advised.differences[0].message == (
        "ReturnBlocker ranks before DelegateToSpecialist: the provider's breaker is open."
    )
    assert Planner().advise(DELEGATE).selected is PlannedAction.DELEGATE_TO_SPECIALIST


def test_the_breaker_comes_before_composition() -> None:
    """Making a specialist needs inference too."""
    turn = replace(OPEN, explicit_specialist_workflow=True, authority="Creator")
    advised = Planner().advise(turn)
    assert advised.contract.selected is PlannedAction.COMPOSE_SUBAGENT
    assert advised.selected is PlannedAction.RETURN_BLOCKER


def test_the_breaker_comes_before_an_answer() -> None:
    """In a conversation the contract does not even look; with a closed breaker it answers."""
    advised = Planner().advise(replace(TALK, provider_breaker_open=True))
    assert ranked(advised) == [("ReturnBlocker", 0.8), ("AnswerDirectly", 0.8)]
    assert advised.sources == ("rule 2", "rule 1")
    assert kinds(advised) == ["blocker_in_conversation"]
    assert Planner().advise(TALK).selected is PlannedAction.ANSWER_DIRECTLY


@pytest.mark.parametrize(("confidence", "wins"), [(0.8, False), (0.99, False), (1, True)])
def test_only_a_certain_rule_passes_the_breaker(confidence: float, *, wins: bool) -> None:
    """A host that has another provider says so with certainty."""
    planner = Planner([proposes("ContinueCentralized", confidence, "Another provider is up")])
    assert (planner.advise(OPEN).selected is PlannedAction.CONTINUE_CENTRALIZED) is wins


def test_a_blocker_of_ones_own() -> None:
    """It comes first by its confidence, with both reasons, also among equals."""
    rules = [
        proposes("DelegateToSpecialist", 0.9),
        proposes("ReturnBlocker", 0.9, "No money left."),
    ]
    advised = Planner(rules).advise(OPEN)
    assert ranked(advised) == [("ReturnBlocker", 0.9), ("DelegateToSpecialist", 0.9)]
    assert advised.selected_rationale == (
        "No money left. Also: Provider circuit breaker open; cannot proceed with inference"
    )
    assert kinds(advised) == ["own_rule", "own_rule", "duplicate_merged", "breaker_first"]
    assert Planner(rules).advise(TASK).selected is PlannedAction.DELEGATE_TO_SPECIALIST


# Hints


@pytest.mark.parametrize(
    ("known", "said", "cause"),
    [
        ({"recent_response_skeletons": REPETITIVE}, "Vary", "Structural repetition"),
        ({"recent_user_message_lengths": SHRINKING}, "The user's", "Declining engagement"),
    ],
)
def test_hints_do_not_compete(known: dict[str, Any], said: str, cause: str) -> None:
    """What rules 9 and 10 have to say is told beside any action, and by none is it replaced."""
    alone = Planner().advise(replace(TASK, **known))
    assert ranked(alone) == [("ContinueCentralized", 0.6)]
    assert alone.sources == ("fallback",)
    assert kinds(alone) == ["hint_annotated"]
    assert alone.differences[0].message.startswith(cause)
    beside = Planner().advise(replace(BROKE, **known))
    assert ranked(beside) == [("NormalizationRetry", 0.75)]
    for advised in (alone, beside):
        assert advised.hints[-1].startswith(said)
    assert Planner().advise(TASK).hints == ()


def test_hints_in_a_conversation() -> None:
    """They are told there too, though the plan is the contract's."""
    advised = Planner().advise(replace(TALK, recent_user_message_lengths=SHRINKING))
    assert advised.differences == ()
    assert advised.hints[0].startswith("The user's messages")


def test_a_repetition_without_words() -> None:
    """A state that was made by hand has no hint of its own; the rule is not lost."""
    history = BehavioralHistory(structural_repetition=True, repetition_streak=3)
    state = TaskOperatingState(TaskClassification.TASK, behavioral_history=history)
    said = Planner().advise(TASK, state).hints
    assert said == Planner().advise(replace(TASK, recent_response_skeletons=REPETITIVE)).hints
    assert said == plan_hints(state)


def test_the_form_of_a_correction() -> None:
    """The planner's is used unless another is asked for."""
    planner = Planner(form="json")
    assert "one JSON object" in str(planner.advise(BROKE).correction)
    assert "a line for the action" in str(planner.advise(BROKE, form="react").correction)


@pytest.mark.parametrize("mistake", FailurePattern)
def test_a_correction_names_the_mistake(mistake: FailurePattern) -> None:
    """Who knows what was wrong has the model told just that."""
    told = str(Planner().advise(BROKE, mistake=mistake).correction)
    assert told.startswith(f"In your last turn: {mistake_in_words(mistake)} ")
    assert Planner().advise(TASK, mistake=mistake).correction is None


# Duplicates


def test_each_action_is_listed_once() -> None:
    """Rules 3 and 5 propose the same; both reasons are kept."""
    turn = replace(DELEGATE, decomposition_proposal=DecompositionProposal(True, "", 0.5))
    advised = Planner().advise(turn)
    assert len(advised.contract.candidates) == 2
    assert ranked(advised) == [("DelegateToSpecialist", 0.9)]
    assert advised.sources == ("rule 3, rule 5",)
    assert kinds(advised) == ["duplicate_merged"]
    assert advised.differences[0].message == (
        "DelegateToSpecialist is listed once: rule 3 and rule 5 agree on it."
    )
    assert advised.selected_rationale == (
        "Explicit delegation requested; 1 specialist(s) fit: ann. Also: Decomposition gate "
        "recommends delegation (utility margin 0.50); 1 specialist(s) fit"
    )
