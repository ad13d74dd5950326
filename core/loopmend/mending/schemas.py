"""The contract's action as a JSON schema, for providers that decode by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from loopmend.reading.schema import schema_of
from loopmend.reading.tools import Toolbox, Tools, ToolSpec, toolbox_of

__all__ = ["action_schema", "value_schema"]

# What decoders by grammar take. Bounds, patterns and formats differ from one to the next.
_KEPT: Final = ("type", "description", "enum", "const", "required")
_DEEPEST: Final = 8
_ANY: Final[dict[str, Any]] = {}


def action_schema(tools: Tools, *, answer: bool = True, ask_user: bool = True) -> dict[str, Any]:
    """Return the JSON schema of one action: a call to one of the tools, an answer or a question.

    If the provider decodes by it, the model can only write replies that `parse_action` reads.

    Args:
        tools: The available tools, as for `read_turn`.
        answer: Whether the model may answer; it always may if there are no tools.
        ask_user: Whether the model may ask the user.

    >>> schema = action_schema([{"name": "add", "parameters": {"properties": {"a": {}}}}])
    >>> [action["properties"]["type"]["const"] for action in schema["anyOf"]]
    ['tool_call', 'final', 'ask_user']
    >>> schema["anyOf"][0]["properties"]["arguments"]["additionalProperties"]
    False
    """
    toolbox = toolbox_of(tools) or Toolbox(())
    actions = [_call(spec) for spec in toolbox.tools.values()]
    if answer or not actions:
        actions.append(_object({"type": {"const": "final"}, "content": {"type": "string"}}))
    if ask_user:
        actions.append(_object({"type": {"const": "ask_user"}, "question": {"type": "string"}}))
    return {"anyOf": actions}


def value_schema(schema: Any) -> dict[str, Any]:
    """Return the JSON schema of a value for providers that decode by one.

    It resolves references and leaves out keywords that grammar decoders lack. If the value
    is not an object, it wraps it as `value` in one, because some providers accept only objects;
    `read_json` unwraps it.

    >>> value_schema({"type": "array", "items": {"type": "integer", "minimum": 0}})["properties"]
    {'value': {'type': 'array', 'items': {'type': 'integer'}}}
    """
    wanted = schema_of(schema)
    whole = {} if wanted is None else wanted.json
    definitions = {} if wanted is None else wanted.checker.definitions
    plain = _plain(whole, ToolSpec("", definitions=definitions), 0)
    return plain if plain.get("type") == "object" else _object({"value": plain})


def _call(spec: ToolSpec) -> dict[str, Any]:
    return _object(
        {
            "type": {"const": "tool_call"},
            "name": {"const": spec.name},
            "arguments": _arguments(spec),
        }
    )


def _arguments(spec: ToolSpec) -> dict[str, Any]:
    if not spec.known:
        return {"type": "object"}
    taken = {name: _plain(schema, spec, 0) for name, schema in spec.parameters.items()}
    required = [name for name in spec.required if name in taken]
    return _object(taken, required)


def _object(properties: Mapping[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


def _plain(schema: Any, spec: ToolSpec, depth: int) -> dict[str, Any]:
    """Return a schema with its references resolved and only what decoders take.

    What refers to itself without end is left open from some depth on.
    """
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return dict(_ANY)
    if isinstance(reference := schema.get("$ref"), str):
        inner = spec.definitions.get(reference.rpartition("/")[2])
        return _plain(inner, spec, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(choices, list):
        return {"anyOf": [_plain(each, spec, depth + 1) for each in choices]}
    whole = schema.get("allOf")
    if isinstance(whole, list) and len(whole) == 1:
        return _plain(whole[0], spec, depth + 1)
    found = {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(properties := schema.get("properties"), Mapping):
        found["properties"] = {k: _plain(v, spec, depth + 1) for k, v in properties.items()}
        found["additionalProperties"] = False
    elif "required" in found:
        del found["required"]
    if "items" in schema:
        found["items"] = _plain(schema["items"], spec, depth + 1)
    return found
