"""Rules of one's own beside the ten, and what is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from loopmend import Planner
from loopmend.contracts import (
    ActionCandidate,
    PlannedAction,
    RosterFit,
    TaskClassification,
    TaskOperatingState,
    TaskStateInput,
    plan,
    synthesize_task_state,
    to_data,
)
from tests.core.planning.turns import (
    BROKE,
    TALK,
    TASK,
    confident,
    kinds,
    proposes,
    ranked,
    returns,
)


def test_own_rules_are_ranked_with_the_ten() -> None:
    """By confidence, after the contract's of equal confidence, and in their order."""
    rules = [
        proposes("InspectMemory", 0.75),
        proposes("ComposeSkill", 0.75),
        proposes("ComposeSubagent", 0.76),
        returns(None),
    ]
    advised = Planner(rules).advise(BROKE)
    assert ranked(advised) == [
        ("ComposeSubagent", 0.76),
        ("NormalizationRetry", 0.75),
        ("InspectMemory", 0.75),
        ("ComposeSkill", 0.75),
    ]
    assert advised.sources == ("own rule mine", "rule 8", "own rule mine", "own rule mine")
    assert kinds(advised) == ["own_rule"] * 3
    assert advised.differences[0].message == "own rule mine proposes InspectMemory (0.75)."


@pytest.mark.parametrize(("confidence", "wins"), [(0.59, False), (0.6, False), (0.61, True)])
def test_own_rules_compete_with_the_fallback(confidence: float, *, wins: bool) -> None:
    """A weak proposal does not keep a task from going on."""
    advised = Planner([proposes("InspectMemory", confidence)]).advise(TASK)
    assert (advised.selected is PlannedAction.INSPECT_MEMORY) is wins


@pytest.mark.parametrize(("confidence", "wins"), [(0.95, False), (0.96, True)])
def test_own_rules_in_conversations(confidence: float, *, wins: bool) -> None:
    """They are asked there too, and compete with the answer."""
    advised = Planner([proposes("InspectMemory", confidence)]).advise(TALK)
    assert (advised.selected is PlannedAction.INSPECT_MEMORY) is wins


def test_a_rule_that_agrees_makes_no_difference() -> None:
    """Who proposes what the contract does anyway, with the same words, changes nothing."""
    said = plan(synthesize_task_state(TASK), TASK).candidates[0]
    advised = Planner([returns(said)]).advise(TASK)
    assert advised.advised == advised.contract
    assert advised.differences == ()


def test_reasons_that_are_empty_or_equal_are_not_repeated() -> None:
    """Only what is new is added to a reason."""
    rules = [proposes("ComposeSkill", 0.9, why) for why in ("Needed.", "", "Needed.", "Asked for")]
    assert Planner(rules).advise(TASK).selected_rationale == "Needed. Also: Asked for"


def test_own_rules_see_what_is_known() -> None:
    """A rule is given the state and the input, and may be any callable."""
    seen: list[Any] = []

    def look(prefix: str, state: TaskOperatingState, input: TaskStateInput) -> ActionCandidate:
        seen.append((state, input))
        return ActionCandidate(PlannedAction.COMPOSE_SKILL, 1, prefix + input.user_content)

    state = TaskOperatingState(TaskClassification.TASK, roster_fit=RosterFit(1))
    advised = Planner([partial(look, "> ")]).advise(TASK, state)
    assert seen == [(state, TASK)]
    assert (advised.selected_rationale, advised.sources[0]) == ("> go", "own rule partial")
    assert (advised.state, advised.input) == (state, TASK)


def test_names_of_rules_stay_on_one_line() -> None:
    """A name is shown, whatever it holds."""
    rule: Any = returns(ActionCandidate(PlannedAction.COMPOSE_SKILL, 1, ""))
    rule.__name__ = "a\nb" * 50
    source = Planner([rule]).advise(TASK).sources[0]
    assert source.startswith("own rule a ba b")
    assert len(source) <= 50


@pytest.mark.parametrize(
    ("returned", "error", "said"),
    [
        ("ReturnBlocker", TypeError, "must return an ActionCandidate or None, not str"),
        (ActionCandidate("x", 1, ""), TypeError, "`action` must be a PlannedAction, not str"),  # type: ignore[arg-type]
        (
            ActionCandidate(PlannedAction.COMPOSE_SKILL, 1, None),  # type: ignore[arg-type]
            TypeError,
            "`rationale` must be a str, not NoneType",
        ),
        *((confident(bad), TypeError, "must be a number") for bad in (True, "0.5", None, 1j)),
        *(
            (confident(bad), ValueError, "between 0 and 1")
            for bad in (-0.1, 1.1, float("nan"), float("inf"), 10**5000)
        ),
    ],
)
def test_what_a_rule_must_not_return(returned: Any, error: type[Exception], said: str) -> None:
    """The error names the rule and what is wrong with it."""
    with pytest.raises(error, match=f"own rule odd.*{said}"):
        Planner([returns(returned)]).advise(TASK)


# Arguments


def test_whole_numbers_are_confidences() -> None:
    """They are kept as floats, so that JSON always reads the same."""
    advised = Planner([proposes("ComposeSkill", 1)]).advise(TASK)
    assert repr(advised.candidates[0].confidence) == "1.0"
    assert to_data(advised.differences) == [
        {"kind": "own_rule", "message": "own rule mine proposes ComposeSkill (1.00)."}
    ]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"rules": ["x"]}, TypeError, "`rules` must hold callables, not str"),
        ({"max_normalization_retries": 1.5}, TypeError, "`max_normalization_retries`"),
        ({"max_normalization_retries": -1}, ValueError, "must be 0 or more"),
        ({"form": "morse"}, ValueError, "one of react, json, native, code, not 'morse'"),
    ],
)
def test_options_that_make_no_sense(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    """They are refused when the planner is made."""
    with pytest.raises(error, match=said):
        Planner(**options)


def test_wrong_arguments() -> None:
    """What is not known, no state or no form is refused with its name."""
    wrong: Any = "go"
    with pytest.raises(TypeError, match="`input` must be a TaskStateInput"):
        Planner().advise(wrong)
    with pytest.raises(TypeError, match="`state` must be a TaskOperatingState"):
        Planner().advise(TASK, wrong)
    with pytest.raises(ValueError, match="`form` must be one of"):
        Planner().advise(TASK, form=wrong)
