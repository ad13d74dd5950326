"""What one run of an agent did, and the numbers about many runs."""

from __future__ import annotations

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from live.tasks import TASKS, Call, Task
from live.tools import TOOLS

__all__ = ["Run", "Totals", "noted_tools", "totals", "wilson"]

_Z: Final = 1.959964  # 95 % of a normal distribution lie so many deviations around its middle


@dataclass(slots=True)
class Run:
    """One agent at one task; filled in while it runs."""

    task: Task
    answer: str = ""
    calls: list[Call] = field(default_factory=list)
    model_calls: int = 0
    stop_reason: str = "none"
    """Why it ended, as `classify_trace` says."""
    error: str | None = None
    """The exception that ended it."""
    replies: list[str] = field(default_factory=list)
    """What the model said, so that it can be looked up why a run came out as it did."""

    @property
    def completed(self) -> bool:
        """Whether the final answer is right."""
        return self.error is None and self.task.is_right_answer(self.answer)

    @property
    def own_words(self) -> bool:
        """Whether the model said the answer; loopmend ends some runs with words of its own."""
        answer = " ".join(self.answer.split())
        return any(answer in " ".join(reply.split()) for reply in self.replies)

    @property
    def wrong_calls(self) -> int:
        """How many calls the task does not take."""
        return self.task.wrong_calls(self.calls)

    def as_data(self) -> dict[str, Any]:
        """Return plain data; the verdicts are there for readers only."""
        return {
            "question": self.task.question,
            "completed": self.completed,
            "own_words": self.own_words,
            "wrong_calls": self.wrong_calls,
            "answer": self.answer,
            "calls": [[call.tool, call.input] for call in self.calls],
            "model_calls": self.model_calls,
            "stop_reason": self.stop_reason,
            "error": self.error,
            "replies": self.replies,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Run:
        """Return a run that was written down.

        Raises:
            LookupError: There is no such task, or something is missing.
        """
        return cls(
            {task.question: task for task in TASKS}[data["question"]],
            data["answer"],
            [Call(tool, input) for tool, input in data["calls"]],
            data["model_calls"],
            data["stop_reason"],
            data["error"],
            data["replies"],
        )


def noted_tools(run: Run) -> list[Callable[..., str]]:
    """Return the tools that are on offer in a run, which note each call."""
    return [_noted(name, run) for name in run.task.group.tools]


def _noted(name: str, run: Run) -> Callable[..., str]:
    signature = inspect.signature(TOOLS[name])

    @functools.wraps(TOOLS[name])
    def wrapper(*given: str, **named: str) -> str:
        # Raises what the tool itself would on arguments that it does not take.
        [text] = signature.bind(*given, **named).args
        run.calls.append(Call(name, str(text)))
        return run.calls[-1].result

    return wrapper


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers about some runs."""

    tasks: int
    completed: int
    interval: tuple[float, float]
    """Between which rates the true rate of completion lies, with 95 % confidence."""
    own_words: int
    """How many were completed with an answer that the model said itself."""
    wrong_calls: int
    model_calls: int
    stop_reasons: dict[str, int]
    """How often each, the most frequent first."""


def totals(runs: Sequence[Run]) -> Totals:
    """Add up."""
    completed = sum(run.completed for run in runs)
    reasons = Counter(sorted(run.stop_reason for run in runs))
    return Totals(
        tasks=len(runs),
        completed=completed,
        interval=wilson(completed, len(runs)),
        own_words=sum(run.completed and run.own_words for run in runs),
        wrong_calls=sum(run.wrong_calls for run in runs),
        model_calls=sum(run.model_calls for run in runs),
        stop_reasons=dict(reasons.most_common()),
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
