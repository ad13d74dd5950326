"""Messages whose content is a list of blocks, as several providers send them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy

from langchain_loopmend import (
    AgentActionOutputParser,
    JsonOutputParser,
    RetryingOutputParser,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.messages import asked_of, has_media, reply_of, settled, without_calls
from langchain_loopmend.middleware import MetaSignalMiddleware, NormalizationMiddleware
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel
from loopmend import Failure, FailurePattern, GaveUp
from tests.integrations.langchain.test_agents import Place
from tests.integrations.langchain.tools import TOOLS, search

THOUGHT = {"type": "thinking", "thinking": "It is a city.", "signature": "s"}
CALL = '{"name": "search", "arguments": {"query": "Oslo"}}'
QUESTION = HumanMessage(content=[{"type": "text", "text": "Where is "}, "Oslo?"])


def said(text: str, *more: Any, **known: Any) -> AIMessage:
    """Return a reply in blocks, with a thought."""
    return AIMessage(content=[THOUGHT, {"type": "text", "text": text}, *more], **known)


def use(name: str, id: str, **args: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a provider's block of a call, and LangChain's."""
    block = {"type": "tool_use", "name": name, "id": id, "input": args}
    return block, {"name": name, "args": args, "id": id}


def run(*script: Any, asked: list[AnyMessage] | None = None, **options: Any) -> Any:
    """Run an agent to its end, and return its messages and its model."""
    model = ScriptedChatModel(script=script)
    middleware = [NormalizationMiddleware(**options)]
    agent: Any = create_agent(
        model,
        TOOLS,
        middleware=middleware,
        system_prompt=SystemMessage([{"type": "text", "text": "Be brief."}]),
    )
    return agent.invoke({"messages": asked or [QUESTION]})["messages"], model


def test_a_written_call_in_blocks_is_made_beside_the_thought() -> None:
    """Providers want a model's thought back that led to a call."""
    messages, model = run(said(CALL), said("In Norway."))
    assert messages[1].content == [THOUGHT]
    assert messages[1].tool_calls[0]["args"] == {"query": "Oslo"}
    assert messages[2].content == "about Oslo"
    assert messages[-1].content == said("In Norway.").content
    assert len(model.asked) == 2
    messages, _ = run(said(f"Let me look: {CALL}"), said("In Norway."))
    assert messages[1].content == [THOUGHT, {"type": "text", "text": "Let me look:"}]
    plain, _ = run(AIMessage([{"type": "text", "text": CALL}]), "In Norway.")
    assert plain[1].content == ""


def test_a_refused_call_goes_back_with_its_thought() -> None:
    """So does each earlier one, and no block of a call is there twice."""
    block, call = use("search", "1", q="Oslo")
    again, other = use("search", "2", question="Oslo")
    good, right = use("search", "3", query="Oslo")
    earlier: list[AnyMessage] = [
        QUESTION,
        AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "0"}]),
        ToolMessage("3", tool_call_id="0"),
    ]
    messages, model = run(
        said("", block, tool_calls=[call]),
        said("", again, tool_calls=[other]),
        said("", good, tool_calls=[right]),
        "In Norway.",
        asked=earlier,
    )
    shown = [m for m in model.asked[2] if isinstance(m, AIMessage)][1:]
    assert [m.tool_calls[0]["id"] for m in shown] == ["1", "2"]
    assert all(m.content[0] == THOUGHT for m in shown)
    assert all("tool_use" not in str(m.content) for m in shown)
    assert messages[-1].content == "In Norway."


def test_arguments_that_were_mended_replace_the_block() -> None:
    """What a provider wrote about a call in its content would contradict the call."""
    block, call = use("add", "1", a="2", b="3")
    messages, _ = run(said("Adding.", block, tool_calls=[call]), "5")
    assert messages[1].tool_calls[0]["args"] == {"a": 2, "b": 3}
    assert messages[1].content == said("Adding.").content


def test_what_is_given_up_on_keeps_its_thought() -> None:
    """Only what it says is replaced."""
    failure = Failure(FailurePattern.EMPTY, "The reply is empty.", (0, 0))
    block, call = use("nope", "1")
    found = settled(said("", block, tool_calls=[call]), GaveUp(failure, 2, ""), "return")
    assert found.content == [THOUGHT, {"type": "text", "text": GaveUp(failure, 2, "").answer}]
    assert without_calls(said("Hm.", block, tool_calls=[call])).content == said("Hm.").content


