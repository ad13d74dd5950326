"""The ReAct parser: what it returns, what it raises, and where LlamaIndex's own differs."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from typing import Any

import pytest
from hypothesis import given
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ActionReasoningStep, ResponseReasoningStep
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.output_parsers import BaseOutputParser
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.tools import FunctionTool
from typing_extensions import override

from llama_index_loopmend.errors import ActionParseException
from llama_index_loopmend.parsers import TolerantReActOutputParser
from llama_index_loopmend.testing import ScriptedLLM
from loopmend import FailurePattern, ReadingConfig
from tests.core.strategies import emitted_text
from tests.integrations.llama_index.agents import ACT, FINISH, TOOLS, add, start

NATIVE = ReActOutputParser()
IMPLICIT = "(Implicit) I can answer without any more tools!"


class Own(TolerantReActOutputParser):
    """A parser of a user's."""


def search(query: str, limit: int = 3) -> str:
    """Search the web."""
    return f"{query} {limit}"


def action(text: str, **options: Any) -> ActionReasoningStep:
    """Parse a text that asks for a tool."""
    found = TolerantReActOutputParser(**options).parse(text)
    assert isinstance(found, ActionReasoningStep)
    return found


def answer(text: str, **options: Any) -> ResponseReasoningStep:
    """Parse a text that answers."""
    found = TolerantReActOutputParser(**options).parse(text)
    assert isinstance(found, ResponseReasoningStep)
    return found


def refusal(text: str, parser: BaseOutputParser | None = None) -> ActionParseException:
    """Parse a text that cannot be read."""
    with pytest.raises(ActionParseException) as caught:
        (parser or TolerantReActOutputParser()).parse(text)
    return caught.value


def run(*script: Any, parser: Any, **options: Any) -> tuple[Any, ScriptedLLM]:
    """Run LlamaIndex's ReAct agent with a parser and return its output and the model."""
    llm = ScriptedLLM(script=script)
    agent = ReActAgent(tools=TOOLS, llm=llm, output_parser=parser, **options)

    async def go() -> Any:
        return await start(agent)

    return asyncio.run(go()), llm


def test_it_is_the_native_parser_to_others() -> None:
    """It stands next to LlamaIndex's class, overrides `parse` alone, and takes the same."""
    assert TolerantReActOutputParser.__mro__[1] is ReActOutputParser
    ours, native = (
        inspect.signature(kind.parse) for kind in (TolerantReActOutputParser, ReActOutputParser)
    )
    assert list(ours.parameters) == list(native.parameters)
    assert TolerantReActOutputParser.format is ReActOutputParser.format
    with pytest.raises(NotImplementedError):
        TolerantReActOutputParser().format("x")


@pytest.mark.parametrize(
    "text",
    [
        'Thought: Let me look:\nAction: search\nAction Input: {"query": "Oslo"}',
        "Let me look:\nAction: search\nAction Input: {'query': 'Oslo'}",
        '**Thought:** Let me look:\n**Action:** `search`\n**Action Input:** {"query": "Oslo"}',
        'Thought：Let me look:\nAction：search\nAction Input：{"query": "Oslo"}',
        'Let me look:\n```json\n{"name": "search", "parameters": {"query": "Oslo"}}\n```',
        'Let me look: <tool_call>{"name": "search", "arguments": {"query": "Oslo"}}</tool_call>',
        "Let me look: <function=search><parameter=query>Oslo</parameter></function>",
        'Thought: Let me look:\nAction: search({"query": "Oslo"})',
        "<think>Let me look:</think>Action: search\nAction Input: {query: Oslo}",
    ],
)
def test_calls_in_any_dialect(text: str) -> None:
    """Whichever way a call is written, its thought, name and arguments are the same."""
    found = action(text)
    assert (found.thought, found.action, found.action_input) == (
        *("Let me look:", "search"),
        {"query": "Oslo"},
    )


def test_answers() -> None:
    """An answer comes clean and with its thought, or with LlamaIndex's words for none."""
    assert answer("Thought: done\nAnswer: 3\nor so").model_dump() == {
        "thought": "done",
        "response": "3\nor so",
        "is_streaming": False,
    }
    for text in ("Final Answer: 3", '{"type": "final", "content": "3"}', "3"):
        assert (answer(text).thought, answer(text).response) == (IMPLICIT, "3")


