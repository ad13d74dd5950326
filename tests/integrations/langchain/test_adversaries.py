"""Models that answer back: whatever they make of a correction, the bound holds in every host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate
from pydantic import PrivateAttr

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_classic")

from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_classic.agents import AgentExecutor, create_react_agent
from langgraph.errors import GraphRecursionError

from langchain_loopmend import (
    NormalizationError,
    RetryingOutputParser,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.classic import with_loop_guard
from langchain_loopmend.middleware import NormalizationMiddleware, ToolCallingMiddleware
from langchain_loopmend.testing import DecodingChatModel
from tests.core.strategies import emitted_text
from tests.integrations.langchain.test_bounds import City, Steps, adversaries, assert_valid
from tests.integrations.langchain.tools import REACT, TOOLS, search, wait

ECHO, LAST, QUOTE, FENCE, BLOCKS, UNDO = "echo", "last", "quote", "fence", "blocks", "undo"
"""How it answers back: with what it was told, with what it said, or with both in some dress."""


class Adversary(DecodingChatModel):
    """Answers some questions with what they hold, and refuses what it likes."""

    _said: list[AIMessage] = PrivateAttr(default_factory=list)

    def _next(self, messages: list[BaseMessage], way: str, kwargs: Mapping[str, Any]) -> AIMessage:
        reply = super()._next(messages, way, kwargs)
        told, before = str(messages[-1].text), self._said[-1:] or [reply]
        text = str(reply.content)
        if text == ECHO:
            reply = AIMessage(told)
        elif text == LAST:
            reply = before[0]
        elif text == QUOTE:
            reply = AIMessage(f"You said: {told}\n{before[0].text}")
        elif text == FENCE:
            reply = AIMessage(f"```json\n{told[told.find('{') :]}\n```")
        elif text == BLOCKS:
            reply = AIMessage(content=[{"type": "thinking", "thinking": told}, told])
        elif text == UNDO:
            reply = AIMessage(str(before[0].text)[::-1])
        reply = reply.model_copy(update={"id": None}, deep=True)
        self._said.append(reply)
        return reply


def call(name: str, arguments: str) -> str:
    """Return an action in the contract's JSON."""
    return f'{{"type": "tool_call", "name": "{name}", "arguments": {arguments}}}'


backtalk = st.sampled_from(
    [
        *(ECHO, LAST, QUOTE, FENCE, BLOCKS, UNDO, "", "{}", "```\n```", "I will search for it."),
        *(call("search", '{"query": "Oslo"}'), call("search", "{}"), call("City", "{}")),
        *('{"type": "final", "content": ""}', '{"type": "final"', "Final Answer:", "Action: nope"),
        *("Action: search\nAction Input: Oslo", '{"name": "Oslo"}', '{"query": "Oslo"}'),
    ]
)
scripts = st.lists(
    backtalk | emitted_text | adversaries.map(lambda lines: lines[0]), min_size=1, max_size=6
)
bounds = st.integers(0, 3)
constrains = st.sampled_from(["retry", "always", False])
few = settings(deadline=None, max_examples=30)


@few
@given(
    scripts,
    bounds,
    constrains,
    st.booleans(),
    st.sampled_from([None, ToolStrategy(City), ProviderStrategy(City)]),
    st.sampled_from(["invoke", "ainvoke", "stream"]),
)
def test_create_agent(  # noqa: PLR0913, PLR0917 - one for each choice
    script: list[Any],
    bound: int,
    constrain: Any,
    refuses: bool,  # noqa: FBT001
    wanted: Any,
    way: str,
) -> None:
    """Each step asks at most once more than it may retry, and what it asks is valid."""
    llm, steps = Adversary(script=script, repeat=True, refuses=refuses), Steps()
    mend: Any = NormalizationMiddleware(max_retries=bound, constrain=constrain)
    if constrain == "always":
        mend = ToolCallingMiddleware(max_retries=bound)
    agent: Any = create_agent(llm, TOOLS, middleware=[steps, mend], response_format=wanted)
    asked, config = {"messages": [("user", "go")]}, {"recursion_limit": 9}
    try:
        if way == "ainvoke":
            wait(agent.ainvoke(asked, config))
        elif way == "stream":
            list(agent.stream(asked, config, stream_mode="messages"))
        else:
            agent.invoke(asked, config)
    except (GraphRecursionError, ValueError) as error:
        assert type(error) is GraphRecursionError or error in script  # a provider's own
    assert len(llm.asked) <= steps.count * (bound + 1)
    for each in llm.asked:
        assert_valid(each)


