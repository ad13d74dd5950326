"""A step as ReAct text, in which only real headers look like headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from loopmend._repr import written

if TYPE_CHECKING:
    from loopmend.traces.trace import Step, TraceCall

__all__ = ["lines_of"]

# A keyword in what a tool returned, or in a thought, must not look like a header.
_HEADER: Final = re.compile(r"(Thought|Action|Final Answer):")


def lines_of(step: Step) -> list[str]:
    """Write a step as ReAct text.

    >>> from loopmend.traces.trace import Step
    >>> lines_of(Step(thought="easy", answer="4"))
    ['Thought: easy', 'Final Answer: 4']
    """
    lines = [f"Thought: {_plain(step.thought or '')}"]
    results = list(step.observations)
    for number, call in enumerate(step.calls):
        lines += [f"Action: {_plain(call.name)}", f"Action Input: {_plain(_written(call))}"]
        if number < len(results):
            lines.append(f"Observation: {_plain(results[number].text)}")
    lines += [f"Observation: {_plain(o.text)}" for o in results[len(step.calls) :]]
    if step.answer is not None:
        lines.append(f"Final Answer: {_plain(step.answer)}")
    return lines


def _plain(text: str) -> str:
    if "Thought:" in text or "Action:" in text or "Final Answer:" in text:
        return _HEADER.sub(r"\1 :", text)
    return text


def _written(call: TraceCall) -> str:
    given = call.arguments
    return given if isinstance(given, str) else written(given)
