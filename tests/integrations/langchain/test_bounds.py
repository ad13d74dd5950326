"""Whatever a model does, it is never asked more often than allowed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolMessage
from pydantic import BaseModel

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy

from langchain_loopmend import (
    AgentActionOutputParser,
    GaveUpFinish,
    NormalizationError,
    RetryingOutputParser,
    with_parsing_retry,
    with_tool_call_retry,
)
from langchain_loopmend.messages import ENDED, mended, reply_of
from langchain_loopmend.middleware import LoopGuardMiddleware, NormalizationMiddleware
from langchain_loopmend.schemas import tool_schemas, toolbox
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel
from loopmend import Done, Mending
from loopmend.mending import is_clean
from tests.core.strategies import emitted_text
from tests.integrations.langchain.tools import TOOLS, wait

names = st.sampled_from(["search", "add", "nope", ""])
ids = st.sampled_from(["1", "2", None])
calls = st.builds(
    lambda name, args, id: {"name": name, "args": args, "id": id},
    names,
    st.dictionaries(st.sampled_from(["query", "a", "x"]), st.text(max_size=3) | st.integers(0, 9)),
    ids,
)
broken = st.builds(
    lambda name, args, id: InvalidToolCall(
        name=name, args=args, id=id, error=None, type="invalid_tool_call"
    ),
    names | st.none(),
    emitted_text,
    ids,
)
reasons = st.sampled_from(["stop", "length", "MALFORMED_FUNCTION_CALL", "tool_calls"])
messages = st.builds(
    lambda text, made, bad, reason: AIMessage(
        text,
        tool_calls=made,
        invalid_tool_calls=bad,
        response_metadata={"finish_reason": reason},
    ),
    emitted_text,
    st.lists(calls, max_size=2),
    st.lists(broken, max_size=2),
    reasons,
)
errors = st.sampled_from(
    [ValueError("error parsing tool call"), ValueError("malformed function call")]
)
adversaries = st.lists(messages | emitted_text.map(AIMessage) | errors, min_size=1, max_size=5)
texts = st.lists(emitted_text, min_size=1, max_size=5)
bounds = st.integers(0, 4)
GO: Any = {"messages": [("user", "go")]}


@given(texts, bounds)
def test_parsing_retry(script: list[str], bound: int) -> None:
    """A chain asks at most once more than it may retry, sync and async, and always ends."""
    for asynchronous in (False, True):
        llm = ScriptedChatModel(script=script, repeat=True)
        chain = with_parsing_retry(llm, tools=TOOLS, max_retries=bound, on_failure="return")
        found = wait(chain.ainvoke("go")) if asynchronous else chain.invoke("go")
        assert 1 <= len(llm.asked) <= bound + 1
        if isinstance(found, GaveUpFinish):
            assert found.retries == len(llm.asked) - 1
            assert found.retries == bound or repeats_itself(llm)


def repeats_itself(llm: ScriptedChatModel, first: Any = None) -> bool:
    """Tell whether the model's last line is one that it said before: then it is given up on."""
    said = [llm.script[n % len(llm.script)] for n in range(len(llm.asked))]
    *before, last = [line for line in (first, *said) if line is not None]
    return _same(last) in map(_same, before)


def _same(line: Any) -> tuple[Any, ...]:
    return (str(line),) if isinstance(line, Exception) else reply_of(line).said()


@given(texts, emitted_text, bounds)
def test_retrying_parser(script: list[str], first: str, bound: int) -> None:
    """A parser asks at most as often as it may retry."""
    llm = ScriptedChatModel(script=script, repeat=True)
    inner = AgentActionOutputParser(tools=TOOLS, strict=True)
    parser = RetryingOutputParser.from_llm(llm, inner, max_retries=bound)
    try:
        parser.invoke(first)
    except ValueError:
        assert len(llm.asked) == bound or repeats_itself(llm, first)
    assert len(llm.asked) <= bound


@given(adversaries, bounds, st.booleans(), st.booleans(), st.booleans())
def test_mended_model(
    script: list[Any],
    bound: int,
    salvage: bool,  # noqa: FBT001
    streaming: bool,  # noqa: FBT001
    decoding: bool,  # noqa: FBT001
) -> None:
    """A model is asked at most once more than it may be corrected, with a valid history."""
    kind = DecodingChatModel if decoding else ScriptedChatModel
    llm = kind(script=script, repeat=True)
    model = with_tool_call_retry(llm, TOOLS, max_retries=bound, salvage=salvage, on_failure="raise")
    try:
        [reply] = model.stream("go") if streaming else [model.invoke("go")]
    except NormalizationError as error:
        assert error.retries == len(llm.asked) - 1
        assert streaming or error.retries == bound or repeats_itself(llm)
    else:
        assert reply.invalid_tool_calls == []
        assert {call["name"] for call in reply.tool_calls} <= {"search", "add", "echo"}
    assert 1 <= len(llm.asked) <= bound + 1
    for asked in llm.asked:
        assert_valid(asked)


