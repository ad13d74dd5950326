"""How far to go to get a usable reply."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Union

from loopmend._arguments import require_int
from loopmend.contracts.normalization import MAX_NORMALIZATION_RETRIES
from loopmend.mending.messages import Reply
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import FailurePattern

__all__ = ["OnFailure", "RetryPolicy", "check_on_failure"]

OnFailure = Union[Literal["return", "raise"], Callable[..., Any]]
"""What to do after giving up: return what there is, raise, or ask a function."""

_CONSTRAIN: Final = ("retry", "always", False)
_SHOW: Final = ("calls", "after_result", True, False)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How far to go to get a usable reply.

    >>> RetryPolicy(salvage=["search"]).may_make("search"), RetryPolicy(salvage=False).salvage
    (True, False)
    """

    max_retries: int = MAX_NORMALIZATION_RETRIES
    """The maximum number of retries."""
    salvage: bool | Collection[str] = True
    """Whether to make calls that the model wrote as text: all, none, or only to these tools."""
    constrain: Literal["retry", "always", False] = "retry"
    """When to have the provider decode by a JSON schema, if it can: from the first retry on, always
    or never."""
    show_refused: bool | Literal["calls", "after_result"] = "after_result"
    """Whether the model sees the refused reply, followed by the correction: never, always, if it
    made calls, or if it follows a tool's result; calls that it sees get their answers. At the first
    step models repeat what they see; after a result they go on from it (`live.obedience`)."""
    patterns: Collection[FailurePattern] = frozenset(FailurePattern)
    """Which failures to act on; a reply with any other failure is used as it is."""

    def __post_init__(self) -> None:
        require_int(self.max_retries, "max_retries")
        if self.max_retries < 0:
            msg = f"max_retries must be 0 or more, not {self.max_retries}"
            raise ValueError(msg)
        if self.constrain not in _CONSTRAIN:
            msg = f"constrain must be 'retry', 'always' or False, not {self.constrain!r}"
            raise ValueError(msg)
        if self.show_refused not in _SHOW:
            allowed = "True, False, 'calls' or 'after_result'"
            msg = f"show_refused must be {allowed}, not {self.show_refused!r}"
            raise ValueError(msg)
        if isinstance(self.salvage, str):
            msg = "`salvage` must be a bool or a collection of tool names, not one str"
            raise TypeError(msg)
        if not isinstance(self.salvage, bool):
            object.__setattr__(self, "salvage", frozenset(self.salvage))
        object.__setattr__(self, "patterns", frozenset(map(FailurePattern, self.patterns)))

    def may_make(self, tool: str) -> bool:
        """Tell whether to make a written call to a tool."""
        return self.salvage if isinstance(self.salvage, bool) else tool in self.salvage

    def with_tools(self, tools: Toolbox | None) -> RetryPolicy:
        """Return the policy for these tools: without any, nobody can be narrating their use."""
        if tools is None or tools.tools:
            return self
        return replace(self, patterns=frozenset(self.patterns) - {FailurePattern.NARRATED})

    def shows(self, reply: Reply, *, after_result: bool) -> bool:
        """Tell whether to show the model a reply of its own that was refused.

        Args:
            reply: The reply.
            after_result: Whether it is known to follow a tool's result.
        """
        made = any(call.id for call in (*reply.calls, *reply.broken_calls))
        if not (made or reply.text.strip()):
            return False  # there is nothing to show
        if isinstance(self.show_refused, bool):
            return self.show_refused
        return made if self.show_refused == "calls" else after_result


def check_on_failure(on_failure: Any) -> None:
    """Check an `on_failure` option.

    Raises:
        ValueError: It is neither `"return"`, `"raise"` nor a function.

    >>> check_on_failure("return")
    """
    if not callable(on_failure) and on_failure not in ("return", "raise"):
        msg = f"on_failure must be 'return', 'raise' or a function, not {on_failure!r}"
        raise ValueError(msg)
