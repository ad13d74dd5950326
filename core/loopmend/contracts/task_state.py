"""Contract 5, values: the state from which the next action is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from loopmend._arguments import freeze_texts
from loopmend.contracts.task_input import DeclaredAction

__all__ = [
    "BehavioralHistory",
    "DeclaredActionState",
    "MemoryConfidence",
    "RosterFit",
    "RuntimeConstraints",
    "SkillFit",
    "TaskClassification",
    "TaskOperatingState",
    "ToolFit",
]


class TaskClassification(str, Enum):
    """Whether a turn is talk or work.

    >>> TaskClassification("Task") is TaskClassification.TASK
    True
    """

    CONVERSATION = "Conversation"
    TASK = "Task"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True)
class MemoryConfidence:
    """How far memory can be relied on.

    >>> MemoryConfidence(avg_similarity=0.3, recall_gap=True).empty_tiers
    ()
    """

    avg_similarity: float = 0.0
    """Mean similarity of what was found, 0 to 1."""
    budget_utilization: float = 0.0
    """Share of the retrieval budget that was used, 0 to 1."""
    retrieval_count: int = 0
    """How many memories were found."""
    recall_gap: bool = False
    """Whether memory fell short although there was budget left."""
    empty_tiers: Sequence[str] = ()
    """Tiers that returned nothing."""

    def __post_init__(self) -> None:
        freeze_texts(self, "empty_tiers")


@dataclass(frozen=True, slots=True)
class RuntimeConstraints:
    """What limits this turn.

    >>> RuntimeConstraints(remaining_budget_tokens=8000).inference_mode
    'standard'
    """

    remaining_budget_tokens: int = 0
    """Tokens left after the system prompt."""
    budget_pressured: bool = False
    """Whether few tokens are left."""
    provider_breaker_open: bool = False
    """Whether the circuit breaker of a model provider is open."""
    inference_mode: str = "standard"
    """`standard` or `streaming`."""


@dataclass(frozen=True, slots=True)
class ToolFit:
    """How well the tools fit; not read by the planner.

    >>> ToolFit(available_count=10, high_relevance_count=3).mcp_available
    False
    """

    available_count: int = 0
    """How many tools there are."""
    high_relevance_count: int = 0
    """How many of them are highly relevant."""
    token_savings: int = 0
    """How many tokens it saved to offer only some tools."""
    mcp_available: bool = False
    """Whether any tool of an MCP server is at hand."""


@dataclass(frozen=True, slots=True)
class RosterFit:
    """How well the specialists fit.

    >>> RosterFit(taskable_count=2, fit_count=1, fit_names=["researcher"]).fit_names
    ('researcher',)
    """

    taskable_count: int = 0
    """How many specialists could take a task."""
    fit_count: int = 0
    """How many of them fit this one."""
    fit_names: Sequence[str] = ()
    """Their names."""
    explicit_workflow: bool = False
    """Whether the user explicitly asked for a specialist."""

    def __post_init__(self) -> None:
        freeze_texts(self, "fit_names")


@dataclass(frozen=True, slots=True)
class SkillFit:
    """How well the skills fit.

    >>> SkillFit(enabled_count=5, missing_skills=["pdf"]).missing_skills
    ('pdf',)
    """

    enabled_count: int = 0
    """How many skills there are."""
    matching_count: int = 0
    """How many of them match the message."""
    missing_skills: Sequence[str] = ()
    """Skills that would be useful but are missing."""

    def __post_init__(self) -> None:
        freeze_texts(self, "missing_skills")


@dataclass(frozen=True, slots=True)
class BehavioralHistory:
    """What the latest turns look like.

    >>> BehavioralHistory(structural_repetition=True, repetition_streak=3).repetition_streak
    3
    """

    structural_repetition: bool = False
    """Whether the latest replies all have one structure."""
    repetition_streak: int = 0
    """How many in a row do; 0 unless they are a repetition."""
    repeated_pattern: str | None = None
    """That structure."""
    engagement_declining: bool = False
    """Whether the user writes less and less."""
    self_echo_risk: float = 0.0
    """Share of the model's own phrases that the message repeats, 0 to 1."""
    echo_fragment: str | None = None
    """The first such phrase, when the share is high."""
    variation_hint: str | None = None
    """A hint for the model against repetition or echo."""


@dataclass(frozen=True, slots=True)
class DeclaredActionState:
    """Whether the user declares to do something.

    >>> DeclaredActionState().action_declared
    False
    """

    action_declared: bool = False
    """Whether there is one."""
    action: DeclaredAction | None = None
    """What it is."""
    high_consequence: bool = False
    """Whether it could do lasting harm."""


@dataclass(frozen=True, slots=True)
class TaskOperatingState:
    """The state from which the next action is planned.

    >>> TaskOperatingState(TaskClassification.TASK).runtime_constraints.budget_pressured
    False
    """

    classification: TaskClassification
    memory_confidence: MemoryConfidence = field(default_factory=MemoryConfidence)
    runtime_constraints: RuntimeConstraints = field(default_factory=RuntimeConstraints)
    tool_fit: ToolFit = field(default_factory=ToolFit)
    roster_fit: RosterFit = field(default_factory=RosterFit)
    skill_fit: SkillFit = field(default_factory=SkillFit)
    behavioral_history: BehavioralHistory = field(default_factory=BehavioralHistory)
    declared_action: DeclaredActionState = field(default_factory=DeclaredActionState)
