"""What a plan would have the model know, whichever action was selected."""

from __future__ import annotations

from typing import Final

from loopmend.contracts.planner import PlannedAction, TaskExecutionPlan
from loopmend.contracts.task_state import TaskOperatingState
from loopmend.reading.retry import FORMATS, AskedDialect

__all__ = ["plan_hints"]

_PROTOCOL: Final = "Your last reply broke the tool protocol."
# The words of the synthesis, for states that were made in another way.
_REPETITION: Final = "Vary the structure of the reply: the latest ones are all built alike."
_ENGAGEMENT: Final = (
    "The user's messages are getting shorter. Change your approach or ask one focused question."
)


def plan_hints(
    planned: TaskExecutionPlan, state: TaskOperatingState, *, dialect: AskedDialect = "native"
) -> tuple[str, ...]:
    """Return what to tell the model along with a step, besides acting on the plan.

    The contract selects one action, so that what a less confident rule has to say would be
    lost: a reminder of the protocol, a hint to vary, a hint that the user is losing interest.

    Args:
        planned: The plan.
        state: What it was made from.
        dialect: How the model is asked to write.

    >>> from loopmend import TaskStateInput, plan, synthesize_task_state
    >>> turn = TaskStateInput("go", intents=["execution"], recent_response_skeletons=["list"] * 3)
    >>> state = synthesize_task_state(turn)
    >>> plan_hints(plan(state, turn), state)
    ('Vary the structure of the reply: the latest ones are all built alike.',)
    """
    actions = {candidate.action for candidate in planned.candidates}
    history = state.behavioral_history
    hints = []
    if PlannedAction.NORMALIZATION_RETRY in actions:
        hints.append(f"{_PROTOCOL} {FORMATS[dialect]}")
    if history.variation_hint:
        hints.append(history.variation_hint)
    elif history.structural_repetition:
        hints.append(_REPETITION)
    if history.engagement_declining:
        hints.append(_ENGAGEMENT)
    return tuple(hints)
