"""Contract 5, planning: what should happen next, ranked, with reasons, without a model.

The rules are evaluated in a fixed order; each that applies adds a candidate with a fixed
confidence. Sorting is stable, so of two equal candidates the earlier rule's comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Final

from loopmend._arguments import wrong_type
from loopmend._rich import html_of
from loopmend.contracts.task_input import (
    TaskStateInput,
)
from loopmend.contracts.task_state import (
    TaskClassification,
    TaskOperatingState,
)

__all__ = ["ActionCandidate", "PlannedAction", "TaskExecutionPlan", "plan"]

INSPECTION_SIMILARITY: Final = 0.5
"""Memory is only inspected when the mean similarity is below this."""


class PlannedAction(str, Enum):
    """What can happen next.

    >>> PlannedAction("ReturnBlocker") is PlannedAction.RETURN_BLOCKER
    True
    """

    ANSWER_DIRECTLY = "AnswerDirectly"
    """Answer: the turn is talk, not work."""
    CONTINUE_CENTRALIZED = "ContinueCentralized"
    """Go on with the model call."""
    INSPECT_MEMORY = "InspectMemory"
    """Look deeper into memory first."""
    COMPOSE_SKILL = "ComposeSkill"
    """Make a skill that is missing."""
    COMPOSE_SUBAGENT = "ComposeSubagent"
    """Make a specialist."""
    DELEGATE_TO_SPECIALIST = "DelegateToSpecialist"
    """Hand over to a specialist that fits."""
    RETURN_BLOCKER = "ReturnBlocker"
    """Tell the user why it cannot go on."""
    NORMALIZATION_RETRY = "NormalizationRetry"
    """Correct the model first, then go on."""

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class ActionCandidate:
    """One thing that could happen next.

    >>> ActionCandidate(PlannedAction.INSPECT_MEMORY, 0.7, "recall gap").confidence
    0.7
    """

    action: PlannedAction
    """What could happen."""
    confidence: float
    """From 0 to 1; fixed per rule."""
    rationale: str
    """Why, in a sentence."""


@dataclass(frozen=True, slots=True)
class TaskExecutionPlan:
    """What should happen next, and what else was considered.

    >>> from loopmend.contracts import TaskStateInput, synthesize_task_state
    >>> turn = TaskStateInput("hello")
    >>> plan(synthesize_task_state(turn), turn).selected.value
    'AnswerDirectly'
    """

    candidates: tuple[ActionCandidate, ...]
    """All candidates, the most confident first."""
    selected: PlannedAction
    """The action of the first."""
    selected_rationale: str
    """The rationale of the first."""

    def _repr_html_(self) -> str:
        return html_of("plan", self)


# Looking a member up in its class is slow enough to show, and candidates and plans that
# always read the same are made once.
_IS_CONVERSATION: Final = TaskClassification.CONVERSATION
_CONTINUE: Final = PlannedAction.CONTINUE_CENTRALIZED
_DELEGATE: Final = PlannedAction.DELEGATE_TO_SPECIALIST
_INSPECT: Final = PlannedAction.INSPECT_MEMORY
_COMPOSE_SKILL: Final = PlannedAction.COMPOSE_SKILL
_BREAKER_OPEN: Final = ActionCandidate(
    PlannedAction.RETURN_BLOCKER,
    0.8,
    "Provider circuit breaker open; cannot proceed with inference",
)
_ROSTER_EMPTY: Final = ActionCandidate(
    PlannedAction.COMPOSE_SUBAGENT,
    0.85,
    "Explicit delegation requested but roster empty; composing specialist",
)
_PROTOCOL_ISSUES: Final = ActionCandidate(
    PlannedAction.NORMALIZATION_RETRY,
    0.75,
    "Previous turn contained malformed tool protocol; injecting correction instruction",
)
_ENGAGEMENT: Final = ActionCandidate(
    _CONTINUE,
    0.5,
    "User engagement declining: messages are getting shorter and more directive. "
    "Consider changing strategy or asking a focused question.",
)
_confidence: Final = attrgetter("confidence")


def _finalize(candidates: list[ActionCandidate]) -> TaskExecutionPlan:
    candidates.sort(key=_confidence, reverse=True)
    first = candidates[0]
    return TaskExecutionPlan(tuple(candidates), first.action, first.rationale)


_CONVERSATION_PLAN: Final = _finalize(
    [
        ActionCandidate(
            PlannedAction.ANSWER_DIRECTLY, 0.95, "Turn classified as conversation, not task"
        )
    ]
)
_FALLBACK_PLAN: Final = _finalize(
    [
        ActionCandidate(
            _CONTINUE,
            0.6,
            "No strong delegation/composition signal; proceeding with centralized inference",
        )
    ]
)


def plan(state: TaskOperatingState, input: TaskStateInput) -> TaskExecutionPlan:
    """Rank what could happen next and select the most confident action.

    From `input` it reads only the authority, the decomposition proposal and the protocol
    issues of the last turn; everything else comes from `state`.

    Raises:
        TypeError: An argument is of another type.

    >>> from loopmend.contracts import TaskStateInput, synthesize_task_state
    >>> turn = TaskStateInput(
    ...     "go", intents=["execution"], provider_breaker_open=True,
    ...     previous_turn_had_protocol_issues=True,
    ... )
    >>> ranked = plan(synthesize_task_state(turn), turn)
    >>> [(c.action.value, c.confidence) for c in ranked.candidates]
    [('ReturnBlocker', 0.8), ('NormalizationRetry', 0.75)]
    """
    if not isinstance(state, TaskOperatingState):
        raise wrong_type(state, "state", TaskOperatingState)
    if not isinstance(input, TaskStateInput):
        raise wrong_type(input, "input", TaskStateInput)
    if state.classification == _IS_CONVERSATION:
        return _CONVERSATION_PLAN
    candidates = _candidates(state, input)
    return _finalize(candidates) if candidates else _FALLBACK_PLAN


def _candidates(state: TaskOperatingState, input: TaskStateInput) -> list[ActionCandidate]:
    """Apply the rules for tasks, in their order."""
    candidates: list[ActionCandidate] = []
    if state.runtime_constraints.provider_breaker_open:
        candidates.append(_BREAKER_OPEN)
    if state.roster_fit.explicit_workflow:
        candidates += _delegation(state, input)
    memory = state.memory_confidence
    if (
        memory.recall_gap
        and memory.avg_similarity < INSPECTION_SIMILARITY
        and not state.runtime_constraints.budget_pressured
    ):
        candidates.append(_memory_gap(state))
    if state.skill_fit.missing_skills and _is_creator(input.authority):
        candidates.append(_missing_skills(state))
    if input.previous_turn_had_protocol_issues:
        candidates.append(_PROTOCOL_ISSUES)
    if state.behavioral_history.structural_repetition:
        candidates.append(_pattern_locked(state))
    if state.behavioral_history.engagement_declining:
        candidates.append(_ENGAGEMENT)
    return candidates


def _delegation(state: TaskOperatingState, input: TaskStateInput) -> list[ActionCandidate]:
    """Apply the rules that need an explicit request for a specialist."""
    roster = state.roster_fit
    candidates = []
    if roster.fit_count > 0:
        rationale = (
            f"Explicit delegation requested; {roster.fit_count} specialist(s) fit: "
            f"{', '.join(roster.fit_names)}"
        )
        candidates.append(ActionCandidate(_DELEGATE, 0.9, rationale))
    if roster.taskable_count == 0 and _is_creator(input.authority):
        candidates.append(_ROSTER_EMPTY)
    proposal = input.decomposition_proposal
    if proposal is not None and proposal.should_delegate and roster.fit_count > 0:
        rationale = (
            f"Decomposition gate recommends delegation (utility margin "
            f"{_two_places(proposal.utility_margin)}); {roster.fit_count} specialist(s) fit"
        )
        candidates.append(ActionCandidate(_DELEGATE, 0.75, rationale))
    return candidates


def _memory_gap(state: TaskOperatingState) -> ActionCandidate:
    memory = state.memory_confidence
    rationale = (
        f"Memory recall gap detected ({len(memory.empty_tiers)} empty tier(s), avg similarity "
        f"{_two_places(memory.avg_similarity)}); deeper inspection warranted"
    )
    return ActionCandidate(_INSPECT, 0.7, rationale)


def _missing_skills(state: TaskOperatingState) -> ActionCandidate:
    rationale = f"Missing skills: {', '.join(state.skill_fit.missing_skills)}"
    return ActionCandidate(_COMPOSE_SKILL, 0.65, rationale)


def _pattern_locked(state: TaskOperatingState) -> ActionCandidate:
    history = state.behavioral_history
    pattern = "unknown" if history.repeated_pattern is None else history.repeated_pattern
    rationale = (
        f"Pattern-locked: {history.repetition_streak} consecutive responses with skeleton "
        f'"{pattern}". Vary response structure before proceeding.'
    )
    return ActionCandidate(_CONTINUE, 0.55, rationale)


def _is_creator(authority: str) -> bool:
    folded = authority.lower()
    return (
        "creator" in folded
        or "admin" in folded
        or "selfgenerated" in folded
        or "self_generated" in folded
    )


def _two_places(number: float) -> str:
    return "NaN" if number != number else f"{number:.2f}"
