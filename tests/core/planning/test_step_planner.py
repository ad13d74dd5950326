"""Plans of the steps of a run: when they are made anew, and what is done once a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from loopmend import AdvisedPlan, Planner
from loopmend.adapting import at_once
from loopmend.breaker import CircuitBreaker
from loopmend.contracts import ActionCandidate, PlannedAction, RetrievalMetrics
from loopmend.mending import Form
from loopmend.planning import RosterMatch
from loopmend.planning.facts import Facts, best_similarity
from loopmend.planning.step_planner import PlannedStep, StepPlanner

ROSTER = {"writer": "Writes.", "critic": "Judges."}
POOR = {"known": Facts(tools=1, best_score=0.1)}


@dataclass
class Host:
    """A host that tells what a test says."""

    agent_name: str = "clerk"
    about: str | None = None
    user_text: str = "go"
    iteration: int = 0
    form: Form = "native"
    streams: bool = False
    tool_count: int = 1
    roster: Mapping[str, str] = field(default_factory=dict)
    model: object = field(default_factory=object)
    known: Facts = field(default_factory=lambda: Facts(tools=1))
    tokens: int | None = 10_000
    turn: dict[str, Any] = field(default_factory=dict)
    run: dict[Any, Any] = field(default_factory=dict)
    look: Any = None

    def facts(self) -> Facts:
        """Return what a test says."""
        return self.known

    def window(self) -> int | None:
        """Return what a test says."""
        return self.tokens

    def memory_look(self) -> Any:
        """Return what a test says."""
        return self.look

    def conversation(self) -> tuple[list[str], list[str]]:
        """Return a conversation of one message."""
        return [self.user_text], []

    def shown(self) -> list[str]:
        """Return what the model sees."""
        return ["I have seen it."]


def plan(planner: StepPlanner, **known: Any) -> PlannedStep | None:
    """Plan a step of a task with one tool."""
    return at_once(planner.plan(Host(**known)))


@pytest.mark.parametrize(
    ("later", "planned"),
    [
        ({}, False),
        ({"known": Facts(tools=1, failures_in_a_row=2)}, True),
        ({"known": Facts(tools=1, protocol_issue="empty", issue_streak=1)}, True),
        (POOR, True),
    ],
)
def test_a_plan_stands_until_a_fact_changes(later: dict[str, Any], *, planned: bool) -> None:
    """In the same run nothing is planned twice from the same facts."""
    planner, run = StepPlanner(breaker=False), dict[Any, Any]()
    assert plan(planner, run=run) is not None
    assert (plan(planner, run=run, iteration=1, **later) is not None) is planned


def test_many_tokens_are_as_good_as_more() -> None:
    """Tokens that are used up change nothing until they begin to run out."""
    planner, host = StepPlanner(breaker=False), Host(iteration=1)
    told = []
    for used in (1_000, 5_000, 8_001):
        planner.count_reply(host, used, list)
        told.append(at_once(planner.plan(host)))
    assert [each is not None for each in told] == [True, False, True]


def test_without_a_window_nobody_knows_what_is_left() -> None:
    """A model that does not say how much it can see is asked as ever."""
    planner, host = StepPlanner(breaker=False), Host(iteration=1, tokens=None)
    planner.count_reply(host, 9_999, list)
    planned = at_once(planner.plan(host))
    assert planned is not None
    assert planned.facts.tokens_left is None


def test_a_rule_of_your_own_is_always_asked() -> None:
    """It may look at anything, also if no fact has changed."""
    asked = []

    def rule(_state: object, _input: object) -> ActionCandidate | None:
        asked.append(1)
        return None

    planner, run = StepPlanner(Planner([rule]), breaker=False), dict[Any, Any]()
    for iteration in range(3):
        assert plan(planner, run=run, iteration=iteration) is not None
    assert len(asked) == 3


def test_a_breaker_that_opens_is_news() -> None:
    """A plan stands no longer when the provider has failed too often."""
    planner, host = StepPlanner(breaker=CircuitBreaker(threshold=1)), Host()
    assert at_once(planner.plan(host)) is not None
    host.iteration = 1
    planner.count_call(host, ConnectionError())
    blocked = at_once(planner.plan(host))
    assert blocked is not None
    assert blocked.conduct.answer is not None
    assert host.turn == {}


def test_specialists_are_asked_for_once_a_run() -> None:
    """A matcher may be costly, and who had the turn is not handed over to again."""
    asked = []

    async def match(text: str, roster: Mapping[str, str]) -> RosterMatch:
        asked.append((text, *roster))
        return RosterMatch(explicit=True, names=("writer", "critic"))

    planner = StepPlanner(match=match, authority="Creator", breaker=False)
    turn, run = dict[str, Any](), dict[Any, Any]()
    given: dict[str, Any] = {"roster": ROSTER, "turn": turn, "run": run}
    over = [plan(planner, iteration=iteration, **given) for iteration in range(3)]
    assert [each.conduct.to for each in over if each is not None] == ["writer", "critic", None]
    assert turn == {"delegated": ["writer", "critic"]}
    assert asked == [("go", "writer", "critic", "clerk")]


@pytest.mark.parametrize(
    ("found", "done", "told"),
    [
        ("Oslo is in Norway.", "looked into memory", ("From memory:\nOslo is in Norway.",)),
        ("seen", "found nothing new in memory", ()),
        (None, "found nothing new in memory", ()),
    ],
)
def test_memory_is_looked_into_once_a_turn(
    found: str | None, done: str, told: tuple[str, ...]
) -> None:
    """What it holds is told, unless the model is about to see it anyway."""

    async def look() -> str | None:
        return found

    turn = dict[str, Any]()
    planner = StepPlanner(breaker=False)
    options: dict[str, Any] = {"turn": turn, "look": look, **POOR}
    first, again = (plan(planner, **options) for _ in range(2))
    assert first is not None
    assert (first.conduct.done, first.conduct.notes) == (done, told)
    assert again is not None
    assert again.conduct.done is None


def test_nobody_looks_where_nothing_can_be_found() -> None:
    """A host that says memory is poor, but has none, is told to go on."""
    known = {"retrieval_metrics": RetrievalMetrics(1, True, 0.1)}
    planned = plan(StepPlanner(observe=lambda _: known, breaker=False))
    assert planned is not None
    assert planned.plan.selected is PlannedAction.INSPECT_MEMORY
    assert planned.conduct.done is None


@pytest.mark.parametrize(("made", "notes"), [("pdf is there.", ("pdf is there.",)), (None, ())])
def test_a_skill_is_made_once_a_turn(made: str | None, notes: tuple[str, ...]) -> None:
    """Whoever can make it is told the plan, and the model what came of it."""
    seen = []

    def compose(_step: object, planned: AdvisedPlan) -> str | None:
        seen.append(planned.selected.value)
        return made

    turn = dict[str, Any]()
    planner = StepPlanner(
        authority="Creator",
        observe=lambda _: {"missing_skills": ["pdf"]},
        compose=compose,
        breaker=False,
    )
    first, again = (plan(planner, turn=turn) for _ in range(2))
    assert first is not None
    assert (first.conduct.done, first.conduct.notes) == ("composed", notes)
    assert again is not None
    assert again.conduct.done is None
    assert seen == ["ComposeSkill"]


def test_who_only_looks_on_does_nothing() -> None:
    """In any mode but enforcing nobody looks into memory."""
    planner = StepPlanner(mode="observe", inspect_memory=lambda _: "Oslo", breaker=False)
    planned = plan(planner, **POOR)
    assert planned is not None
    assert (planned.conduct.done, planned.data()["told"]) == (None, [])


@pytest.mark.parametrize(
    ("scores", "best"),
    [([], 0.0), ([-0.2], 0.0), ([None], None), ([0.5, float("nan")], None), ([3.0], None)],
)
def test_similarities(scores: list[float | None], best: float | None) -> None:
    """Only what can be a similarity tells how well a retrieval went."""
    assert best_similarity(scores) == best