def assert_valid(asked: list[BaseMessage]) -> None:
    """Check that each call is answered exactly once, right after it."""
    pending: list[str] = []
    for message in asked:
        if isinstance(message, ToolMessage):
            pending.remove(message.tool_call_id)
        else:
            assert pending == []
        if isinstance(message, AIMessage):
            found = [c["id"] for c in (*message.tool_calls, *message.invalid_tool_calls)]
            assert None not in found
            pending = [str(id) for id in dict.fromkeys(found)]
    assert pending == []


@given(messages | emitted_text.map(AIMessage), st.booleans())
def test_clean_replies_are_those_that_need_no_mending(reply: AIMessage, after: bool) -> None:  # noqa: FBT001
    """The quick check says yes only where mending returns the reply as it is."""
    tools = toolbox(tool_schemas(TOOLS))
    said = reply_of(reply)
    if is_clean(said, tools):
        mending = Mending(tools)
        mending.start("go", after_tool_result=after)
        done = mending.reply(said)
        assert isinstance(done, Done)
        assert (done.outcome, mended(reply, done)) == ("clean", reply)


class Steps(AgentMiddleware):
    """Counts how often the model's node runs."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Count and go on."""
        self.count += 1
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Count and go on."""
        self.count += 1
        return await handler(request)


@settings(deadline=None, max_examples=40)
@given(adversaries, st.integers(0, 2))
def test_agent(script: list[Any], bound: int) -> None:
    """In an agent each step is corrected at most so often, and every history is valid."""
    llm = ScriptedChatModel(script=script, repeat=True)
    steps = Steps()
    guard = LoopGuardMiddleware(warn_after=2, stop_after=3)
    mend = NormalizationMiddleware(max_retries=bound)
    middleware: list[Any] = [steps, guard, mend]
    agent = create_agent(llm, TOOLS, middleware=middleware)
    try:
        result = agent.invoke(GO, {"recursion_limit": 30})
    except Exception as error:  # noqa: BLE001 - tools may fail and limits be reached
        assert type(error).__name__ in ("GraphRecursionError", "ToolException", "ValueError")
    else:
        assert result["messages"][-1].type == "ai"
    assert len(llm.asked) <= steps.count * (bound + 1)


class City(BaseModel):
    """A city."""

    name: str
    people: int


values = st.sampled_from(["x", "5", 5, -1, None, [1]])
answers = st.builds(
    lambda args, id, beside: AIMessage(
        "", tool_calls=[{"name": "City", "args": args, "id": id}, *beside]
    ),
    st.dictionaries(st.sampled_from(["name", "people", "x"]), values),
    st.sampled_from(["3", "4"]),
    st.lists(calls.filter(lambda call: call["id"]), max_size=1),
)
written = st.sampled_from(
    [
        "It is big.",
        "{'name': 'Oslo'}",
        '{"name": "Oslo", "people": 5}',
        '{"name": "City", "arguments": {"name": "Oslo", "people": 5}}',
    ]
).map(AIMessage)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(answers | written | messages | errors, min_size=1, max_size=4),
    st.integers(0, 2),
    st.sampled_from([True, False, ["City"]]),
    st.sampled_from([ToolStrategy(City), ProviderStrategy(City)]),
)
def test_structured_agent(script: list[Any], bound: int, salvage: Any, strategy: Any) -> None:
    """A run ends with a value of the schema or marked as given up, and every history is valid."""
    llm = ScriptedChatModel(script=script, repeat=True)
    steps = Steps()
    middleware: list[Any] = [steps, NormalizationMiddleware(max_retries=bound, salvage=salvage)]
    agent: Any = create_agent(llm, TOOLS, middleware=middleware, response_format=strategy)
    try:
        result = agent.invoke(GO, {"recursion_limit": 8})
    except Exception as error:  # noqa: BLE001 - limits may be reached
        assert type(error).__name__ == "GraphRecursionError"
    else:
        last = result["messages"][-1]
        ended = isinstance(last, AIMessage) and last.response_metadata.get(ENDED) == "parse_fail"
        assert ended or isinstance(result["structured_response"], City)
    assert len(llm.asked) <= steps.count * (bound + 1)
    for asked in llm.asked:
        assert_valid(asked)
