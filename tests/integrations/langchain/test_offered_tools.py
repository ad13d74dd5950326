"""The tools that count are those that the model was really offered, wherever they came from."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware

from langchain_loopmend.middleware import NormalizationMiddleware
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel, call
from tests.integrations.langchain.tools import add, search, wait

QUESTION: Any = {"messages": [("user", "How is the weather in Oslo?")]}
DONE = "It rains."
CALL = call("weather", city="Oslo")
WRITTEN = '{"name": "weather", "arguments": {"city": "Oslo"}}'
CONTRACT = '{"type": "tool_call", "name": "weather", "arguments": {"city": "Oslo"}}'


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


class Offers(AgentMiddleware):
    """Offers other tools than the agent was made with, and runs those that it does not know."""

    def __init__(self, *offered: Any) -> None:
        super().__init__()
        self._offered = list(offered)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Offer the tools."""
        return handler(request.override(tools=self._offered))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Offer the tools."""
        return await handler(request.override(tools=self._offered))

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run the tool."""
        return handler(self._known(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Run the tool."""
        return await handler(self._known(request))

    @staticmethod
    def _known(request: Any) -> Any:
        is_ours = request.tool_call["name"] == "weather"
        return request.override(tool=weather) if is_ours else request


def run(
    llm: ScriptedChatModel, *offered: Any, position: str, asynchronous: bool = False
) -> dict[str, Any]:
    """Run an agent with middleware that offers these tools, outside or inside of ours."""
    middleware: list[Any] = [Offers(*offered), NormalizationMiddleware()]
    if position == "inner":
        middleware.reverse()
    agent = create_agent(llm, [search, add], middleware=middleware)
    found: dict[str, Any] = (
        wait(agent.ainvoke(QUESTION)) if asynchronous else agent.invoke(QUESTION)
    )
    return found


positions = pytest.mark.parametrize("position", ["outer", "inner"])


@positions
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_was_added_is_known(position: str, *, asynchronous: bool) -> None:
    """Its calls are no calls of an unknown tool."""
    llm = ScriptedChatModel(script=[CALL, DONE])
    result = run(llm, search, weather, position=position, asynchronous=asynchronous)
    assert [m.content for m in result["messages"][1:]] == ["", "rain in Oslo", DONE]
    assert "normalization" not in result


@positions
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_written_call_of_a_tool_that_was_added(position: str, *, asynchronous: bool) -> None:
    """It is made as that of any other tool."""
    llm = ScriptedChatModel(script=[WRITTEN, DONE])
    result = run(llm, search, weather, position=position, asynchronous=asynchronous)
    assert [m.content for m in result["messages"][1:]] == ["", "rain in Oslo", DONE]
    assert result["normalization"][0]["outcome"] == "made"


@positions
def test_corrections_name_the_tool_that_was_added(position: str) -> None:
    """Its arguments are checked, and the model is told what it takes."""
    llm = ScriptedChatModel(script=[call("weather", town="Oslo"), CALL, DONE])
    result = run(llm, search, weather, position=position)
    assert result["messages"][-1].content == DONE
    told = str(llm.asked[1][-1].content)
    assert told.startswith("`weather` needs `city` and does not accept `town`.")


@positions
def test_a_tool_that_was_taken_away_is_unknown(position: str) -> None:
    """What the model was not offered it must not call."""
    llm = ScriptedChatModel(script=[call("add", a=1), CALL, DONE])
    result = run(llm, search, weather, position=position)
    assert result["normalization"][0]["patterns"] == ["unknown_tool"]
    assert "Available tools: search, weather." in str(llm.asked[1][-1].content)


@positions
def test_without_any_tools_left_there_is_no_protocol(position: str) -> None:
    """A model that is offered nothing may describe what it likes."""
    llm = ScriptedChatModel(script=["Let me search for that."])
    assert len(run(llm, position=position)["messages"]) == 2


@positions
def test_the_schema_holds_the_tool_that_was_added(position: str) -> None:
    """A constrained retry lets the model call it, and shows its signature.

    The tool itself is not offered then: some providers refuse a schema beside tools.
    """
    bound: list[int] = []

    class Model(DecodingChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            bound.append(len(tools))
            return self

    llm = Model(script=["Let me check the weather.", CONTRACT, DONE])
    result = run(llm, search, weather, position=position)
    assert [m.content for m in result["messages"][1:]] == ["", "rain in Oslo", DONE]
    assert "- weather(city: string): Tell the weather." in str(llm.asked[1][0].content)
    assert bound == [2, 2]


def test_offers_may_change_from_step_to_step() -> None:
    """Each reply is read with the tools of its own request."""

    class Once(Offers):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            first = len(request.messages) == 1
            return handler(request.override(tools=[weather] if first else [search]))

    llm = ScriptedChatModel(script=[CALL, CALL, call("search", query="Oslo"), AIMessage(DONE)])
    middleware: list[Any] = [NormalizationMiddleware(), Once()]
    result = create_agent(llm, [search, add], middleware=middleware).invoke(QUESTION)
    contents = [m.content for m in result["messages"][1:]]
    assert contents == ["", "rain in Oslo", "", "about Oslo", DONE]
    assert result["normalization"][0]["patterns"] == ["unknown_tool"]
