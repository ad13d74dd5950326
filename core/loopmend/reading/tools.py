"""What the reader knows of the tools, however they were described."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Union

__all__ = ["ToolSpec"]

_NOT_NAME: Final = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool's name and, if known, what it takes.

    >>> ToolSpec.of({"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}})
    ToolSpec(name='search', parameters={'q': {'type': 'string'}}, required=(), known=True)
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of each parameter, in order."""
    required: tuple[str, ...] = ()
    known: bool = False
    """Whether the parameters are known at all."""

    @classmethod
    def of(cls, tool: Any) -> ToolSpec:
        """Describe a tool given as a name, a schema, a pydantic model, a callable or an object."""
        if isinstance(tool, ToolSpec):
            return tool
        if isinstance(tool, str):
            return cls(tool)
        if isinstance(tool, Mapping):
            return cls._of_schema(tool)
        if isinstance(tool, type) and hasattr(tool, "model_json_schema"):
            return cls._of_parameters(tool.__name__, tool.model_json_schema())
        name = getattr(tool, "name", None) or getattr(tool, "__name__", None)
        if not isinstance(name, str):
            msg = f"not a tool: {tool!r}"
            raise TypeError(msg)
        schema = getattr(tool, "args_schema", None)
        if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
            return cls._of_parameters(name, schema.model_json_schema())
        if isinstance(schema, Mapping):
            return cls._of_parameters(name, schema)
        return cls._of_callable(name, tool) if callable(tool) else cls(name)

    @classmethod
    def _of_schema(cls, tool: Mapping[str, Any]) -> ToolSpec:
        inner = tool.get("function")
        if isinstance(inner, Mapping):
            tool = inner
        name = tool.get("name") or tool.get("title")
        if not isinstance(name, str):
            msg = "a tool schema needs a `name` or `title`"
            raise TypeError(msg)
        parameters = next(
            (
                tool[key]
                for key in ("parameters", "input_schema", "inputSchema", "args_schema")
                if isinstance(tool.get(key), Mapping)
            ),
            None,
        )
        if parameters is None:
            parameters = tool if "properties" in tool else None
        return cls(name) if parameters is None else cls._of_parameters(name, parameters)

    @classmethod
    def _of_parameters(cls, name: str, schema: Mapping[str, Any]) -> ToolSpec:
        properties = schema.get("properties")
        required = schema.get("required")
        return cls(
            name,
            dict(properties) if isinstance(properties, Mapping) else {},
            tuple(r for r in required if isinstance(r, str))
            if isinstance(required, (list, tuple))
            else (),
            known=True,
        )

    @classmethod
    def _of_callable(cls, name: str, function: Callable[..., Any]) -> ToolSpec:
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return cls(name)
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        taken = [p for p in signature.parameters.values() if p.kind not in kinds]
        return cls(
            name,
            {p.name: _annotation_schema(p.annotation) for p in taken},
            tuple(p.name for p in taken if p.default is p.empty),
            known=len(taken) == len(signature.parameters),
        )


def _annotation_schema(annotation: Any) -> dict[str, Any]:
    names = {
        int: "integer",
        float: "number",
        str: "string",
        bool: "boolean",
        list: "array",
        dict: "object",
    }
    by_text = {kind.__name__: name for kind, name in names.items()}
    found = by_text.get(annotation) if isinstance(annotation, str) else names.get(annotation)
    return {"type": found} if found else {}


class Toolbox:
    """The tools on offer, by any spelling of their names."""

    __slots__ = ("_by_spelling", "tools")

    def __init__(self, tools: Iterable[Any]) -> None:
        self.tools: dict[str, ToolSpec] = {}
        self._by_spelling: dict[str, str | None] = {}
        for spec in (spec for tool in tools for spec in _specs(tool)):
            self.tools[spec.name] = spec
            spelling = _spelling(spec.name)
            taken = self._by_spelling.get(spelling)
            self._by_spelling[spelling] = (
                spec.name
                if taken in (None, spec.name) and spelling not in self._by_spelling
                else None
            )

    def __eq__(self, other: object) -> bool:
        return self.tools == other.tools if isinstance(other, Toolbox) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # made of dicts

    def find(self, name: str) -> tuple[ToolSpec | None, bool]:
        """Return the tool that a name means, and whether the name had to be put right."""
        if name in self.tools:
            return self.tools[name], False
        for candidate in _variants(name):
            if candidate in self.tools:
                return self.tools[candidate], True
        known = self._by_spelling.get(_spelling(name))
        if known:
            return self.tools[known], True
        named = [tool for tool in self.tools if _mentions(name, tool)]
        longest = [t for t in named if not any(t != o and t in o for o in named)]
        return (self.tools[longest[0]], True) if len(longest) == 1 else (None, False)

    def nearest(self, name: str) -> str | None:
        """Return the tool whose name is most like another."""
        close = difflib.get_close_matches(name[:200], self.tools, n=1, cutoff=0.5)
        return close[0] if close else None

    def mentioned(self, text: str) -> list[str]:
        """Return the tools that a text names."""
        return [name for name in self.tools if _mentions(text, name)]


def _specs(tool: Any) -> list[ToolSpec]:
    """Describe a tool, or all tools of a namespace."""
    if (
        isinstance(tool, Mapping)
        and tool.get("type") == "namespace"
        and isinstance(tool.get("tools"), list)
    ):
        inner = [ToolSpec.of(each) for each in tool["tools"]]
        return [
            ToolSpec(f"{tool.get('name')}__{s.name}", s.parameters, s.required, s.known)
            for s in inner
        ]
    return [ToolSpec.of(tool)]


def _spelling(name: str) -> str:
    return _NOT_NAME.sub("", name).lower()


def _variants(name: str) -> list[str]:
    plain = name.replace("\\_", "_").strip("`'\"* \t\n.:")
    found = [
        plain,
        plain.removeprefix("functions."),
        plain.removeprefix("tool."),
        plain.removeprefix("tools."),
    ]
    if "(" in plain:
        found.append(plain.partition("(")[0].strip())
    first, _, second = plain.partition(".")
    if first == second:
        found.append(first)
    base = re.sub(r":\d+$", "", found[1])
    found.append(base)
    return found


def _mentions(text: str, name: str) -> bool:
    at = text.find(name)
    while at != -1:
        before, after = text[at - 1 : at] if at else "", text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            return True
        at = text.find(name, at + 1)
    return False


Tools = Union[Iterable[Any], "Toolbox", None]
"""What is on offer, or `None` if that is unknown."""


def toolbox_of(tools: Tools) -> Toolbox | None:
    """Return the toolbox for what was given, made once."""
    return tools if tools is None or isinstance(tools, Toolbox) else Toolbox(tools)
