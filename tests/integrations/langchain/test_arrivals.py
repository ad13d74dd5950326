"""What arrives of streams, where more than one model runs within one call of the model node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.output_parsers.openai_tools import JsonOutputKeyToolsParser

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    LLMToolSelectorMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
)

from langchain_loopmend.middleware import NormalizationMiddleware
from langchain_loopmend.middleware.arrivals import Arrivals
from langchain_loopmend.testing import ScriptedChatModel, call
from tests.integrations.langchain.test_agents import QUESTION

DONE = "Nothing is left there."
RETRY: dict[str, Any] = {"initial_delay": 0.0, "backoff_factor": 0.0, "jitter": False}


class Dropping(ScriptedChatModel):
    """A model whose first stream ends with an error."""

    at: int = 4

    def _stream(self, *given: Any, **kwargs: Any) -> Iterator[Any]:
        first = not self._asked
        for number, chunk in enumerate(super()._stream(*given, **kwargs)):
            if first and number == self.at:
                msg = "dropped"
                raise ConnectionError(msg)
            yield chunk


def deleted(model: Any, *behind: Any) -> list[str]:
    """Stream an agent with a tool that deletes, and return what it deleted."""
    found: list[str] = []

    def delete(path: str) -> str:
        """Delete a file."""
        found.append(path)
        return "deleted"

    middleware = [NormalizationMiddleware(), *behind]
    agent = create_agent(model, [delete], middleware=middleware)
    for _ in agent.stream(QUESTION, stream_mode="messages"):
        pass
    return found


@pytest.mark.parametrize("at", range(1, 5))
def test_a_stream_that_drops_and_is_tried_again(at: int) -> None:
    """What came of a stream that dropped is no part of the call that the next one makes."""
    model = Dropping(script=[call("delete", path="a.txt"), call("delete", path="a.txt"), DONE])
    model.at = at
    assert deleted(model, ModelRetryMiddleware(**RETRY)) == ["a.txt"]


def test_another_model_takes_over() -> None:
    """What came of the model that failed is no part of what its substitute calls."""
    first = Dropping(script=[call("delete", path="a.txt"), DONE])
    other = ScriptedChatModel(script=[call("delete", path="b.txt")])
    assert deleted(first, ModelFallbackMiddleware(other)) == ["b.txt"]


def test_a_substitute_that_is_cut_off() -> None:
    """A call that the stream of a fallback cuts off is not made as LangChain completes it."""
    cut = {"name": "delete", "args": '{"path": "a.t', "id": "1", "error": None}
    broken = AIMessage("", invalid_tool_calls=[{**cut, "type": "invalid_tool_call"}])
    first = Dropping(script=[call("delete", path="a.txt"), DONE])
    other = ScriptedChatModel(script=[broken])
    assert deleted(first, ModelFallbackMiddleware(other)) == []


def test_a_stream_that_is_cut_off_behind_one_that_drops() -> None:
    """A call whose arguments were cut off is still not made as LangChain completes them."""
    cut = {"name": "delete", "args": '{"path": "a.t', "id": "1", "error": None}
    broken = AIMessage("", invalid_tool_calls=[{**cut, "type": "invalid_tool_call"}])
    model = Dropping(script=[call("delete", path="a.txt"), broken, DONE])
    assert deleted(model, ModelRetryMiddleware(**RETRY)) == []


class Selecting(ScriptedChatModel):
    """A model that may be asked to choose tools."""

    def with_structured_output(self, schema: Any = None, **kwargs: Any) -> Any:
        """Return the model with a parser of calls, as clients do."""
        return self | JsonOutputKeyToolsParser(
            key_name="ToolSelectionResponse", first_tool_only=True
        )


def test_a_model_that_chooses_the_tools_first() -> None:
    """What a model streams to choose the tools is no part of the call that it makes then."""
    chosen = call("ToolSelectionResponse", tools=["delete"])
    model = Selecting(script=[chosen, call("delete", path="a.txt"), chosen, DONE])
    assert deleted(model, LLMToolSelectorMiddleware(max_tools=1)) == ["a.txt"]


def test_a_reply_that_no_run_vouches_for() -> None:
    """A reply whose id is of no run that was heard, or has none, is left as it is."""
    cut = {"name": "search", "args": '{"query": "Os', "id": "1", "error": None}
    broken = AIMessage("", invalid_tool_calls=[{**cut, "type": "invalid_tool_call"}])
    arrivals = Arrivals()
    with arrivals.heard():
        (run,) = {chunk.id for chunk in ScriptedChatModel(script=[broken]).stream("go")}
    made = call("search", query="Os")
    for id in (None, "another"):
        reply = made.model_copy(update={"id": id})
        assert arrivals.as_arrived(reply) is reply
    mended = arrivals.as_arrived(made.model_copy(update={"id": f"{run}-0"}))
    assert not mended.tool_calls
