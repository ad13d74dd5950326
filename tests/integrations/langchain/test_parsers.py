"""The drop-in parsers: what they return, what they raise, and what can be set."""

from __future__ import annotations

import copy
import inspect
import pickle
from functools import partial
from typing import Annotated, Any, Union

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.exceptions import OutputParserException
from langchain_core.load import dumpd, dumps, load
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import Generation
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from pydantic import BaseModel, ValidationError

from langchain_loopmend import (
    ActionParseException,
    AgentActionOutputParser,
    AgentActionsOutputParser,
    ReadingOutputParser,
    TurnOutputParser,
)
from loopmend import Failure, FailurePattern, Turn
from tests.integrations.langchain.tools import TOOLS, add, echo, search, wait

PARALLEL = '[search(query="Oslo"), add(a=1, b=3)]'


def action(text: str, **options: Any) -> AgentAction:
    """Parse a text that asks for a tool."""
    found = AgentActionOutputParser(**options).parse(text)
    assert isinstance(found, AgentAction)
    return found


def answer(text: str, **options: Any) -> AgentFinish:
    """Parse a text that answers."""
    found = AgentActionOutputParser(**options).parse(text)
    assert isinstance(found, AgentFinish)
    return found


def refusal(text: str, **options: Any) -> ActionParseException:
    """Parse a text that cannot be read."""
    with pytest.raises(ActionParseException) as caught:
        AgentActionOutputParser(**options).parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Thought: x\nAction: search\nAction Input: Oslo", partial(AgentAction, "search", "Oslo")),
        ("Final Answer: Oslo", partial(AgentFinish, {"output": "Oslo"})),
    ],
)
def test_clean_text_gives_what_the_class_makes(text: str, made: Any) -> None:
    """What is made past the class's own `__init__` differs in nothing from what that makes."""
    found, expected = AgentActionOutputParser().parse(text), made(text)
    assert found == expected
    assert pickle.dumps(found) == pickle.dumps(expected)
    assert dumpd(found) == dumpd(expected)
    assert found.model_fields_set == expected.model_fields_set
    assert found.__dict__ == expected.__dict__


@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        ("Thought: x\nAction: search\nAction Input: Oslo", "search", "Oslo"),
        ('Action:\n```json\n{"action": "search", "action_input": "Oslo"}\n```', "search", "Oslo"),
        ('{"action": "search", "action_input": {"query": "Oslo"}}', "search", {"query": "Oslo"}),
        ('{"type": "tool_call", "name": "search", "arguments": {}}', "search", {}),
        ("Thought: Do I need to use a tool? Yes\nAction: search\nAction Input: x", "search", "x"),
        ('```\n{"action": "search", "action_input": "x"}\n```', "search", "x"),
    ],
    ids=["react", "react-json", "json", "contract", "conversational", "structured-chat"],
)
def test_one_parser_for_all_agents(text: str, name: str, given: object) -> None:
    """What each of LangChain's agents asks a model to write is read by the one parser."""
    found = action(text)
    assert (found.tool, found.tool_input) == (name, given)


@pytest.mark.parametrize(
    "text",
    [
        "Thought: done\nFinal Answer: 4",
        '{"action": "Final Answer", "action_input": "4"}',
        "Thought: Do I need to use a tool? No\nAI: 4",
        '{"type": "final", "content": "4"}',
        "4",
    ],
)
def test_answers(text: str) -> None:
    """An answer ends the run in each form."""
    assert answer(text).return_values == {"output": "4"}


