"""How a run ended: without an answer, at a cap, too late, or with an action after its answer."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Final

from loopmend.traces.finding import Certainty, Detector, Finding, Severity
from loopmend.traces.stop import StopReason, cut_by
from loopmend.traces.view import View

__all__ = ["ENDINGS"]

_FINE: Final = frozenset(
    {
        StopReason.FINAL_ANSWER,
        StopReason.ASKED_USER,
        StopReason.CANCELLED,
        StopReason.INTERRUPTED,
        StopReason.YIELDED,
    }
)
_NAMED: Final = {
    StopReason.MAX_ITERATIONS: "cap",
    StopReason.TIMEOUT: "timeout",
    StopReason.PARSE_FAIL: "parse_failure",
}
# What only the words of the last steps tell, unless the host says it too.
_INFERRED: Final = frozenset({StopReason.PARSE_FAIL, StopReason.STUCK})


def ending(view: View) -> Iterator[Finding]:
    """Find that there is no answer, and what stands in its place."""
    stop = view.stop
    if stop.reason in _FINE:
        return
    if stop.reason is StopReason.UNKNOWN:
        message = "The record ends without an answer."
        yield Finding("no_final_answer", message, "info", "suspected", stop.step, stop.evidence)
        return
    message = f"The run has no final answer: {stop.reason.value}."
    last = view.trace.steps[-1].error if view.trace.steps else None
    told = view.trace.error is not None or view.trace.reason is not None or last is not None
    certainty: Certainty = "proven" if told or stop.reason not in _INFERRED else "suspected"
    yield Finding("no_final_answer", message, "error", certainty, stop.step, stop.evidence[:200])
    kind = _NAMED.get(stop.reason)
    if kind == "parse_failure" and last is not None and last.origin == "parser":
        return  # the step tells it
    if kind is not None:
        yield Finding(kind, stop.evidence, "error", certainty, stop.step, stop.evidence[:200])


def action_after_final(view: View) -> Iterator[Finding]:
    """Find steps after the one that answered."""
    steps = view.trace.steps
    calling = [at for at, step in enumerate(steps) if step.calls]
    for at, step in enumerate(steps[:-1]):
        if step.answer is not None and step.agent == steps[-1].agent:
            nearest = bisect_right(calling, at)
            later = calling[nearest] if nearest < len(calling) else None
            # Who is asked again, or works for somebody else, may call again.
            if later is not None and (steps[later].agent, steps[later].request) == (
                step.agent,
                step.request,
            ):
                message = f"Step {at + 1} answers, but step {later + 1} calls a tool."
                evidence = step.answer[:200]
                yield Finding("action_after_final", message, "warning", "proven", later, evidence)
                return


def budget(view: View) -> Iterator[Finding]:
    """Find a run that took more than it was allowed."""
    limits, trace = view.trace.limits, view.trace
    most = limits.max_iterations
    if most is not None and trace.iterations > most:
        request, taken = Counter(step.request for step in trace.steps).most_common(1)[0]
        if taken > most:
            at = max(n for n, step in enumerate(trace.steps) if step.request == request)
            message = f"The run took {taken} steps for one request; the limit is {most}."
            yield Finding("budget", message, "warning", "proven", at)
    if limits.max_tokens is not None and trace.tokens > limits.max_tokens:
        message = f"The run took {trace.tokens} tokens; the limit is {limits.max_tokens}."
        yield Finding("token_budget", message, "warning", "proven")


_MANY_TIMES: Final = 8
_ENOUGH_TOKENS: Final = 20_000


def token_explosion(view: View) -> Iterator[Finding]:
    """Find a step that takes many times as many tokens as the first ones did."""
    counts = [step.tokens.total for step in view.trace.steps if step.tokens is not None]
    if len(counts) < 3:  # noqa: PLR2004 - too few to compare
        return
    usual = max(sorted(counts)[len(counts) // 2], 1)
    most = max(counts)
    if most > _ENOUGH_TOKENS and most > _MANY_TIMES * usual:
        message = f"One step took {most} tokens; the median step took {usual}."
        yield Finding("token_explosion", message, "warning", "suspected", counts.index(most))


def cut_replies(view: View) -> Iterator[Finding]:
    """Find replies that their provider cut off or refused, and whether something came of them."""
    for at, step in enumerate(view.trace.steps):
        reason = cut_by(step.finish)
        if reason is None:
            continue
        cut = reason is StopReason.MAX_ITERATIONS
        kind = "truncated_reply" if cut else "filtered_reply"
        how = "cut the reply off" if cut else "refused the reply"
        message = f"The provider {how}: `{(step.finish or '')[:60]}`."
        recovered = view.goes_on(at) or bool(step.observations)
        severity: Severity = "info" if recovered else "warning" if view.answered else "error"
        evidence = step.text[-200:] if cut else step.text[:200]
        yield Finding(kind, message, severity, "proven", at, evidence, recovered=recovered)


ENDINGS: Final[tuple[Detector, ...]] = (
    ending,
    action_after_final,
    budget,
    token_explosion,
    cut_replies,
)
