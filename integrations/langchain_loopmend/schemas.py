"""LangChain's tools as plain data, which can be read with, cached and serialised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool, Tool

from loopmend.reading.tools import Toolbox, ToolSpec

__all__ = ["ToolboxCache", "is_text_tool", "tool_schema", "tool_schemas", "toolbox"]


def tool_schemas(tools: Iterable[Any]) -> list[dict[str, Any]]:
    """Describe tools given as LangChain tools, schemas, models, callables or names."""
    return [schema for tool in tools if (schema := tool_schema(tool)) is not None]


def tool_schema(tool: Any) -> dict[str, Any] | None:
    """Describe one tool; `None` for a provider's own that has no name, as it is not ours to call.

    Raises:
        TypeError: It is no tool.
    """
    if isinstance(tool, Mapping):
        if is_text_tool(tool):
            return dict(tool)
        inner = tool.get("function")
        named = inner if isinstance(inner, Mapping) else tool
        if not isinstance(named.get("name") or named.get("title"), str):
            return None
    if isinstance(tool, Tool) and tool.args_schema is None:
        return {"name": tool.name, "input": "text"}
    if isinstance(tool, BaseTool):
        return _described(ToolSpec.of({"name": tool.name, "parameters": _call_schema(tool)}))
    return _described(ToolSpec.of(tool))


def is_text_tool(schema: Mapping[str, Any]) -> bool:
    """Tell whether a described tool takes one text, as LangChain's `Tool` does."""
    return schema.get("input") == "text"


def toolbox(schemas: Iterable[Mapping[str, Any]]) -> Toolbox:
    """Return what the reader needs to know of described tools."""
    return Toolbox([s["name"] if is_text_tool(s) else s for s in schemas])


class ToolboxCache:
    """Remembers the toolbox of the tools that were offered last, because describing takes time."""

    def __init__(self) -> None:
        self._last: tuple[list[Any], Toolbox] | None = None

    def get(self, tools: list[Any]) -> Toolbox:
        """Return the toolbox of these tools."""
        last = self._last
        if last is not None and len(last[0]) == len(tools):
            for known, tool in zip(last[0], tools, strict=True):
                if known is not tool:
                    break
            else:
                return last[1]
        made = toolbox(tool_schemas(tools))
        self._last = (list(tools), made)
        return made


def _call_schema(tool: BaseTool) -> Mapping[str, Any]:
    """Return what a model may pass, without what LangChain injects."""
    schema = tool.tool_call_schema
    if isinstance(schema, Mapping):
        return schema
    described: dict[str, Any] = (
        schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema.schema()
    )
    return described


def _described(spec: ToolSpec) -> dict[str, Any]:
    if not spec.known:
        return {"name": spec.name}
    parameters = {"properties": dict(spec.parameters), "required": list(spec.required)}
    return {"name": spec.name, "parameters": {"type": "object", **parameters}}