def test_made_up_observations_reach_neither_tool_nor_scratchpad() -> None:
    """Input and log end with the action that is executed."""
    found = action("Thought: x\nAction: search\nAction Input: Oslo\nObservation: 5\nThought: y")
    assert found.tool_input == "Oslo"
    assert found.log == "Thought: x\nAction: search\nAction Input: Oslo"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('```json\n{"action": "search", "action_input": "Oslo"}\n```', "\nThat is all."),
        ('~~~\n{"action": "search", "action_input": "Oslo"}\n~~~', ""),
        ('`{"action": "search", "action_input": "Oslo"}`', ""),
        ("```\nAction: search\nAction Input: Oslo\n```", ""),
        ('<json>{"action": "search", "action_input": "Oslo"}</json>', ""),
        ('{"action": "search", "action_input": "Oslo"}', "</s>"),
        ('{"action": "search", "action_input": "Oslo"}', "\n```json\n{}\n```"),
    ],
    ids=["fence", "tildes", "inline", "react", "tag", "stray-tag", "another-fence"],
)
def test_the_log_closes_what_it_opens(text: str, rest: str) -> None:
    """The scratchpad holds the wrapper of the call too, and nothing behind it."""
    for parser in (AgentActionOutputParser(), AgentActionsOutputParser()):
        found: Any = parser.parse(f"{text}{rest}")
        call = found[0] if isinstance(found, list) else found
        assert (call.tool, call.tool_input, call.log) == ("search", "Oslo", text)
    final = text.replace("search", "Final Answer")
    if '"action"' in final:
        assert answer(f"{final}{rest}").log == final


def test_of_several_calls_the_first_is_executed() -> None:
    """The log then shows the executed call only."""
    found = action(PARALLEL, tools=TOOLS)
    assert (found.tool, found.log) == ("search", 'Action: search\nAction Input: {"query": "Oslo"}')


