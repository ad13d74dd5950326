"""What a planned agent adds to its stream of events. All of it is JSON."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, Field
from workflows.events import Event

from loopmend import AdvisedPlan

__all__ = ["REFUSED", "PlanEvent", "ProtocolIssueEvent"]

REFUSED: Final = "refused"
"""Where an `AgentOutput` tells which replies were refused before it."""


class PlanEvent(Event):
    """What was planned for a step, and what was done about it.

    >>> PlanEvent(selected="ReturnBlocker", rationale="no tokens left", acted=True,
    ...           current_agent_name="writer").acted
    True
    """

    selected: str
    """The action that was selected, see `loopmend.PlannedAction`."""
    rationale: str
    """Why."""
    candidates: list[dict[str, Any]] = Field(default_factory=list)
    """All that was considered: `action`, `confidence` and `rationale`, the most confident first."""
    hints: list[str] = Field(default_factory=list)
    """What the model is told besides."""
    differences: list[str] = Field(default_factory=list)
    """Where this differs from what the contract alone would have selected, and why."""
    acted: bool = False
    """Whether the step went otherwise than it would have gone natively."""
    outcome: str | None = None
    """What came of the action, such as the specialist that took over."""
    current_agent_name: str = ""
    """The agent whose step it is."""

    @classmethod
    def of(
        cls, planned: AdvisedPlan, agent_name: str, *, acted: bool, outcome: str | None
    ) -> PlanEvent:
        """Return the event of a plan and of what was done about it."""
        event = cls.__new__(cls)
        # All of them are fields, which an event's own constructor would first look up one by one.
        BaseModel.__init__(
            event,
            selected=planned.selected.value,
            rationale=planned.selected_rationale,
            candidates=[
                {
                    "action": each.action.value,
                    "confidence": each.confidence,
                    "rationale": each.rationale,
                }
                for each in planned.candidates
            ],
            hints=list(planned.hints),
            differences=[difference.message for difference in planned.differences],
            acted=acted,
            outcome=outcome,
            current_agent_name=agent_name,
        )
        return event


class ProtocolIssueEvent(Event):
    """A reply that was refused; what was streamed of it should not be shown.

    >>> ProtocolIssueEvent(pattern="narrated", message="Nothing is called.", attempt=0).pattern
    'narrated'
    """

    pattern: str
    """What is wrong, see `loopmend.FailurePattern`."""
    message: str
    """What is wrong, in a sentence."""
    attempt: int
    """How often the model had been corrected before, from 0."""
    text: str = ""
    """The reply."""
    correction: str | None = None
    """What the model is told, or `None` where it is not asked again."""
    outcome: str = "retry"
    """What follows: `retry`, `salvaged`, `gave_up`, or `noticed` where nothing is done about it."""
    current_agent_name: str = ""
    """The agent whose reply it was."""
