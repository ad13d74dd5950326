"""A reply where a value of a schema was asked for: in its text, or as the arguments of a call."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from loopmend.contracts.actions import FinalAnswer
from loopmend.mending.messages import NativeCall, Reply
from loopmend.mending.value_corrections import shape
from loopmend.reading.json_reading import JsonReading, fit_value, read_json
from loopmend.reading.response import is_cut, is_unusual
from loopmend.reading.schema import Schema, schema_of
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Turn

__all__ = ["ValueReply", "calls_first", "dropped_by", "read_value_reply"]

P: Final = FailurePattern
_CALLS: Final = ReadingConfig(salvage=True, detect_signals=False)
_CUT: Final = "The reply hit its length limit in the middle of the value."
_CLOSED: Final = frozenset("}]\"'`\u201d\u2019")


@dataclass(frozen=True, slots=True)
class ValueReply:
    """What was read of a reply, and what to use in its place."""

    reading: JsonReading
    turn: Turn
    calls: tuple[NativeCall, ...] | None = None
    content: str | None = None


def read_value_reply(
    reply: Reply, schema: Schema | None, config: ReadingConfig, told: str | None = None
) -> ValueReply:
    """Read the value out of a reply.

    Args:
        reply: The reply.
        schema: What the value has to be; `None` for any value.
        config: How to read.
        told: The last correction, in case that it comes back.

    >>> read_value_reply(Reply("{'people': 717710}"), None, ReadingConfig()).reading.value
    {'people': 717710}
    """
    if reply.error is not None:
        return _failed(P.MALFORMED, "The provider could not decode the reply.", reply)
    if reply.calls or reply.broken_calls:
        return _from_calls(reply, schema, config)
    if is_unusual(reply.finish_reason) and not is_cut(reply.finish_reason):
        return _failed(P.MALFORMED, f"The provider reports `{reply.finish_reason}`.", reply)
    if told is not None and _echoes(reply.text, told, schema):
        return _failed(P.TEMPLATE_ECHO, "The reply repeats the correction.", reply)
    reading = read_json(reply.text, schema, config=config)
    if reading.ok and is_cut(reply.finish_reason) and _may_go_on(reply.text, reading):
        return _failed(P.TRUNCATED, _CUT, reply)
    return _of_text(reply, reading)


def calls_first(reply: Reply, schema: Any, tools: Toolbox | None) -> bool:
    """Tell whether a reply calls a tool before it gives the value: as a call, or in its text.

    >>> said = Reply('{"name": "search", "arguments": {"query": "Oslo"}}')
    >>> calls_first(said, {"type": "integer"}, Toolbox(["search"]))
    True
    """
    calls = (*reply.calls, *reply.broken_calls)
    if tools is None or not tools.tools or (calls and reply.calls_any(tools.tools)):
        return bool(calls and tools and tools.tools)
    if not calls and not any(name in reply.text for name in tools.tools):
        return False
    wanted = schema_of(schema) or Schema(None, {})
    if calls:  # small models give the value as a call, of whatever name
        return not any(c.name == wanted.name or fit_value(c.arguments, wanted).ok for c in calls)
    turn = reply.read(tools, "native", _CALLS)
    failure = turn.failure
    if not turn.calls and (failure is None or failure.tool not in tools.tools):
        return False
    reading = read_json(reply.text, wanted)
    if not reading.ok or (failure is not None and failure.pattern is P.NARRATED):
        return not reading.ok
    # What a value holds is a part of it, but a call that loses its arguments is no value.
    start, end = turn.span if failure is None else failure.span
    inside = reading.span[0] <= start and end <= reading.span[1]
    return not inside or bool(dropped_by(reading.data, wanted))


def dropped_by(data: Any, schema: Schema) -> Collection[str]:
    """Return the keys of an object that its schema does not keep."""
    known = schema.checker.resolved(schema.json)
    if not isinstance(data, dict) or "properties" not in known or known.get("additionalProperties"):
        return ()
    return set(data) - set(known["properties"])


def _echoes(text: str, told: str, schema: Schema | None) -> bool:
    """Tell whether a text repeats a correction, or the shape that corrections show."""
    shown = "" if schema is None else shape(schema)
    return told.partition("\n")[0] in text or (any(c in shown for c in "{[") and shown in text)


def _of_text(reply: Reply, reading: JsonReading) -> ValueReply:
    turn = _turn(reading, reply.text)
    alone = reading.fidelity == "exact" and reply.text.strip() == reply.text[slice(*reading.span)]
    content = None if alone or not reading.ok else _written(reading.data)
    return ValueReply(reading, turn, content=content)


def _from_calls(reply: Reply, schema: Schema | None, config: ReadingConfig) -> ValueReply:
    """Read the arguments of the first call that fits, else of the first."""
    calls = (*reply.calls, *reply.broken_calls)
    readings = [fit_value(call.arguments, schema, config=config) for call in calls]
    at = next((at for at, reading in enumerate(readings) if reading.ok), 0)
    reading, call = readings[at], calls[at]
    last = call is calls[-1] and not isinstance(call.arguments, str)
    if reading.ok and last and is_cut(reply.finish_reason):
        # A client that streams closes what was cut off, so nobody knows whether it is whole.
        failure = Failure(P.TRUNCATED, _CUT, reading.span)
        reading = replace(reading, value=None, failure=failure, whole=False)
    if reading.failure is not None:
        reading = replace(reading, failure=replace(reading.failure, tool=call.name))
    exact = reading.fidelity == "exact" and call in reply.calls
    made = None if exact or not reading.ok else (NativeCall(call.name, reading.data, call.id),)
    return ValueReply(reading, _turn(reading, reply.text), made)


def _turn(reading: JsonReading, text: str) -> Turn:
    if reading.failure is not None:
        return Turn(failure=reading.failure, dialect="schema", span=reading.span)
    answer = FinalAnswer(_written(reading.data))
    turn = Turn((answer,), None, None, None, reading.fidelity, reading.repairs, "schema")
    return replace(turn, span=(min(reading.span[0], len(text)), min(reading.span[1], len(text))))


def _written(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)


def _may_go_on(text: str, reading: JsonReading) -> bool:
    """Tell whether a value reaches to the end of a text without a sign that it is complete."""
    end = reading.span[1]
    return not text[end:].strip() and text[end - 1 : end] not in _CLOSED


def _failed(pattern: FailurePattern, message: str, reply: Reply) -> ValueReply:
    span = (0, len(reply.text))
    failure = Failure(pattern, message, span)
    return ValueReply(
        JsonReading(failure=failure, whole=False, span=span), Turn(failure=failure, span=span)
    )