def test_tools_fit_the_arguments() -> None:
    """With tools the arguments get their names and types, and injected ones are not asked for."""

    @tool
    def note(text: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Take a note."""
        return f"{call_id}: {text}"

    assert action("Action: add\nAction Input: {'a': '1'}", tools=[add]).tool_input == {"a": 1}
    assert action("Action: note\nAction Input: milk", tools=[note]).tool_input == {"text": "milk"}


def test_tools_are_given_in_any_shape() -> None:
    """Tools, schemas, models, functions and names are all understood; nameless ones skipped."""

    class Lookup(BaseModel):
        term: str

    def wiki(page: str) -> str:
        """Read a page."""
        return page

    schema = {"type": "function", "function": {"name": "fetch", "parameters": {}}}
    remote = {"type": "web_search_preview"}
    parser = AgentActionOutputParser(tools=[search, echo, Lookup, wiki, schema, remote, "bare"])
    assert [described["name"] for described in parser.tools or ()] == [
        *("search", "echo", "Lookup", "wiki", "fetch", "bare")
    ]
    with pytest.raises(TypeError, match="not a tool"):
        AgentActionOutputParser(tools=[object()])


def test_a_tool_whose_schema_is_plain_data() -> None:
    """A tool that brings its own JSON Schema is fitted like any other."""
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    remote = StructuredTool(name="remote", description="x", func=lambda n: n, args_schema=schema)
    assert action("Action: remote\nAction Input: 7", tools=[remote]).tool_input == {"n": 7}


class Place(BaseModel):
    """What a tool takes."""

    city: str
    zone: int = 1


@tool
def visit(place: Place) -> str:
    """Visit a place."""
    return place.city


def test_a_tool_that_takes_an_object() -> None:
    """What a parameter refers to is known as well, also after the parser was described."""
    parser = AgentActionOutputParser(tools=[visit])
    assert "Place" in (parser.tools or ())[0]["parameters"]["$defs"]
    text = 'Action: visit\nAction Input: {"place": {"city": "Oslo", "zone": "2"}}'
    found = parser.parse(text)
    assert isinstance(found, AgentAction)
    assert visit.invoke(found.tool_input) == "Oslo"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("Action: echo\nAction Input: hello", "hello"),
        ('Action: echo\nAction Input: {"text": "hello"}', {"text": "hello"}),
        ('Action: echo\nAction Input: {"a": "é", "b": 2}', '{"a": "é", "b": 2}'),
        ('Action: echo\nAction Input: {"a": 1}', '{"a": 1}'),
        ('Action: echo\nAction Input: {"a": ["b"]}', '{"a": ["b"]}'),
        ('Action: echo\nAction Input: {"a": null}', '{"a": null}'),
    ],
)
def test_a_tool_of_one_text_gets_text(text: str, given: object) -> None:
    """LangChain's `Tool` takes the only value out of an object, so that has to be text."""
    found = action(text, tools=TOOLS)
    assert found.tool_input == given
    assert str(echo.run(found.tool_input)).startswith("echo: ")


def test_input_as_text() -> None:
    """`tool_input="text"` passes objects as text, as LangChain's ReAct parser does."""
    text = 'Action: f\nAction Input: {"a": 1}'
    assert action(text).tool_input == {"a": 1}
    assert action(text, tool_input="text").tool_input == '{"a": 1}'


def test_arguments_that_are_no_object_become_text() -> None:
    """An agent action takes text or an object, nothing else."""
    assert action('{"action": "f", "action_input": [1, 2]}').tool_input == "[1, 2]"


def test_plain_text_is_the_answer_or_an_error() -> None:
    """As an error it is one in LangChain's own words, and answers in some form still count."""
    assert answer("Hello there.").return_values["output"] == "Hello there."
    error = refusal("Hello there.", plain_text="error")
    assert error.failure.pattern is FailurePattern.NO_ACTION
    assert answer("Final Answer: 4", plain_text="error").return_values["output"] == "4"
    assert answer("<answer>4</answer>", plain_text="error").return_values["output"] == "4"


BOTH = "Thought: x\nAction: search\nAction Input: Oslo\nFinal Answer: Norway"


def test_action_with_answer() -> None:
    """An action beside an answer is an error, unless it is said which one counts."""
    assert refusal(BOTH).failure.pattern is FailurePattern.ACTION_AND_ANSWER
    assert answer(BOTH, action_and_answer="answer").return_values == {"output": "Norway"}
    chosen = action(BOTH, action_and_answer="action")
    assert (chosen.tool_input, chosen.log.splitlines()[-1]) == ("Oslo", "Action Input: Oslo")


def test_questions_to_the_user() -> None:
    """A question ends the run with it, or is an error where nobody would answer."""
    text = '{"type": "ask_user", "question": "Which Oslo?"}'
    assert answer(text).return_values == {"output": "Which Oslo?", "ask_user": "Which Oslo?"}
    assert refusal(text, ask_user="error").failure.message == "The reply asks the user a question."


def test_signals_without_an_answer_end_the_run() -> None:
    """A model that yields has nothing to execute."""
    assert answer("<yield>another expert</yield>").return_values["output"].startswith("<yield>")


def test_strict() -> None:
    """In strict mode a reply that had to be repaired is an error that says what was wrong."""
    text = "Action: search\nAction Input: {'query': 'Oslo',}"
    assert action(text).tool_input == {"query": "Oslo"}
    assert (
        refusal(text, strict=True).failure.message
        == "Strict reading allows no repairs: quotes, trailing comma."
    )
    assert action('Action: f\nAction Input: {"a": 1}', strict=True).tool == "f"


def test_errors_say_all_that_agents_need() -> None:
    """An error is LangChain's, with its prefix, feedback for the model, and the failure."""
    error = refusal("Action: serach\nAction Input: Oslo", tools=TOOLS)
    assert isinstance(error, OutputParserException)
    assert str(error) == "Could not parse LLM output: `Action: serach\nAction Input: Oslo`"
    assert (error.send_to_llm, error.llm_output) == (True, "Action: serach\nAction Input: Oslo")
    assert "Unknown tool. Did you mean `search`?" in str(error.observation)
    assert isinstance(error.failure, Failure)
    assert isinstance(error.turn, Turn)


@pytest.mark.parametrize("again", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_survive_copying(again: Any) -> None:
    """An error that crosses a process boundary says the same."""
    error = refusal("")
    other = again(error)
    assert (str(other), other.failure, other.observation) == (
        *(str(error), error.failure, error.observation),
    )


@pytest.mark.parametrize(
    ("form", "asked"),
    [("react", "a line for the action"), ("json", "one JSON object")],
)
def test_corrections_ask_for_the_form(form: Any, asked: str) -> None:
    """What the model is told says what is wrong, what the tool takes, and how to write it."""
    error = refusal('Action: add\nAction Input: {"x": 1}', tools=[add], form=form)
    told = str(error.observation)
    assert told.startswith("`add` needs `a` and does not accept `x`.")
    assert "add(a: integer, b?: integer)" in told
    assert asked in told


def test_misspelt_options_are_errors() -> None:
    """An option that does not exist, or a value that is not known, is refused."""
    with pytest.raises(ValidationError, match="plain_txt"):
        AgentActionOutputParser(plain_txt="error")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="plain_text"):
        AgentActionOutputParser(plain_text="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["react", "json"])
def test_format_instructions(form: Any) -> None:
    """Agents can fill in the names, or the parser does where it knows the tools."""
    open_ended = AgentActionOutputParser(form=form).get_format_instructions()
    assert "a, b" in open_ended.format(tool_names="a, b")
    known = AgentActionOutputParser(form=form, tools=TOOLS).get_format_instructions()
    assert "search, add, echo" in known
    assert "{" not in known


PARSERS: list[ReadingOutputParser[Any]] = [
    AgentActionOutputParser(tools=TOOLS, plain_text="error", form="json"),
    AgentActionsOutputParser(strict=True),
    TurnOutputParser(tools=["search"]),
]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda p: type(p).__name__)
def test_dump_and_load(parser: ReadingOutputParser[Any]) -> None:
    """A parser can be dumped to JSON and loaded again, with its tools and options."""
    dumped = dumpd(parser)
    assert dumped["type"] == "constructor"
    known: Any = {"valid_namespaces": ["langchain_loopmend"]}
    if "allowed_objects" in inspect.signature(load).parameters:  # not in the oldest core
        known["allowed_objects"] = [type(parser)]
    again = load(dumped, **known)
    assert again == parser
    assert '"not_implemented"' not in dumps(parser)


def test_output_types() -> None:
    """Agents tell by its type whether a parser returns one action or several."""
    one, several = Union[AgentAction, AgentFinish], Union[list[AgentAction], AgentFinish]
    expected: list[Any] = [one, several]
    assert [AgentActionOutputParser().OutputType, AgentActionsOutputParser().OutputType] == expected
    assert TurnOutputParser().OutputType is Turn


def test_parser_types() -> None:
    """Each parser has a name of its own in traces and dumps."""
    assert [parser._type for parser in PARSERS] == [
        *("loopmend-agent-action", "loopmend-agent-actions", "loopmend-turn"),
    ]


def test_parallel_calls() -> None:
    """The list variant returns all calls, or the answer."""
    parser = AgentActionsOutputParser(tools=TOOLS)
    found = parser.parse(PARALLEL)
    assert isinstance(found, list)
    assert [(a.tool, a.tool_input) for a in found] == [
        ("search", {"query": "Oslo"}),
        ("add", {"a": 1, "b": 3}),
    ]
    one = parser.parse("Action: search\nAction Input: Oslo\nObservation: x")
    assert isinstance(one, list)
    assert [a.log for a in one] == ["Action: search\nAction Input: Oslo"]
    assert isinstance(parser.parse("Final Answer: 4"), AgentFinish)


def test_a_reply_with_native_calls() -> None:
    """Calls that came through the provider's interface are read as well."""
    reply = AIMessage("look", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "1"}])
    found = AgentActionOutputParser().invoke(reply)
    assert isinstance(found, AgentAction)
    assert (found.tool, found.log) == ("f", 'look\nAction: f\nAction Input: {"a": 1}')


