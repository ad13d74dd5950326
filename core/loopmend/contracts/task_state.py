"""Contract 5, values: what is known before a turn, and the state made from it.

`TaskStateInput` is what the host supplies; `synthesize_task_state` turns it into a
`TaskOperatingState`; `plan` reads both. Field names are those of the wire format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "BehavioralHistory",
    "DeclaredAction",
    "DeclaredActionState",
    "DecompositionProposal",
    "MemoryConfidence",
    "MemoryTierBreakdown",
    "RetrievalMetrics",
    "RosterFit",
    "RuntimeConstraints",
    "SkillFit",
    "TaskClassification",
    "TaskOperatingState",
    "TaskStateInput",
    "ToolFit",
    "ToolSearchStats",
]


class TaskClassification(str, Enum):
    """Whether a turn is talk or work.

    >>> TaskClassification("Task") is TaskClassification.TASK
    True
    """

    CONVERSATION = "Conversation"
    TASK = "Task"

    __str__ = str.__str__


def _freeze(value: object, *names: str) -> None:
    """Turn the named sequence fields of a frozen value into tuples."""
    for name in names:
        items = getattr(value, name)
        if isinstance(items, str):
            msg = f"`{name}` must be a sequence of items, not one str"
            raise TypeError(msg)
        object.__setattr__(value, name, tuple(items))


@dataclass(frozen=True, slots=True)
class MemoryTierBreakdown:
    """How many memories each tier returned.

    >>> MemoryTierBreakdown(working=2).semantic
    0
    """

    working: int = 0
    episodic: int = 0
    semantic: int = 0
    procedural: int = 0
    relationship: int = 0


@dataclass(frozen=True, slots=True)
class RetrievalMetrics:
    """How well memory retrieval went before this turn.

    >>> RetrievalMetrics(retrieval_count=3, retrieval_hit=True, avg_similarity=0.8).tiers is None
    True
    """

    retrieval_count: int = 0
    """How many memories were found."""
    retrieval_hit: bool = False
    """Whether any was found."""
    avg_similarity: float = 0.0
    """Their mean similarity to the message, 0 to 1."""
    budget_utilization: float = 0.0
    """Share of the retrieval budget that was used, 0 to 1."""
    tiers: MemoryTierBreakdown | None = None
    """Where they were found, if that is known."""


@dataclass(frozen=True, slots=True)
class ToolSearchStats:
    """What a search for fitting tools found.

    >>> ToolSearchStats(candidates_considered=12, candidates_selected=4).token_savings
    0
    """

    candidates_considered: int = 0
    """How many tools there are."""
    candidates_selected: int = 0
    """How many were offered to the model."""
    token_savings: int = 0
    """How many tokens that saved."""


@dataclass(frozen=True, slots=True)
class DecompositionProposal:
    """What a decomposition gate recommends.

    >>> DecompositionProposal(True, "two independent parts", 0.4).should_delegate
    True
    """

    should_delegate: bool
    """Whether it recommends to delegate."""
    rationale: str = ""
    """Why."""
    utility_margin: float = 0.0
    """By how much it prefers that."""


@dataclass(frozen=True, slots=True)
class DeclaredAction:
    """Something that the user declares to do.

    >>> DeclaredAction("open", "I open the door").verb
    'open'
    """

    verb: str
    """The verb, one of `ACTION_VERBS`."""
    text: str = ""
    """The sentence it stands in."""
    high_consequence: bool = False
    """Whether it could do lasting harm."""


@dataclass(frozen=True, slots=True)
class TaskStateInput:
    """What the host knows before a turn.

    Every field but the message may be left out; what is left out counts as zero,
    empty or unknown, so that the planner is never bolder than the host was informed.

    >>> TaskStateInput("hello", intents=["Execution"]).intents
    ('Execution',)
    """

    user_content: str
    """The user's message."""
    intents: Sequence[str] = ()
    """Names of the intents that were recognised; compared without case."""
    authority: str = ""
    """Who speaks, such as `Creator` or `Peer`; only creators may have things composed."""
    retrieval_metrics: RetrievalMetrics | None = None
    tool_search_stats: ToolSearchStats | None = None
    mcp_tools_available: bool = False
    """Whether any tool of an MCP server is at hand."""
    taskable_agent_count: int = 0
    """How many specialists could take a task."""
    fit_agent_count: int = 0
    """How many of them fit this one."""
    fit_agent_names: Sequence[str] = ()
    """Their names."""
    enabled_skill_count: int = 0
    matching_skill_count: int = 0
    """How many skills match the message."""
    missing_skills: Sequence[str] = ()
    """Skills that would be useful but are not there."""
    remaining_budget_tokens: int = 0
    """Tokens left after the system prompt."""
    provider_breaker_open: bool = False
    """Whether the circuit breaker of a model provider is open."""
    inference_mode: str = "standard"
    """`standard` or `streaming`."""
    decomposition_proposal: DecompositionProposal | None = None
    explicit_specialist_workflow: bool = False
    """Whether the user asked for a specialist in so many words."""
    named_tool_match: bool = False
    """Whether the user named a tool; not read by the contract."""
    recent_response_skeletons: Sequence[str] = ()
    """Structure of the latest replies, oldest first, such as `narrative+question`."""
    recent_user_message_lengths: Sequence[int] = ()
    """Lengths of the user's latest messages, oldest first."""
    self_echo_fragments: Sequence[str] = ()
    """Phrases out of the latest replies, see `extract_echo_fragments`."""
    declared_action: DeclaredAction | None = None
    """What the user declares to do; looked for in the message when left out."""
    previous_turn_had_protocol_issues: bool = False
    """Whether the last turn broke the tool protocol."""
    normalization_retry_streak: int = 0
    """How often in a row it was corrected; not read by the contract."""

    def __post_init__(self) -> None:
        _freeze(
            self,
            "intents",
            "fit_agent_names",
            "missing_skills",
            "recent_response_skeletons",
            "recent_user_message_lengths",
            "self_echo_fragments",
        )


