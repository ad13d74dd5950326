"""What a plan has to tell the model: the mistake to avoid, and how to go on with the user."""

from __future__ import annotations

from typing import Final

from loopmend.contracts.planner import PlannedAction, TaskExecutionPlan
from loopmend.contracts.task_state import TaskOperatingState
from loopmend.mending.corrections import FORMS, Form, mistake_in_words
from loopmend.reading.turn import FailurePattern

__all__ = ["plan_correction", "plan_hints"]

_PROTOCOL: Final = "Your last reply broke the tool protocol."
# The words of the synthesis, for states that were made in another way.
_REPETITION: Final = "Vary the structure of the reply: the latest ones are all built alike."
_ENGAGEMENT: Final = (
    "The user's messages are getting shorter. Change your approach or ask one focused question."
)


def plan_correction(
    planned: TaskExecutionPlan, *, form: Form = "native", mistake: FailurePattern | None = None
) -> str | None:
    """Return the correction for the model, if its last reply broke the tool protocol.

    Args:
        planned: The plan.
        form: The form that you asked the model for.
        mistake: The failure of the reply, if known.

    >>> from loopmend.contracts import TaskStateInput, plan, synthesize_task_state
    >>> turn = TaskStateInput("go", ["execution"], previous_turn_had_protocol_issues=True)
    >>> planned = plan(synthesize_task_state(turn), turn)
    >>> plan_correction(planned, mistake=FailurePattern.EMPTY)[:55]
    'In your last turn: Your reply was empty. Call the tool '
    """
    if all(each.action is not PlannedAction.NORMALIZATION_RETRY for each in planned.candidates):
        return None
    said = _PROTOCOL if mistake is None else f"In your last turn: {mistake_in_words(mistake)}"
    return f"{said} {FORMS[form]}."


def plan_hints(state: TaskOperatingState) -> tuple[str, ...]:
    """Return what rules 9 and 10 would tell the model, whichever action wins.

    They guess at the user's taste: a user who asked for tables wants the same structure again.

    >>> from loopmend.contracts import TaskStateInput, synthesize_task_state
    >>> turn = TaskStateInput("go", recent_response_skeletons=["list"] * 3)
    >>> plan_hints(synthesize_task_state(turn))
    ('Vary the structure of the reply: the latest ones are all built alike.',)
    """
    history = state.behavioral_history
    hints = []
    if history.variation_hint:
        hints.append(history.variation_hint)
    elif history.structural_repetition:
        hints.append(_REPETITION)
    if history.engagement_declining:
        hints.append(_ENGAGEMENT)
    return tuple(hints)
