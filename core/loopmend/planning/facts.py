"""What is known at a step of a run: the planner's input without a guess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from loopmend.contracts.task_input import RetrievalMetrics, TaskStateInput, ToolSearchStats
from loopmend.planning.conversation import observe_conversation

__all__ = ["Facts", "best_similarity"]

_PLENTY: Final = 1_000_000
"""Tokens where nobody knows how many are left: no rule fires on that."""


@dataclass(frozen=True)
class Facts:
    """What is known at a step; `None` is unknown.

    >>> Facts(tools=2).tokens_left is None
    True
    """

    tools: int = 0
    mcp_tools: bool = False
    roster: tuple[str, ...] = ()
    """Whom the agent may hand over to."""
    asked_for: tuple[str, ...] = ()
    """The specialists that the user addressed, in order."""
    asked: bool = False
    """Whether the user asked for a specialist at all."""
    tokens_left: int | None = None
    """What the model's context window still holds, or the turn's budget."""
    breaker_open: bool | None = None
    """Whether the provider failed so often that it is not to be asked."""
    protocol_issue: str | None = None
    """What was wrong with the last reply, of this run or of the last one with the memory."""
    issue_streak: int = 0
    best_score: float | None = None
    """The best similarity of the latest retrieval; 0 if it found nothing."""
    failures_in_a_row: int = 0
    """How many of the latest tool results are errors."""
    authority: str | None = None
    """Who the user is."""

    def task(
        self,
        users: Sequence[str],
        replies: Sequence[str],
        *,
        tool_count: int,
        streams: bool,
        inspects: bool,
        **known: Any,
    ) -> TaskStateInput:
        """Return what the contract's planner takes.

        Args:
            users: What the user wrote, oldest first.
            replies: What the model answered, oldest first.
            tool_count: How many tools the model has, the one to hand over with included.
            streams: Whether the model streams.
            inspects: Whether memory can add what the prompt does not hold.
            known: Fields that the host knows better.
        """
        fields: dict[str, Any] = {
            "tool_search_stats": ToolSearchStats(self.tools, self.tools) if self.tools else None,
            "mcp_tools_available": self.mcp_tools,
            "taskable_agent_count": len(self.roster),
            "fit_agent_count": len(self.asked_for),
            "fit_agent_names": self.asked_for,
            "explicit_specialist_workflow": self.asked,
            "remaining_budget_tokens": _PLENTY if self.tokens_left is None else self.tokens_left,
            "provider_breaker_open": bool(self.breaker_open),
            "previous_turn_had_protocol_issues": self.protocol_issue is not None,
            "normalization_retry_streak": max(0, self.issue_streak - 1),
            "inference_mode": "streaming" if streams else "standard",
            "authority": self.authority or "",
        }
        if inspects and self.best_score is not None:
            found = RetrievalMetrics(1, self.best_score > 0, self.best_score)
            fields["retrieval_metrics"] = found
        return observe_conversation(users, replies, tool_count=tool_count, **{**fields, **known})

    def data(self) -> dict[str, Any]:
        """Return the facts as JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


def best_similarity(scores: Sequence[float | None]) -> float | None:
    """Return the best similarity of what one retrieval found; 0 if it found nothing.

    It is unknown if nothing has a score, or if the scores are no similarities: a rank or a logit is
    not between -1 and 1.

    >>> best_similarity([0.4, None, 0.7]), best_similarity([]), best_similarity([12.5])
    (0.7, 0.0, None)
    """
    known = [float(score) for score in scores if score is not None]
    if not scores:
        return 0.0
    if not known or not all(math.isfinite(score) and -1 <= score <= 1 for score in known):
        return None
    return max(0.0, *known)
