"""What the planner of a run's steps asks a host for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, Union

from loopmend.mending.corrections import Form
from loopmend.planning.facts import Facts

__all__ = ["Found", "StepView"]

Found = Union[str, None]
"""What a look into memory tells, or what was made."""


class StepView(Protocol):
    """What a host shows of a step of a run."""

    agent_name: str
    about: str | None
    """What the agent does."""
    user_text: str
    """The user's message."""
    iteration: int
    """How many steps the run has taken."""
    form: Form
    """How the model is asked to write."""
    streams: bool
    """Whether the model streams."""
    tool_count: int
    """How many tools there are, the one to hand over with included."""
    roster: Mapping[str, str]
    """What those do whom the agent may hand over to."""
    model: object
    """Whom the agent asks."""
    turn: dict[str, Any]
    """What is kept until the user's next message, as plain data."""
    run: dict[Any, Any]
    """What is kept while the run goes on."""

    def facts(self) -> Facts:
        """Return what the host knows: all but what the planner finds out itself."""
        ...

    def window(self) -> int | None:
        """Return how many tokens the model can see."""
        ...

    def memory_look(self) -> Callable[[], Awaitable[Found]] | None:
        """Return what looks deeper into memory, if that can add to what the model sees."""
        ...

    def conversation(self) -> tuple[list[str], list[str]]:
        """Return what the user said and what was answered, oldest first."""
        ...

    def shown(self) -> Iterable[str]:
        """Return the texts that the model is about to see."""
        ...
