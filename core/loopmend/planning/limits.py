"""How many tokens a turn may still use."""

from __future__ import annotations

from typing import Any, Final

from loopmend._arguments import require_int
from loopmend.contracts.planner import ActionCandidate, PlannedAction
from loopmend.contracts.task_input import TaskStateInput
from loopmend.contracts.task_state import TaskOperatingState

__all__ = ["TokenBudget"]

_CONFIDENCE: Final = 0.97
_CHARACTERS_PER_TOKEN: Final = 4  # where nobody counts them
_USED: Final = "tokens"


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
