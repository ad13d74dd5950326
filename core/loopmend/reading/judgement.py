"""Judging a decoded value: what it is for a schema, or why it is nothing for sure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from typing import Any, Final, TypeVar

from loopmend.reading.alignment import Alignment
from loopmend.reading.problem import Problem, kind_of, place
from loopmend.reading.schema import Schema
from loopmend.reading.templates import echoes_schema, placeholder_in
from loopmend.reading.turn import Failure, FailurePattern, Fidelity, Repair, failure
from loopmend.reading.values import Value

__all__ = ["JsonReading", "exact", "judged", "loses_digits", "refused", "stopped"]

_MOST_NAMED: Final = 5
_INTEGER: Final = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)*")
_LONG_NUMBER: Final = re.compile(r"(?<![\w.])\d(?=[\d.]{15})\d*\.?\d*(?:[eE][-+]?\d{1,4}(?!\d))?")
_Number = TypeVar("_Number", int, float)
P: Final = FailurePattern


@dataclass(frozen=True, slots=True)
class JsonReading:
    """The value that a reply contains, or why it contains none.

    >>> from loopmend import read_json
    >>> read_json("Here you are: {'a': 1,}").value
    {'a': 1}
    """

    value: Any = None
    """The value: an instance of the schema's type, or plain data. It is `None` if there is a
    failure, unless `salvage` returns the part that arrived."""
    failure: Failure | None = None
    """Why there is no certain value."""
    fidelity: Fidelity = "exact"
    """Whether the text needed repair, or the value is only the part that arrived."""
    repairs: tuple[Repair, ...] = ()
    """The reader's repairs, each with its place in the text."""
    whole: bool = True
    """Whether the text contains the whole value."""
    span: tuple[int, int] = (0, 0)
    """The position of the value in the text."""
    data: Any = None
    """The value as plain data, before its conversion to the schema's type; set even if the schema
    refuses the value."""

    @property
    def ok(self) -> bool:
        """Whether there is a certain value."""
        return self.failure is None


@dataclass(slots=True)
class _OpenReading:
    """A reading while it is made: to fill a frozen one takes four times as long."""

    value: Any
    failure: Failure | None
    fidelity: Fidelity
    repairs: tuple[Repair, ...]
    whole: bool
    span: tuple[int, int]
    data: Any


_new: Final = object.__new__


def exact(value: Any, span: tuple[int, int], data: Any) -> JsonReading:
    """Return the reading of a value that needs no repair.

    >>> exact(1, (0, 1), 1) == JsonReading(1, span=(0, 1), data=1)
    True
    """
    made: Any = _new(_OpenReading)
    made.value = value
    made.failure = None
    made.fidelity = "exact"
    made.repairs = ()
    made.whole = True
    made.span = span
    made.data = data
    made.__class__ = JsonReading
    done: JsonReading = made
    return done


def stopped(found: Value, message: str) -> JsonReading:
    """Return the reading of a value that the text stops in, or of which parts are left out."""
    span = (found.start, found.end)
    why = failure(P.TRUNCATED, message, span)
    return _frozen(
        _OpenReading(None, why, "exact", found.repairs, False, span, found.value)  # noqa: FBT003 - not whole
    )


def _frozen(made: Any) -> JsonReading:
    made.__class__ = JsonReading
    done: JsonReading = made
    return done


def judged(text: str, found: Value, wanted: Schema | None, *, hinted: bool = True) -> JsonReading:
    """Return what a decoded value is for a schema."""
    span = (found.start, found.end)
    repairs = found.repairs
    fidelity: Fidelity = "repaired" if repairs else "exact"
    reading = _frozen(
        _OpenReading(found.value, None, fidelity, repairs, True, span, found.value)  # noqa: FBT003 - whole
    )
    if found.twice is not None:
        return refused(reading, P.MALFORMED, f"The key `{found.twice[:80]}` appears twice.")
    source = text[found.start : found.end] if hinted else "..."
    if wanted is not None and echoes_schema(found.value, wanted):
        return refused(reading, P.TEMPLATE_ECHO, "The reply repeats the schema, not a value.")
    slot = placeholder_in(found.value, source)
    if slot is not None:
        message = f"`{place(slot)}` is a placeholder, not a value."
        return refused(reading, P.TEMPLATE_ECHO, message)
    if wanted is None:
        return reading
    if wanted.decimal and loses_digits(source, found.value):
        return refused(reading, P.MALFORMED, "A number has more digits than can be kept.")
    return _fitted(reading, wanted, text)


