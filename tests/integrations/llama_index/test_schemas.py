"""Tools as the reader knows them, however odd they are."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.tools import FunctionTool, ToolMetadata
from pydantic import BaseModel

from llama_index_loopmend import schemas
from llama_index_loopmend.schemas import tool_spec, toolbox
from loopmend import ToolSpec
from tests.integrations.llama_index.agents import add


class Odd:
    """A tool that is nothing but its metadata."""

    def __init__(self, metadata: object) -> None:
        self.metadata = metadata


def test_a_tool_is_its_name_and_parameters() -> None:
    """Name, types and what is required come from the tool's metadata."""
    spec = tool_spec(FunctionTool.from_defaults(add, name="plus"))
    assert spec is not None
    assert (spec.name, spec.required, spec.known) == ("plus", ("a", "b"), True)
    assert spec.description.endswith("Add two numbers.")
    assert {key: schema["type"] for key, schema in spec.parameters.items()} == {
        "a": "integer",
        "b": "integer",
    }


def test_without_a_schema_a_tool_takes_one_input() -> None:
    """LlamaIndex gives one text, named `input`, to tools that do not say what they take."""
    for metadata in (ToolMetadata("x", "ask"), ToolMetadata("x", "ask", fn_schema=None)):
        spec = tool_spec(Odd(metadata))
        assert spec is not None
        assert spec.required == ("input",)


def test_tools_in_other_shapes() -> None:
    """Functions, schemas, models, specs and names are understood; nameless things left out."""

    class Lookup(BaseModel):
        term: str

    schema = {"type": "function", "function": {"name": "fetch", "parameters": {}}}
    given = [add, schema, Lookup, ToolSpec("known"), "bare", object(), {}, Odd(None)]
    assert list(toolbox(given).tools) == ["add", "fetch", "Lookup", "known", "bare"]


def test_odd_tools_never_raise() -> None:
    """A tool without a name is left out; one whose schema cannot be written is a name alone."""

    class Callback(BaseModel):
        then: Callable[[], None]

    class Broken(ToolMetadata):
        def get_parameters_dict(self) -> dict[str, Any]:
            raise RuntimeError("no")

    assert tool_spec(Odd(ToolMetadata("x"))) is None
    assert tool_spec(Odd(ToolMetadata("x", "later", fn_schema=Callback))) == ToolSpec("later")
    assert tool_spec(Odd(Broken("x", "broken"))) == ToolSpec("broken")


def test_several_tools_are_not_one() -> None:
    """A text is iterable too, but its letters are no tools."""
    for one in ("search", {"name": "search"}):
        with pytest.raises(TypeError, match="must be a collection of tools"):
            toolbox(one)


def test_a_schema_is_written_down_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents offer their tools at each step, so the schema of a class is kept, but not for ever."""

    class Lookup(BaseModel):
        term: str

    written: list[str] = []
    original = ToolMetadata.get_parameters_dict

    def counting(self: ToolMetadata) -> dict[str, Any]:
        written.append(str(self.name))
        return original(self)

    monkeypatch.setattr(ToolMetadata, "get_parameters_dict", counting)
    specs = [tool_spec(Odd(ToolMetadata("x", name, fn_schema=Lookup))) for name in ("a", "b", "a")]
    assert [spec and spec.name for spec in specs] == ["a", "b", "a"]
    assert written == ["a"]
    assert Lookup in schemas._DESCRIBED
    before = len(schemas._DESCRIBED)
    del Lookup, specs
    gc.collect()
    assert len(schemas._DESCRIBED) < before


def test_metadata_that_describes_itself() -> None:
    """A class of its own that says what it takes is asked each time."""

    class Remote(ToolMetadata):
        def get_parameters_dict(self) -> dict[str, Any]:
            return {"properties": {"n": {"type": "integer"}}, "required": ["n"]}

    spec = tool_spec(Odd(Remote("x", "remote")))
    assert spec is not None
    assert spec.required == ("n",)


def test_a_toolbox_is_made_once() -> None:
    """What is a toolbox already is passed on."""
    made = toolbox([add])
    assert toolbox(made) is made
    assert list(made.tools) == ["add"]
