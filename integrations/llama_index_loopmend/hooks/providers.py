"""What a planner knows of a provider: whether it is up, and how many tokens are left."""

from __future__ import annotations

from typing import Final, Literal

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.output_parsers.base import OutputParserException

from llama_index_loopmend.beside import Beside
from llama_index_loopmend.steps import AgentStep
from loopmend.breaker import Breaker, CircuitBreaker
from loopmend.contracts import ActionCandidate, PlannedAction, TaskOperatingState, TaskStateInput
from loopmend.traces.readers.values import tokens_of

__all__ = ["Breakers", "Budget"]

# How LlamaIndex pauses a step, which is no failure of the provider.
_CONTROL_FLOW: Final = "WaitingForEvent"
_BUDGET_CONFIDENCE: Final = 0.97
_CHARACTERS_PER_TOKEN: Final = 4  # where nobody counts them
_MAY_CALL: Final = "may_call"
_USED: Final = "tokens"
_CONTEXT: Final = "context"


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
        told = tokens_of(output.raw)
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
