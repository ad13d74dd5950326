"""What hooks add to an agent's stream of events. All of it is JSON."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from workflows.events import Event

__all__ = ["MetaSignalEvent", "PlanEvent", "ProtocolIssueEvent"]


class PlanEvent(Event):
    """The plan for a step: the facts, the candidates, and what the hook did.

    >>> PlanEvent(selected="ReturnBlocker", rationale="no tokens left", done="answered").done
    'answered'
    """

    known: dict[str, Any] = Field(default_factory=dict)
    """The facts behind the plan; `None` means unknown, and no rule fires on it."""
    selected: str
    """The selected action, see `loopmend.contracts.PlannedAction`."""
    rationale: str
    """Why."""
    candidates: list[dict[str, Any]] = Field(default_factory=list)
    """All candidates, the most confident first: `action`, `confidence`, `rationale`, `source`."""
    differences: list[str] = Field(default_factory=list)
    """Where this differs from what the contract alone would select, and why."""
    done: str | None = None
    """What the hook did, such as handing over to a specialist; `None` if nothing."""
    told: list[str] = Field(default_factory=list)
    """What the hook added to the prompt."""
    hints: list[str] = Field(default_factory=list)
    """What rules 9 and 10 would tell the model."""
    advice: str | None = None
    """Advice for the developer."""
    current_agent_name: str = ""
    """The agent whose step it is."""


class ProtocolIssueEvent(Event):
    """A refused reply; do not show its streamed tokens.

    >>> ProtocolIssueEvent(pattern="narrated", message="Nothing is called.", attempt=0).pattern
    'narrated'
    """

    pattern: str
    """What is wrong, see `loopmend.FailurePattern`."""
    message: str
    """What is wrong, in a sentence."""
    attempt: int
    """Which retry follows, from 1; 0 if the hook does not ask again."""
    text: str = ""
    """The reply."""
    correction: str | None = None
    """What the hook tells the model; `None` if it does not ask again, or constrains the decoding
    instead."""
    outcome: str = "retry"
    """What follows: `retry`, `salvaged` or `gave_up`."""
    current_agent_name: str = ""
    """The agent whose reply it was."""


class MetaSignalEvent(Event):
    """What a model says about its own progress.

    >>> MetaSignalEvent(signal={"kind": "Stuck"}).signal["kind"]
    'Stuck'
    """

    signal: dict[str, Any]
    """The signal, see `loopmend.contracts.MetaSignal`."""
    current_agent_name: str = ""
    """The agent that says so."""
