"""What a reader cannot know from a file: which tools there were, and which calls end a run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from loopmend.traces.trace import Limits, TraceCall

__all__ = ["ReadOptions", "options_of"]

# Calls by which harnesses end a run: smolagents, SWE-agent and Inspect, OpenHands, pydantic-ai,
# terminus-2, Cline. Each counts only as the last thing that the run does.
_FINISH: Final = frozenset(
    {
        *("final_answer", "finalanswer", "finalanswertool", "submit", "finish", "final_result"),
        *("mark_task_complete", "task_complete", "attempt_completion"),
    }
)
_HANDOVER: Final = re.compile(
    r"(?:hand_?off|handover|escalate)_to_"
    # Money and files are transferred as well: the name must end with somebody.
    r"|transfer_(?:back_)?to_(?:(?:\w{1,80}_)?(?:agent|assistant|supervisor|operator|person|team"
    r"|representative|specialist|expert|manager|support)s?\Z|human|(?P<who>\w{1,80})\Z)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The same options for every reader.

    >>> ReadOptions(finish=frozenset({"buy"})).ends(TraceCall("Buy"))
    True
    """

    tools: tuple[str, ...] | None = None
    finish: frozenset[str] = frozenset()
    """Calls that end a run with an answer, besides the usual ones, in lower case."""
    handover: frozenset[str] = frozenset()
    """Calls that end a run with somebody else, besides `transfer_to_…`, in lower case."""
    max_iterations: int | None = None

    @property
    def limits(self) -> Limits:
        """The limits of the run."""
        return Limits(self.max_iterations)

    def ends(self, call: TraceCall) -> bool:
        """Tell whether a call ends a run, if it is the last thing that the run does."""
        name = call.name.lower()
        if name in _FINISH:
            return True
        return bool(self.finish) and (name in self.finish or _written(call) in self.finish)

    def hands_over(self, call: TraceCall, agents: Iterable[str | None] = ()) -> bool:
        """Tell whether a call ends a run with somebody else, if it is the last of it.

        Args:
            call: The call.
            agents: The agents that the run is known to have.
        """
        told = _HANDOVER.match(call.name)
        if told is None or call.name.lower() in self.handover:
            return told is not None or call.name.lower() in self.handover
        who = (told["who"] or "").lower()
        return not who or who in {(each or "").lower().replace(" ", "_") for each in agents}


_NO_OPTIONS: Final = ReadOptions()


def options_of(
    tools: Iterable[str] | None = None,
    finish: Iterable[str] = (),
    handover: Iterable[str] = (),
    max_iterations: int | None = None,
) -> ReadOptions:
    """Return the options that a user gave."""
    if tools is None and finish == handover == () and max_iterations is None:
        return _NO_OPTIONS
    return ReadOptions(
        None if tools is None else tuple(tools),
        frozenset(name.lower() for name in finish),
        frozenset(name.lower() for name in handover),
        max_iterations,
    )


def _written(call: TraceCall) -> str:
    """Write a call as ReAct logs do, so that `click[Buy Now]` can be told from other clicks."""
    given: Any = call.arguments
    return f"{call.name}[{given}]".lower() if isinstance(given, str) else ""
