"""Fitting a call to the tool it names: its arguments, their names and their types.

Nothing is lost and nothing is invented: what a tool cannot take as it is written, or only by a
guess, is a failure that says what the tool takes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from loopmend.contracts.actions import ToolCall
from loopmend.reading.coercion import Coercion, JsonText, alike, guess, structure
from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.inputs import positional_input, read_input
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.placeholders import echo_in
from loopmend.reading.scalars import BareName
from loopmend.reading.tools import Toolbox, ToolSpec, spelling_of
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.values import verified
from loopmend.reading.written_calls import Call

__all__ = ["JsonText", "decoded", "fit"]


_OBJECT: Final = re.compile(r"\s*\{\s*[\"']?\w+[\"']?\s*[:=]")


def fit(
    call: Call, tools: Toolbox | None, repairs: list[Repair], question: str = ""
) -> ToolCall | Failure:
    """Return the call as the tool takes it, or why it cannot be made for sure.

    Args:
        call: What was written.
        tools: What is on offer, if known.
        repairs: What is put right.
        question: What the user asked: an argument that stands in it is no placeholder.
    """
    spec = None
    if tools is not None:
        spec = tools.find(call.name)
        if spec is None:
            return _unknown(call, tools)
    if call.torn:
        message = f"The call to `{call.name[:80]}` is truncated or malformed."
        return Failure(FailurePattern.TRUNCATED, message, call.span, call.name)
    if call.twice is not None:
        return _twice(call.name, call.twice, call)
    if (variable := _variable(call)) is not None:
        message = f"`{call.name[:80]}` is called with a variable instead of a value: `{variable}`."
        return Failure(FailurePattern.BAD_ARGUMENTS, message, call.span, call.name)
    repairs += call.repairs
    name = call.name.strip().replace("\\_", "_") if spec is None else spec.name
    if name != call.name:
        repairs.append(Repair(f"tool name `{call.name[:60]}`", call.span))
    if spec is None or not spec.known:
        return _loose(name, call, question)
    return _Fit(call, spec, repairs, question).run()


def _variable(call: Call) -> str | None:
    """Return an argument that is a variable of a program, which nobody here can look up."""
    if not any(repair.what == "unquoted text" for repair in call.repairs):
        return None
    held = [call.arguments]
    while held:
        value = held.pop()
        if isinstance(value, BareName):
            return str(value[:80])
        held += value.values() if isinstance(value, dict) else value if type(value) is list else ()
    return None


def _unknown(call: Call, tools: Toolbox) -> Failure:
    nearest = tools.nearest(call.name)
    given = decoded(call.arguments)
    meant = ToolCall(nearest, given) if nearest is not None and isinstance(given, dict) else None
    message = f"There is no tool `{call.name[:80]}`."
    pattern = FailurePattern.UNKNOWN_TOOL
    return Failure(pattern, message, call.span, call.name, nearest, call=meant)


def _loose(name: str, call: Call, question: str) -> ToolCall | Failure:
    """Return a call of a tool of which only the name is known, if that."""
    if len(call.positional) == 1 and isinstance(call.positional[0], dict) and not call.arguments:
        call = replace(call, arguments=call.positional[0], positional=())
    if call.positional:
        message = f"The arguments of `{name[:80]}` have no names."
        return Failure(FailurePattern.BAD_ARGUMENTS, message, call.span, call.name)
    if call.missing and call.arguments != "":
        return _no_input(name, call)
    arguments = decoded(call.arguments)
    if isinstance(arguments, dict):
        inner = arguments.get("properties")
        if len(arguments) == 1 and isinstance(inner, dict):
            arguments = inner
        if (echo := echo_in(arguments, question)) is not None:
            return _template(name, echo, call)
        arguments = {
            key: guess(value) if isinstance(value, JsonText) else value
            for key, value in arguments.items()
        }
    return ToolCall(name, {} if arguments is None else arguments)


def _no_input(name: str, call: Call) -> Failure:
    message = f"The call to `{name[:80]}` has no input."
    return Failure(FailurePattern.MISSING_INPUT, message, call.span, call.name)


def _twice(name: str, key: str, call: Call) -> Failure:
    message = f"The call to `{name[:80]}` sets `{key[:80]}` twice."
    return Failure(FailurePattern.MALFORMED, message, call.span, call.name)


def _template(name: str, key: str, call: Call) -> Failure:
    message = f"`{key[:80]}` of `{name[:80]}` is a placeholder, not a value."
    return Failure(FailurePattern.TEMPLATE_ECHO, message, call.span, call.name)


def decoded(arguments: Any) -> Any:
    """Undo the encoding of an object as text, however often it was encoded."""
    for _ in range(3):
        if not isinstance(arguments, str) or not arguments.lstrip().startswith(("{", '"{', '"\\"')):
            break
        text = arguments.strip()
        try:
            inner = decode_value(text, 0)
        except LenientError:
            break
        inner = verified(text, inner)
        if inner.torn or inner.twice or text[inner.end :].strip():
            break
        arguments = inner.value
    return arguments


class _Fit:
    def __init__(self, call: Call, spec: ToolSpec, repairs: list[Repair], question: str) -> None:
        self.call = call
        self.question = question
        self.spec = spec
        self.repairs = repairs
        self.types = Coercion(spec.definitions, raw=call.raw)
        self.twice: str | None = None

    def run(self) -> ToolCall | Failure:
        arguments = self._object()
        if isinstance(arguments, Failure):
            return arguments
        arguments = self._keys(self._unwrapped(arguments))
        if self.twice is not None:
            return _twice(self.spec.name, self.twice, self.call)
        placed = self._placed(arguments)
        if placed is None:
            return self._bad(f"The arguments of `{self.spec.name}` do not fit its parameters")
        arguments = placed
        missing = [name for name in self.spec.required if name not in arguments]
        if missing:
            if self.call.missing:
                return _no_input(self.spec.name, self.call)
            unknown = [f"`{name}`" for name in arguments if name not in self.spec.parameters]
            instead = f" and does not accept {', '.join(unknown[:3])}" if unknown else ""
            needs = ", ".join(f"`{name}`" for name in missing)
            failure = self._bad(f"`{self.spec.name}` needs {needs}{instead}", arguments)
            extra = tuple(name for name in arguments if name not in self.spec.parameters)
            return replace(failure, missing=tuple(missing), unknown=extra)
        if (echo := echo_in(arguments, self.question)) is not None and not self._takes_objects(
            echo
        ):
            return _template(self.spec.name, echo, self.call)
        return self._typed(arguments)

    def _bad(self, what: str, arguments: dict[str, Any] | None = None) -> Failure:
        message = f"{what}."
        call = None if arguments is None else ToolCall(self.spec.name, arguments)
        pattern = FailurePattern.BAD_ARGUMENTS
        return Failure(pattern, message, self.call.span, self.call.name, call=call)

    def _mistyped(self, name: str, kinds: set[str], arguments: dict[str, Any]) -> Failure:
        what = f"`{name}` of `{self.spec.name}` takes {_listed(kinds)}"
        return replace(self._bad(what, arguments), mistyped=(name,))

    def _object(self) -> dict[str, Any] | Failure:
        """Return the arguments as an object, if they are one or can become one."""
        arguments = decoded(self.call.arguments)
        if isinstance(arguments, dict):
            return arguments
        if arguments is None or (self.call.missing and arguments == ""):
            return {}
        if isinstance(arguments, str):
            text = arguments.strip()
            if _OBJECT.match(text) and structure(text) is None and not self._is_code(text):
                return self._bad(f"The arguments of `{self.spec.name}` cannot be parsed")
            found = read_input(arguments, self.spec)
        else:
            found = positional_input(arguments, self.spec)
        if found is None:
            return self._bad(f"The arguments of `{self.spec.name}` are not an object")
        value, repair = found
        self.types.raw = self.types.raw or repair == "input by position"
        if repair:
            self.repairs.append(Repair(repair, self.call.span))
        return value

    def _is_code(self, text: str) -> bool:
        """Tell whether a text goes on behind a whole object that says nothing of this tool."""
        try:
            value = decode_value(text, 0)
        except LenientError:
            return False
        if value.torn or not isinstance(value.value, dict):
            return False
        return not any(self._parameter(key) for key in value.value)

    def _unwrapped(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take off a wrapper that the tool does not know."""
        rest = {key: item for key, item in arguments.items() if not self._is_own_name(key, item)}
        if len(rest) != 1:
            return arguments
        key, inner = next(iter(rest.items()))
        inner = decoded(inner)
        if self._parameter(key) is not None or not isinstance(inner, dict):
            return arguments
        if len(rest) < len(arguments) and role_of(key) is not Role.ARGUMENTS:
            return arguments
        if inner and all(self._parameter(k) for k in inner):
            self.repairs.append(Repair(f"wrapper `{key[:60]}`", self.call.span))
            return inner
        return arguments

    def _is_own_name(self, key: str, item: Any) -> bool:
        """Tell whether a call that is written once more within its input names the tool here."""
        named = item == self.spec.name and role_of(key) is Role.NAME
        return named and self._parameter(key) is None

    def _parameter(self, key: str) -> str | None:
        """Return the parameter that a key names, in whatever spelling."""
        if key in self.spec.parameters:
            return key
        spelled = [name for name in self.spec.parameters if spelling_of(name) == spelling_of(key)]
        return spelled[0] if len(spelled) == 1 else None

    def _keys(self, arguments: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in arguments.items():
            name = self._parameter(key) or key
            if name != key and (name in arguments or name in found):
                self.twice = name
            if name != key:
                self.repairs.append(Repair(f"name of `{key[:60]}`", self.call.span))
            found[name] = value
        return found

    def _placed(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Give arguments without a name to the parameters in their order."""
        given = self.call.positional
        if not given:
            return arguments
        if len(given) == 1 and isinstance(given[0], dict) and not arguments:
            inner = self._keys(given[0])
            if all(key in self.spec.parameters for key in inner):
                return inner
        free = list(self.spec.parameters)[: len(given)]
        if len(given) > len(free) or any(name in arguments for name in free):
            return None
        self.repairs.append(Repair("arguments without names", self.call.span))
        return {**dict(zip(free, given, strict=False)), **arguments}

    def _takes_objects(self, key: str) -> bool:
        schema = self.spec.parameters.get(key)
        return isinstance(schema, dict) and "object" in self.types.kinds(schema)

    def _typed(self, arguments: dict[str, Any]) -> ToolCall | Failure:
        found: dict[str, Any] = {}
        for name, value in arguments.items():
            schema = self.spec.parameters.get(name)
            if not isinstance(schema, dict):
                found[name] = guess(value) if isinstance(value, JsonText) else value
                continue
            schema = self.types.resolved(schema)
            new = self.types.coerced(value, schema)
            kinds = self.types.kinds(schema)
            if new is None and name in self.spec.required and kinds and not kinds & {"null", "any"}:
                return self._mistyped(name, kinds, arguments)
            if isinstance(new, (dict, list)) and kinds and not kinds & {"object", "array", "any"}:
                return self._mistyped(name, kinds, arguments)
            new = self._chosen(new, schema)
            if type(new) is int and kinds == {"string"}:
                new = str(new)  # as it is written
            if not _takes(kinds, new):
                return self._mistyped(name, kinds, arguments)
            written = self.types.raw or isinstance(value, JsonText)
            if _is_changed(value, new, written=written):
                self.repairs.append(Repair(f"type of `{name}`", self.call.span))
            found[name] = str(new) if isinstance(new, JsonText) else new
        return ToolCall(self.spec.name, found)

    def _chosen(self, value: Any, schema: dict[str, Any]) -> Any:
        options = schema.get("enum")
        if not isinstance(options, list) or value in options or not isinstance(value, str):
            return value
        chosen = alike(value, options)
        if chosen is None:
            return value
        self.repairs.append(Repair(f"case of `{value[:60]}`", self.call.span))
        return chosen


def _is_changed(value: Any, new: Any, *, written: bool) -> bool:
    """Tell whether a value was turned into another, or text into a value that JSON does not read.

    Args:
        value: What was written.
        new: What the tool gets.
        written: Whether values are text that the schema turns into values, as in elements.
    """
    if not isinstance(new, (dict, list)):
        return type(new) is not type(value) and not written
    if not isinstance(value, str):
        return repr(new) != repr(value)
    return not written or guess(value) != new


def _takes(kinds: set[str], value: Any) -> bool:
    """Tell whether a value is the number or the truth value that alone is taken."""
    if not kinds or not kinds <= _EXACT or value is None or isinstance(value, (dict, list)):
        return True
    if isinstance(value, bool):
        return "boolean" in kinds
    return isinstance(value, (int, float)) and ("number" in kinds or isinstance(value, int))


_EXACT: Final = {"integer", "number", "boolean", "null"}


def _listed(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))