def test_a_reply_that_was_cut_off() -> None:
    """A call at the very end of a reply that reached its length limit may not be whole."""
    text = "Action: search\nAction Input: population of"
    cut = AIMessage(text, response_metadata={"finish_reason": "length"})
    with pytest.raises(ActionParseException) as caught:
        AgentActionOutputParser().invoke(cut)
    assert caught.value.failure.pattern is FailurePattern.TRUNCATED
    whole = Generation(text=text, generation_info={"finish_reason": "stop"})
    assert isinstance(AgentActionOutputParser().parse_result([whole]), AgentAction)


def test_arguments_cut_off_in_a_stream() -> None:
    """LangChain completes arguments that stop in the middle; what really arrived decides."""
    piece: Any = {
        "name": "f",
        "args": '{"city": "Par',
        "id": "1",
        "index": 0,
        "type": "tool_call_chunk",
    }
    chunk = AIMessageChunk(content="", tool_call_chunks=[piece])
    assert chunk.tool_calls[0]["args"] == {"city": "Par"}  # natively this would be executed
    with pytest.raises(ActionParseException, match="Could not parse"):
        AgentActionOutputParser().invoke(chunk)
    piece["args"] = '{"city": "Paris"}'
    found = AgentActionOutputParser().invoke(AIMessageChunk(content="", tool_call_chunks=[piece]))
    assert isinstance(found, AgentAction)
    assert found.tool_input == {"city": "Paris"}


