"""Failures of `create_agent` that LangChain's users report: what happens natively, and with us."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel, field_validator

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_core.tools import tool

from langchain_loopmend.middleware import NormalizationMiddleware
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel, call
from tests.integrations.langchain.test_mending import broken
from tests.integrations.langchain.tools import wait

QUESTION: Any = {"messages": [("user", "What is in /notes.txt?")]}
DONE = "It holds the minutes of the meeting."
GOOD = call("read_file", file_path="/notes.txt")
WRITTEN = '{"name": "read_file", "arguments": {"file_path": "/notes.txt"}}'
SEEN = "contents of /notes.txt"


class Path(BaseModel):
    """What the tool takes; that a path is absolute only it knows."""

    file_path: str

    @field_validator("file_path")
    @classmethod
    def absolute(cls, path: str) -> str:
        """Refuse a path that is not absolute."""
        if not path.startswith("/"):
            msg = "file_path must be absolute"
            raise ValueError(msg)
        return path


@tool(args_schema=Path)
def read_file(file_path: str) -> str:
    """Read a file."""
    return f"contents of {file_path}"


def run(llm: ScriptedChatModel, *middleware: Any, asynchronous: bool = False) -> list[BaseMessage]:
    """Run an agent and return its messages after the question."""
    agent = create_agent(llm, [read_file], middleware=list(middleware))
    result = wait(agent.ainvoke(QUESTION)) if asynchronous else agent.invoke(QUESTION)
    messages: list[BaseMessage] = result["messages"]
    return messages[1:]


def contents(messages: list[BaseMessage]) -> list[Any]:
    """Return what they say."""
    return [message.content for message in messages]


either_way = pytest.mark.parametrize("asynchronous", [False, True])

BROKEN = {
    "cut off": broken('{"file_path": "/no', name="read_file"),
    "a brace too many": broken('{"file_path": "/notes.txt"}}', name="read_file"),
    "no name": broken("{}", name=None),
    "beside text": AIMessage(
        "I read the file.", invalid_tool_calls=broken("{", name="read_file").invalid_tool_calls
    ),
}


@either_way
@pytest.mark.parametrize("bad", BROKEN.values(), ids=BROKEN)
def test_langchain_33504(bad: AIMessage, *, asynchronous: bool) -> None:
    """A call that could not be decoded ends the run in silence; here the model makes it again."""
    [last] = run(ScriptedChatModel(script=[bad]), asynchronous=asynchronous)
    assert isinstance(last, AIMessage)
    assert last.invalid_tool_calls  # natively this is the end
    llm = ScriptedChatModel(script=[bad, GOOD, DONE])
    mended = run(llm, NormalizationMiddleware(), asynchronous=asynchronous)
    assert contents(mended) == ["", SEEN, DONE]
    assert all(not m.invalid_tool_calls for m in mended if isinstance(m, AIMessage))


AS_TEXT = {
    "json": WRITTEN,
    "markdown": f"```json\n{WRITTEN}\n```",
    "tags": f"<tool_call>\n{WRITTEN}\n</tool_call>",
    "code": '```tool_code\nread_file(file_path="/notes.txt")\n```',
    "react": "Action: read_file\nAction Input: /notes.txt",
}


@either_way
@pytest.mark.parametrize("text", AS_TEXT.values(), ids=AS_TEXT)
def test_langchain_36700(text: str, *, asynchronous: bool) -> None:
    """A call written as text or Markdown is taken for the answer; here it is made at once."""
    assert contents(run(ScriptedChatModel(script=[text]), asynchronous=asynchronous)) == [text]
    llm = ScriptedChatModel(script=[text, DONE])
    mended = run(llm, NormalizationMiddleware(), asynchronous=asynchronous)
    assert contents(mended) == ["", SEEN, DONE]


def test_langchain_36700_beside_an_explanation() -> None:
    """Where the text leaves it open, the model is asked, and nothing runs unasked."""
    text = f"It is in the notes.\n```json\n{WRITTEN}\n```\nThey are long."
    llm = ScriptedChatModel(script=[text, "I did not read it."])
    assert "read_file" not in str(run(llm, NormalizationMiddleware())[-1].content)
    assert len(llm.asked) == 2


CORRECTED = {
    "json": (WRITTEN, ""),
    "announced": (
        f"Here is the corrected tool call:\n```json\n{WRITTEN}\n```",
        "Here is the corrected tool call:",
    ),
}


@either_way
@pytest.mark.parametrize(("text", "said"), CORRECTED.values(), ids=CORRECTED)
def test_langchain_37778(text: str, said: str, *, asynchronous: bool) -> None:
    """After a validation error the corrected call comes as text, and is leaked as the answer.

    Here wrong arguments never reach the tool, and the corrected call is made.
    """
    script = [call("read_file", path="/notes.txt"), text, DONE]
    native = run(ScriptedChatModel(script=script), asynchronous=asynchronous)
    assert [m.type for m in native] == ["ai", "tool", "ai"]
    assert native[-1].content == text
    llm = ScriptedChatModel(script=script)
    mended = run(llm, NormalizationMiddleware(), asynchronous=asynchronous)
    assert contents(mended) == [said, SEEN, DONE]
    told = str(llm.asked[1][-1].content)
    assert told.startswith("`read_file` needs `file_path` and does not accept `path`.")


@either_way
def test_langchain_37778_with_an_error_of_the_tool(*, asynchronous: bool) -> None:
    """What only the tool can find fault with comes back as its error; then the same holds."""
    relative = call("read_file", file_path="notes.txt")
    llm = ScriptedChatModel(script=[relative, WRITTEN, DONE])
    mended = run(llm, NormalizationMiddleware(), asynchronous=asynchronous)
    assert [m.status for m in mended if isinstance(m, ToolMessage)] == ["error", "success"]
    assert contents(mended)[2:] == ["", SEEN, DONE]


def test_langchain_37778_is_bounded() -> None:
    """A model that never gets the arguments right is asked so often, and no more; no tool runs."""
    wrong = [call("read_file", **{key: "/notes.txt"}) for key in ("path", "name", "file")]
    llm = ScriptedChatModel(script=wrong)
    [last] = run(llm, NormalizationMiddleware())
    assert isinstance(last, AIMessage)
    assert (last.tool_calls, len(llm.asked)) == ([], 3)


def test_langchain_37778_is_forced_where_the_provider_can() -> None:
    """A provider that decodes by a schema cannot but write the corrected call."""
    call_of = '{"type": "tool_call", "name": "read_file", "arguments": {"file_path": "/notes.txt"}}'
    llm = DecodingChatModel(script=[call("read_file", path="/notes.txt"), call_of, DONE])
    assert contents(run(llm, NormalizationMiddleware())) == ["", SEEN, DONE]
    assert llm.asked[1][1:] == [HumanMessage("What is in /notes.txt?")]
    offered = llm.schemas[1]["anyOf"][0]["properties"]
    assert offered["name"] == {"const": "read_file"}
    assert offered["arguments"]["required"] == ["file_path"]
