"""Options that make no sense are refused at once, in words that say what would."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import LoopPolicy, Mending, RetryPolicy, read_turn
from loopmend.reading import Toolbox


@pytest.mark.parametrize("given", ["search", {"name": "search"}, 5])
@pytest.mark.parametrize(
    "taker", [Toolbox, Mending, lambda tools: read_turn("Hello.", tools=tools)]
)
def test_one_tool_is_not_several(taker: Any, given: Any) -> None:
    """The letters of a name, or the keys of a schema, are no tools."""
    with pytest.raises(TypeError, match="`tools` must be a collection of tools, not"):
        taker(given)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"salvage": "search"}, TypeError, "`salvage` must be a collection of tool names, not one"),
        ({"salvage": None}, TypeError, "not NoneType"),
        ({"salvage": [print]}, TypeError, "`salvage` must hold tool names, not builtin_function"),
        ({"patterns": "narrated"}, TypeError, "`patterns` must be a collection of failure pattern"),
        ({"patterns": ["narated"]}, ValueError, "unknown pattern 'narated'; there are .*narrated"),
        ({"patterns": [["narrated"]]}, ValueError, "unknown pattern"),
        ({"max_retries": -1}, ValueError, "max_retries must be 0 or more, not -1"),
    ],
)
def test_how_far_to_go(options: dict[str, Any], error: type[Exception], words: str) -> None:
    """A policy for retries says what an option has to be."""
    with pytest.raises(error, match=words):
        RetryPolicy(**options)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"exclude_tools": "status"},
            TypeError,
            "`exclude_tools` must be a collection of tool nam",
        ),
        ({"exclude_tools": [print]}, TypeError, "`exclude_tools` must hold tool names"),
        ({"window": 0}, ValueError, "window must be 1 or more, not 0"),
        ({"window": "3"}, TypeError, "`window` must be an int"),
    ],
)
def test_when_a_run_goes_in_circles(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    """A policy for loops says what an option has to be."""
    with pytest.raises(error, match=words):
        LoopPolicy(**options)


def test_any_collection_will_do() -> None:
    """A set, a tuple and what yields names are collections."""
    assert RetryPolicy(salvage={"a"}, patterns=("empty",)).salvage == {"a"}  # type: ignore[arg-type]
    assert LoopPolicy(exclude_tools=(name for name in "ab")).exclude_tools == {"a", "b"}  # type: ignore[arg-type]
    assert list(Toolbox(name for name in ("a", "b")).tools) == ["a", "b"]
