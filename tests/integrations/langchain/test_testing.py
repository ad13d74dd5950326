"""The scripted model that the other tests and users' tests rely on."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from langchain_loopmend.testing import ScriptedChatModel, call
from tests.integrations.langchain.tools import wait


def test_the_script_ends() -> None:
    """A model that is asked once too often says so, unless it may repeat itself."""
    model = ScriptedChatModel(script=["a"])
    assert model.invoke("x").content == "a"
    with pytest.raises(AssertionError, match="the script has 1 lines"):
        model.invoke("x")
    model = ScriptedChatModel(script=["a"], repeat=True)
    assert [model.invoke("x").content for _ in range(3)] == ["a"] * 3


def test_messages_are_never_the_same() -> None:
    """The same line twice gives two messages, so that a state keeps both."""
    model = ScriptedChatModel(script=[call("f", a=1)], repeat=True)
    first, second = model.invoke("x"), model.invoke("x")
    assert first.id != second.id
    assert first.tool_calls == second.tool_calls


def test_streams_of_text_and_calls() -> None:
    """A stream adds up to the message."""
    line = AIMessage("a longer text", tool_calls=call("f", a=1).tool_calls)
    model = ScriptedChatModel(script=[line], repeat=True)
    chunks = list(model.stream("x"))
    assert len(chunks) > 3
    whole = chunks[0] + chunks[1:]
    assert (whole.content, whole.tool_calls) == (line.content, line.tool_calls)

    async def collected() -> int:
        return len([chunk async for chunk in model.astream("x")])

    assert wait(collected()) == len(chunks)
    assert model.ways == ["stream", "astream"]


def test_tools_do_not_matter() -> None:
    """Binding tools returns the model itself, and exceptions are raised."""
    model = ScriptedChatModel(script=[KeyError("x")])
    assert model.bind_tools([]) is model
    with pytest.raises(KeyError):
        model.invoke("x")
