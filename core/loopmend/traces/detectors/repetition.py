"""Going round in circles: calls, results and thoughts that come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from loopmend.traces.finding import Detector, Finding
from loopmend.traces.view import Made, View, words

__all__ = ["LOOPS", "REPETITION"]

LOOPS: Final = frozenset({"no_progress_loop", "near_identical_loop", "cycle"})
"""The kinds that say that a run went round in circles."""

_IDENTICAL: Final = 3
_AGAIN: Final = 2
_LONG_CALL: Final = 7
_NEAR: Final = 0.58
_NEAR_THOUGHT: Final = 0.8
_LONG_THOUGHT: Final = 4
_WINDOW: Final = 12
_FEW_BLANKS: Final = 4


def identical(view: View) -> Iterator[Finding]:
    """Find the same call made several times, whatever came of it."""
    counts = Counter(made.signature for made in view.made)
    for made in reversed(view.made):
        if counts.pop(made.signature, 0) >= _IDENTICAL:
            message = (
                f"The model called `{made.call.name[:60]}` several times with the same arguments."
            )
            yield Finding("identical_call", message, "warning", "proven", made.step)


def no_progress(view: View) -> Iterator[Finding]:
    """Find a call that was made again with the same result, and nothing new in between."""
    known: set[tuple[tuple[str, str], str | None]] = set()
    since: Counter[tuple[tuple[str, str], str | None]] = Counter()
    for made in view.made:
        key = (made.signature, made.result)
        if key not in known:
            known.add(key)
            since.clear()  # something new came up: the count starts again
        since[key] += 1
        if since[key] == _AGAIN:
            message = f"The model called `{made.call.name[:60]}` again and got the same result."
            evidence = (made.result or "")[:200]
            yield Finding("no_progress_loop", message, "warning", "proven", made.step, evidence)
            return


def near_identical(view: View) -> Iterator[Finding]:
    """Find long calls of one tool that differ in a few words only."""
    before: list[tuple[Made, frozenset[str]]] = []
    for made in view.made:
        if made.signature[1].count(" ") < _FEW_BLANKS:
            continue  # too short to be alike in anything but a name
        its = words(made.signature[1])
        if len(its) < _LONG_CALL:
            continue
        for earlier, said in before[-_WINDOW:]:
            # To try again otherwise what failed is a correction, and no repeat.
            same = earlier.signature[0] == made.signature[0] and not earlier.failed
            if same and _alike(said, its):
                yield _near(earlier, made)
                return
        before.append((made, its))


def _alike(one: frozenset[str], other: frozenset[str], share: float = _NEAR) -> bool:
    if min(len(one), len(other)) < share * max(len(one), len(other)):
        return False
    both = len(one & other)
    return both >= share * (len(one) + len(other) - both)


def _near(earlier: Made, later: Made) -> Finding:
    steps = f"{earlier.step + 1} and {later.step + 1}"
    message = f"Steps {steps} call `{later.call.name[:60]}` with almost the same arguments."
    evidence = later.signature[1][:200]
    return Finding("near_identical_loop", message, "warning", "suspected", later.step, evidence)


def cycle(view: View) -> Iterator[Finding]:
    """Find two calls in turn: A, B, A, B."""
    signatures = [made.signature for made in view.made]
    for at in range(3, len(signatures)):
        a, b, c, d = signatures[at - 3 : at + 1]
        if a == c and b == d and a != b:
            message = "The model alternates between the same two calls."
            yield Finding("cycle", message, "warning", "proven", view.made[at].step)
            return


def thoughts(view: View) -> Iterator[Finding]:
    """Find a thought that comes back, word for word or nearly so."""
    before: list[tuple[int, frozenset[str]]] = []
    for at, step in enumerate(view.trace.steps):
        if not step.thought:
            continue
        its = frozenset(step.thought.split())
        size = len(its)
        for earlier, said in before[-2:]:
            # Most are told apart by their length alone.
            if (
                size >= _LONG_THOUGHT
                and abs(len(said) - size) * 4 <= size
                and _alike(said, its, _NEAR_THOUGHT)
            ):
                message = f"Step {at + 1} repeats the thought of step {earlier + 1}."
                evidence = step.thought[:200]
                yield Finding("repeated_thought", message, "info", "suspected", at, evidence)
                return
        before.append((at, its))


def restart(view: View) -> Iterator[Finding]:
    """Find a run that starts all over: its first calls again, in the same order."""
    signatures: Sequence[tuple[str, str]] = [made.signature for made in view.made]
    if len(signatures) < 4 or signatures[0] == signatures[1]:  # noqa: PLR2004 - too few to tell
        return
    first = signatures[:2]
    for at in range(2, len(signatures) - 1):
        if list(signatures[at : at + 2]) == list(first):
            message = f"Step {view.made[at].step + 1} starts over with the first calls."
            yield Finding("restart", message, "warning", "suspected", view.made[at].step)
            return


REPETITION: Final[tuple[Detector, ...]] = (
    identical,
    no_progress,
    near_identical,
    cycle,
    thoughts,
    restart,
)
