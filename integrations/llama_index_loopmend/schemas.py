"""Schemas: what LlamaIndex's tools take, and whether a model's client decodes by one."""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary

from llama_index.core.tools import FunctionTool, ToolMetadata

from loopmend import ToolSpec
from loopmend.adapting import Beside, require_several
from loopmend.reading import Toolbox

__all__ = [
    "StepTools",
    "agents_in",
    "cached_toolbox",
    "decoding_arguments",
    "remember_refusal",
    "takes_schema",
    "tool_spec",
    "toolbox",
]

_AGENTS: Final = re.compile(r"\{['\"]")
_MCP: Final = re.compile(r"(?:\A|[._])(?:fast)?mcp(?:\Z|[._])")
# An agent offers its tools anew at each step, and writing a schema down takes longer than
# reading the turn. The schema of a class does not change; names may, and are not kept.
_DESCRIBED: WeakKeyDictionary[type, Mapping[str, Any]] = WeakKeyDictionary()
# Tools are kept with it: an id means nothing any more once they are gone.
_LATEST: Final[OrderedDict[tuple[int, ...], tuple[tuple[Any, ...], StepTools]]] = OrderedDict()
_MOST: Final = 64
_REFUSED: Final[Beside[bool]] = Beside()


class StepTools(Toolbox):
    """The tools that an agent has at a step."""

    def __init__(self, tools: Sequence[Any]) -> None:
        self.mcp = any(map(_is_mcp, tools))
        """Whether some are of an MCP server."""
        super().__init__(_specs(tools))


def tool_spec(tool: Any) -> ToolSpec | None:
    """Describe one tool given as LlamaIndex's, a function, a schema, a model or a name.

    A tool that cannot say what it takes is known by its name alone.
    """
    metadata = getattr(tool, "metadata", None)
    try:
        if not isinstance(metadata, ToolMetadata):
            return ToolSpec.of(tool)
        name = metadata.name
    except TypeError:  # it has no name
        return None
    if not name:
        return None
    try:
        parameters = _parameters(metadata)
    except Exception:  # noqa: BLE001 - whatever a schema of others raises, the name is known
        return ToolSpec(name)
    about = metadata.description
    return ToolSpec.of({"name": name, "description": about, "parameters": parameters})


def toolbox(tools: Iterable[Any] | Toolbox) -> Toolbox:
    """Return what the reader needs to know of tools; no model can call those without a name.

    Raises:
        TypeError: `tools` is one text or no iterable.

    >>> from llama_index.core.tools import FunctionTool
    >>> def search(query: str) -> str:
    ...     '''Search the web.'''
    >>> list(toolbox([FunctionTool.from_defaults(search), "wiki", object()]).tools)
    ['search', 'wiki']
    """
    if isinstance(tools, Toolbox):
        return tools
    require_several(tools, "tools", "tools")
    return Toolbox(_specs(tools))


def _specs(tools: Iterable[Any]) -> list[ToolSpec]:
    return [spec for spec in map(tool_spec, tools) if spec is not None]


def cached_toolbox(tools: Sequence[Any]) -> StepTools:
    """Return the toolbox of the tools of a step, which seldom change from step to step.

    >>> tools = ["search"]
    >>> cached_toolbox(tools) is cached_toolbox(tools)
    True
    """
    key = tuple(map(id, tools))
    known = _LATEST.get(key)
    if known is None:
        known = _LATEST[key] = tuple(tools), StepTools(tools)
        while len(_LATEST) > _MOST:
            _LATEST.popitem(last=False)
    return known[1]


def _parameters(metadata: ToolMetadata) -> Mapping[str, Any]:
    schema = metadata.fn_schema
    own = type(metadata).get_parameters_dict is not ToolMetadata.get_parameters_dict
    if schema is None or own:
        return metadata.get_parameters_dict()
    known = _DESCRIBED.get(schema)
    if known is None:
        known = _DESCRIBED[schema] = metadata.get_parameters_dict()
    return known


def _is_mcp(tool: Any) -> bool:
    """Tell whether a tool is one of an MCP server: of such a class, or made of such a function."""
    makers: list[Any] = [type(tool)]
    if isinstance(tool, FunctionTool):
        makers += [tool.real_fn, tool.async_fn]
    return any(_MCP.search(getattr(maker, "__module__", None) or "") for maker in makers)


@lru_cache(maxsize=256)
def agents_in(told: str) -> dict[str, str]:
    """Read what each agent does out of LlamaIndex's tool to hand over; yours may not tell it."""
    begin = _AGENTS.search(told)
    end = max(told.rfind("'}"), told.rfind('"}')) + 2
    try:
        read = ast.literal_eval(told[begin.start() : end]) if begin else {}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def takes_schema(llm: object) -> bool:
    """Tell whether a model's client is known to pass a schema on, and its provider takes it."""
    return decoding_arguments(llm, {}) is not None and not _REFUSED.get(llm)


def remember_refusal(llm: object) -> None:
    """Remember that a model's provider turned out to take no schema."""
    _REFUSED.put(llm, value=True)


def decoding_arguments(llm: object, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the keyword arguments of `chat` that make a model decode by a schema, or `None`.

    LlamaIndex has no common way. Ollama's client takes `format`, OpenAI's and all that are made
    from it take `response_format`; a class of your own says which by `schema_argument`.
    """
    kinds = type(llm).__mro__
    argument = getattr(llm, "schema_argument", None)
    if argument is None and any(kind.__module__.startswith("llama_index.llms.") for kind in kinds):
        names = {kind.__name__ for kind in kinds}
        argument = "format" if "Ollama" in names else None
        argument = "response_format" if names & {"OpenAI", "OpenAILike"} else argument
    if argument == "format":
        return {"format": dict(schema)}
    if argument == "response_format":
        named = {"name": "action", "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return None
