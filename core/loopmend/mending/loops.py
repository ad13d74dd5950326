"""Detecting a run that goes in circles: the same call, failing calls, the same agents in turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Union

from loopmend._arguments import names_in, require_int
from loopmend.mending.call_results import CallResult, cut, found_with, in_brief, useful

__all__ = ["GoOn", "LoopDecision", "LoopKind", "LoopPolicy", "Nudge", "Stop", "answer_from"]

_LONGEST_QUESTION: Final = 500

LoopKind = Literal["repeat", "failing", "handoff"]
"""How a run goes in circles: the same call with the same result, repeated failures, or agents that
hand the work back and forth."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Nothing repeats often enough.

    >>> LoopPolicy().decide([])
    GoOn(repeats=0)
    """

    repeats: int
    """How often the run has made its latest call without progress."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Tell the model that it is repeating itself.

    >>> call = CallResult("search", {"q": "rust"}, "nothing found")
    >>> LoopPolicy().decide([call] * 2).repeats
    2
    """

    call: CallResult
    repeats: int
    content: str
    """What to tell the model."""
    kind: LoopKind = "repeat"


@dataclass(frozen=True, slots=True)
class Stop:
    """End the run.

    >>> call = CallResult("search", {"q": "rust"}, "nothing found")
    >>> print(LoopPolicy(stop_after=6).decide([call] * 6).content)
    Stopped: search was called 6 times with the same arguments and the same result: nothing found
    """

    call: CallResult
    repeats: int
    content: str
    """What to tell the user."""
    kind: LoopKind = "repeat"
    reason: str = "blocked"
    """Why the run ended, as a `StopReason`: mark the answer with it. Your policy is no cap."""


LoopDecision = Union[GoOn, Nudge, Stop]
"""What to do about a run's latest calls."""


@dataclass(frozen=True, slots=True)
class LoopPolicy:
    """Decides from a run's calls whether it goes in circles.

    A call is a repeat if its name, arguments and result are the same as last time. Any new call or
    result in between is progress: the count starts again. So polling counts only while nothing
    changes. Handing the work to the same agent again is a repeat, whatever the reason. A tool that
    keeps failing counts even with other arguments, except for its first retry, and even if what is
    known already is looked up in between.

    >>> polls = [CallResult("status", {}, f"{percent} %") for percent in range(9)]
    >>> LoopPolicy().decide(polls)
    GoOn(repeats=1)
    >>> queries = [CallResult("sql", f"select {n}", "OperationalError: locked") for n in range(3)]
    >>> LoopPolicy().decide(queries).kind
    'failing'
    """

    warn_after: int = 2
    """Repeats before the model is warned."""
    stop_after: int | None = None
    """Repeats before the run ends; by default it never does, because polling repeats calls, too."""
    window: int = 30
    """How many of the latest calls count."""
    exclude_tools: Collection[str] = field(default_factory=frozenset)
    """Tools that may repeat freely."""

    def __post_init__(self) -> None:
        require_int(self.warn_after, "warn_after")
        require_int(self.window, "window", 1)
        if self.stop_after is not None:
            require_int(self.stop_after, "stop_after")
        last = self.warn_after if self.stop_after is None else self.stop_after
        if not 1 < self.warn_after <= last:
            given = f"warn_after={self.warn_after} and stop_after={self.stop_after}"
            msg = f"expected 1 < warn_after <= stop_after, not {given}"
            raise ValueError(msg)
        object.__setattr__(self, "exclude_tools", names_in(self.exclude_tools, "exclude_tools"))

    def decide(
        self, calls: Sequence[CallResult], question: str = "", *, answer_label: str = ""
    ) -> LoopDecision:
        """Go on, nudge the model, or stop.

        Args:
            calls: The calls of this run, oldest first.
            question: The user's question; a nudge repeats it.
            answer_label: The prompt's label for the answer, if the model writes labels; without a
                reminder, the model would omit it.
        """
        recent = [call for call in calls[-self.window :] if call.name not in self.exclude_tools]
        if not recent:
            return GoOn(0)
        last = recent[-1]
        kind: LoopKind = "repeat" if last.handoff is None else "handoff"
        repeats = _repeats(recent)
        # The first retry after an error is what a model should do.
        retries = _failures(recent) - 1
        if retries > repeats:
            kind, repeats = "failing", retries
        if repeats < self.warn_after:
            return GoOn(repeats)
        if self.stop_after is None or repeats < self.stop_after:
            return Nudge(last, repeats, _nudge(last, repeats, kind, question, answer_label), kind)
        return Stop(last, repeats, _stopped(recent, repeats, kind), kind)


