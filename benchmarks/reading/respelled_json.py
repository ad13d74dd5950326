"""Kinds of respelling of the JSON in a text; registered in `respellings.KINDS`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from benchmarks.reading.forms import dumped, strings
from benchmarks.reading.respellings import KINDS, register
from benchmarks.reading.rewriting import (
    ARGUMENTS,
    NAMES,
    holds_json_calls,
    is_call,
    on_calls,
    on_json,
    renamed,
    spelled,
)
from benchmarks.reading.texts import Case

__all__ = ["KINDS"]

Object = dict[str, Any]


def written(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Register a kind that writes the same JSON in another way."""

    def respell(case: Case) -> str | None:
        return on_json(case.text, write) if holds_json_calls(case) else None

    respell.__doc__ = write.__doc__
    register(respell)
    return write


def changed(change: Callable[[Object], Object]) -> Callable[[Object], Object]:
    """Register a kind that changes the object of a call."""

    def respell(case: Case) -> str | None:
        if not holds_json_calls(case):
            return None
        return on_json(case.text, lambda value: dumped(on_calls(value, change)))

    respell.__doc__ = change.__doc__
    register(respell)
    return change


@written
def _(value: Any) -> str:
    """JSON as Python writes it."""
    return repr(value)


@written
def _(value: Any) -> str:
    """JSON with keys that have no quotes."""
    return spelled(value, key=lambda key: key if re.fullmatch(r"[A-Za-z_]+", key) else dumped(key))


@written
def _(value: Any) -> str:
    """JSON with commas after the last items."""
    return spelled(value, last=",")


@written
def _(value: Any) -> str:
    """JSON indented by tabs."""
    return json.dumps(value, ensure_ascii=False, indent="\t")


@written
def _(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@written
def _(value: Any) -> str:
    """JSON in ASCII."""
    return json.dumps(value) if dumped(value) != json.dumps(value) else dumped(value)


@written
def _(value: Any) -> str:
    """JSON with typographic quotes."""
    if any(set('"\\\u201c\u201d') & set(text) for text in strings(value)) or _is_twice(value):
        return dumped(value)
    return spelled(value, key=_curly, string=_curly)


def _curly(text: str) -> str:
    return dumped(text) if "\n" in text else f"\u201c{text}\u201d"


def _is_twice(value: Any) -> bool:
    """Tell whether a string in it is JSON again."""
    return any(text.startswith("{") for text in strings(value))


@written
def _(value: Any) -> str:
    """JSON with line ends inside its strings."""
    if _is_twice(value):
        return dumped(value)
    return spelled(value, string=_over_lines)


def _over_lines(text: str) -> str:
    return '"' + "\n".join(dumped(line)[1:-1] for line in text.split("\n")) + '"'


@written
def _(value: Any) -> str:
    """JSON with a comment after its first bracket."""
    text = dumped(value)
    return f"{text[0]} // as asked\n{text[1:]}"


@written
def _(value: Any) -> str:
    """JSON with one bracket too many."""
    text = dumped(value)
    return text + text[-1]


@changed
def _(call: Object) -> Object:
    """Calls with their arguments first."""
    return dict(reversed(call.items()))


@changed
def _(call: Object) -> Object:
    """Calls with arguments that are JSON once more."""
    twice = {k: dumped(v) if k in ARGUMENTS and isinstance(v, dict) else v for k, v in call.items()}
    return twice if call.keys() & {*ARGUMENTS} else call


@changed
def _(call: Object) -> Object:
    """Calls under `tool` and `args`."""
    return renamed("tool", "args")(call)


@changed
def _(call: Object) -> Object:
    """Calls under `toolName` and `toolInput`."""
    return renamed("toolName", "toolInput")(call)


@changed
def _(call: Object) -> Object:
    """Calls under `function` and `kwargs`."""
    return renamed("function", "kwargs")(call)


@changed
def _(call: Object) -> Object:
    """Calls with arguments under `payload`."""
    return renamed("name", "payload")(call)


@changed
def _(call: Object) -> Object:
    """Calls under capitalised keys."""
    return {k.title() if k in {*NAMES, *ARGUMENTS} else k: v for k, v in call.items()}


@changed
def _(call: Object) -> Object:
    """Calls beside an id and a reason."""
    return {"id": "c1", "reason": "It was asked for.", **call}


@changed
def _(call: Object) -> Object:
    """Calls of names in the namespace `functions`."""
    return {k: f"functions.{v}" if k in NAMES else v for k, v in call.items()}


def _alone(case: Case, wrap: Callable[[Object], Any]) -> str | None:
    """Wrap the one object that is the whole text."""
    try:
        value = json.loads(case.text)
    except ValueError:
        return None
    lone = isinstance(value, dict) and is_call(value)
    return dumped(wrap(value)) if lone else None


@register
def _(case: Case) -> str | None:
    """A lone object in a list."""
    return _alone(case, lambda value: [value])


@register
def _(case: Case) -> str | None:
    """A lone object under `tool_call`."""
    return _alone(case, lambda value: {"tool_call": value})
