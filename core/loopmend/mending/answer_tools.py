"""Tools whose arguments are the answer that was asked for: to call one ends the run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from loopmend.mending.corrections import FORMS, signature
from loopmend.mending.messages import NativeCall, Reply
from loopmend.mending.value_corrections import value_correction
from loopmend.mending.value_replies import dropped_by
from loopmend.reading.json_reading import JsonReading, fit_value, read_json
from loopmend.reading.schema import Schema
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern
from loopmend.reading.weighing import DENIED, Words, lean

__all__ = ["ToolAnswer", "read_tool_answer"]

P: Final = FailurePattern
_VALUE: Final = re.compile(r"[{}\[\]]")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer that a reply gives, or what is wrong with it."""

    reading: JsonReading
    calls: tuple[NativeCall, ...] | None = None
    """The calls to make in place of the reply's own; `None` if those are right."""
    words: str | None = None
    """What to tell the model, if the answer cannot be used."""
    written: Failure | None = None
    """Set if the model wrote the answer as text, without a call."""


def read_tool_answer(
    reply: Reply,
    calls: Sequence[NativeCall],
    answers: Mapping[str, Schema],
    tools: Toolbox,
    id: str,
) -> ToolAnswer | None:
    """Read the answer out of a reply; `None` if it calls other tools.

    Args:
        reply: The reply.
        calls: Its calls, as they will be made.
        answers: What each tool takes that gives the answer.
        tools: All tools.
        id: For a call that the model only wrote.
    """
    given = [call for call in calls if call.name in answers]
    if not given:
        return None if calls else _written(reply, answers, tools, id)
    call = given[0]
    if len(given) > 1:
        message = "The reply gives several structured answers."
        failure = Failure(P.MALFORMED, message, (0, 0), call.name)
        return _refused(failure, "You gave several answers. Give only one.")
    reading = fit_value(call.arguments, answers[call.name])
    if reading.failure is not None:
        words = value_correction(reading.failure, answers[call.name]).partition("\n")[0]
        return _refused(replace(reading.failure, pattern=P.BAD_VALUE, tool=call.name), words)
    if reading.fidelity == "exact":
        return ToolAnswer(reading)
    fitted = replace(call, arguments=reading.data)
    return ToolAnswer(reading, tuple(fitted if each is call else each for each in calls))


def _written(reply: Reply, answers: Mapping[str, Schema], tools: Toolbox, id: str) -> ToolAnswer:
    """Return the answer that a reply writes as JSON, or tell which tool takes it."""
    span = (0, len(reply.text))
    readings = {name: read_json(reply.text, schema) for name, schema in answers.items()}
    fitting = [n for n, each in readings.items() if each.ok and isinstance(each.data, dict)]
    least = min((_loss(readings[name], answers[name]) for name in fitting), default=None)
    best = [name for name in fitting if _loss(readings[name], answers[name]) == least]
    if len(best) == 1 and _is_all(reply.text, readings[best[0]]):
        (name,) = best
        message = f"The model wrote its answer as text, without calling `{name}`."
        failure = Failure(P.TEXTUAL_CALL, message, span, name)
        reading = readings[name]
        return ToolAnswer(reading, (NativeCall(name, reading.data, id),), None, failure)
    names = ", ".join(f"`{name}`" for name in answers)
    taken = "; ".join(signature(tools.tools[name]) for name in answers)
    message = f"The reply does not give its answer by calling {names}."
    words = f"Give your answer by calling {names}. Signature: {taken}."
    return _refused(Failure(P.NO_ACTION, message, span), words)


def _is_all(text: str, reading: JsonReading) -> bool:
    """Tell whether a value is the only one in a text, and the words around it do not disown it."""
    start, end = reading.span
    before, after = text[:start], text[end:]
    return not _VALUE.search(before + after) and lean(Words(before, after)) >= DENIED


def _loss(reading: JsonReading, schema: Schema) -> tuple[int, bool]:
    """Return how many keys of a value a schema drops, and whether the value had to be repaired."""
    return len(dropped_by(reading.data, schema)), reading.fidelity != "exact"


def _refused(failure: Failure, words: str) -> ToolAnswer:
    reading = JsonReading(failure=failure, whole=False, span=failure.span)
    return ToolAnswer(reading, words=f"{words}\n{FORMS['native']}.")
