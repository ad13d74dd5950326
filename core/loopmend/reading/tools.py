"""What the reader knows about the tools, however you describe them."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Union

from loopmend._arguments import require_several

__all__ = ["ToolSpec"]

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|\d+|[^\W\d_A-Z]+")
_SEPARATED: Final = re.compile(r"[^\W_]+(?:[ _.\-/:]{1,2}[^\W_]+)*")
_PAIRS: Final = {
    "\u201c": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "`": "`",
    '"': '"',
    "'": "'",
    "[": "]",
    "<": ">",
    "*": "*",
    "_": "_",
    "{": "}",
}
# What providers' own templates put before a tool's name, and behind it.
_PREFIX: Final = re.compile(r"(?:functions?|tools?|default_api|call|multi_tool_use)[.:/]\s*")
_NUMBERED: Final = re.compile(r":\d{1,4}\Z")
_DOUBLED: Final = re.compile(r"\.(?P<again>\w+)\Z")
_SIGNATURE: Final = re.compile(r"\((?P<inner>[^()]*)\)(?:\s*->\s*[\w.\[\]]{1,40})?\Z")
_TYPES: Final = frozenset(
    ("str string int integer float number bool boolean list dict any").split()
)
_LONGEST_NAME: Final = 300
_MOST_DECORATIONS: Final = 6


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool's name and, if known, its parameters.

    >>> ToolSpec.of({"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}})
    ToolSpec(name='search', parameters={'q': {'type': 'string'}}, required=(), known=True)
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema of each parameter, in order."""
    required: tuple[str, ...] = ()
    known: bool = False
    """Whether the parameters are known at all."""
    definitions: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Schemas that the parameters' schemas refer to."""
    description: str = field(default="", repr=False)

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
        about = getattr(tool, "description", None) or inspect.getdoc(tool)
        spec = cls._of_object(name, tool)
        return replace(spec, description=about) if isinstance(about, str) else spec

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments.

        >>> ToolSpec("search", {"q": {"type": "string"}}, ("q",), known=True).schema()["required"]
        ['q']
        """
        return {
            "type": "object",
            "properties": dict(self.parameters),
            "required": list(self.required),
            "$defs": dict(self.definitions),
        }

    def data(self) -> dict[str, Any]:
        """Return it as plain data that `of` takes.

        >>> ToolSpec("search", description="Search the web.").data()
        {'name': 'search', 'description': 'Search the web.'}
        """
        told = {"description": self.description} if self.description else {}
        if not self.known:
            return {"name": self.name, **told}
        taken = {"properties": dict(self.parameters), "required": list(self.required)}
        shared = {"$defs": dict(self.definitions)} if self.definitions else {}
        return {"name": self.name, **told, "parameters": {"type": "object", **taken, **shared}}

    @classmethod
    def _of_object(cls, name: str, tool: Any) -> ToolSpec:
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
        about = tool.get("description")
        about = about if isinstance(about, str) else ""
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
        spec = cls(name) if parameters is None else cls._of_parameters(name, parameters)
        return replace(spec, description=about)

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
            definitions={**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))},
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


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
    """The available tools, found by any spelling of their names.

    >>> list(Toolbox(["search", "wipe"]).tools)
    ['search', 'wipe']
    """

    __slots__ = ("_by_spelling", "tools")

    def __init__(self, tools: Iterable[Any]) -> None:
        require_several(tools, "tools", "tools")
        self.tools: dict[str, ToolSpec] = {}
        self._by_spelling: dict[str, str | None] = {}
        for spec in (spec for tool in tools for spec in _specs(tool)):
            self.tools[spec.name] = spec
            for spelling in {spelling_of(spec.name), _joined(spec.name)}:
                taken = self._by_spelling.get(spelling, spec.name)
                self._by_spelling[spelling] = spec.name if taken == spec.name else None

    def __eq__(self, other: object) -> bool:
        return self.tools == other.tools if isinstance(other, Toolbox) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # made of dicts

    def find(self, name: str) -> ToolSpec | None:
        """Return the tool that has this name, in whatever case, separators or decoration.

        A name that merely contains a tool's name does not count.
        """
        known = self.tools.get(name)
        if known is not None or len(name) > _LONGEST_NAME:
            return known
        for candidate in _undecorated(name):
            known = self._spelled(candidate)
            if known is not None:
                return known
        signature = _SIGNATURE.search(name)
        known = self._spelled(name[: signature.start()].strip()) if signature else None
        return known if known and signature and _describes(signature["inner"], known) else None

    def _spelled(self, name: str) -> ToolSpec | None:
        known = self.tools.get(name)
        spelled = known.name if known else self._by_spelling.get(spelling_of(name))
        return self.tools[spelled] if spelled else None

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
        return [replace(spec, name=f"{tool.get('name')}__{spec.name}") for spec in inner]
    return [ToolSpec.of(tool)]


def spelling_of(name: str) -> str:
    """Return the words of a name, however they are separated."""
    return " ".join(_WORD.findall(name)).lower() if _SEPARATED.fullmatch(name) else name


def _joined(name: str) -> str:
    """Return a name as it is when nothing separates its words."""
    return "".join(_WORD.findall(name)).lower()


def _undecorated(name: str) -> Iterator[str]:
    """Yield a name without what models put around names, from the outside in."""
    plain = name.strip().replace("\\_", "_")
    for _ in range(_MOST_DECORATIONS):
        yield plain
        if plain[:1] in _PAIRS and plain.endswith(_PAIRS[plain[:1]]) and len(plain) > 1:
            plain = plain[1:-1].strip()
        elif found := _PREFIX.match(plain):
            plain = plain[found.end() :]
        elif found := _NUMBERED.search(plain):
            plain = plain[: found.start()].rstrip()
        elif (found := _DOUBLED.search(plain)) and found["again"] == plain[: found.start()]:
            plain = found["again"]
        else:
            return


def _describes(inner: str, spec: ToolSpec) -> bool:
    """Tell whether what stands in parentheses behind a name is the tool's own signature."""
    words = _WORD.findall(inner.lower())
    own = {*map(str.lower, spec.parameters), *_TYPES}
    signature = all(part in own for word in words for part in [word]) or all(
        name.strip() in spec.parameters for name in re.split(r"[:=,][^,]*", inner) if name.strip()
    )
    described = bool(words) and spec.description.lower().startswith(inner.strip().lower())
    return signature or described


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
