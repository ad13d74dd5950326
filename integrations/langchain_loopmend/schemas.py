"""LangChain's tools as plain data, which can be read with, cached and serialised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool, Tool

from loopmend import ToolSpec
from loopmend.reading import Toolbox

_INJECTED: Final = "runtime"

__all__ = ["bound_tools", "is_text_tool", "tool_schemas", "toolbox"]


def tool_schemas(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Describe tools given as LangChain tools, schemas, models, callables or names."""
    return [_described(tool, spec) for tool in tools if (spec := _spec(tool)) is not None]


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


def _described(tool: Any, spec: ToolSpec) -> dict[str, Any]:
    named: dict[str, Any] = {"name": spec.name}
    if spec.description:
        named["description"] = spec.description
    if is_text_tool(tool):
        return {**named, "input": "text"}
    if not spec.known:
        return named
    parameters = {"properties": dict(spec.parameters), "required": list(spec.required)}
    if spec.definitions:
        parameters["$defs"] = dict(spec.definitions)
    return {**named, "parameters": {"type": "object", **parameters}}
