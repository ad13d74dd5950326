"""What a planner can know at a step of a run, without being told anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import NodeWithScore

from llama_index_loopmend.messages import has_calls
from loopmend.adapting import best_similarity

__all__ = ["best_score", "failures_in_a_row", "found_in_blocks", "said_and_answered"]

_ANSWER: Final = re.compile(r"(?:\A|\n)\s*Answer:")
# What `CodeActAgent` writes in the user's name.
_NOT_SAID: Final = "Result of executing the code given:"


def failures_in_a_row(results: Sequence[Any]) -> int:
    """Return how many of the latest tool results are errors."""
    return sum(1 for _ in takewhile(lambda call: call.tool_output.is_error, reversed(results)))


def best_score(results: Sequence[Any]) -> float | None:
    """Return the best similarity of the latest retrieval among tool results, if there was one."""
    for call in reversed(results):
        nodes = _nodes(call.tool_output.raw_output)
        if nodes is not None:
            return best_similarity([node.score for node in nodes])
    return None


def _nodes(returned: Any) -> list[NodeWithScore] | None:
    """Return the nodes that a tool returned: alone, or as the sources of a query engine."""
    found = getattr(returned, "source_nodes", returned)
    if not isinstance(found, (list, tuple)) or (not found and found is returned):
        return None
    return list(found) if all(isinstance(node, NodeWithScore) for node in found) else None


def said_and_answered(messages: Sequence[ChatMessage]) -> tuple[list[str], list[str]]:
    """Return what the user said and what was answered, oldest first."""
    users: list[str] = []
    replies: list[str] = []
    for message in messages:
        text = message.content or ""
        if message.role == MessageRole.USER and not text.startswith(_NOT_SAID):
            users.append(text)
        elif message.role == MessageRole.ASSISTANT and not has_calls(message):
            replies.append(_answer(text))
    return users, replies


async def found_in_blocks(memory: Any, text: str, shown: Iterable[str]) -> str:
    """Ask each block of LlamaIndex's memory what it holds on a message, and is not shown yet."""
    asked = [ChatMessage(role=MessageRole.USER, content=text)]
    blocks = memory.memory_blocks
    found = [await block.aget(asked, session_id=memory.session_id) for block in blocks]
    seen = "\n".join(shown)
    texts = map(_as_text, found)
    return "\n\n".join(each for each in texts if each and each not in seen)


def _as_text(content: Any) -> str:
    if isinstance(content, list):
        texts = (getattr(item, "text", None) or getattr(item, "content", None) for item in content)
        return "\n".join(text for text in texts if text)
    return content.strip() if isinstance(content, str) else ""


def _answer(text: str) -> str:
    """Return the answer of what a ReAct agent wrote to memory, or the text."""
    ends = [match.end() for match in _ANSWER.finditer(text)]
    return text[ends[-1] :].strip() if ends else text