@pytest.mark.parametrize("kind", ["tool_use", "function_call", "reasoning", "redacted_thinking"])
def test_calls_and_thoughts_are_no_pictures(kind: str) -> None:
    """A conversation that holds them can be constrained, and a repeat of them is one."""
    message = AIMessage(content=[{"type": kind, "id": "1"}, {"type": "text", "text": "Hm."}])
    assert not has_media([message])
    assert not reply_of(message).holds_more
    assert asked_of([QUESTION, message])["question"] == "Where is Oslo?"


def test_a_conversation_with_calls_in_blocks_is_constrained() -> None:
    """Their text is in it, and so is the system's."""
    block = {"type": "function_call", "name": "search", "arguments": "{}", "call_id": "1"}
    made = {"name": "search", "args": {"query": "Oslo"}, "id": "1"}
    model = DecodingChatModel(
        script=["Let me search for that.", '{"type": "final", "content": "In Norway."}']
    )
    asked = [
        QUESTION,
        AIMessage(content=[block], tool_calls=[made]),
        ToolMessage(content=[{"type": "text", "text": "a city"}], tool_call_id="1"),
    ]
    agent: Any = create_agent(model, TOOLS, middleware=[NormalizationMiddleware()])
    assert agent.invoke({"messages": asked})["messages"][-1].content == "In Norway."
    assert [m.content for m in model.asked[1][1:4:2]] == [
        "Where is Oslo?",
        "Result of search: a city",
    ]


def test_a_structured_answer_in_blocks() -> None:
    """It is read, and the thought beside it stays."""
    model = ScriptedChatModel(script=[said("Sure! {country: 'Norway'}")])
    wanted, middleware = ProviderStrategy(Place), [NormalizationMiddleware()]
    agent: Any = create_agent(model, [], response_format=wanted, middleware=middleware)
    result = agent.invoke({"messages": [QUESTION]})
    assert result["structured_response"] == Place(country="Norway")
    assert result["messages"][-1].content[0] == THOUGHT


def test_signals_in_blocks() -> None:
    """A model that is stuck makes no calls; its thought and words stay."""
    block, call = use("search", "1", query="Oslo")
    stuck = "<stuck><attempt>searched</attempt></stuck>"
    model = ScriptedChatModel(script=[said(stuck, block, tool_calls=[call])])
    agent: Any = create_agent(model, TOOLS, middleware=[MetaSignalMiddleware()])
    result = agent.invoke({"messages": [QUESTION]})
    assert result["meta_signals"][0]["kind"] == "Stuck"
    assert result["messages"][-1].content == said(stuck).content


def test_models_parsers_and_chains_take_blocks() -> None:
    """What is read is the text; what goes back holds the thought."""
    model = with_tool_call_retry(ScriptedChatModel(script=[said(CALL)]), TOOLS)
    reply = model.invoke([QUESTION])
    assert (reply.content, reply.tool_calls[0]["name"]) == ([THOUGHT], "search")
    generation: list[Any] = [ChatGeneration(message=said("Action: search\nAction Input: Oslo"))]
    action: Any = AgentActionOutputParser(tools=TOOLS).parse_result(generation)
    assert (action.tool, action.tool_input) == ("search", {"query": "Oslo"})
    assert JsonOutputParser().invoke(said("{'a': 1}")) == {"a": 1}
    block, call = use("search", "1", q="Oslo")
    llm = ScriptedChatModel(script=[said("", block, tool_calls=[call]), said("Final Answer: 4")])
    finish: Any = with_parsing_retry(llm, tools=[search]).invoke([QUESTION])
    assert finish.return_values == {"output": "4"}
    back = next(m for m in llm.asked[1] if isinstance(m, AIMessage))
    assert (back.content, back.tool_calls[0]["id"]) == (
        [THOUGHT, {"type": "text", "text": ""}],
        "1",
    )
    llm = ScriptedChatModel(script=[said("Final Answer: 4")])
    parser = RetryingOutputParser.from_llm(llm, AgentActionOutputParser(tools=[search]))
    found: Any = parser.invoke(said("", block, tool_calls=[call]))
    assert found.return_values == {"output": "4"}
    assert THOUGHT in next(m for m in llm.asked[0] if isinstance(m, AIMessage)).content