def _repeats(recent: Sequence[CallResult]) -> int:
    """Count how often the last call was made since anything new was called or returned."""
    last = recent[-1]
    name, outcome = last.name, last.outcome()
    if sum(call.name == name and call.outcome() == outcome for call in recent) == 1:
        return 1  # the usual case, without writing arguments down
    made = [call.call() for call in recent]
    outcomes: dict[tuple[str, str], str] = {}
    news = 0
    for at, call in enumerate(recent):
        # A result that changed since the last time is news, even if it was there before.
        if outcomes.get(made[at]) != call.outcome():
            outcomes[made[at]] = call.outcome()
            news = at
    return made[news:].count(made[-1])


def _failures(recent: Sequence[CallResult]) -> int:
    """Count the failures of the last tool since any tool told something new."""
    last = recent[-1]
    if not last.fails():
        return 0
    known: set[tuple[str, ...]] = set()
    count = 0
    for call in recent:
        if call.fails():
            count += call.name == last.name
        elif (told := (*call.call(), call.outcome())) not in known:
            known.add(told)
            count = 0
    return count


def _nudge(last: CallResult, repeats: int, kind: LoopKind, question: str, label: str) -> str:
    # The instruction stands last, with the question: that is what models follow.
    if kind == "handoff":
        return (
            f"The work went to {in_brief(str(last.handoff))} {repeats} times without progress. "
            f"Do not hand it over again. {answer_from(question)}"
        )
    name = in_brief(last.name)
    if kind == "failing" or last.fails():
        # Who is told to answer after an error makes an answer up.
        instead = "fix what its last error names, or tell the user what you could not do and why."
        if kind == "failing":
            return f"{name} failed {repeats + 1} times in a row. Now {instead}"
        waiting = "Go on only if you are waiting for that to change."
        return f"{name} failed {repeats} times in the same way. {waiting} If not, {instead}"
    return (
        f"You called {name} {repeats} times with the same arguments and got the same result each "
        f"time. Do not call it again unless you are waiting for a change. "
        f"{_tell_the_results(label)}"
    )


def _tell_the_results(label: str) -> str:
    # A model that is shown the question last repeats it; one that finds nothing makes something up.
    begin = f'Begin with "{label}:" and tell' if label else "Tell"
    return (
        f"{begin} the user what the results say. "
        "If they say that something does not exist, tell the user that it does not exist."
    )


def answer_from(question: str) -> str:
    """Return how a model is asked to answer from what it has."""
    asked = " ".join(question[: 2 * _LONGEST_QUESTION].split())[:_LONGEST_QUESTION]
    return f"Answer from what the tools returned{f': {asked}' if asked else '.'}"


def _stopped(recent: Sequence[CallResult], repeats: int, kind: LoopKind) -> str:
    """Say why it stopped, and what was found until then: the user may need no more than that."""
    last, found = recent[-1], useful(recent)
    name, result = in_brief(last.name), cut(last.result)
    if kind == "failing":
        why = f"{name} failed {repeats + 1} times in a row"
    elif kind == "handoff":
        why = f"the work went to {in_brief(str(last.handoff))} {repeats} times without progress"
    else:
        why = f"{name} was called {repeats} times with the same arguments and the same result"
        if len(found) == 1 and found[0] is last:
            return f"Stopped: {why}: {result}"
    error = f": {result}" if result and last.fails() else ""
    return f"Stopped: {why}{error}. Results so far: {found_with(found) or 'none'}"
