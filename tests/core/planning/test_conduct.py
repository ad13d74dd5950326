"""What a host does about a plan."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import AdvisedPlan, Planner
from loopmend.contracts import TaskStateInput
from loopmend.planning import RosterMatch
from loopmend.planning.conduct import Conduct, conduct
from loopmend.planning.facts import Facts


def planned(**known: Any) -> AdvisedPlan:
    """Return the plan of a task."""
    return Planner().advise(TaskStateInput("go", intents=["execution"], **known))


ASKED = {
    "taskable_agent_count": 2,
    "fit_agent_count": 2,
    "fit_agent_names": ["writer", "critic"],
    "explicit_specialist_workflow": True,
    "authority": "Creator",
}
MISSING = {"missing_skills": ["pdf"], "authority": "Creator"}
ALIKE = {"recent_response_skeletons": ["narrative"] * 3}
BROKEN = {"previous_turn_had_protocol_issues": True}


@pytest.mark.parametrize(
    ("known", "options", "expected"),
    [
        ({}, {}, Conduct()),
        ({}, {"mode": "advise"}, Conduct()),
        (
            ASKED,
            {"roster": ["critic", "writer"]},
            Conduct(to="writer", done="handed over to writer"),
        ),
        (ASKED, {"roster": ["critic"]}, Conduct(to="critic", done="handed over to critic")),
        (ASKED, {}, Conduct()),
        (ASKED, {"roster": ["writer"], "mode": "observe"}, Conduct()),
        (
            MISSING,
            {},
            Conduct(advice="Missing skills: pdf. Pass `compose=` to create it."),
        ),
        (MISSING, {"composes": True}, Conduct()),
        (ALIKE, {}, Conduct()),
    ],
)
def test_conduct(known: dict[str, Any], options: dict[str, Any], expected: Conduct) -> None:
    """Each action has one way to be done, and only if the plan counts and the host can."""
    assert conduct(planned(**known), **options) == expected


def test_what_the_model_is_told() -> None:
    """A mistake is named where the plan counts, a suggestion made where it does not."""
    named = conduct(planned(**BROKEN))
    assert named.done == "named the mistake"
    assert named.notes[0].startswith("Your last reply broke the tool protocol.")
    (suggested,) = conduct(planned(**BROKEN), "advise").notes
    assert suggested.startswith("Suggested next step: ")
    assert conduct(planned(**BROKEN), "observe").notes == ()
    assert conduct(planned(**ALIKE), hints=True).notes[0].startswith("Vary the structure")


def test_facts_that_are_unknown_set_off_nothing() -> None:
    """Where nobody knows how many tokens are left, there are plenty."""
    shown: Any = {"tool_count": 1, "streams": False, "inspects": True}
    task = Facts(tools=1).task(["go"], [], **shown)
    assert task.remaining_budget_tokens == 1_000_000
    assert Planner().advise(task).selected.value == "ContinueCentralized"
    found = Facts(best_score=0.2).task(["go"], [], **shown).retrieval_metrics
    assert found is not None
    assert found.avg_similarity == 0.2
    assert Facts(roster=("writer",)).data()["roster"] == ["writer"]


@pytest.mark.parametrize(
    ("names", "before"),
    [((), ()), (("writer",), ("writer",)), (("writer", "me"), ("writer",)), (("me", "writer"), ())],
)
def test_who_acts_first(names: tuple[str, ...], before: tuple[str, ...]) -> None:
    """What comes after the agent's own name is for after its own work."""
    assert RosterMatch(explicit=True, names=names).before("me").names == before
