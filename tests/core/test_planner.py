"""The planner: rationales, ties and authority."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loopmend.contracts import (
    BehavioralHistory,
    DecompositionProposal,
    MemoryConfidence,
    PlannedAction,
    RosterFit,
    RuntimeConstraints,
    SkillFit,
    TaskClassification,
    TaskOperatingState,
    TaskStateInput,
    plan,
)

TASK = TaskOperatingState(TaskClassification.TASK)
CREATOR = TaskStateInput("go", authority="Creator")


def test_every_rule_at_once() -> None:
    """Candidates are ranked by confidence, ties in the order of the rules, with their reasons."""
    state = TaskOperatingState(
        TaskClassification.TASK,
        memory_confidence=MemoryConfidence(0.125, 0.1, 1, True, ["semantic"]),
        runtime_constraints=RuntimeConstraints(provider_breaker_open=True),
        roster_fit=RosterFit(0, 2, ["ann", "bob"], explicit_workflow=True),
        skill_fit=SkillFit(5, 0, ["pdf", "ocr"]),
        behavioral_history=BehavioralHistory(True, 4, "list", engagement_declining=True),
    )
    turn = replace(
        CREATOR,
        decomposition_proposal=DecompositionProposal(True, "why", 0.375),
        previous_turn_had_protocol_issues=True,
    )
    planned = plan(state, turn)
    assert [(c.action.value, c.confidence, c.rationale) for c in planned.candidates] == [
        (
            "DelegateToSpecialist",
            0.9,
            "Explicit delegation requested; 2 specialist(s) fit: ann, bob",
        ),
        (
            "ComposeSubagent",
            0.85,
            "Explicit delegation requested but roster empty; composing specialist",
        ),
        ("ReturnBlocker", 0.8, "Provider circuit breaker open; cannot proceed with inference"),
        (
            "DelegateToSpecialist",
            0.75,
            "Decomposition gate recommends delegation (utility margin 0.38); 2 specialist(s) fit",
        ),
        (
            "NormalizationRetry",
            0.75,
            "Previous turn contained malformed tool protocol; injecting correction instruction",
        ),
        (
            "InspectMemory",
            0.7,
            "Memory recall gap detected (1 empty tier(s), avg similarity 0.12); "
            "deeper inspection warranted",
        ),
        ("ComposeSkill", 0.65, "Missing skills: pdf, ocr"),
        (
            "ContinueCentralized",
            0.55,
            'Pattern-locked: 4 consecutive responses with skeleton "list". '
            "Vary response structure before proceeding.",
        ),
        (
            "ContinueCentralized",
            0.5,
            "User engagement declining: messages are getting shorter and more directive. "
            "Consider changing strategy or asking a focused question.",
        ),
    ]
    assert planned.selected is PlannedAction.DELEGATE_TO_SPECIALIST
    assert planned.selected_rationale == planned.candidates[0].rationale


@pytest.mark.parametrize(
    ("authority", "may_compose"),
    [
        ("Creator", True),
        ("badminton", True),
        ("SelfGenerated", True),
        ("self_generated", True),
        ("Self-Generated", False),
        ("Peer", False),
        ("", False),
    ],
)
def test_authority_is_a_substring(authority: str, *, may_compose: bool) -> None:
    """Who may have things composed is found by plain search, as the contract has it."""
    state = replace(TASK, skill_fit=SkillFit(missing_skills=["pdf"]))
    selected = plan(state, TaskStateInput("go", authority=authority)).selected
    assert (selected is PlannedAction.COMPOSE_SKILL) is may_compose


@pytest.mark.parametrize(
    ("similarity", "pressured", "inspects"),
    [
        (0.4999999999999999, False, True),
        (0.5, False, False),
        (float("nan"), False, False),
        (float("-inf"), False, True),
        (0.1, True, False),
    ],
)
def test_memory_is_inspected_below_half(
    similarity: float, *, pressured: bool, inspects: bool
) -> None:
    """A gap counts only below a similarity of 0.5 and without budget pressure."""
    state = replace(
        TASK,
        memory_confidence=MemoryConfidence(avg_similarity=similarity, recall_gap=True),
        runtime_constraints=RuntimeConstraints(budget_pressured=pressured),
    )
    assert (plan(state, CREATOR).selected is PlannedAction.INSPECT_MEMORY) is inspects


@pytest.mark.parametrize(
    ("margin", "printed"),
    [(float("nan"), "NaN"), (float("inf"), "inf"), (-0.001, "-0.00"), (1.005, "1.00")],
)
def test_numbers_print_as_in_rust(margin: float, printed: str) -> None:
    """Margins are printed with two places, NaN as `NaN`."""
    state = replace(TASK, roster_fit=RosterFit(1, 1, ["a"], explicit_workflow=True))
    turn = replace(CREATOR, decomposition_proposal=DecompositionProposal(True, "", margin))
    assert f"(utility margin {printed})" in plan(state, turn).candidates[1].rationale


@pytest.mark.parametrize(("pattern", "printed"), [(None, "unknown"), ("", ""), ('a"b', 'a"b')])
def test_repeated_pattern(pattern: str | None, printed: str) -> None:
    """Only a missing pattern is `unknown`; an empty one prints empty."""
    history = BehavioralHistory(structural_repetition=True, repeated_pattern=pattern)
    planned = plan(replace(TASK, behavioral_history=history), CREATOR)
    assert f'skeleton "{printed}"' in planned.selected_rationale


def test_a_gate_that_does_not_recommend_is_ignored() -> None:
    """A proposal against delegation adds no candidate."""
    state = replace(TASK, roster_fit=RosterFit(1, 1, ["a"], explicit_workflow=True))
    turn = replace(CREATOR, decomposition_proposal=DecompositionProposal(False, "", 1.0))
    assert len(plan(state, turn).candidates) == 1