@few
@given(scripts, bounds, constrains, st.booleans(), st.booleans(), st.booleans())
def test_agent_executor(  # noqa: PLR0913, PLR0917 - one for each choice
    script: list[Any],
    bound: int,
    constrain: Any,
    refuses: bool,  # noqa: FBT001
    guarded: bool,  # noqa: FBT001
    asynchronous: bool,  # noqa: FBT001
) -> None:
    """Each iteration asks at most once more than it may retry, and a run ends with an answer."""
    llm = Adversary(script=script, repeat=True, refuses=refuses)
    step = with_parsing_retry(
        llm, tools=TOOLS, max_retries=bound, constrain=constrain, on_failure="return"
    )
    prompt = REACT.partial(tools="", tool_names="search")
    agent: Any = _with_scratchpad(prompt) | step
    chosen: Any = with_loop_guard(agent, stop_after=3) if guarded else agent
    executor: Any = AgentExecutor(
        agent=chosen, tools=TOOLS, max_iterations=4, return_intermediate_steps=True
    )
    run = {"input": "Where is Oslo?"}
    try:
        result = wait(executor.ainvoke(run)) if asynchronous else executor.invoke(run)
    except Exception as error:  # noqa: BLE001 - a tool's, or a provider's own
        assert not isinstance(error, AssertionError)
        return
    assert len(llm.asked) <= min(4, len(result["intermediate_steps"]) + 1) * (bound + 1)
    assert isinstance(result["output"], str)


def _with_scratchpad(prompt: Any) -> Any:
    from langchain_classic.agents.format_scratchpad import format_log_to_str
    from langchain_core.runnables import RunnablePassthrough

    written: Any = RunnablePassthrough.assign(
        agent_scratchpad=lambda given: format_log_to_str(given["intermediate_steps"])
    )
    return written | prompt


CHAINS: dict[str, Any] = {
    "values": lambda llm, options: with_parsing_retry(llm, City, **options),
    "actions": lambda llm, options: with_parsing_retry(llm, tools=[search], **options),
    "model": lambda llm, options: with_tool_call_retry(llm, TOOLS, **options),
    "structured": lambda llm, options: with_tool_call_retry(
        llm, TOOLS, **options
    ).with_structured_output(City),
}


@few
@given(scripts, bounds, constrains, st.booleans(), st.booleans(), st.sampled_from(sorted(CHAINS)))
def test_chains(  # noqa: PLR0913, PLR0917 - one for each choice
    script: list[Any],
    bound: int,
    constrain: Any,
    refuses: bool,  # noqa: FBT001
    asynchronous: bool,  # noqa: FBT001
    kind: str,
) -> None:
    """So does a chain with any parser, a mended model, and its structured output."""
    options: Any = {"max_retries": bound, "constrain": constrain, "on_failure": "return"}
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{asked}")])
    llm = Adversary(script=script, repeat=True, refuses=refuses)
    chain = prompt | CHAINS[kind](llm, options)
    asked = {"asked": "How big is Oslo?"}
    try:
        found = wait(chain.ainvoke(asked)) if asynchronous else chain.invoke(asked)
    except (ValueError, NormalizationError):
        found = None
    assert len(llm.asked) <= bound + 1
    for each in llm.asked:
        assert_valid(each)
    if isinstance(found, AIMessage):
        assert found.invalid_tool_calls == []


@few
@given(scripts, emitted_text | backtalk, bounds)
def test_a_parser_that_asks(script: list[Any], first: str, bound: int) -> None:
    """In an executor's own chain each reply is asked about at most so often."""
    llm = Adversary(script=script, repeat=True)
    model = Adversary(script=[first], repeat=True)
    parser: Any = RetryingOutputParser.from_llm(llm, max_retries=bound)
    agent = create_react_agent(model, TOOLS, REACT, output_parser=parser)
    executor = AgentExecutor(agent=agent, tools=TOOLS, max_iterations=2, handle_parsing_errors=True)
    try:
        executor.invoke({"input": "Where is Oslo?"})
    except Exception as error:  # noqa: BLE001 - a tool's, or a provider's own
        assert not isinstance(error, (AssertionError, OutputParserException))
    assert len(llm.asked) <= len(model.asked) * bound