def test_prose_is_the_answer_as_natively() -> None:
    """Text without any sign of a tool is the answer."""
    text = "Oslo is the capital of Norway."
    assert answer(text) == NATIVE.parse(text)


def test_a_question_ends_the_run_with_it() -> None:
    """A ReAct agent can only answer, so a question to the user is its answer."""
    assert answer('{"type": "ask_user", "question": "Which Oslo?"}').response == "Which Oslo?"


def test_a_signal_alone_is_what_was_said() -> None:
    """A reply that only signals that the model is stuck ends the run with its text."""
    assert answer(" <stuck>no idea</stuck>\n").response == "<stuck>no idea</stuck>"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", FailurePattern.EMPTY),
        ("  \n", FailurePattern.EMPTY),
        ("I will search the web for Oslo.", FailurePattern.NARRATED),
        ("Thought: I should look.", FailurePattern.NO_ACTION),
        ("Thought: look\nAction: search", FailurePattern.MISSING_INPUT),
        ('Thought: look\nAction: search\nAction Input: {"query": "x', FailurePattern.TRUNCATED),
    ],
)
def test_what_is_refused(text: str, pattern: FailurePattern) -> None:
    """What cannot be read for sure is an error with all that is known about it."""
    error = refusal(text)
    assert isinstance(error, ValueError)
    assert error.failure.pattern is pattern
    assert error.turn.failure is error.failure
    assert (error.llm_output, error.retries) == (text, 0)
    assert error.observation == str(error)
    assert "Call the tool with a line for the action and a line for its input" in error.observation
    copied = pickle.loads(pickle.dumps(error))
    assert vars(copied) == vars(error)


def test_tools_put_calls_right() -> None:
    """With tools, names and types are mended, lone values named, and unknown tools refused."""
    parser = TolerantReActOutputParser(tools=[FunctionTool.from_defaults(search), add])
    found = parser.parse("Action: Search\nAction Input: {'query': 'x', 'limit': '5'}")
    assert isinstance(found, ActionReasoningStep)
    assert (found.action, found.action_input) == ("search", {"query": "x", "limit": 5})
    named = parser.parse("Action: search\nAction Input: Oslo")
    assert isinstance(named, ActionReasoningStep)
    assert named.action_input == {"query": "Oslo"}
    error = refusal("Action: serch_\nAction Input: {}", parser)
    assert (error.failure.pattern, error.failure.nearest) == (FailurePattern.UNKNOWN_TOOL, "search")
    assert "Did you mean `search`?" in error.observation


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("Action: f\nAction Input: Oslo", {"input": "Oslo"}),
        ('{"name": "f", "arguments": [1, 2]}', {"input": [1, 2]}),
        ('{"name": "f", "arguments": 5}', {"input": 5}),
        ('{"type": "tool_call", "name": "f", "arguments": null}', {}),
        ("Action: f\nAction Input: None", {}),
        ("Action: f\nAction Input:", {}),
        ("Action: f\nAction Input: {1: 2}", {"1": 2}),
    ],
)
def test_the_input_is_always_an_object(written: str, given: object) -> None:
    """A value that is none is named as LlamaIndex names it where nothing is known."""
    assert action(written).action_input == given
    assert action(written, tools=["f"]).action_input == given


def test_of_several_calls_the_first() -> None:
    """A step has one action, and its thought is what came before all of them."""
    found = action('I need both. [search(query="Oslo"), add(a=1, b=2)]', tools=[search, add])
    assert (found.thought, found.action) == ("I need both.", "search")
    assert "add" not in found.get_content()


def test_a_call_without_a_thought() -> None:
    """The history then says what LlamaIndex's prompt would have the model say."""
    assert action("Action: f\nAction Input: {}").thought.startswith("(Implicit) I need to use")


BOTH = 'Thought: x\nAction: f\nAction Input: {"a": 1}\nAnswer: 7'


def test_an_action_counts_before_an_answer() -> None:
    """As natively, the action is run; a config of your own says otherwise."""
    assert action(BOTH).action_input == {"a": 1}
    assert isinstance(NATIVE.parse(BOTH), ActionReasoningStep)
    assert answer(BOTH, config=ReadingConfig(action_and_answer="answer")).response == "7"
    with pytest.raises(ActionParseException):
        TolerantReActOutputParser(config=ReadingConfig()).parse(BOTH)


