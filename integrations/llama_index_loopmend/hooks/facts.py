"""What a planner can know at a step of a run, without being told anything."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import Memory
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.schema import NodeWithScore

from llama_index_loopmend.beside import Beside
from llama_index_loopmend.steps import AgentStep
from loopmend.breaker import Breaker, CircuitBreaker
from loopmend.contracts import ActionCandidate, PlannedAction, TaskOperatingState, TaskStateInput
from loopmend.traces.readers.values import tokens_of

__all__ = ["Breakers", "Budget", "best_score", "can_inspect", "conversation", "failures_in_a_row"]

_ANSWER: Final = re.compile(r"(?:\A|\n)\s*Answer:")
# What `CodeActAgent` writes in the user's name.
_NOT_SAID: Final = "Result of executing the code given:"
# How LlamaIndex pauses a step, which is no failure of the provider.
_CONTROL_FLOW: Final = "WaitingForEvent"
_BUDGET_CONFIDENCE: Final = 0.97
_CHARACTERS_PER_TOKEN: Final = 4  # where nobody counts them
_MAY_CALL: Final = "may_call"
_USED: Final = "tokens"
_CONTEXT: Final = "context"


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


class Breakers:
    """The circuit breaker of each model, or one that somebody shares."""

    def __init__(self, shared: Breaker | Literal[False] | None) -> None:
        self._shared = shared
        self._own: Beside[CircuitBreaker] = Beside()

    def of(self, step: AgentStep) -> Breaker | None:
        """Return the breaker of an agent's model."""
        if self._shared is not None:
            return self._shared or None
        known: CircuitBreaker | None = step.local.get(self)
        if known is None:
            known = step.local[self] = self._own.kept(step.agent.llm, CircuitBreaker)
        return known

    def is_open(self, step: AgentStep) -> bool | None:
        """Ask a breaker, unless it let a call through that was not made yet."""
        breaker, turn = self.of(step), step.notes.turn
        if breaker is None:
            return None
        if not turn.get(_MAY_CALL):
            if breaker.is_open():
                return True
            turn[_MAY_CALL] = True
        return False

    def record(self, step: AgentStep, error: BaseException | None) -> None:
        """Tell how the provider did: what a parser refuses did arrive, and a pause says nothing."""
        breaker = self.of(step)
        if breaker is None or type(error).__name__ == _CONTROL_FLOW:
            return
        self.give_back(step)
        if error is None or isinstance(error, OutputParserException):
            breaker.record_success()
        else:
            breaker.record_failure(error)

    def give_back(self, step: AgentStep) -> None:
        """Forget that a call was let through: it was made, or the turn is over."""
        step.notes.turn.pop(_MAY_CALL, None)


class Budget:
    """The tokens of a turn, and of the model's context window."""

    def __init__(self, total: int | None) -> None:
        if total is not None and total < 0:
            msg = f"`token_budget` must be 0 or more, not {total}"
            raise ValueError(msg)
        self._total = total
        self._spent = ActionCandidate(
            PlannedAction.RETURN_BLOCKER, _BUDGET_CONFIDENCE, f"Token budget of {total} is used up"
        )

    def count(self, step: AgentStep, output: AgentOutput) -> None:
        """Count what a reply cost, as the provider tells it.

        A budget that is set is estimated where the provider is silent.
        """
        told = None if output.raw is None else tokens_of(output.raw)
        if told is not None:
            step.run[_CONTEXT] = told.total
        if self._total is not None:
            shown = [*step.messages, *step.pad.messages(step.held), output.response]
            length = sum(len(message.content or "") for message in shown)
            used = length // _CHARACTERS_PER_TOKEN if told is None else told.total
            step.notes.turn[_USED] = step.notes.turn.get(_USED, 0) + used

    def left(self, step: AgentStep) -> int | None:
        """Return how many tokens are left, or `None` if nobody told."""
        if self._total is not None:
            return max(0, self._total - int(step.notes.turn.get(_USED, 0)))
        context = step.run.get(_CONTEXT) if step.iteration else None
        if context is None:
            return None
        window = step.agent.llm.metadata.context_window
        return max(0, window - int(context)) if window else None

    def rule(self, state: TaskOperatingState, input: TaskStateInput) -> ActionCandidate | None:  # noqa: ARG002 - a rule
        """Propose a blocker when the budget is used up."""
        return self._spent if input.remaining_budget_tokens == 0 else None
