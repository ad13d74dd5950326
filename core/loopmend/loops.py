"""Telling a run that goes round in circles: the same call with the same result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Union

from loopmend._arguments import require_int
from loopmend._repr import written
from loopmend.words import STOPPED

__all__ = ["CallResult", "GoOn", "LoopDecision", "LoopPolicy", "Nudge", "Stop"]

_LONGEST_NAME: Final = 60
_LONGEST_RESULT: Final = 300
_MOST_FOUND: Final = 5


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call that was made, and what came of it.

    >>> CallResult("search", {"q": "rust"}, "nothing found").name
    'search'
    """

    name: str
    arguments: Any
    """As the tool took them; anything that JSON or `repr` can tell apart."""
    result: str
    """What the tool returned, as the model saw it."""
    failed: bool = False
    """Whether that is an error; then nothing was found."""

    def signature(self) -> tuple[str, str, str]:
        """Return what two calls share if they are the same with the same result."""
        return self.name, written(self.arguments, in_order=True), self.result.strip()


@dataclass(frozen=True, slots=True)
class GoOn:
    """Nothing repeats often enough.

    >>> LoopPolicy().decide([])
    GoOn(repeats=0)
    """

    repeats: int
    """How often the latest call has been made without any progress."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Tell the model that it repeats itself.

    >>> call = CallResult("search", {"q": "rust"}, "nothing found")
    >>> LoopPolicy().decide([call] * 3).repeats
    3
    """

    call: CallResult
    repeats: int
    content: str
    """What to tell the model."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run.

    >>> call = CallResult("search", {"q": "rust"}, "nothing found")
    >>> print(LoopPolicy().decide([call] * 6).content)
    I stopped: search was called 6 times with the same arguments and the same result: nothing found
    """

    call: CallResult
    repeats: int
    content: str
    """What to tell the user."""


LoopDecision = Union[GoOn, Nudge, Stop]
"""What to do about a run's latest calls."""


@dataclass(frozen=True, slots=True)
class LoopPolicy:
    """Decides from the calls of a run whether it goes round in circles.

    A call is repeated when its name, its arguments and its result are the same. Whatever
    is new in between, a call or a result, is progress: the count starts again.

    >>> polls = [CallResult("status", {}, "busy")] * 9
    >>> LoopPolicy(exclude={"status"}).decide(polls)
    GoOn(repeats=0)
    """

    soft: int = 3
    """From so many times on the model is told."""
    hard: int = 6
    """From so many times on the run is ended."""
    window: int = 30
    """How many of the latest calls count."""
    exclude: Collection[str] = field(default_factory=frozenset)
    """Tools that may be repeated at will, such as those that poll."""

    def __post_init__(self) -> None:
        for name in ("soft", "hard", "window"):
            require_int(getattr(self, name), name)
        if not 1 < self.soft <= self.hard:
            msg = f"expected 1 < soft <= hard, not soft={self.soft} and hard={self.hard}"
            raise ValueError(msg)
        object.__setattr__(self, "exclude", frozenset(self.exclude))

    def decide(self, calls: Sequence[CallResult]) -> LoopDecision:
        """Go on, nudge the model, or stop.

        Args:
            calls: The calls of this run, oldest first.
        """
        recent = [call for call in calls[-self.window :] if call.name not in self.exclude]
        if not recent:
            return GoOn(0)
        last = recent[-1]
        repeats = _count(recent)
        if repeats < self.soft:
            return GoOn(repeats)
        name = last.name[:_LONGEST_NAME]
        if repeats < self.hard:
            return Nudge(last, repeats, _nudge(name, repeats))
        return Stop(last, repeats, _stopped(name, repeats, recent))


def _count(recent: Sequence[CallResult]) -> int:
    """Count how often the last call was made since anything new was called or returned."""
    name, result = recent[-1].name, recent[-1].result.strip()
    if sum(call.name == name and call.result.strip() == result for call in recent) == 1:
        return 1  # the usual case, without writing arguments down
    signatures = [call.signature() for call in recent]
    seen: set[tuple[str, str, str]] = set()
    news = 0
    for at, signature in enumerate(signatures):
        if signature not in seen:
            seen.add(signature)
            news = at
    return 1 + signatures[news + 1 :].count(signatures[-1])


def _stopped(name: str, repeats: int, recent: Sequence[CallResult]) -> str:
    """Say why it stopped, and what was found until then: the user may need no more than that."""
    why = f"{STOPPED}{name} was called {repeats} times with the same arguments and the same result"
    told = (call for call in recent if call.result.strip() and not call.failed)
    found = list({call.signature(): call for call in told}.values())
    if len(found) > 1:
        return f"{why}. What was found: {'; '.join(map(_found, found[-_MOST_FOUND:]))}"
    result = _cut(recent[-1].result, _LONGEST_RESULT)
    if found and recent[-1].failed:
        return f"{why}: {result}. What was found: {_found(found[0])}"
    return f"{why}: {result}" if result else f"{why}."


def _found(call: CallResult) -> str:
    given = call.arguments
    values = given.values() if isinstance(given, dict) else [given]
    asked = _cut(", ".join(map(str, values)), _LONGEST_NAME)
    return f"{call.name[:_LONGEST_NAME]}({asked}): {_cut(call.result, _LONGEST_RESULT)}"


def _cut(text: str, longest: int) -> str:
    """Return a text on one line, and no longer than that."""
    line = " ".join(text[: 2 * longest].split())
    return line if len(line) <= longest else f"{line[:longest].rstrip()}…"


def _nudge(name: str, repeats: int) -> str:
    return (
        f"You have called {name} {repeats} times with the same arguments and got the same result "
        "each time. Calling it again will not help. If that result answers the question, answer "
        "now. Else change the arguments, use another tool, or answer with what you know and say "
        "what is missing."
    )
