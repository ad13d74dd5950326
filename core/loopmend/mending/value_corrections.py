"""The words of a correction where a value of a schema was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from loopmend.reading.checker import options_of
from loopmend.reading.problem import Problem
from loopmend.reading.schema import Schema
from loopmend.reading.turn import Failure, FailurePattern

__all__ = ["shape", "value_correction"]

P: Final = FailurePattern
_SAID: Final = {
    P.EMPTY: "Your reply was empty.",
    P.NO_ACTION: "Your reply contains no JSON.",
    P.TRUNCATED: "Your reply was cut off or is incomplete. Send all of it, shorter if you can.",
    P.TEMPLATE_ECHO: "You repeated the template. Fill in real values.",
}
_DEFAULT: Final = "Your JSON could not be parsed."
_DEEPEST: Final = 4
_MOST_OPTIONS: Final = 8
_MOST_NAMED: Final = 8
_LONGEST: Final = 1000
_LONGEST_WORDS: Final = 120
_NAME: Final = re.compile(r"[^\W\d][\w.\- ]{0,59}")
_NOT_WORDS: Final = re.compile(r"[{}\[\]`\n]+")


def value_correction(failure: Failure, schema: Schema | None) -> str:
    """Return the correction of a reply that is not the value that you asked for.

    It mentions only the wrong parts and repeats nothing of the value. Without a schema, any value
    would do.

    >>> from loopmend import read_json
    >>> from loopmend.reading.schema import schema_of
    >>> city = {"type": "object", "properties": {"name": {"type": "string"},
    ...         "people": {"type": "integer"}}, "required": ["name", "people"]}
    >>> print(value_correction(read_json('{"people": "many"}', city).failure, schema_of(city)))
    Fix only this: `name` is missing: a string; `people` must be an integer, not a string.
    Reply with one JSON object of this shape and nothing else: {"name": string, "people": integer}
    """
    schema = schema or Schema(None, {})
    told = _SAID.get(failure.pattern, _DEFAULT)
    if failure.problems:
        named = [words for each in failure.problems if (words := _words(each))]
        told = f"Fix only this: {'; '.join(named[:_MOST_NAMED])}."
    kinds = schema.checker.kinds(schema.json)
    what = "object" if kinds == {"object"} else "array" if kinds == {"array"} else "value"
    form = shape(schema) if kinds != {"string"} or options_of(schema.json) else ""
    like = f" of this shape and nothing else: {form}" if form else " and nothing else."
    return f"{told}\nReply with one JSON {what}{like}"


def _words(problem: Problem) -> str:
    """Return a problem in words, if what names its place is a name at all."""
    if not all(isinstance(step, int) or _NAME.fullmatch(step) for step in problem.path):
        return "remove the keys that the shape does not have"
    expected = _NOT_WORDS.sub(" ", problem.expected)[:_LONGEST_WORDS]
    return str(Problem(problem.path, expected, problem.came))


def shape(schema: Schema) -> str:
    """Return the shape of a schema's values; empty if it is too long to help.

    It reads as no value: types stand in the place of values.

    >>> from loopmend.reading.schema import schema_of
    >>> shape(schema_of(list[dict[str, int]]))
    '[{string: integer}]'
    """
    for deepest in range(_DEEPEST, 0, -1):
        found = _shape(schema.json, schema, deepest)
        if len(found) <= _LONGEST:
            return "" if found == "any" else found
    return ""


def _shape(part: Any, schema: Schema, deepest: int) -> str:
    if not isinstance(part, dict):
        return "any"
    part = schema.checker.resolved(part)
    if (options := options_of(part)) is not None:
        shown = [json.dumps(o, ensure_ascii=False, default=str) for o in options[:_MOST_OPTIONS]]
        return " | ".join(shown) or "any"
    for key in ("anyOf", "oneOf"):
        if isinstance(choices := part.get(key), list) and choices:
            return " | ".join(dict.fromkeys(_shape(c, schema, deepest) for c in choices))
    kinds = sorted(schema.checker.kinds(part))
    if kinds == ["object"] and deepest:
        return _object(part, schema, deepest)
    if kinds == ["array"] and deepest:
        return f"[{_shape(part.get('items'), schema, deepest - 1)}]"
    return " | ".join(kinds) or "any"


def _object(part: Mapping[str, Any], schema: Schema, deepest: int) -> str:
    properties = part.get("properties")
    if not isinstance(properties, dict) or not properties:
        inner = _shape(part.get("additionalProperties"), schema, deepest - 1)
        return f"{{string: {inner}}}"
    required = part.get("required") or ()
    members = [
        f"{json.dumps(name, ensure_ascii=False)}{'' if name in required else '?'}: "
        f"{_shape(inner, schema, deepest - 1)}"
        for name, inner in properties.items()
    ]
    return "{" + ", ".join(members) + "}"