def test_salvaged_actions_count_if_wanted() -> None:
    """Who reads with `salvage` gets the action that is only likely."""
    assert action(BOTH, config=ReadingConfig(salvage=True)).action == "f"


def test_while_streaming_it_is_the_native_parser() -> None:
    """About the beginning of a reply nothing is sure, so that it is read as LlamaIndex does."""
    for text in ("Thought: x\nAnswer: It is", "I will search the"):
        step = TolerantReActOutputParser().parse(text, is_streaming=True)
        assert step == NATIVE.parse(text, is_streaming=True)
        assert "Answer (Starts With):" in step.get_content()


def test_copies_read_alike() -> None:
    """Copies know the same tools, and how to read."""
    parser = Own(tools=[search], config=ReadingConfig(plain_text="error"))
    for each in (copy.deepcopy(parser), pickle.loads(pickle.dumps(parser))):
        assert type(each) is Own
        assert refusal("Action: f\nAction Input: {}", each).failure.tool == "f"
        assert refusal("Hello", each).failure.pattern is FailurePattern.NO_ACTION
    with pytest.raises(TypeError, match="not one str"):
        TolerantReActOutputParser(tools="search")


def outcome(parser: BaseOutputParser, text: str) -> object:
    """Return what comes of a text; any other error is not caught."""
    try:
        return parser.parse(text)
    except ActionParseException as error:
        assert error.observation
        return None


@given(emitted_text)
def test_a_step_or_a_value_error(text: str) -> None:
    """Whatever the text is, there is a step or the error that agents expect, nothing else."""
    for react in (TolerantReActOutputParser(), TolerantReActOutputParser(tools=["search"])):
        step = outcome(react, text)
        assert step is None or isinstance(step, (ActionReasoningStep, ResponseReasoningStep))


def test_an_answer_without_a_thought() -> None:
    """LlamaIndex's parser refuses it, so that its agent asks until its limit; ours reads it."""
    with pytest.raises(ValueError, match="Could not extract final answer"):
        NATIVE.parse("Answer: 42")
    assert answer("Answer: 42").response == "42"


def test_nested_arguments_are_plain() -> None:
    """LlamaIndex's makes its JSON library's own type of them; the model sees ours as JSON again."""
    text = 'Thought: x\nAction: f\nAction Input: {"q": {"a": [1, {"b": null}]}}'
    assert "AttributedDict" in NATIVE.parse(text).get_content()
    found = action(text)
    assert found.get_content() == text
    assert type(found.action_input["q"]) is dict


def test_arguments_of_every_type_are_kept() -> None:
    """LlamaIndex's parser drops all but texts from what is not quite JSON."""
    text = (
        "Thought: x\nAction: f\nAction Input: {'query': \"what's new\", 'limit': 5, 'exact': True}"
    )
    native = NATIVE.parse(text)
    assert isinstance(native, ActionReasoningStep)
    assert native.action_input == {"query": "what's new"}
    assert action(text).action_input == {"query": "what's new", "limit": 5, "exact": True}


def test_llama_indexs_own_exception_kills_a_run() -> None:
    """Its agent asks again for a `ValueError` alone, which is all that ours raises."""

    class Native(ReActOutputParser):
        @override
        def parse(self, output: str, is_streaming: bool = False) -> Any:
            raise OutputParserException("no")

    with pytest.raises(OutputParserException):
        run(ACT, parser=Native())
    output, llm = run("I will use the add tool.", FINISH, parser=TolerantReActOutputParser())
    assert (output.response.content, len(llm.asked)) == ("3", 2)


@pytest.mark.parametrize("streaming", [False, True])
def test_in_an_agent(*, streaming: bool) -> None:
    """As a drop-in it runs a call that natively ends the run, and has a bad reply corrected."""
    script = [
        "I will use the add tool.",
        '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
        "Answer: 3",
    ]
    output, llm = run(*script, parser=TolerantReActOutputParser(tools=TOOLS), streaming=streaming)
    assert output.response.content == "3"
    assert [made.tool_output.content for made in output.tool_calls] == ["3"]
    said = [str(message.content) for message in llm.asked[1]]
    assert "You described a tool call but did not make it." in said[-1]
    assert llm.asked[2][-1].content == "Observation: 3"
    native, llm = run(*script, parser=ReActOutputParser(), streaming=streaming)
    assert (native.response.content, len(llm.asked)) == (script[0], 1)
