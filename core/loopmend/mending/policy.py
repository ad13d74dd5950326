"""How far to go to get a usable reply."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, Union

from loopmend._arguments import names_in, require_int, require_several
from loopmend.contracts.normalization import MAX_NORMALIZATION_RETRIES
from loopmend.mending.messages import Reply
from loopmend.reading.turn import FailurePattern

__all__ = ["OnFailure", "RetryPolicy", "check_on_failure"]

OnFailure = Union[Literal["return", "raise"], Callable[..., Any]]
"""What to do after giving up: return what there is, raise, or ask a function."""

_CONSTRAIN: Final = ("retry", "always", False)
_ALL: Final = frozenset(FailurePattern)
_SHOW: Final = ("calls", "after_result", True, False)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how to ask for a usable reply.

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
    """Whether the model sees its refused reply before the correction: never, always, if the reply
    made calls, or if it follows a tool's result. Each call that the model sees gets an answer. At
    the first step models repeat what they see; after a result they do better (`live.obedience`)."""
    patterns: Collection[FailurePattern] = _ALL
    """The failures to act on; a reply with any other failure is used as it is."""

    def __post_init__(self) -> None:
        require_int(self.max_retries, "max_retries", 0)
        if self.constrain not in _CONSTRAIN:
            msg = f"constrain must be 'retry', 'always' or False, not {self.constrain!r}"
            raise ValueError(msg)
        if self.show_refused not in _SHOW:
            allowed = "True, False, 'calls' or 'after_result'"
            msg = f"show_refused must be {allowed}, not {self.show_refused!r}"
            raise ValueError(msg)
        if not isinstance(self.salvage, bool):
            object.__setattr__(self, "salvage", names_in(self.salvage, "salvage"))
        if self.patterns is not _ALL:
            object.__setattr__(self, "patterns", _patterns(self.patterns))

    def may_make(self, tool: str) -> bool:
        """Tell whether to make a written call to a tool."""
        return self.salvage if isinstance(self.salvage, bool) else tool in self.salvage

    def shows(self, reply: Reply, *, after_result: bool) -> bool:
        """Tell whether to show the model its own refused reply.

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


def _patterns(given: Collection[FailurePattern | str]) -> frozenset[FailurePattern]:
    require_several(given, "patterns", "failure patterns")
    known = [pattern.value for pattern in FailurePattern]
    for each in given:
        if each not in known:
            msg = f"unknown pattern {each!r}; there are {', '.join(known)}"
            raise ValueError(msg)
    return frozenset(map(FailurePattern, given))


def check_on_failure(on_failure: Any) -> None:
    """Check an `on_failure` option.

    Raises:
        ValueError: It is neither `"return"`, `"raise"` nor a function.

    >>> check_on_failure("return")
    """
    if not callable(on_failure) and on_failure not in ("return", "raise"):
        msg = f"on_failure must be 'return', 'raise' or a function, not {on_failure!r}"
        raise ValueError(msg)
