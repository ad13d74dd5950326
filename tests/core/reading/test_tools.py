"""Tools, however they are described, and arguments fitted to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from loopmend import ToolCall, ToolSpec, read_turn
from loopmend.reading.tools import Toolbox


class Search(BaseModel):
    """Search the web."""

    q: str
    n: int = 5


def search(q: str, n: int = 5) -> str:
    """Search the web."""
    return f"{q}{n}"


class LangChainLike:
    """An object with a name and a schema."""

    name = "search"
    args_schema = Search


class DictSchema:
    """An object whose schema is a dict."""

    name = "search"
    args_schema = {"properties": {"q": {"type": "string"}}, "required": ["q"]}  # noqa: RUF012


@pytest.mark.parametrize(
    "tool",
    [
        {
            "type": "function",
            "function": {"name": "search", "parameters": Search.model_json_schema()},
        },
        {"name": "search", "input_schema": Search.model_json_schema()},
        {**Search.model_json_schema(), "title": "search"},
        search,
        LangChainLike(),
        DictSchema(),
    ],
)
def test_descriptions(tool: Any) -> None:
    """Schemas, callables and tool objects all tell name, parameters and what is required."""
    spec = ToolSpec.of(tool)
    assert (spec.name, spec.required, spec.known) == ("search", ("q",), True)
    assert spec.parameters["q"].get("type") == "string"


def test_models_and_names() -> None:
    """A pydantic model has its class's name; a bare name has no parameters."""
    assert ToolSpec.of(Search).name == "Search"
    assert ToolSpec.of("search") == ToolSpec("search")
    assert ToolSpec.of(ToolSpec("x")) == ToolSpec("x")
    assert ToolSpec.of({"name": "x"}) == ToolSpec("x")
    assert ToolSpec.of(type("Named", (), {"name": "x"})()) == ToolSpec("x")
    assert ToolSpec.of({"name": "x", "parameters": {"required": "oops"}}).required == ()


def test_callables_without_a_signature() -> None:
    """A callable that takes anything, or hides what it takes, has unknown parameters."""

    def anything(*args: Any, **kwargs: Any) -> None:
        """Take anything."""

    def typed(a: list, b: "dict", c: object) -> None:  # type: ignore[type-arg]  # noqa: UP037
        """Take a few."""

    assert not ToolSpec.of(anything).known
    assert ToolSpec.of(typed).parameters["c"] == {}
    assert not ToolSpec.of(
        type("Odd", (), {"name": "odd", "__call__": 1, "__signature__": 1})
    ).parameters


@pytest.mark.parametrize("tool", [1, {"parameters": {}}, object()])
def test_what_is_no_tool(tool: Any) -> None:
    """Something without a name is the caller's mistake."""
    with pytest.raises(TypeError):
        ToolSpec.of(tool)


def test_namespaces() -> None:
    """The tools of a namespace are called by both names."""
    box = Toolbox([{"type": "namespace", "name": "mcp", "tools": [{"name": "get"}]}])
    assert list(box.tools) == ["mcp__get"]


def test_names() -> None:
    """A name is found by its spelling, unless two tools share it."""
    box = Toolbox(["get_data", "get-data", "lookUp", "search", "search_web"])
    assert box.find("look_up") == ToolSpec("lookUp")
    assert box.find("GetData") is None
    assert box.find("get_data") == ToolSpec("get_data")
    assert box.find("functions.search:0") == ToolSpec("search")
    assert box.mentioned("researching with search") == ["search"]


@pytest.mark.parametrize(
    "name",
    [
        *("SEARCH_WEB", "searchWeb", "search-web", "Search Web", "search.web"),
        *("`search_web`", "[search_web]", '"search_web"', "*search_web*", "search\\_web"),
        *("functions.search_web", "default_api:search_web", "search_web.search_web"),
        *("search_web:3", "search_web()", "search_web(q: str)", "search_web(q)"),
    ],
)
def test_other_spellings_of_a_name(name: str) -> None:
    """Case, separators, known prefixes and decoration on both sides do not matter."""
    search_web = {"name": "search_web", "parameters": {"properties": {"q": {"type": "string"}}}}
    spec = Toolbox([search_web, "search"]).find(name)
    assert spec is not None
    assert spec.name == "search_web"


@pytest.mark.parametrize(
    "name",
    [
        *("use search_web now", "search or lookUp", "do not search", "not_search", "research"),
        *("search tool", "the search", "search2", "search_v2", "no.search", "-search", "!search"),
        *("#search", "search?", "search*", "`search", "search(never)", "search: never", ""),
        *("search\nsearch", "x" * 1000),
    ],
)
def test_a_name_that_only_contains_a_name_is_another(name: str) -> None:
    """Only that tool's own name runs a tool."""
    assert Toolbox(["search", "lookUp"]).find(name) is None


