"""What one run of an agent did, and the numbers about many runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from live.tasks import Task

__all__ = ["Call", "Run", "Totals", "totals", "wilson"]

_Z: Final = 1.959964  # 95 % of a normal distribution lie so many deviations around its middle


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that was carried out."""

    tool: str
    input: str
    result: str


@dataclass(slots=True)
class Run:
    """One agent at one task; filled in while it runs."""

    task: Task
    answer: str = ""
    calls: list[Call] = field(default_factory=list)
    model_calls: int = 0
    error: str | None = None
    """The exception that ended it."""
    seconds: float = 0.0

    @property
    def completed(self) -> bool:
        """Whether the final answer is right."""
        return self.error is None and self.task.is_right_answer(self.answer)

    @property
    def right_calls(self) -> int:
        """How many calls were the one that answers the question."""
        return sum(self.task.is_right_call(call.tool, call.result) for call in self.calls)

    @property
    def wrong_calls(self) -> int:
        """How many calls were other ones."""
        return len(self.calls) - self.right_calls


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers about the runs of one agent."""

    tasks: int
    completed: int
    interval: tuple[float, float]
    """Between which rates the true rate of completion lies, with 95 % confidence."""
    right_call: int
    """In how many runs the right call was made."""
    wrong_calls: int
    model_calls: int
    errors: int


def totals(runs: Sequence[Run]) -> Totals:
    """Add up."""
    completed = sum(run.completed for run in runs)
    return Totals(
        tasks=len(runs),
        completed=completed,
        interval=wilson(completed, len(runs)),
        right_call=sum(run.right_calls > 0 for run in runs),
        wrong_calls=sum(run.wrong_calls for run in runs),
        model_calls=sum(run.model_calls for run in runs),
        errors=sum(run.error is not None for run in runs),
    )


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a rate, which holds for few trials too."""
    if trials == 0:
        return 0.0, 1.0
    rate, square = successes / trials, _Z * _Z
    middle = rate + square / (2 * trials)
    spread = _Z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials * trials))
    scale = 1 + square / trials
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