def _fitted(reading: JsonReading, wanted: Schema, text: str) -> JsonReading:
    """Fit a value to a schema, then validate it: pydantic drops keys that it does not know."""
    try:
        return replace(reading, value=wanted.clean(reading.data))
    except ValueError:
        pass
    alignment = Alignment(wanted.checker, strict=wanted.strict, written=_written(reading, text))
    try:
        data = alignment.aligned(reading.data, wanted.json)
    except RecursionError:  # alternatives within alternatives
        data = reading.data
    if alignment.clashes:
        keys = place(alignment.clashes[0])
        return refused(reading, P.MALFORMED, f"`{keys}` and another key are spellings of one name.")
    value, problems = wanted.validated(data)
    if alignment.repairs and problems:
        raw_value, raw = wanted.validated(reading.data)
        if not raw:
            value, problems, data = raw_value, raw, reading.data
            alignment.repairs.clear()
    if not problems:
        turned, problems = wanted.turned(data)
        for path in () if problems else turned:
            alignment.note("type", path)
    if alignment.repairs:
        changed = tuple(Repair(what, reading.span) for what in alignment.repairs)
        repairs = (*reading.repairs, *changed)
        reading = replace(reading, data=data, fidelity="repaired", repairs=repairs)
    if not problems and isinstance(data, dict) and data and _is_blank(value, data):
        problems = tuple(Problem((str(key),), "", kind_of(part)) for key, part in data.items())
    return _mismatched(reading, problems) if problems else replace(reading, value=value)


def _written(reading: JsonReading, text: str) -> dict[int, str]:
    """Return how integers are written that JSON would not write so, if each has one form only."""
    found = [text[slice(*r.span)] for r in reading.repairs if r.what == "number"]
    forms = Counter(each for each in found if _INTEGER.fullmatch(each))
    if not forms:
        return {}
    times = Counter(_numbers(reading.data, int))
    return {int(each): each for each, count in forms.items() if count == times[int(each)]}


def loses_digits(text: str, data: Any) -> bool:
    """Tell whether a fraction of some data is written with more digits than a float keeps.

    >>> loses_digits("[3.141592653589793]", [3.141592653589793])
    False
    >>> loses_digits("[0.123456789012345678]", [0.123456789012345678])
    True
    """
    written = _LONG_NUMBER.findall(text)
    if not written:
        return False
    held = {abs(number) for number in _numbers(data, float)}
    return any(
        (number := float(each)) in held and Decimal(each) != Decimal(repr(number))
        for each in written
    )


def _numbers(data: Any, kind: type[_Number]) -> Iterator[_Number]:
    held = [data]
    while held:
        value = held.pop()
        if type(value) is kind:
            yield value
        held += value.values() if isinstance(value, dict) else value if type(value) is list else ()


def _is_blank(value: Any, data: dict[str, Any]) -> bool:
    """Tell whether a type that drops keys it does not know has taken nothing at all."""
    if is_dataclass(value):
        return not any(field.name in data for field in fields(value))
    return value == {} or getattr(value, "model_fields_set", None) == set()


def _mismatched(reading: JsonReading, problems: tuple[Problem, ...]) -> JsonReading:
    words = "; ".join(str(problem) for problem in problems[:_MOST_NAMED])
    more = f"; and {len(problems) - _MOST_NAMED} more" if len(problems) > _MOST_NAMED else ""
    why = Failure(P.BAD_VALUE, f"{words}{more}.", reading.span, problems=problems)
    return replace(reading, value=None, failure=why)


def refused(reading: JsonReading, pattern: FailurePattern, message: str) -> JsonReading:
    """Return a reading without its value, and why."""
    return replace(reading, value=None, failure=Failure(pattern, message, reading.span))
