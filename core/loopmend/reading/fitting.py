"""Fitting a call to the tool it means: its name, its arguments, their types."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final

from loopmend.contracts.actions import ToolCall
from loopmend.reading.dialects.elements import JsonText
from loopmend.reading.found import Call
from loopmend.reading.lenient import LenientError
from loopmend.reading.payloads import decode_value
from loopmend.reading.scalars import Tear
from loopmend.reading.tools import Toolbox, ToolSpec
from loopmend.reading.turn import Failure, FailurePattern, Repair

__all__ = ["fit", "fit_text", "fits"]

_INTEGER: Final = re.compile(r"[-+]?\d{1,300}")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_AS_THEY_ARE: Final = frozenset({int, bool, type(None)})
_ALIASES: Final = {
    "float": "number",
    "double": "number",
    "int": "integer",
    "bool": "boolean",
    "str": "string",
    "dict": "object",
    "list": "array",
    "tuple": "array",
}


def fit(call: Call, tools: Toolbox | None, repairs: list[Repair]) -> ToolCall | Failure:
    """Return the call as the tool takes it, or why it cannot be made for sure."""
    if tools is None:
        return _unfitted(call)
    spec, mended = tools.find(call.name)
    if spec is None and call.name.isdigit():
        spec, mended = _by_arguments(call.arguments, tools), True
    if spec is None:
        message = f"There is no tool `{call.name[:80]}`."
        return Failure(
            FailurePattern.UNKNOWN_TOOL, message, call.span, call.name, tools.nearest(call.name)
        )
    if mended:
        repairs.append(Repair(f"tool name `{call.name[:60]}`", call.span))
    if not spec.known:
        return _unfitted(replace(call, name=spec.name))
    return _fitted(call, spec, repairs)


def fits(name: str, arguments: Any, tools: Toolbox) -> bool:
    """Tell quickly whether a call is one that `fit` would return as it is.

    Where that takes a second look, such as into nested values, the answer is no.
    """
    spec = tools.tools.get(name)
    if spec is None or not spec.known or not isinstance(arguments, dict):
        return False
    for key, value in arguments.items():
        schema = spec.parameters.get(key)
        if schema is None:
            return False
        if type(value) is str:
            if not isinstance(schema, dict) or schema.get("type") != "string":
                return False
        elif type(value) not in _AS_THEY_ARE:
            return False
    return all(key in arguments for key in spec.required)


def fit_text(name: str, text: str, tools: Toolbox) -> str | dict[str, Any] | None:
    """Return what a tool takes of one line of plain text, or `None` if that takes a second look."""
    spec = tools.tools.get(name)
    if spec is None:
        return None
    if not spec.known:
        return text
    arguments = _single(text, spec) or {}
    schema = next((spec.parameters.get(key) for key in arguments), None)
    plainly = isinstance(schema, dict) and schema.get("type") == "string"
    return arguments if plainly else None


def _by_arguments(arguments: Any, tools: Toolbox) -> ToolSpec | None:
    """Return the one tool that takes just these arguments, for a call that is only numbered."""
    given = set(arguments) if isinstance(arguments, dict) else set()
    fitting = [
        spec
        for spec in tools.tools.values()
        if spec.known and set(spec.required) <= given <= set(spec.parameters)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _unfitted(call: Call) -> ToolCall | Failure:
    if call.torn:
        return _cut_off(call)
    if call.positional:
        message = f"The arguments of `{call.name}` have no names."
        return Failure(FailurePattern.BAD_ARGUMENTS, message, call.span, call.name)
    return ToolCall(call.name.replace("\\_", "_"), _loose_arguments(call))


def _loose_arguments(call: Call) -> Any:
    arguments = _decoded(call.arguments)
    if isinstance(arguments, dict):
        inner = arguments.get("properties")
        if len(arguments) == 1 and isinstance(inner, dict):
            return inner
        return {
            key: _guess(value, value) if isinstance(value, JsonText) else value
            for key, value in arguments.items()
        }
    return {} if arguments is None else arguments


def _cut_off(call: Call) -> Failure:
    message = f"The call of `{call.name[:80]}` is cut off or too broken to be sure."
    return Failure(FailurePattern.TRUNCATED, message, call.span, call.name)


def _decoded(arguments: Any) -> Any:
    """Undo the encoding of an object as text, however often it was encoded."""
    for _ in range(3):
        if not isinstance(arguments, str) or not arguments.lstrip().startswith(("{", '"')):
            break
        try:
            inner = decode_value(arguments.strip(), 0)
        except LenientError:
            break
        if (
            inner.torn
            or not isinstance(inner.value, (dict, str))
            or arguments.strip()[inner.end :].strip()
        ):
            break
        arguments = inner.value
    return arguments


def _fitted(call: Call, spec: ToolSpec, repairs: list[Repair]) -> ToolCall | Failure:
    arguments = _decoded(call.arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        arguments = _single(arguments, spec)
        if arguments is None:
            message = f"The arguments of `{spec.name}` are not an object."
            return Failure(FailurePattern.BAD_ARGUMENTS, message, call.span, call.name)
    arguments = _unwrapped(arguments, spec)
    arguments = _placed(call, arguments, spec)
    if arguments is None:
        message = f"The arguments of `{spec.name}` have no names and do not fit its parameters."
        return Failure(FailurePattern.BAD_ARGUMENTS, message, call.span, call.name)
    missing = [name for name in spec.required if name not in arguments]
    unknown = [name for name in arguments if name not in spec.parameters]
    if call.torn is Tear.CUT or (call.torn and missing):
        return _cut_off(call)
    if missing and unknown:
        message = f"`{spec.name}` needs `{missing[0]}` and does not know `{unknown[0]}`."
        return Failure(FailurePattern.BAD_ARGUMENTS, message, call.span, call.name)
    coerced = {}
    for name, value in arguments.items():
        schema = spec.parameters.get(name)
        new = (
            _coerce(value, schema, raw=call.raw)
            if isinstance(schema, dict)
            else _guess(value, value)
            if isinstance(value, JsonText)
            else value
        )
        if new is not value and type(new) is not type(value) and not call.raw:
            repairs.append(Repair(f"type of `{name}`", call.span))
        coerced[name] = str(new) if isinstance(new, JsonText) else new
    return ToolCall(spec.name, coerced)


def _single(value: Any, spec: ToolSpec) -> dict[str, Any] | None:
    """Give a lone value to the one parameter that can take it."""
    names = list(spec.required) if len(spec.required) == 1 else list(spec.parameters)
    if len(names) != 1:
        if not spec.parameters and value in ("", [], "{}"):
            return {}
        return None
    return {names[0]: value}


def _unwrapped(arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Any]:
    """Take off a wrapper that the tool does not know."""
    if len(arguments) == 1:
        key, inner = next(iter(arguments.items()))
        inner = _decoded(inner)
        if (
            key not in spec.parameters
            and isinstance(inner, dict)
            and all(k in spec.parameters for k in inner)
        ):
            return inner
    return arguments


def _placed(call: Call, arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Any] | None:
    if not call.positional:
        return arguments
    if (
        len(call.positional) == 1
        and isinstance(call.positional[0], dict)
        and not arguments
        and all(k in spec.parameters for k in call.positional[0])
    ):
        return call.positional[0]
    free = [name for name in spec.parameters if name not in arguments]
    if len(call.positional) > len(free):
        return None
    return {**dict(zip(free, call.positional, strict=False)), **arguments}


def _coerce(value: Any, schema: dict[str, Any], *, raw: bool) -> Any:
    """Turn a value into the type that a parameter takes, where nothing is lost by it."""
    kinds = _kinds(schema)
    if isinstance(value, str):
        return _from_text(value, kinds, raw=raw)
    if (
        isinstance(value, float)
        and "integer" in kinds
        and "number" not in kinds
        and value.is_integer()
    ):
        return int(value)
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        return {
            k: _coerce(v, schema["properties"][k], raw=raw)
            if isinstance(schema["properties"].get(k), dict)
            else v
            for k, v in value.items()
        }
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_coerce(item, schema["items"], raw=raw) for item in value]
    return value


def _kinds(schema: dict[str, Any]) -> set[str]:
    kind = schema.get("type")
    kinds = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else set()
    kinds = {_ALIASES.get(name, name) for name in kinds if isinstance(name, str)}
    for key in ("anyOf", "oneOf"):
        for option in schema.get(key) or ():
            if isinstance(option, dict):
                kinds |= _kinds(option)
    return kinds


def _from_text(value: str, kinds: set[str], *, raw: bool) -> Any:
    text = value.strip()
    if "string" in kinds and not (text in ("null", "None") and "null" in kinds and raw):
        return value
    if "integer" in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return int(text) if _INTEGER.fullmatch(text) else float(text)
    if "boolean" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "null" in kinds and text in ("null", "None"):
        return None
    if kinds & {"object", "array"}:
        found = _structure(text)
        if isinstance(found, dict if "object" in kinds and "array" not in kinds else (dict, list)):
            return found
    if not kinds and raw:
        return _guess(text, value)
    if raw and text in ("null", "None"):
        return None
    return value


def _structure(text: str) -> Any:
    for candidate in (text, text.replace('\\"', '"') if '\\"' in text else text):
        try:
            found = decode_value(candidate, 0)
        except LenientError:
            continue
        if not found.torn and not candidate[found.end :].strip():
            if candidate is not text:
                try:
                    return json.loads(json.loads(f'"{text}"'))
                except (ValueError, RecursionError):
                    return found.value
            return found.value
    return None


def _guess(text: str, value: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return value
