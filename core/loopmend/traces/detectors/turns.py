"""What is wrong with single turns: what the reader says about them, put to use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from loopmend.reading.turn import FailurePattern
from loopmend.traces.finding import Detector, Finding
from loopmend.traces.trace import Step
from loopmend.traces.view import View

__all__ = ["TURNS"]

_KINDS: Final = {
    FailurePattern.NARRATED: (
        "narrated_call",
        "It is told what will be done, but nothing is called.",
    ),
    FailurePattern.EMPTY: ("empty_turn", "The model said nothing."),
    FailurePattern.FABRICATED_OUTPUT: ("hallucinated_observation", "A tool's result was made up."),
    FailurePattern.TRUNCATED: ("malformed_arguments", "A call is cut off."),
    FailurePattern.BAD_ARGUMENTS: ("malformed_arguments", "Arguments do not fit the tool."),
    FailurePattern.MALFORMED: ("parse_failure", "A call cannot be read."),
    FailurePattern.TEXTUAL_CALL: ("parse_failure", "A call is written as text."),
    FailurePattern.UNKNOWN_TOOL: ("unknown_tool", "A tool was called that there is not."),
}
_CUT: Final = "made-up continuation cut off"
_CLAIM: Final = re.compile(
    r"\b(?:I have|I've|I) (?:just |now |already )?(?:searched|verified|checked|confirmed|looked up|"
    r"retrieved|executed|ran|queried|visited|reviewed)\b|\baccording to (?:my|the) search\b",
    re.IGNORECASE,
)


def failures(view: View) -> Iterator[Finding]:
    """Find turns that could not be used, unless something came of them all the same."""
    for at, step in enumerate(view.trace.steps):
        turn = step.turn
        if turn is None:
            continue
        if turn.failure is not None and not _came_of_it(step):
            known = _KINDS.get(turn.failure.pattern)
            if known is not None:
                kind, message = known
                evidence = step.text[slice(*turn.failure.span)][:200]
                yield Finding(
                    kind, message, "warning", "suspected", at, evidence, turn.failure.span
                )
        for repair in turn.repairs:
            if repair.what == _CUT:
                evidence = step.text[slice(*repair.span)][:200]
                message = "The model made up what a tool would return."
                yield Finding(
                    "hallucinated_observation",
                    message,
                    "warning",
                    "proven",
                    at,
                    evidence,
                    repair.span,
                )
                break


def _came_of_it(step: Step) -> bool:
    """Tell whether a step did something; that a host takes its text for the answer is nothing."""
    answered = step.answer is not None and step.answer != step.text
    return bool(step.calls) or answered or bool(step.observations)


def unknown_tools(view: View) -> Iterator[Finding]:
    """Find calls of tools that are not on offer, where it is known which are."""
    offered = view.trace.tools
    if offered is None:
        return
    known = {name.lower() for name in offered}
    for made in view.made:
        if made.call.name.lower() not in known and made.call.name != "python":
            message = f"There is no tool `{made.call.name[:60]}`."
            yield Finding("unknown_tool", message, "error", "proven", made.step)


def broken_arguments(view: View) -> Iterator[Finding]:
    """Find arguments that should be an object but could not be decoded."""
    for made in view.made:
        given = made.call.arguments
        if made.call.id is not None and isinstance(given, str) and given.lstrip().startswith("{"):
            message = f"The arguments of `{made.call.name[:60]}` are no JSON."
            yield Finding("malformed_arguments", message, "error", "proven", made.step, given[:200])


def claims(view: View) -> Iterator[Finding]:
    """Find claims of work with tools in a run that has called none so far."""
    for at, step in enumerate(view.trace.steps):
        if step.calls:
            return
        said = step.answer or step.text
        claim = _CLAIM.search(said)
        if claim is not None:
            message = "It claims work with tools, but none was called."
            evidence = said[claim.start() : claim.start() + 200]
            yield Finding("claim_without_action", message, "warning", "suspected", at, evidence)
            return


TURNS: Final[tuple[Detector, ...]] = (failures, unknown_tools, broken_arguments, claims)
