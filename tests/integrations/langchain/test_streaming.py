"""The cumulative parser: partial turns on the way, an error at the end if there is one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import JsonOutputParser
from pydantic import ValidationError

from langchain_loopmend import ActionParseException, TurnOutputParser
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import ToolCall, Turn, read_turn
from tests.integrations.langchain.tools import TOOLS, wait

TEXT = "Thought: I have to look it up somewhere\nAction: search\nAction Input: population of Oslo"


async def streamed(chain: object, text: str) -> list[Turn]:
    """Collect an async stream."""
    return [turn async for turn in chain.astream(text)]  # type: ignore[attr-defined]


def test_partial_turns_then_the_whole() -> None:
    """A chain streams what is known so far; the last turn is that of the whole text."""
    turns = list((ScriptedChatModel(script=[TEXT]) | TurnOutputParser()).stream("go"))
    assert len(turns) > 2
    assert turns[0].actions == ()
    assert turns[-1] == read_turn(TEXT)


def test_async_streams_the_same() -> None:
    """Sync and async stream alike."""
    sync = list((ScriptedChatModel(script=[TEXT]) | TurnOutputParser()).stream("go"))
    chain = ScriptedChatModel(script=[TEXT]) | TurnOutputParser()
    assert wait(streamed(chain, "go")) == sync


@pytest.mark.parametrize("text", ["Action: search", "", "I will search the web for it."])
def test_an_unparseable_stream_raises_at_its_end(text: str) -> None:
    """Where LangChain's own parser says nothing at all, this one raises."""
    assert list((ScriptedChatModel(script=[text]) | JsonOutputParser()).stream("go")) in ([], [{}])
    with pytest.raises(ActionParseException):
        list((ScriptedChatModel(script=[text]) | TurnOutputParser()).stream("go"))
    with pytest.raises(ActionParseException):
        wait(streamed(ScriptedChatModel(script=[text]) | TurnOutputParser(), "go"))


def test_native_calls_in_a_stream() -> None:
    """Calls that arrive in pieces are put together; cut off, they are an error."""
    parser = TurnOutputParser(tools=TOOLS)
    model = ScriptedChatModel(script=[call("search", query="Oslo")])
    assert list((model | parser).stream("go"))[-1].actions == (
        ToolCall("search", {"query": "Oslo"}),
    )
    broken = AIMessage("", invalid_tool_calls=[_broken('{"query": "Os')])
    with pytest.raises(ActionParseException):
        list((ScriptedChatModel(script=[broken]) | parser).stream("go"))


def _broken(args: str) -> dict[str, object]:
    return {"name": "search", "args": args, "id": "1", "error": None, "type": "invalid_tool_call"}


def test_texts_and_whole_messages_stream_as_well() -> None:
    """A parser may follow anything that yields text or messages."""
    parser = TurnOutputParser()
    assert list(parser.transform(iter(["Final Ans", "wer: 4"])))[-1] == read_turn("Final Answer: 4")
    whole = AIMessage("Final Answer: 4")
    assert list(parser.transform(iter([whole])))[-1] == read_turn("Final Answer: 4")
    chunks = [AIMessageChunk(content="Final Ans"), AIMessageChunk(content="wer: 4")]
    assert list(parser.transform(iter(chunks)))[-1] == read_turn("Final Answer: 4")

    async def pieces() -> AsyncIterator[str]:
        yield "Final Ans"
        yield "wer: 4"

    async def collect() -> list[Turn]:
        return [turn async for turn in parser.atransform(pieces())]

    assert wait(collect())[-1] == read_turn("Final Answer: 4")


def test_no_diffs() -> None:
    """Differences between turns mean nothing, so asking for them is an error."""
    with pytest.raises(ValidationError, match="diff"):
        TurnOutputParser(diff=True)  # type: ignore[call-arg]


def test_small_chunks_cost_linear_time() -> None:
    """Four times the text in as small chunks takes about four times as long, not sixteen."""

    def seconds(length: int) -> float:
        chunks = [AIMessageChunk(content="word ") for _ in range(length)]
        start = time.thread_time()
        list(TurnOutputParser().transform(iter(chunks)))
        return time.thread_time() - start

    assert any(seconds(16_000) < 10 * seconds(4_000) for _ in range(3))
