"""The 13 unit tests of the planner specification, under their own names."""

from __future__ import annotations

from dataclasses import replace

from loopmend.contracts import (
    ActionCandidate,
    BehavioralHistory,
    DecompositionProposal,
    MemoryConfidence,
    PlannedAction,
    RosterFit,
    RuntimeConstraints,
    SkillFit,
    TaskClassification,
    TaskExecutionPlan,
    TaskOperatingState,
    TaskStateInput,
    ToolFit,
    plan,
)

INPUT = TaskStateInput(
    user_content="do something",
    intents=["Execution"],
    authority="Creator",
    enabled_skill_count=5,
    remaining_budget_tokens=8000,
    inference_mode="standard",
)
TASK = TaskOperatingState(
    classification=TaskClassification.TASK,
    memory_confidence=MemoryConfidence(
        avg_similarity=0.7, budget_utilization=0.5, retrieval_count=5
    ),
    runtime_constraints=RuntimeConstraints(remaining_budget_tokens=8000),
    tool_fit=ToolFit(available_count=10, high_relevance_count=3, token_savings=2000),
    skill_fit=SkillFit(enabled_count=5),
)
RECALL_GAP = replace(
    TASK.memory_confidence, recall_gap=True, avg_similarity=0.3, empty_tiers=("semantic",)
)
PATTERN_LOCKED = BehavioralHistory(
    structural_repetition=True, repetition_streak=3, repeated_pattern="narrative+question+options"
)


def find(planned: TaskExecutionPlan, action: PlannedAction) -> ActionCandidate | None:
    """Return the first candidate for an action."""
    return next((c for c in planned.candidates if c.action is action), None)


def test_conversation_short_circuits_to_answer_directly() -> None:
    """Talk is answered, and nothing else is considered."""
    planned = plan(replace(TASK, classification=TaskClassification.CONVERSATION), INPUT)
    assert planned.selected is PlannedAction.ANSWER_DIRECTLY
    assert len(planned.candidates) == 1
    assert planned.candidates[0].confidence >= 0.9


def test_provider_breaker_open_returns_blocker() -> None:
    """Without a provider the user is told."""
    limits = replace(TASK.runtime_constraints, provider_breaker_open=True)
    planned = plan(replace(TASK, runtime_constraints=limits), INPUT)
    assert planned.selected is PlannedAction.RETURN_BLOCKER


def test_explicit_workflow_with_fit_delegates() -> None:
    """A request for a specialist that exists is honoured."""
    roster = RosterFit(fit_count=2, fit_names=["research-specialist"], explicit_workflow=True)
    turn = replace(INPUT, explicit_specialist_workflow=True)
    assert plan(replace(TASK, roster_fit=roster), turn).selected is (
        PlannedAction.DELEGATE_TO_SPECIALIST
    )


def test_explicit_workflow_empty_roster_composes() -> None:
    """A creator's request for a specialist that does not exist makes one."""
    roster = RosterFit(taskable_count=0, explicit_workflow=True)
    turn = replace(INPUT, explicit_specialist_workflow=True)
    assert plan(replace(TASK, roster_fit=roster), turn).selected is PlannedAction.COMPOSE_SUBAGENT


def test_memory_gap_triggers_inspect() -> None:
    """A recall gap makes memory worth a deeper look."""
    memory = replace(RECALL_GAP, empty_tiers=("semantic", "procedural"))
    planned = plan(replace(TASK, memory_confidence=memory), INPUT)
    assert find(planned, PlannedAction.INSPECT_MEMORY)


def test_missing_skills_triggers_compose_skill() -> None:
    """A missing skill can be made."""
    planned = plan(replace(TASK, skill_fit=SkillFit(5, 0, ["dnd-rules"])), INPUT)
    assert find(planned, PlannedAction.COMPOSE_SKILL)


def test_fallback_is_continue_centralized() -> None:
    """Without any signal the model is simply called."""
    assert plan(TASK, INPUT).selected is PlannedAction.CONTINUE_CENTRALIZED


def test_non_creator_cannot_compose() -> None:
    """A peer has no specialists made."""
    roster = RosterFit(taskable_count=0, explicit_workflow=True)
    turn = replace(INPUT, authority="Peer", explicit_specialist_workflow=True)
    assert not find(plan(replace(TASK, roster_fit=roster), turn), PlannedAction.COMPOSE_SUBAGENT)


def test_candidates_sorted_by_confidence() -> None:
    """The most confident candidate comes first."""
    roster = RosterFit(fit_count=1, fit_names=["specialist"], explicit_workflow=True)
    state = replace(TASK, roster_fit=roster, memory_confidence=RECALL_GAP)
    turn = replace(INPUT, explicit_specialist_workflow=True)
    confidences = [c.confidence for c in plan(state, turn).candidates]
    assert len(confidences) > 1
    assert confidences == sorted(confidences, reverse=True)


def test_decomposition_gate_as_scored_input() -> None:
    """The gate's recommendation is one candidate among others."""
    roster = RosterFit(fit_count=1, fit_names=["specialist"], explicit_workflow=True)
    proposal = DecompositionProposal(
        should_delegate=True, rationale="task complexity warrants delegation", utility_margin=0.7
    )
    planned = plan(
        replace(TASK, roster_fit=roster), replace(INPUT, decomposition_proposal=proposal)
    )
    assert find(planned, PlannedAction.DELEGATE_TO_SPECIALIST)


def test_pattern_locked_injects_variation_hint_into_candidates() -> None:
    """Repetition adds a hint that names the pattern."""
    candidate = find(
        plan(replace(TASK, behavioral_history=PATTERN_LOCKED), INPUT),
        PlannedAction.CONTINUE_CENTRALIZED,
    )
    assert candidate is not None
    assert "Pattern-locked" in candidate.rationale
    assert "narrative+question+options" in candidate.rationale


def test_user_engagement_declining_injects_strategy_change_hint() -> None:
    """Declining engagement adds a hint to change strategy."""
    history = BehavioralHistory(engagement_declining=True)
    candidate = find(
        plan(replace(TASK, behavioral_history=history), INPUT), PlannedAction.CONTINUE_CENTRALIZED
    )
    assert candidate is not None
    assert "engagement declining" in candidate.rationale


def test_pattern_locked_does_not_override_higher_priority_actions() -> None:
    """A blocker outweighs a hint."""
    limits = replace(TASK.runtime_constraints, provider_breaker_open=True)
    state = replace(TASK, behavioral_history=PATTERN_LOCKED, runtime_constraints=limits)
    assert plan(state, INPUT).selected is PlannedAction.RETURN_BLOCKER
