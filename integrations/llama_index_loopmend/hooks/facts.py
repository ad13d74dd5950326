"""What a planner can know at a step of a run, without being told anything."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.core.schema import NodeWithScore

from llama_index_loopmend.steps import AgentStep

__all__ = ["best_score", "can_inspect", "conversation", "failures_in_a_row"]

_ANSWER: Final = re.compile(r"(?:\A|\n)\s*Answer:")
# What `CodeActAgent` writes in the user's name.
_NOT_SAID: Final = "Result of executing the code given:"


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


def conversation(step: AgentStep) -> tuple[list[str], list[str]]:
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
