"""A recorded run, step by step; of a long one its beginning and its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loopmend.rendering.html import Markup, card, clipped, element, joined
from loopmend.rendering.pieces import LONGEST, call, chip, note, row, table
from loopmend.rendering.turn import failure_html
from loopmend.traces.trace import Observation, Step, Trace, TraceError

__all__ = ["html"]

_FIRST: Final = 12
_LAST: Final = 8
_MOST: Final = 10


def html(trace: Trace) -> Markup:
    """Return a trace as HTML."""
    facts = table(_facts(trace))
    return card(element("p", *_chips(trace)), facts, table(_steps(trace)))


def _chips(trace: Trace) -> Iterator[Markup]:
    yield chip(trace.framework or "trace")
    most = trace.limits.max_iterations
    allowed = "" if most is None else f" of at most {most:,}"
    yield chip(f"{_counted(trace.iterations, 'step')}{allowed}")
    if trace.tokens:
        yield chip(_counted(trace.tokens, "token"))
    if trace.seconds is not None:
        yield chip(f"{trace.seconds:.3g} s")
    if trace.reason is not None:
        yield chip(trace.reason, "good" if trace.reason == "final_answer" else "warn")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _facts(trace: Trace) -> Iterator[Markup]:
    if trace.question is not None:
        yield row("question", clipped(trace.question, LONGEST))
    if trace.answer is not None:
        yield row("answer", clipped(trace.answer, LONGEST))
    if trace.error is not None:
        yield row("error", _error(trace.error))


def _error(error: TraceError) -> Markup:
    said = clipped(f"{error.kind}: {error.message}", LONGEST)
    return element("span", said, f" ({error.origin})", css="failed")


def _steps(trace: Trace) -> Iterator[Markup]:
    left = trace.iterations - _FIRST - _LAST
    # Counted from 1, as in the messages of findings.
    for number, step in enumerate(trace.steps[:_FIRST] if left > 0 else trace.steps, 1):
        yield row(str(number), _step(step))
    if left > 0:
        yield row("", note(f"… {_counted(left, 'step')} left out …"))
        for number, step in enumerate(trace.steps[-_LAST:], trace.iterations - _LAST + 1):
            yield row(str(number), _step(step))


def _step(step: Step) -> Markup:
    return joined(element("div", line) for line in _lines(step))


def _lines(step: Step) -> Iterator[Markup]:
    if step.agent is not None:
        yield chip(step.agent)
    if step.thought:
        yield element("i", clipped(step.thought, LONGEST))
    elif step.text and step.text != step.answer:
        yield clipped(step.text, LONGEST)
    if step.turn is not None and step.turn.failure is not None:
        pattern = chip(step.turn.failure.pattern, "bad")
        yield joined([pattern, failure_html(step.turn.failure)])
    for made in step.calls[:_MOST]:
        yield joined(["→ ", call(made.name, made.arguments)])
    for seen in step.observations[:_MOST]:
        yield _observation(seen)
    more = max(len(step.calls), len(step.observations)) - _MOST
    if more > 0:
        yield note(f"… and {more:,} more")
    if step.error is not None:
        yield _error(step.error)
    if step.answer is not None:
        yield joined([element("b", "answer "), clipped(step.answer, LONGEST)])


def _observation(seen: Observation) -> Markup:
    return element("span", "← ", clipped(seen.text, LONGEST), css="failed" if seen.failed else "")
