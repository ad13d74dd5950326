"""How a chat model is told to decode by a JSON schema, each provider in its own way."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, cast
from weakref import WeakValueDictionary

from langchain_core.runnables import Runnable, RunnableBinding

__all__ = [
    "decoding_arguments",
    "decoding_model",
    "remember_refusal",
    "structured_model",
    "takes_schema",
    "without_tools",
]

_MARK: Final = "loopmend_probe"
_PROBE: Final[Mapping[str, Any]] = {
    "title": "action",
    "description": "One action.",
    "type": "object",
    "properties": {_MARK: {"type": "string"}},
    "required": [_MARK],
}
_NOT_THE_MODELS: Final = frozenset({"ls_structured_output_format"})
# Providers refuse these in a request that offers no tools.
_ABOUT_TOOLS: Final = frozenset(
    {"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"}
)


# By identity: chat models are compared by value and cannot be hashed.
_REFUSED: Final[WeakValueDictionary[int, Any]] = WeakValueDictionary()


def remember_refusal(model: Any) -> None:
    """Remember that a model's provider refuses a schema, whatever its class says."""
    base = _base(model)
    _REFUSED[id(base)] = base


def takes_schema(model: Any) -> bool:
    """Tell whether a chat model can decode by a JSON schema, as far as anybody knows."""
    if id(_base(model)) in _REFUSED:
        return False
    method = getattr(type(_base(model)), "with_structured_output", None)
    if method is None:
        return False
    parameter = inspect.signature(method).parameters.get("method")
    return parameter is not None and "json_schema" in str(parameter.annotation)


def decoding_arguments(model: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments that make a model decode by a schema.

    The model's own `with_structured_output` says where a schema goes: a probe is sent through
    it, and the place where it comes out holds ours.

    Raises:
        NotImplementedError: The model takes no schema after all.
    """
    base = _base(model)
    msg = f"{type(base).__name__} takes no JSON schema"
    if not takes_schema(base):
        raise NotImplementedError(msg)
    probe = dict(_PROBE)
    try:
        structured = base.with_structured_output(probe, method="json_schema", include_raw=True)
    except Exception as error:  # whatever a client raises, it takes no schema
        raise NotImplementedError(msg) from error
    bound = _bound(structured)
    given = {} if bound is None else bound.kwargs
    kept = {key: value for key, value in given.items() if key not in _NOT_THE_MODELS}
    found: dict[str, Any] = _replaced(kept, schema)
    if found is kept:
        raise NotImplementedError(msg)
    return found


def decoding_model(llm: Runnable[Any, Any], schema: Any) -> Runnable[Any, Any]:
    """Return a model that decodes by a schema, without the tools that it is bound to."""
    return _unbound(llm).bind(**decoding_arguments(llm, schema))


def _unbound(llm: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Return a model bound to all that it is bound to but tools."""
    if not isinstance(llm, RunnableBinding):
        return llm
    kept = {"bound": _unbound(llm.bound), "kwargs": without_tools(llm.kwargs)}
    return llm.model_copy(update=kept)


def without_tools(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments of a model but for those about tools."""
    return {key: value for key, value in arguments.items() if key not in _ABOUT_TOOLS}


def _base(model: Any) -> Any:
    while isinstance(model, RunnableBinding):
        model = model.bound
    return model


def structured_model(llm: Any, schema: Any, options: Mapping[str, Any]) -> Runnable[Any, Any]:
    """Return a model that its own `with_structured_output` bound to a schema, without a parser.

    A model that has no such method, or does not implement it, is returned as it is.
    """
    base = _base(llm)
    try:
        structured = base.with_structured_output(schema, include_raw=True, **options)
    except (AttributeError, NotImplementedError):
        return cast("Runnable[Any, Any]", base)
    return cast("Runnable[Any, Any]", _bound(structured) or base)


def _bound(runnable: Any) -> RunnableBinding[Any, Any] | None:
    """Return the model inside of a chain that is bound to something."""
    if isinstance(runnable, RunnableBinding):
        return runnable
    inner = getattr(runnable, "steps__", None) or getattr(runnable, "steps", None) or ()
    steps: Any = inner.values() if isinstance(inner, Mapping) else inner
    for step in steps:
        if isinstance(step, Runnable) and (found := _bound(step)) is not None:
            return found
    return None


def _replaced(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value with the probe in it replaced; the value itself if there is none."""
    if not isinstance(value, dict):
        return value
    properties = value.get("properties")
    if isinstance(properties, dict) and _MARK in properties:
        return dict(schema)
    found = {key: _replaced(inner, schema) for key, inner in value.items()}
    return found if any(found[key] is not value[key] for key in value) else value
