"""What a turn may still use: tokens, and a provider that is up."""

from __future__ import annotations

from typing import Any, Final

from loopmend._arguments import require_int
from loopmend.breaker import Breaker
from loopmend.contracts.planner import ActionCandidate, PlannedAction
from loopmend.contracts.task_input import TaskStateInput
from loopmend.contracts.task_state import TaskOperatingState

__all__ = ["TokenBudget", "breaker_open", "give_back", "record_outcome"]

_CONFIDENCE: Final = 0.97
_CHARACTERS_PER_TOKEN: Final = 4  # where nobody counts them
_USED: Final = "tokens"
_MAY_CALL: Final = "may_call"


class TokenBudget:
    """How many tokens a turn may use, counted in what the host keeps for the turn.

    >>> budget, turn = TokenBudget(1000), {}
    >>> budget.use(turn, None, characters=2400)
    >>> budget.left(turn)
    400
    """

    def __init__(self, total: int) -> None:
        """Set the budget.

        Raises:
            TypeError: `total` is not an `int`.
            ValueError: `total` is negative.
        """
        require_int(total, "token_budget")
        if total < 0:
            msg = f"`token_budget` must be 0 or more, not {total}"
            raise ValueError(msg)
        self._total = total
        why = f"Token budget of {total} is used up"
        self._spent = ActionCandidate(PlannedAction.RETURN_BLOCKER, _CONFIDENCE, why)

    def use(self, turn: dict[str, Any], tokens: int | None, *, characters: int) -> None:
        """Count what a reply cost: the tokens that the provider reports, or an estimate."""
        used = characters // _CHARACTERS_PER_TOKEN if tokens is None else tokens
        turn[_USED] = turn.get(_USED, 0) + used

    def left(self, turn: dict[str, Any]) -> int:
        """Return how many tokens are left."""
        return max(0, self._total - int(turn.get(_USED, 0)))

    def rule(self, state: TaskOperatingState, input: TaskStateInput) -> ActionCandidate | None:  # noqa: ARG002 - a rule
        """Propose a blocker when the budget is used up."""
        return self._spent if input.remaining_budget_tokens == 0 else None


def breaker_open(breaker: Breaker, turn: dict[str, Any]) -> bool:
    """Ask a breaker, unless it let a call through in this turn that was not made yet.

    >>> from loopmend.breaker import CircuitBreaker
    >>> breaker_open(CircuitBreaker(), {})
    False
    """
    if not turn.get(_MAY_CALL):
        if breaker.is_open():
            return True
        turn[_MAY_CALL] = True
    return False


def record_outcome(breaker: Breaker, turn: dict[str, Any], error: BaseException | None) -> None:
    """Tell a breaker how the call went that it let through."""
    give_back(turn)
    if error is None:
        breaker.record_success()
    else:
        breaker.record_failure(error)


def give_back(turn: dict[str, Any]) -> None:
    """Forget that a call was let through: it was made, or the turn is over."""
    turn.pop(_MAY_CALL, None)
