"""The parser of actions: by the contract or in any dialect, and where LlamaIndex takes it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.program import LLMTextCompletionProgram
from llama_index.core.prompts import ChatPromptTemplate, PromptTemplate

from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.parsers import ActionOutputParser
from llama_index_loopmend.testing import ScriptedLLM
from loopmend import AskUser, FailurePattern, FinalAnswer, ReadingConfig, ToolCall
from tests.core.strategies import emitted_text
from tests.integrations.llama_index.agents import add


def search(query: str, limit: int = 3) -> str:
    """Search the web."""
    return f"{query} {limit}"


def refusal(text: str, parser: ActionOutputParser) -> ActionParseException:
    """Parse a text that cannot be read."""
    with pytest.raises(ActionParseException) as caught:
        parser.parse(text)
    return caught.value


def outcome(parser: ActionOutputParser, text: str) -> object:
    """Return what comes of a text; any other error is not caught."""
    try:
        return parser.parse(text)
    except ActionParseException as error:
        assert error.observation
        return None


def test_it_is_a_parser_of_llama_index() -> None:
    """It stands next to LlamaIndex's base class."""
    assert ActionOutputParser.__mro__[1] is BaseOutputParser


@given(emitted_text)
def test_an_action_or_a_value_error(text: str) -> None:
    """Whatever the text is, there is an action or the one error, nothing else."""
    for parser in (ActionOutputParser(), ActionOutputParser(reading="contract")):
        found = outcome(parser, text)
        assert found is None or isinstance(found, (FinalAnswer, ToolCall, AskUser))


def test_a_signal_alone_is_what_was_said() -> None:
    """A reply that only signals that the model is stuck answers with its text."""
    found = ActionOutputParser().parse(" <stuck>no idea</stuck>\n")
    assert found == FinalAnswer("<stuck>no idea</stuck>")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('```json\n{"type": "final", "content": "4"}\n```', FinalAnswer("4")),
        ('{"type": "ask_user", "question": "Which?"}', AskUser("Which?")),
        ('{"type": "tool_call", "name": "f", "arguments": [1]}', ToolCall("f", [1])),
    ],
)
def test_actions_by_contract(text: str, found: object) -> None:
    """What keeps to the form is read alike either way."""
    for reading in ("contract", "tolerant"):
        assert ActionOutputParser(reading=reading).parse(text) == found


@pytest.mark.parametrize(
    ("text", "found", "pattern"),
    [
        ("Thought: x\nAction: f\nAction Input: y", ToolCall("f", "y"), FailurePattern.MALFORMED),
        ("Answer: 4", FinalAnswer("4"), FailurePattern.NO_ACTION),
        ("It is 4.", FinalAnswer("It is 4."), FailurePattern.NO_ACTION),
        ("", None, FailurePattern.EMPTY),
        ("I will search the web.", None, FailurePattern.NARRATED),
    ],
)
def test_actions_in_other_dialects(text: str, found: object, pattern: FailurePattern) -> None:
    """What does not keep to the form is read if that is wanted, and else refused with words."""
    error = refusal(text, ActionOutputParser(reading="contract"))
    assert error.failure.pattern is pattern
    assert "one JSON object and nothing else" in error.observation
    if found is None:
        assert refusal(text, ActionOutputParser()).failure.pattern is pattern
    else:
        assert ActionOutputParser().parse(text) == found


def test_options_of_the_action_parser() -> None:
    """Tools and config count as for the ReAct parser; a reading that is none is refused."""
    parser = ActionOutputParser(tools=[search], config=ReadingConfig(plain_text="error"))
    assert parser.parse("Action: search\nAction Input: x") == ToolCall("search", {"query": "x"})
    assert refusal("Hello", parser).failure.pattern is FailurePattern.NO_ACTION
    wrong: Any = "loose"
    with pytest.raises(ValueError, match="'loose'"):
        ActionOutputParser(reading=wrong)


def test_the_form_is_told() -> None:
    """It follows the query, in the system message if there is one, with the tools' names."""
    parser = ActionOutputParser(tools=[search, add])
    told = parser.format("What now?")
    assert told.startswith("What now?\n\nReply with exactly one JSON object")
    assert told.endswith("Available tools: search, add.")
    assert parser.format("") == told.removeprefix("What now?\n\n")
    system = ChatMessage(role=MessageRole.SYSTEM, content="Be brief.")
    first, last = parser.format_messages([system, ChatMessage(content="Hi")])
    assert ('"ask_user"' in str(first.content), last.content) == (True, "Hi")


def test_in_a_prompt_and_a_model() -> None:
    """A template tells the form; a model that predicts returns the action as text."""
    parser = ActionOutputParser()
    assert PromptTemplate("{q}", output_parser=parser).format(q="Hi").startswith("Hi\n\nReply")
    llm = ScriptedLLM(script=["Answer: 4"], output_parser=parser)
    assert (
        llm.predict(PromptTemplate("{q}"), q="2 + 2?") == "FinalAnswer(content='4', type='final')"
    )
    assert "exactly one JSON object" in str(llm.asked[0][0].content)


def test_in_a_program() -> None:
    """A program returns the action itself."""
    llm = ScriptedLLM(script=["Answer: 4"], repeat=True)
    prompt = ChatPromptTemplate.from_messages([("user", "{q}")])
    kind: Any = FinalAnswer | ToolCall
    program: Any = LLMTextCompletionProgram(ActionOutputParser(), kind, prompt, llm)
    assert program(q="2 + 2?") == FinalAnswer("4")
    assert asyncio.run(program.acall(q="2 + 2?")) == FinalAnswer("4")
    assert "exactly one JSON object" in str(llm.asked[0][0].content)