def test_what_a_schema_refers_to_and_says() -> None:
    """Definitions and the description are kept, but do not fill the screen."""
    level = {"enum": ["low", "high"]}
    spec = ToolSpec.of(
        {
            "name": "f",
            "description": "Do it.",
            "parameters": {
                "properties": {"level": {"$ref": "#/$defs/Level"}},
                "$defs": {"Level": level},
            },
        }
    )
    assert (spec.definitions, spec.description) == ({"Level": level}, "Do it.")
    assert "Do it." not in repr(spec)
    assert "enum" not in repr(spec)
    turn = read_turn('{"name": "f", "arguments": {"level": "HIGH"}}', tools=[spec])
    assert turn.actions == (ToolCall("f", {"level": "high"}),)
    assert turn.fidelity == "repaired"


KINDS = {
    "name": "f",
    "parameters": {
        "properties": {
            "i": {"type": "integer"},
            "x": {"type": "float"},
            "b": {"type": "boolean"},
            "s": {"type": "string"},
            "o": {"type": "object", "properties": {"i": {"type": "integer"}}},
            "l": {"type": "array", "items": {"type": "integer"}},
            "u": {"anyOf": [{"type": "integer"}, {"type": "null"}, True]},
            "t": {"type": ["string", "null"]},
            "any": {},
            "odd": True,
        }
    },
}


@pytest.mark.parametrize(
    ("written", "fitted"),
    [
        ({"i": "5"}, {"i": 5}),
        ({"x": "1.5"}, {"x": 1.5}),
        ({"x": "2"}, {"x": 2}),
        ({"b": "True"}, {"b": True}),
        ({"b": "yes"}, {"b": True}),
        ({"s": "5"}, {"s": "5"}),
        ({"o": '{"i": 1}'}, {"o": {"i": 1}}),
        ({"o": {"i": "1", "j": "2"}}, {"o": {"i": 1, "j": "2"}}),
        ({"o": "text"}, {"o": "text"}),
        ({"l": "[1, 2]"}, {"l": [1, 2]}),
        ({"l": ["1", 2]}, {"l": [1, 2]}),
        ({"u": "null"}, {"u": None}),
        ({"u": "7"}, {"u": 7}),
        ({"any": "5"}, {"any": "5"}),
        ({"odd": "5"}, {"odd": "5"}),
        ({"new": "5"}, {"new": "5"}),
    ],
)
def test_types_are_coerced_where_nothing_is_lost(written: Any, fitted: Any) -> None:
    """Text becomes the type that the parameter takes, or stays what it is."""
    turn = read_turn("", native_calls=[{"name": "f", "args": written}], tools=[KINDS])
    assert turn.actions == (ToolCall("f", fitted),)


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("any", "5", 5),
        ("any", "text", "text"),
        ("s", "null", "null"),
        ("t", "null", None),
        ("i", "null", None),
        ("l", '[{\\"a\\": \\"b\\"}]', [{"a": "b"}]),
        ("l", '[{\\"a\\": \\"b\\",}]', [{"a": "b"}]),
        ("new", "5", "5"),
    ],
)
def test_raw_text_is_typed_by_the_schema(key: str, raw: str, value: Any) -> None:
    """Values of elements are text; only the schema can say what they are."""
    text = f"<function=f><parameter={key}>{raw}</parameter></function>"
    assert read_turn(text, tools=[KINDS]).actions == (ToolCall("f", {key: value}),)


def test_arguments_are_decoded_however_often_they_were_encoded() -> None:
    """Three times is enough for anyone; beyond that they stay text."""
    arguments = '{"a": 1}'
    for _ in range(3):
        arguments = json.dumps(arguments)
    call = {"name": "f", "args": arguments}
    assert read_turn("", native_calls=[call]).actions == (ToolCall("f", {"a": 1}),)
    call["args"] = json.dumps(arguments)
    assert read_turn("", native_calls=[call]).actions == (ToolCall("f", '{"a": 1}'),)


def test_json_text_without_a_schema() -> None:
    """An element that says it holds JSON is decoded where no schema says otherwise."""
    text = '<invoke name="f"><parameter name="new" string="false">[1]</parameter></invoke>'
    assert read_turn(text, tools=[KINDS]).actions == (ToolCall("f", {"new": [1]}),)
    broken = text.replace("[1]", "[1")
    assert read_turn(broken, tools=["f"]).actions == (ToolCall("f", {"new": "[1"}),)
