"""The scripted model does what its script says, in all eight ways a model is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock

from llama_index_loopmend.testing import ScriptedLLM, call

ASK = [ChatMessage(content="Hi")]
TEXT = "Hello, how are you?"


def test_chat_and_complete() -> None:
    """It says the next line, at once or in pieces."""
    llm = ScriptedLLM(script=[TEXT], repeat=True, raw={"id": 1})
    assert llm.chat(ASK).message.content == TEXT
    assert llm.complete("Hi").text == TEXT
    chunks = list(llm.stream_chat(ASK))
    assert "".join(chunk.delta or "" for chunk in chunks) == TEXT == chunks[-1].message.content
    pieces = list(llm.stream_complete("Hi"))
    assert "".join(piece.delta or "" for piece in pieces) == TEXT == pieces[-1].text
    assert [messages[0].content for messages in llm.asked] == ["Hi"] * 4
    assert chunks[-1].raw == pieces[-1].raw == {"id": 1}


def test_async_chat_and_complete() -> None:
    """It is async where it is asked so."""
    llm = ScriptedLLM(script=[TEXT], repeat=True)

    async def ask() -> list[Any]:
        chunks = [chunk.delta async for chunk in await llm.astream_chat(ASK)]
        pieces = [piece.delta async for piece in await llm.astream_complete("Hi")]
        said = [(await llm.achat(ASK)).message.content, (await llm.acomplete("Hi")).text]
        return ["".join(map(str, chunks)), "".join(map(str, pieces)), *said]

    assert asyncio.run(ask()) == [TEXT] * 4


def test_lines() -> None:
    """A line is a text, a message, an error or a function; after the last there is none."""
    message = call("add", a=1)
    llm = ScriptedLLM(script=[lambda m: f"{len(m)} messages", message, KeyError("k")])
    assert llm.class_name() == "ScriptedLLM"
    assert llm.chat(ASK).message.content == "1 messages"
    said = llm.chat(ASK).message
    assert said == message
    assert said is not message
    with pytest.raises(KeyError):
        llm.chat(ASK)
    with pytest.raises(AssertionError, match="the script has 3 lines"):
        llm.chat(ASK)


def test_tool_calls() -> None:
    """It returns the calls of its message, and says so where there are none."""
    llm = ScriptedLLM(script=[call("add", a=1), "None."])
    assert llm.metadata.is_function_calling_model
    response = llm.chat_with_tools([], user_msg="Add!", chat_history=ASK)
    (made,) = llm.get_tool_calls_from_response(response)
    assert (made.tool_id, made.tool_name, made.tool_kwargs) == ("call_1", "add", {"a": 1})
    none = llm.chat_with_tools([], user_msg=ChatMessage(content="Add!"))
    assert llm.get_tool_calls_from_response(none, error_on_no_tool_call=False) == []
    with pytest.raises(ValueError, match="the message calls no tool"):
        llm.get_tool_calls_from_response(none)
    text = ToolCallBlock(tool_name="add", tool_kwargs="{")
    odd = ChatResponse(message=ChatMessage(blocks=[text]))
    assert llm.get_tool_calls_from_response(odd)[0].tool_kwargs == {"input": "{"}


@pytest.mark.parametrize("argument", ["format", "response_format"])
def test_schemas(argument: str) -> None:
    """It remembers what it was to decode by, or refuses that as servers do."""
    llm = ScriptedLLM(script=[TEXT], repeat=True)
    llm.chat(ASK, **{argument: {"type": "object"}})
    asyncio.run(llm.achat(ASK, **{argument: {"type": "string"}}))
    llm.chat(ASK)
    assert llm.schemas == [{"type": "object"}, {"type": "string"}]
    refusing = ScriptedLLM(script=[TEXT], refuses=True)
    with pytest.raises(ValueError, match="response_format"):
        refusing.chat(ASK, **{argument: {"type": "object"}})
    assert (refusing.schemas, refusing.asked) == ([], [])