def test_async_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The async ways read in place: there is nothing to wait for."""

    def no_threads(*args: Any, **kwargs: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("langchain_core.output_parsers.base.run_in_executor", no_threads)
    parser = AgentActionOutputParser()
    assert wait(parser.aparse("4")).log == "4"
    assert wait(parser.ainvoke("4")).log == "4"
    assert [a.log for a in wait(parser.abatch(["4", "5"]))] == ["4", "5"]
    with pytest.raises(ActionParseException):
        wait(parser.ainvoke(""))


def test_one_object_when_streamed() -> None:
    """Agents add up what is streamed, so there must be one object."""
    assert len(list(AgentActionOutputParser().transform(iter(["Final ", "Answer: 4"])))) == 1


def test_the_base_class_alone_reads_nothing() -> None:
    """Who derives a parser of their own has to say what it returns."""

    class Mine(ReadingOutputParser[str]):
        pass

    with pytest.raises(NotImplementedError):
        Mine().parse("x")


@pytest.mark.parametrize(
    ("given", "said"),
    [('{"a": 1}', '{"a": 1}'), ("[1]", "[1]"), ("4", "4"), ("null", ""), ("true", "true")],
)
def test_answers_that_are_no_text(given: str, said: str) -> None:
    """A final answer that is an object, a list or a number ends the run as its text."""
    text = f'{{"action": "Final Answer", "action_input": {given}}}'
    assert answer(text, tools=TOOLS).return_values == {"output": said}
    assert answer(text).return_values == {"output": said}


def test_copies_take_up_what_is_new() -> None:
    """A copy with other tools or options reads with these."""
    parser = AgentActionOutputParser(tools=["search"])
    other = parser.model_copy(update={"tools": [add], "strict": True})
    with pytest.raises(ActionParseException, match="Could not parse"):
        other.parse("Action: search\nAction Input: x")
    assert (other.strict, parser.model_copy()) == (True, parser)


def test_wrong_types() -> None:
    """One name is not several tools, and what is no text is not read."""
    with pytest.raises(TypeError, match="not one str"):
        AgentActionOutputParser(tools="search")
    with pytest.raises(TypeError, match="must be a str"):
        AgentActionOutputParser().parse(123)  # type: ignore[arg-type]
