"""Contract 5, values: what the host knows before a turn. Field names are the wire format's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopmend._arguments import freeze_texts, not_text

__all__ = [
    "DeclaredAction",
    "DecompositionProposal",
    "MemoryTierBreakdown",
    "RetrievalMetrics",
    "TaskStateInput",
    "ToolSearchStats",
]


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
    """Where retrieval found them, if known."""


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
    """By how much it prefers delegation."""


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
    """Whether the action could do lasting harm."""


@dataclass(frozen=True, slots=True)
class TaskStateInput:
    """What the host knows before a turn.

    You may leave out every field but the message. A missing field counts as zero,
    empty or unknown, so the planner never assumes more than the host knows.

    >>> TaskStateInput("hello", intents=["Execution"]).intents
    ('Execution',)
    """

    user_content: str
    """The user's message."""
    intents: Sequence[str] = ()
    """The names of the recognised intents, in any case."""
    authority: str = ""
    """Who speaks, such as `Creator` or `Peer`; the planner composes only for creators."""
    retrieval_metrics: RetrievalMetrics | None = None
    """How well memory retrieval went, if there was any."""
    tool_search_stats: ToolSearchStats | None = None
    """What the search for fitting tools found, if there was one."""
    mcp_tools_available: bool = False
    """Whether any tool of an MCP server is at hand."""
    taskable_agent_count: int = 0
    """How many specialists could take a task."""
    fit_agent_count: int = 0
    """How many of them fit this one."""
    fit_agent_names: Sequence[str] = ()
    """Their names."""
    enabled_skill_count: int = 0
    """How many skills there are."""
    matching_skill_count: int = 0
    """How many skills match the message."""
    missing_skills: Sequence[str] = ()
    """Skills that would be useful but are missing."""
    remaining_budget_tokens: int = 0
    """Tokens left after the system prompt."""
    provider_breaker_open: bool = False
    """Whether the circuit breaker of a model provider is open."""
    inference_mode: str = "standard"
    """`standard` or `streaming`."""
    decomposition_proposal: DecompositionProposal | None = None
    """What a decomposition gate recommends, if there is one."""
    explicit_specialist_workflow: bool = False
    """Whether the user explicitly asked for a specialist."""
    named_tool_match: bool = False
    """Whether the user named a tool; the contract does not read it."""
    recent_response_skeletons: Sequence[str] = ()
    """Structure of the latest replies, oldest first, such as `narrative+question`."""
    recent_user_message_lengths: Sequence[int] = ()
    """Lengths of the user's latest messages, oldest first."""
    self_echo_fragments: Sequence[str] = ()
    """Phrases out of the latest replies, see `extract_echo_fragments`."""
    declared_action: DeclaredAction | None = None
    """The action that the user declares; found in the message if left out."""
    previous_turn_had_protocol_issues: bool = False
    """Whether the last turn broke the tool protocol."""
    normalization_retry_streak: int = 0
    """How often in a row it was corrected; the contract does not read it."""

    def __post_init__(self) -> None:
        for name in ("user_content", "authority", "inference_mode"):
            if not isinstance(text := getattr(self, name), str):
                raise not_text(text, name)
        freeze_texts(
            self,
            "intents",
            "fit_agent_names",
            "missing_skills",
            "recent_response_skeletons",
            "self_echo_fragments",
        )
        lengths = tuple(self.recent_user_message_lengths)
        object.__setattr__(self, "recent_user_message_lengths", lengths)
