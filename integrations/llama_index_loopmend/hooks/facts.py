"""What a planner can know at a step of a run, without being told anything."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.core.schema import NodeWithScore

from llama_index_loopmend.steps import AgentStep
from loopmend.contracts import RetrievalMetrics, TaskStateInput, ToolSearchStats
from loopmend.planning import observe_conversation

__all__ = ["Facts", "best_score", "can_inspect", "failures_in_a_row"]

_ANSWER: Final = re.compile(r"(?:\A|\n)\s*Answer:")
# What `CodeActAgent` writes in the user's name.
_NOT_SAID: Final = "Result of executing the code given:"
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
    """Whom of them the user asked for, in order."""
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

    def task(self, step: AgentStep, *, inspects: bool, **known: Any) -> TaskStateInput:
        """Return what the contract's planner takes.

        Args:
            step: The step.
            inspects: Whether memory can add what the prompt does not hold.
            known: Fields that the host knows better.
        """
        users, replies = _conversation(step)
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
            "inference_mode": "streaming" if step.agent.streaming else "standard",
            "authority": self.authority or "",
        }
        if inspects and self.best_score is not None:
            found = RetrievalMetrics(1, self.best_score > 0, self.best_score)
            fields["retrieval_metrics"] = found
        return observe_conversation(
            users, replies, tool_count=len(step.tools), **{**fields, **known}
        )

    def data(self) -> dict[str, Any]:
        """Return the facts as JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


def failures_in_a_row(results: Sequence[Any]) -> int:
    """Return how many of the latest tool results are errors."""
    count = 0
    for call in reversed(results):
        if not call.tool_output.is_error:
            break
        count += 1
    return count


def best_score(results: Sequence[Any]) -> float | None:
    """Return the best similarity of the latest retrieval among tool results.

    It is unknown if no tool returned nodes, if they have no scores, or if those are no
    similarities: a rank or a logit is not between -1 and 1.
    """
    for call in reversed(results):
        nodes = _nodes(call.tool_output.raw_output)
        if nodes is not None:
            scores = [node.score for node in nodes if node.score is not None]
            if not nodes:
                return 0.0
            if not scores or not all(_is_similarity(score) for score in scores):
                return None
            return max(0.0, *map(float, scores))
    return None


def _is_similarity(score: float) -> bool:
    return math.isfinite(score) and -1 <= score <= 1


def _nodes(returned: Any) -> list[NodeWithScore] | None:
    """Return the nodes that a tool returned: alone, or as the sources of a query engine."""
    found = getattr(returned, "source_nodes", returned)
    if not isinstance(found, (list, tuple)) or (not found and found is returned):
        return None
    return list(found) if all(isinstance(node, NodeWithScore) for node in found) else None


def can_inspect(step: AgentStep) -> bool:
    """Tell whether the memory has more than what the model is shown anyway."""
    return isinstance(step.memory, Memory) and bool(step.memory.memory_blocks)


def _conversation(step: AgentStep) -> tuple[list[str], list[str]]:
    """Return what the user said and what was answered, oldest first."""
    users: list[str] = []
    replies: list[str] = []
    for message in step.messages:
        text = message.content or ""
        if message.role == MessageRole.USER and not text.startswith(_NOT_SAID):
            users.append(text)
        elif message.role == MessageRole.ASSISTANT and not any(_calls(message)):
            replies.append(_answer(text))
    # LlamaIndex writes the workflow's state into the latest message.
    return [*users[:-1], step.user_text], replies


def _calls(message: ChatMessage) -> Iterator[ToolCallBlock]:
    return (block for block in message.blocks if isinstance(block, ToolCallBlock))


def _answer(text: str) -> str:
    """Return the answer of what a ReAct agent wrote to memory, or the text."""
    ends = [match.end() for match in _ANSWER.finditer(text)]
    return text[ends[-1] :].strip() if ends else text
