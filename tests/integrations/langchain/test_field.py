"""Replies that failed in the field: our own of each kind, and all that were collected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.prompts import ChatPromptTemplate

from langchain_loopmend import ActionParseException, AgentActionOutputParser, with_parsing_retry
from langchain_loopmend.testing import ScriptedChatModel
from tests.integrations.langchain.tools import wait

COLLECTED = Path(__file__).parents[4] / "shared/corpus/outputs/field.langchain.jsonl.gz"
OTHERWISE = {
    "langchain-ai/langchain#2276:e9b79768": "tool_call",  # no tools are given, so any name is one
    "langchain-ai/langchain#7024:e0df3ec8": "final",  # bare code is an answer
    "crewAIInc/crewAI#2237:31886777": "issue",  # the input is the schema of the tool
}
"""The collected replies that are not taken for what their row says, and why."""
PROMPT = ChatPromptTemplate.from_template("{q}")

OURS = {
    "sentence-as-tool": ("Action: Use the web to find it\nAction Input: Oslo", "tool_call"),
    "prose": ("Judging by the map, it lies in the north.", "final"),
    "no-answer-after-no": ("Thought: Do I need to use a tool? No", "issue"),
    "ai-on-its-own-line": ("Thought: Do I need to use a tool? No\nAI:\nOne\nTwo", "final"),
    "made-up-observation": ("Action: find\nAction Input: Oslo\nObservation: 5", "tool_call"),
    "thought-then-truncated": ("Thought: I should now", "issue"),
    "code-as-action": ("Action: `print(x)`", "issue"),
    "missing-input": ("Thought: look\nAction: find", "issue"),
    "wrapped": ('{"tool_call": {"name": "find", "arguments": {"q": 1}}}', "tool_call"),
    "parameters": ('{"name": "find", "parameters": {"q": 1}}', "tool_call"),
    "raw-newlines": ('{"action": "Final Answer", "action_input": "One\nTwo"}', "final"),
    "narrated": ("I'll look that up right away.", "issue"),
    "pronounless": ("Looking that up now", "issue"),
    "python-quotes": ("Action: find\nAction Input: {'q': ['a']}", "tool_call"),
    "empty": ("", "issue"),
    "bold-keywords": ("**Action:** find\n**Action Input:** Oslo", "tool_call"),
    "template": ("Action: the action to take, should be one of [find]", "issue"),
}


def kind_of(text: str, *, asynchronous: bool = False) -> str:
    """Run a reply through a chain with the parser and say what came of it."""
    chain = PROMPT | ScriptedChatModel(script=[text]) | AgentActionOutputParser()
    try:
        found = wait(chain.ainvoke({"q": "go"})) if asynchronous else chain.invoke({"q": "go"})
    except ActionParseException as error:
        assert error.observation
        return "issue"
    return "tool_call" if isinstance(found, AgentAction) else "final"


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("text", "expected"), OURS.values(), ids=OURS)
def test_each_kind(text: str, expected: str, *, asynchronous: bool) -> None:
    """Each kind of reply is executed, taken for the answer, or refused, in a chain."""
    assert kind_of(text, asynchronous=asynchronous) == expected


@pytest.mark.parametrize("text", [t for t, kind in OURS.values() if kind == "issue"])
def test_what_is_refused_is_mended(text: str) -> None:
    """A chain that asks again gets there in the second attempt."""
    llm = ScriptedChatModel(script=[text, "Final Answer: Norway"])
    found = (PROMPT | with_parsing_retry(llm)).invoke({"q": "go"})
    assert isinstance(found, AgentFinish)
    assert (found.return_values["output"], len(llm.asked)) == ("Norway", 2)


def collected() -> list[dict[str, Any]]:
    """Return the replies from public threads, if they are at hand."""
    if not COLLECTED.exists():
        return []
    with gzip.open(COLLECTED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_collected_ones() -> None:
    """Of the 28 replies that others collected, 25 are taken for what their row says."""
    rows = [
        row for row in collected() if row["expected"]["kind"] in ("tool_call", "final", "issue")
    ]
    if not rows:
        pytest.skip("the collection is not at hand")
    kinds = {row["id"]: kind_of(row["input"]) for row in rows}
    wrong = {
        row["id"]: kinds[row["id"]] for row in rows if kinds[row["id"]] != row["expected"]["kind"]
    }
    assert (wrong, len(rows)) == (OTHERWISE, 28)
    for row in rows:
        if kinds[row["id"]] == "issue":
            llm = ScriptedChatModel(script=[row["input"], "Final Answer: x"])
            assert isinstance(with_parsing_retry(llm).invoke("go"), AgentFinish)
