"""What a host does about a plan: answer, hand over, or ask the model with these notes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from loopmend.contracts.planner import PlannedAction
from loopmend.planning.advised import AdvisedPlan
from loopmend.planning.explanation import action_in_words

__all__ = ["COMPOSES", "GO_ON", "Conduct", "Mode", "conduct"]

Mode = Literal["enforce", "advise", "observe"]
"""Whether a plan is acted on, told to the model, or only told to the developer."""
GO_ON: Final = (PlannedAction.CONTINUE_CENTRALIZED, PlannedAction.ANSWER_DIRECTLY)
"""What a model does without a plan, too."""
COMPOSES: Final = (PlannedAction.COMPOSE_SKILL, PlannedAction.COMPOSE_SUBAGENT)
"""What needs somebody who can make a skill or a specialist."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """What to do about a plan.

    >>> Conduct(notes=("Vary the structure.",)).answer is None
    True
    """

    answer: str | None = None
    """What to answer without asking the model."""
    to: str | None = None
    """Whom to hand over to."""
    notes: tuple[str, ...] = ()
    """What to tell the model."""
    done: str | None = None
    """The same in words; `None` if nothing is done."""
    advice: str | None = None
    """What the developer could do."""


def conduct(
    planned: AdvisedPlan,
    mode: Mode = "enforce",
    *,
    hints: bool = False,
    roster: Collection[str] = (),
    composes: bool = False,
) -> Conduct:
    """Say what to do about a plan.

    Args:
        planned: The plan.
        mode: How far the plan counts.
        hints: Whether the model is told what rules 9 and 10 advise.
        roster: Who can be handed over to and has not had the turn yet.
        composes: Whether the host can make a skill or a specialist.

    >>> from loopmend import Planner
    >>> from loopmend.contracts import TaskStateInput
    >>> blocked = Planner().advise(TaskStateInput("go", provider_breaker_open=True))
    >>> conduct(blocked).answer
    'Stopped: Provider circuit breaker open; cannot proceed with inference.'
    """
    action, why = planned.advised.selected, planned.advised.selected_rationale
    told = planned.hints if hints else ()
    advice = None
    if action in COMPOSES and not composes:
        advice = f"{why}. Pass `compose=` to create it."
    if mode != "enforce":
        suggested = f"Suggested next step: {action_in_words(action)}. {why.rstrip('.')}."
        notes = (suggested,) if mode == "advise" and action not in GO_ON else ()
        return Conduct(notes=(*notes, *told), advice=advice)
    if action is PlannedAction.RETURN_BLOCKER:
        done = "answered without asking the model"
        return Conduct(answer=f"Stopped: {why.rstrip('.')}.", done=done)
    if action is PlannedAction.DELEGATE_TO_SPECIALIST:
        for name in planned.input.fit_agent_names:
            if name in roster:
                return Conduct(to=name, done=f"handed over to {name}")
    if planned.correction is None:
        return Conduct(notes=told, advice=advice)
    return Conduct(notes=(planned.correction, *told), done="named the mistake", advice=advice)
