"""Going round in circles: calls, results and thoughts that come back.

All of it is suspected: who waits for a job or presses a key repeats a call, too. Calls are compared
within one request of the user and one agent, and only by results that the record tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from loopmend.traces.finding import Detector, Finding
from loopmend.traces.view import Made, View, words

__all__ = ["LOOPS", "REPETITION"]

LOOPS: Final = frozenset({"no_progress_loop", "near_identical_loop", "fruitless_loop", "cycle"})
"""The kinds that say that a run went round in circles."""

_IDENTICAL: Final = 3
_AGAIN: Final = 2
_LONG_CALL: Final = 7
_NEAR: Final = 0.58
_NEAR_THOUGHT: Final = 0.8
_LONG_THOUGHT: Final = 4
_WINDOW: Final = 12
_FEW_BLANKS: Final = 4
_ATTEMPTS: Final = 3
_SHARED: Final = 0.6

_Key = tuple[tuple[str, str], str]


def identical(view: View) -> Iterator[Finding]:
    """Find the same call made several times with the same result: what changes is waited for."""
    for calls in view.again:
        counts = Counter(made.key for made in calls)
        latest = _latest(calls)
        for made in reversed(calls):
            often = counts.pop(made.key, 0)
            if often >= _IDENTICAL and made.seen and _stays(made, latest):
                message = f"The model called {_name(made)} {often} times with the same arguments."
                yield _found("identical_call", message, made, made.seen)


def no_progress(view: View) -> Iterator[Finding]:
    """Find a call that was made again with the same result, and nothing new in between."""
    for calls in view.again:
        latest = _latest(calls)
        known: set[_Key] = set()
        since: Counter[_Key] = Counter()
        for made in calls:
            key = made.key
            if key not in known or not made.seen:
                known.add(key)
                since.clear()  # something new came up: the count starts again
            since[key] += 1
            if since[key] == _AGAIN and _stays(made, latest):
                message = f"The model called {_name(made)} again and got the same result."
                yield _found("no_progress_loop", message, made, made.seen)
                return


def near_identical(view: View) -> Iterator[Finding]:
    """Find long calls of one tool that differ in a few words only."""
    for calls in view.repeating:
        before: list[tuple[Made, frozenset[str]]] = []
        for made in calls:
            if made.signature[1].count(" ") < _FEW_BLANKS:
                continue  # too short to be alike in anything but a name
            its = words(made.signature[1])
            if len(its) < _LONG_CALL:
                continue
            for earlier, said in before[-_WINDOW:]:
                # To try again otherwise what failed is a correction, and to turn pages no repeat.
                same = earlier.call.name == made.call.name and earlier.worked
                if same and _alike(said, its) and not _turns_pages(said, its):
                    steps = f"{earlier.step + 1} and {made.step + 1}"
                    message = f"Steps {steps} call {_name(made)} with almost the same arguments."
                    yield _found("near_identical_loop", message, made, made.signature[1])
                    return
            before.append((made, its))


def fruitless(view: View) -> Iterator[Finding]:
    """Find a call that fails however the model words it: to correct it once is no repeat."""
    if len(view.failed) < _ATTEMPTS:
        return
    for calls in view.repeating:
        tried: dict[str, list[frozenset[str]]] = {}
        for made in calls:
            if made.worked or not made.seen:
                tried.pop(made.call.name, None)  # it got somewhere, or nobody knows
                continue
            its, before = words(made.signature[1]), tried.setdefault(made.call.name, [])
            if not any(_overlap(said, its) for said in before):
                before.clear()
            before.append(its)
            if len(before) == _ATTEMPTS:
                times = f"{_ATTEMPTS} times with much the same arguments"
                message = f"The model called {_name(made)} {times}, and each call failed."
                found = _found("fruitless_loop", message, made, made.signature[1])
                over = view.recovers(made.step, made.call.name)
                yield replace(found, severity="info", recovered=True) if over else found
                return


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two calls share most words of the shorter one."""
    return len(one & other) >= _SHARED * min(len(one), len(other))


def _alike(one: frozenset[str], other: frozenset[str], share: float = _NEAR) -> bool:
    if min(len(one), len(other)) < share * max(len(one), len(other)):
        return False
    both = len(one & other)
    return both >= share * (len(one) + len(other) - both)


def _turns_pages(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two calls differ in numbers only, as those for one page and the next do."""
    differing = one ^ other
    return bool(differing) and all(word.isdecimal() for word in differing)


def cycle(view: View) -> Iterator[Finding]:
    """Find two calls in turn with the same results: A, B, A, B."""
    for calls in view.again:
        for at in range(3, len(calls)):
            a, b, c, d = calls[at - 3 : at + 1]
            if a.call.name == c.call.name and _same(a, c) and _same(b, d) and not _same(a, b):
                message = "The model alternates between the same two calls."
                yield _found("cycle", message, d)
                return


def thoughts(view: View) -> Iterator[Finding]:
    """Find a thought that comes back, word for word or nearly so."""
    before: list[_Thought] = []
    for at, step in enumerate(view.trace.steps):
        if not step.thought:
            continue
        thought = _Thought(at, step.thought)
        for earlier in before[-2:]:
            # Most are told apart by their length alone.
            if 2 * earlier.size < thought.size or 2 * thought.size < earlier.size:
                continue
            its = thought.words()
            if len(its) >= _LONG_THOUGHT and _alike(earlier.words(), its, _NEAR_THOUGHT):
                message = f"Step {at + 1} repeats the thought of step {earlier.step + 1}."
                evidence = step.thought[:200]
                yield Finding("repeated_thought", message, "info", "suspected", at, evidence)
                return
        before.append(thought)


class _Thought:
    """A thought, and its words if somebody asks for them."""

    __slots__ = ("_words", "said", "size", "step")

    def __init__(self, step: int, said: str) -> None:
        self.step, self.said, self.size = step, said, len(said)
        self._words: frozenset[str] | None = None

    def words(self) -> frozenset[str]:
        if self._words is None:
            self._words = frozenset(self.said.split())
        return self._words


def restart(view: View) -> Iterator[Finding]:
    """Find a run that starts all over: its first calls again, in the same order."""
    for calls in view.again:
        for at in range(2, len(calls) - 1):
            again, after = calls[at : at + 2]
            if _same(calls[0], again) and _same(calls[1], after) and not _same(again, after):
                message = f"Step {again.step + 1} starts over with the first calls."
                yield _found("restart", message, again)
                return


def _latest(calls: Sequence[Made]) -> dict[tuple[str, str], str]:
    """Return what each call returned in the end, if it returned something."""
    return {made.signature: made.seen for made in calls if made.seen and made.worked}


def _stays(made: Made, latest: dict[tuple[str, str], str]) -> bool:
    """Tell whether a call's result stayed: who gets another one in the end has waited for it."""
    return latest.get(made.signature, made.seen) == made.seen


def _same(one: Made, other: Made) -> bool:
    """Tell whether two calls are the same, with the same result."""
    return bool(one.seen) and one.seen == other.seen and one.signature == other.signature


def _name(made: Made) -> str:
    return f"`{made.call.name[:60]}`"


def _found(kind: str, message: str, made: Made, evidence: str = "") -> Finding:
    return Finding(kind, message, "warning", "suspected", made.step, evidence[:200])


REPETITION: Final[Sequence[Detector]] = (
    identical,
    no_progress,
    near_identical,
    fruitless,
    cycle,
    thoughts,
    restart,
)
