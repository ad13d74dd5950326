"""What the planner of a run's steps asks a host for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, Union

from loopmend.mending.corrections import Form
from loopmend.planning.notes import Issue
from loopmend.reading.tools import Toolbox

__all__ = ["Found", "StepView"]

Found = Union[str, None]
"""What a look into memory tells, or what was made."""


class StepView(Protocol):
    """What a host shows of a step of a run; the planner asks for what it needs."""

    @property
    def agent_name(self) -> str:
        """The agent's name."""
        ...

    @property
    def about(self) -> str | None:
        """What the agent does."""
        ...

    @property
    def user_text(self) -> str:
        """The user's message."""
        ...

    @property
    def iteration(self) -> int:
        """How many steps the run has taken."""
        ...

    @property
    def form(self) -> Form:
        """How the model is asked to write."""
        ...

    @property
    def streams(self) -> bool:
        """Whether the model streams."""
        ...

    @property
    def toolbox(self) -> Toolbox:
        """The tools; another one once they change."""
        ...

    @property
    def tool_count(self) -> int:
        """How many tools there are, the one to hand over with included."""
        ...

    @property
    def handoff(self) -> str:
        """The name of the tool to hand over with, should there be one."""
        ...

    @property
    def mcp_tools(self) -> bool:
        """Whether some tools are of an MCP server."""
        ...

    @property
    def roster(self) -> Mapping[str, str]:
        """What those do whom the agent may hand over to."""
        ...

    @property
    def model(self) -> object:
        """Whom the agent asks."""
        ...

    @property
    def window(self) -> int | None:
        """How many tokens the model can see."""
        ...

    @property
    def issue(self) -> Issue:
        """What was wrong with the latest reply, and how often in a row."""
        ...

    @property
    def authority(self) -> object:
        """Who the user is."""
        ...

    @property
    def best_score(self) -> float | None:
        """The best similarity of the latest retrieval."""
        ...

    @property
    def failures_in_a_row(self) -> int:
        """How many of the latest tool results are errors."""
        ...

    @property
    def turn(self) -> dict[str, Any]:
        """What is kept until the user's next message, as plain data."""
        ...

    @property
    def run(self) -> dict[Any, Any]:
        """What is kept while the run goes on."""
        ...

    @property
    def memory_look(self) -> Callable[[], Awaitable[Found]] | None:
        """What looks deeper into memory, if that can add to what the model sees."""
        ...

    def conversation(self) -> tuple[list[str], list[str]]:
        """Return what the user said and what was answered, oldest first."""
        ...

    def shown(self) -> Iterable[str]:
        """Return the texts that the model is about to see."""
        ...
