"""Tools as plain data, and how a chat model is told to decode by a JSON schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.tools import BaseTool, Tool

from loopmend import ToolSpec
from loopmend.adapting import Beside, require_several
from loopmend.reading import Toolbox

__all__ = [
    "bound_tools",
    "decoding_arguments",
    "decoding_model",
    "is_text_tool",
    "remember_refusal",
    "structured_model",
    "takes_schema",
    "tool_schemas",
    "toolbox",
    "without_tools",
]

_INJECTED: Final = "runtime"
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
_REFUSED: Final[Beside[bool]] = Beside()


def tool_schemas(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Describe tools given as LangChain tools, schemas, models, callables or names."""
    require_several(tools, "tools", "tools")
    return [
        spec.data() | ({"input": "text"} if is_text_tool(tool) else {})
        for tool in tools
        if (spec := _spec(tool)) is not None
    ]


def bound_tools(llm: Any) -> list[dict[str, Any]] | None:
    """Describe the tools that a model is bound to; `None` if there are none."""
    while isinstance(llm, RunnableBinding):
        if llm.kwargs.get("tools") is not None:
            return tool_schemas(llm.kwargs["tools"])
        llm = llm.bound
    return None


def is_text_tool(tool: Any) -> bool:
    """Tell whether a tool, described or not, takes one text, as LangChain's `Tool` does."""
    if isinstance(tool, Mapping):
        return tool.get("input") == "text"
    return isinstance(tool, Tool) and tool.args_schema is None


def toolbox(tools: Iterable[Any]) -> Toolbox:
    """Return what the reader needs to know of tools, described or not."""
    return Toolbox([spec for tool in tools if (spec := _spec(tool)) is not None])


def _spec(tool: Any) -> ToolSpec | None:
    """Return what is known of a tool; `None` for a provider's own that has no name to call it by.

    Raises:
        TypeError: It is no tool.
    """
    if is_text_tool(tool):
        plain = tool if isinstance(tool, Mapping) else vars(tool)
        return ToolSpec(plain["name"], description=plain.get("description") or "")
    if isinstance(tool, Mapping):
        inner = tool.get("function")
        named = inner if isinstance(inner, Mapping) else tool
        if not isinstance(named.get("name") or named.get("title"), str):
            return None
    if isinstance(tool, BaseTool):
        schema = {"name": tool.name, "description": tool.description}
        return ToolSpec.of({**schema, "parameters": _call_schema(tool)})
    return ToolSpec.of(tool)


def _call_schema(tool: BaseTool) -> Mapping[str, Any]:
    """Return what a model may pass, without what LangChain injects."""
    schema = tool.tool_call_schema
    if isinstance(schema, Mapping):
        return schema
    described: dict[str, Any] = (
        schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema.schema()
    )
    # Whatever its type says, LangGraph fills a parameter of this name.
    required = [name for name in described.get("required", ()) if name != _INJECTED]
    return {**described, "required": required}


# Decoding by a schema, each provider in its own way


def remember_refusal(model: Any) -> None:
    """Remember that a model's provider refuses a schema, whatever its class says."""
    _REFUSED.put(_base(model), value=True)


def takes_schema(model: Any) -> bool:
    """Tell whether a chat model can decode by a JSON schema, as far as anybody knows."""
    base = _base(model)
    method = getattr(type(base), "with_structured_output", None)
    if method is None:
        return False
    parameter = inspect.signature(method).parameters.get("method")
    takes = parameter is not None and "json_schema" in str(parameter.annotation)
    return takes and not _REFUSED.get(base)


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
