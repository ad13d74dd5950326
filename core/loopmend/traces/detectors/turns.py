"""What is wrong with single turns: what the reader says about them, put to use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from loopmend.reading.turn import FailurePattern
from loopmend.traces.detectors.errors import says_unknown
from loopmend.traces.finding import Detector, Finding, Severity
from loopmend.traces.stop import StopReason
from loopmend.traces.trace import Step, Trace
from loopmend.traces.unread import as_read, is_worth
from loopmend.traces.view import Made, View, holds

__all__ = ["TURNS"]

_KINDS: Final = {
    FailurePattern.NARRATED: ("narrated_call", "The model described a call without making it."),
    FailurePattern.EMPTY: ("empty_turn", "The model said nothing."),
    FailurePattern.FABRICATED_OUTPUT: (
        "hallucinated_observation",
        "The model made up a tool's result.",
    ),
    FailurePattern.TRUNCATED: ("malformed_arguments", "A call is cut off."),
    FailurePattern.BAD_ARGUMENTS: ("malformed_arguments", "Arguments do not fit the tool."),
    FailurePattern.MALFORMED: ("parse_failure", "A call cannot be parsed."),
    FailurePattern.BAD_VALUE: ("parse_failure", "A value does not fit its schema."),
    FailurePattern.TEXTUAL_CALL: ("parse_failure", "The model wrote a call as text."),
    FailurePattern.UNKNOWN_TOOL: ("unknown_tool", "Unknown tool."),
}
_RESULTS: Final = ("observation", "tool_response", "tool_result", "function_result", "tool_output")
_CUT: Final = "made-up continuation cut off"
# "I" stands first so that a search only stops where there is one.
_CLAIM: Final = re.compile(
    r"I(?<!\wI)(?: have|'ve)? (?:just |now |already )?(?:searched|verified|checked|confirmed"
    r"|looked up|retrieved|executed|ran|queried|visited|reviewed)\b"
)
_SEARCHED: Final = "ccording to "
_SOURCE: Final = re.compile(r"[Aa]ccording to (?:my|the) search\b")


def failures(view: View) -> Iterator[Finding]:
    """Find replies that could not be used, unless something came of them all the same."""
    # A reply that nobody has read yet did no harm if the run went on after it, or the user did.
    trace = view.trace
    open_ended = trace.reason == StopReason.UNKNOWN.value
    last = -1 if open_ended or _taken_out(trace) else len(trace.steps) - 1
    told = holds(view.said, _RESULTS)
    for at, step in enumerate(trace.steps):
        given = at == len(trace.steps) - 1 and _gave(step, trace.answer)
        if not (given or _came_of_it(step)) and (
            as_read(step) is not None or (at == last and is_worth(step.text))
        ):
            yield from _unused(view, at, step)
        if told and holds(step.text.lower(), _RESULTS):
            yield from _made_up(at, step)


def _taken_out(trace: Trace) -> bool:
    """Tell whether the host's answer is a piece of the last reply: then the host could use it."""
    said, answer = trace.steps[-1].text if trace.steps else "", trace.answer
    return answer is not None and "" != answer != said and answer in said


def _gave(step: Step, answer: str | None) -> bool:
    """Tell whether a run's answer is the arguments of a call that a reply writes."""
    if answer is None or not answer.startswith("{") or "{" not in step.text:
        return False
    call = step.turn.failure.call if step.turn is not None and step.turn.failure else None
    try:
        return call is not None and bool(json.loads(answer) == call.arguments)
    except (ValueError, RecursionError):
        return False


def _unused(view: View, at: int, step: Step) -> Iterator[Finding]:
    failure = step.turn.failure if step.turn is not None else None
    known = _KINDS.get(failure.pattern) if failure is not None else None
    if failure is not None and known is not None:
        kind, message = known
        evidence = step.text[slice(*failure.span)][:200]
        recovered = view.goes_on(at)
        severity: Severity = "info" if recovered else "warning"
        span = failure.span
        yield Finding(kind, message, severity, "suspected", at, evidence, span, recovered)


def _made_up(at: int, step: Step) -> Iterator[Finding]:
    for repair in step.turn.repairs if step.turn is not None else ():
        if repair.what == _CUT:
            evidence = step.text[slice(*repair.span)][:200]
            message = "The model made up what a tool would return."
            kind = "hallucinated_observation"
            yield Finding(kind, message, "warning", "suspected", at, evidence, repair.span)
            return


def _came_of_it(step: Step) -> bool:
    """Tell whether a step did something; a host that treats its text as the answer does nothing."""
    answered = step.answer is not None and step.answer != step.text
    return bool(step.calls) or answered or bool(step.observations)


def unknown_tools(view: View) -> Iterator[Finding]:
    """Find calls of tools that are not on offer, where it is known which are.

    The list may lack a tool, and a tool that returned a result is there whatever the list says.
    Only the list and a result that says so prove it together.
    """
    offered = view.trace.tools
    if offered is None:
        return
    known = {name.lower() for name in offered}
    for made in view.made:
        if made.call.name.lower() in known:
            continue
        ends = view.trace.steps[made.step].answer is not None  # what ends a run is on no list
        if made.call.name != "python" and not ends:
            message = f"`{made.call.name[:60]}` is not among the available tools."
            sure = made.result is not None and says_unknown(made.result)
            found = _found("unknown_tool", message, view, made)
            found = replace(found, severity="info") if made.worked else found
            yield replace(found, certainty="proven") if sure else found


def _found(kind: str, message: str, view: View, made: Made, evidence: str = "") -> Finding:
    recovered = view.recovers(made.step)
    severity: Severity = "info" if recovered else "error"
    return Finding(kind, message, severity, "suspected", made.step, evidence, recovered=recovered)


def broken_arguments(view: View) -> Iterator[Finding]:
    """Find arguments that should be an object but could not be decoded, and that did not work.

    Suspected: a platform that cuts long values leaves the same behind.
    """
    for made in view.made:
        given = made.call.arguments
        if made.call.id is None or not isinstance(given, str) or made.worked:
            continue
        if given.lstrip().startswith("{"):
            message = f"The arguments of `{made.call.name[:60]}` are not JSON."
            yield _found("malformed_arguments", message, view, made, given[:200])


def claims(view: View) -> Iterator[Finding]:
    """Find claims of work with tools in a run that has called none so far."""
    for at, step in enumerate(view.trace.steps):
        if step.calls:
            return
        said = step.answer or step.text
        claim = _CLAIM.search(said)
        if claim is None and _SEARCHED in said:
            claim = _SOURCE.search(said)
        if claim is not None:
            message = "The model claims to have used tools but called none."
            evidence = said[claim.start() : claim.start() + 200]
            yield Finding("claim_without_action", message, "warning", "suspected", at, evidence)
            return


TURNS: Final[tuple[Detector, ...]] = (failures, unknown_tools, broken_arguments, claims)