@dataclass(frozen=True, slots=True)
class MemoryConfidence:
    """How far memory can be relied on.

    >>> MemoryConfidence(avg_similarity=0.3, recall_gap=True).empty_tiers
    ()
    """

    avg_similarity: float = 0.0
    budget_utilization: float = 0.0
    retrieval_count: int = 0
    recall_gap: bool = False
    """Whether memory fell short although there was budget left."""
    empty_tiers: Sequence[str] = ()
    """Tiers that returned nothing."""

    def __post_init__(self) -> None:
        _freeze(self, "empty_tiers")


@dataclass(frozen=True, slots=True)
class RuntimeConstraints:
    """What limits this turn.

    >>> RuntimeConstraints(remaining_budget_tokens=8000).inference_mode
    'standard'
    """

    remaining_budget_tokens: int = 0
    budget_pressured: bool = False
    """Whether few tokens are left."""
    provider_breaker_open: bool = False
    inference_mode: str = "standard"


@dataclass(frozen=True, slots=True)
class ToolFit:
    """How well the tools fit; not read by the planner.

    >>> ToolFit(available_count=10, high_relevance_count=3).mcp_available
    False
    """

    available_count: int = 0
    high_relevance_count: int = 0
    token_savings: int = 0
    mcp_available: bool = False


@dataclass(frozen=True, slots=True)
class RosterFit:
    """How well the specialists fit.

    >>> RosterFit(taskable_count=2, fit_count=1, fit_names=["researcher"]).fit_names
    ('researcher',)
    """

    taskable_count: int = 0
    fit_count: int = 0
    fit_names: Sequence[str] = ()
    explicit_workflow: bool = False
    """Whether the user asked for a specialist in so many words."""

    def __post_init__(self) -> None:
        _freeze(self, "fit_names")


@dataclass(frozen=True, slots=True)
class SkillFit:
    """How well the skills fit.

    >>> SkillFit(enabled_count=5, missing_skills=["pdf"]).missing_skills
    ('pdf',)
    """

    enabled_count: int = 0
    matching_count: int = 0
    missing_skills: Sequence[str] = ()

    def __post_init__(self) -> None:
        _freeze(self, "missing_skills")


@dataclass(frozen=True, slots=True)
class BehavioralHistory:
    """What the latest turns look like.

    >>> BehavioralHistory(structural_repetition=True, repetition_streak=3).repetition_streak
    3
    """

    structural_repetition: bool = False
    """Whether the latest replies all have one structure."""
    repetition_streak: int = 0
    repeated_pattern: str | None = None
    """That structure."""
    engagement_declining: bool = False
    """Whether the user writes less and less."""
    self_echo_risk: float = 0.0
    """Share of the model's own phrases that the message repeats, 0 to 1."""
    echo_fragment: str | None = None
    """The first such phrase, when the share is high."""
    variation_hint: str | None = None
    """What to tell the model against repetition or echo."""


@dataclass(frozen=True, slots=True)
class DeclaredActionState:
    """Whether the user declares to do something.

    >>> DeclaredActionState().action_declared
    False
    """

    action_declared: bool = False
    action: DeclaredAction | None = None
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
