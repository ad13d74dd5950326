"""langchain-classic's agents with the drop-in parser: today's constructors and the legacy one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.agents import AgentAction
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import FakeListLLM
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import Tool, render_text_description

pytest.importorskip("langchain_classic")

from langchain_classic.agents import (
    AgentExecutor,
    AgentOutputParser,
    AgentType,
    create_json_chat_agent,
    create_react_agent,
    create_structured_chat_agent,
    initialize_agent,
)
from langchain_classic.agents.agent import RunnableMultiActionAgent
from langchain_classic.agents.format_scratchpad import format_log_to_str
from langchain_classic.agents.output_parsers import (
    ReActJsonSingleInputOutputParser,
    ReActSingleInputOutputParser,
)
from langchain_classic.chains import LLMChain
from langchain_classic.memory import ConversationBufferMemory
from langchain_classic.output_parsers import ResponseSchema
from langchain_classic.output_parsers import StructuredOutputParser as LangChainStructuredParser
from langchain_classic.output_parsers.prompts import NAIVE_FIX_PROMPT

from langchain_loopmend import (
    AgentActionOutputParser,
    AgentActionsOutputParser,
    RetryingOutputParser,
    ValueParseException,
    with_parsing_retry,
)
from langchain_loopmend.classic import (
    LoopStop,
    ReActOutputParser,
    StructuredOutputParser,
    handle_parsing_error,
    replace_output_parser,
    with_loop_guard,
)
from langchain_loopmend.testing import ScriptedChatModel
from tests.integrations.langchain.tools import REACT, TOOLS, add, search, wait

INVENTED = """ look it up
Action: search
Action Input: Oslo
Observation: a city in Sweden
Thought: I now know
Final Answer: Sweden"""
DONE = " I now know\nFinal Answer: Norway"
QUESTION = {"input": "Where is Oslo?"}


def executor(*script: str, parser: Any = None, **options: Any) -> tuple[AgentExecutor, Any]:
    """Return an executor of a ReAct agent, and its model."""
    llm = ScriptedChatModel(script=script)
    chosen: Any = AgentActionOutputParser(tools=TOOLS) if parser is None else parser
    agent = create_react_agent(llm, TOOLS, REACT, output_parser=chosen)
    options.setdefault("return_intermediate_steps", True)
    return AgentExecutor(agent=agent, tools=TOOLS, **options), llm


def steps(result: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return what was executed."""
    return [(a.tool, a.tool_input, seen) for a, seen in result["intermediate_steps"]]


async def streamed(agent: AgentExecutor) -> list[Any]:
    """Collect an async stream."""
    return [chunk async for chunk in agent.astream(QUESTION)]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_agent_executor(way: str) -> None:
    """The tool gets its own input, and the made-up observation never reaches the next prompt."""
    agent, llm = executor(INVENTED, DONE)
    run: dict[str, Any] = {
        "invoke": lambda: agent.invoke(QUESTION),
        "ainvoke": lambda: wait(agent.ainvoke(QUESTION)),
        "stream": lambda: list(agent.stream(QUESTION))[-1],
        "astream": lambda: wait(streamed(agent))[-1],
    }
    result = run[way]()
    assert result["output"] == "Norway"
    assert steps(result) == [("search", {"query": "Oslo"}, "about Oslo")]
    assert "Sweden" not in str(llm.asked[1])
    assert "Observation: about Oslo" in str(llm.asked[1][0].content)


def test_what_happens_natively() -> None:
    """LangChain's own parser refuses that reply; if it stops at the answer it is worse."""
    agent, _ = executor(INVENTED, parser=ReActSingleInputOutputParser())
    with pytest.raises(ValueError, match="both a final answer and a parse-able action"):
        agent.invoke(QUESTION)
    agent, _ = executor(
        INVENTED.partition("\nFinal")[0], DONE, parser=ReActSingleInputOutputParser()
    )
    [(_, given, _)] = steps(agent.invoke(QUESTION))
    assert "Observation: a city in Sweden" in given  # the tool was given what the model made up


@pytest.mark.parametrize("asynchronous", [False, True])
def test_feedback_reaches_the_model(*, asynchronous: bool) -> None:
    """With `handle_parsing_errors=True` the correction is the observation, the reply the log."""
    agent, llm = executor(" I will search the web.", INVENTED, DONE, handle_parsing_errors=True)
    result = wait(agent.ainvoke(QUESTION)) if asynchronous else agent.invoke(QUESTION)
    assert [tool for tool, _, _ in steps(result)] == ["_Exception", "search"]
    shown = str(llm.asked[1][0].content)
    assert "I will search the web.\nObservation: You described a tool call but did not" in shown
    assert "troubleshooting" not in shown


def test_errors_that_are_not_handled() -> None:
    """Without it the executor raises as it does for its own parsers."""
    agent, _ = executor("")
    with pytest.raises(ValueError, match="An output parsing error occurred") as caught:
        agent.invoke(QUESTION)
    assert isinstance(caught.value.__cause__, OutputParserException)


@pytest.mark.parametrize("way", ["parser", "runnable"])
def test_retries_burn_no_iterations(way: str) -> None:
    """Two bad replies before each step, and still the run needs two iterations only."""
    bad = ["", " I will search the web."]
    script = [*bad, INVENTED, *bad, DONE]
    if way == "parser":
        llm = ScriptedChatModel(script=[*bad[1:], INVENTED, *bad[1:], DONE])
        parser = RetryingOutputParser.from_llm(llm, AgentActionOutputParser(tools=TOOLS))
        agent, _ = executor("", "", parser=parser, max_iterations=2)
    else:
        llm = ScriptedChatModel(script=script)
        runnable = (
            RunnablePassthrough.assign(
                agent_scratchpad=lambda x: format_log_to_str(x["intermediate_steps"])
            )
            | REACT.partial(tools=render_text_description(TOOLS), tool_names="search, add, echo")
            | with_parsing_retry(llm, tools=TOOLS)
        )
        agent = AgentExecutor(
            agent=runnable, tools=TOOLS, max_iterations=2, return_intermediate_steps=True
        )
    result = agent.invoke(QUESTION)
    assert (result["output"], len(result["intermediate_steps"])) == ("Norway", 1)


def test_natively_parse_failures_burn_iterations() -> None:
    """That is what the executor does with the same replies: it runs out of iterations."""
    agent, _ = executor(
        *("", " I will search the web.", INVENTED, DONE),
        handle_parsing_errors=True,
        max_iterations=2,
    )
    assert agent.invoke(QUESTION)["output"] == "Agent stopped due to iteration limit or time limit."


def test_parallel_calls() -> None:
    """The executor sees by the type that several actions may come at once."""
    script = ['[search(query="Oslo"), add(a=1, b=3)]', "Final Answer: done"]
    agent, _ = executor(*script, parser=AgentActionsOutputParser(tools=TOOLS))
    assert steps(agent.invoke(QUESTION)) == [
        ("search", {"query": "Oslo"}, "about Oslo"),
        ("add", {"a": 1, "b": 3}, 4),
    ]


def test_json_chat_agent() -> None:
    """The JSON agent's constructor takes no parser, but its parser can be replaced."""
    prompt = ChatPromptTemplate.from_messages(
        [
            ("human", "{tools} {tool_names}\n{input}"),
            MessagesPlaceholder("agent_scratchpad"),
        ]
    )
    llm = ScriptedChatModel(
        script=[
            "Sure:\n```json\n{'action': 'search', 'action_input': 'Oslo',}\n```",
            '{"action": "Final Answer", "action_input": "Norway"}',
        ]
    )
    parser = AgentActionOutputParser(tools=TOOLS, form="json")
    agent = replace_output_parser(create_json_chat_agent(llm, TOOLS, prompt), parser)
    result = AgentExecutor(agent=agent, tools=TOOLS).invoke(QUESTION)
    assert result["output"] == "Norway"


def test_structured_chat_agent() -> None:
    """So can that of the structured chat agent; the correction then says what is wrong."""
    prompt = ChatPromptTemplate.from_template("{tools} {tool_names}\n{input}\n{agent_scratchpad}")
    script = [
        'Thought: add\nAction:\n```\n{"action": "add", "action_input": {"a": 1, "b"',
        'Thought: add\nAction:\n```\n{"action": "add", "action_input": {"a": 1, "b": 3}}\n```',
        'Action:\n```\n{"action": "Final Answer", "action_input": "4"}\n```',
    ]
    parser = AgentActionOutputParser(tools=TOOLS, form="json")
    seen = {}
    for kind in ("native", "ours"):
        llm = ScriptedChatModel(script=script)
        agent = create_structured_chat_agent(llm, TOOLS, prompt)
        if kind == "ours":
            agent = replace_output_parser(agent, parser)
        run = AgentExecutor(agent=agent, tools=TOOLS, handle_parsing_errors=True)
        assert run.invoke(QUESTION)["output"] == "4"
        seen[kind] = str(llm.asked[1])
    assert "Observation: 3" in seen["native"]  # the call that was cut off has been executed
    assert "Your reply was cut off." in seen["ours"]


def test_only_parsers_are_replaced() -> None:
    """What does not end with a parser is not an agent of this kind."""
    one: RunnablePassthrough[Any] = RunnablePassthrough()
    for agent in (one, one | one):
        with pytest.raises(TypeError, match="does not end with an output parser"):
            replace_output_parser(agent)


def test_questions_and_memory() -> None:
    """A question to the user ends the run and is kept by the agent's memory."""
    memory = ConversationBufferMemory(output_key="output")
    question = '{"type": "ask_user", "question": "Which Oslo?"}'
    agent, _ = executor(question, memory=memory, return_intermediate_steps=False)
    assert agent.invoke(QUESTION)["ask_user"] == "Which Oslo?"
    assert "AI: Which Oslo?" in memory.buffer


LEGACY = {
    AgentType.ZERO_SHOT_REACT_DESCRIPTION: [INVENTED, DONE],
    AgentType.STRUCTURED_CHAT_ZERO_SHOT_REACT_DESCRIPTION: [
        'Action:\n```\n{"action": "find", "action_input": {"query": "Oslo"}}\n```',
        'Action:\n```\n{"action": "Final Answer", "action_input": "Norway"}\n```',
    ],
    AgentType.CONVERSATIONAL_REACT_DESCRIPTION: [
        "Thought: Do I need to use a tool? Yes\nAction: find\nAction Input: Oslo\nObservation: no",
        "Thought: Do I need to use a tool? No\nAI: Norway",
    ],
    AgentType.CHAT_ZERO_SHOT_REACT_DESCRIPTION: [
        'Action:\n```\n{"action": "find", "action_input": "Oslo"}\n```\nObservation: no',
        "Final Answer: Norway",
    ],
}


@pytest.mark.parametrize("kind", list(LEGACY), ids=lambda kind: kind.value)
def test_initialize_agent(kind: AgentType) -> None:
    """The legacy constructor takes the subclass, for each kind of text agent."""
    seen: list[str] = []

    def find(query: str) -> str:
        seen.append(query)
        return "Norway"

    find_tool = Tool(name="find", func=find, description="Find a place.")
    script = [line.replace("search", "find") for line in LEGACY[kind]]
    agent = initialize_agent(
        [find_tool],
        FakeListLLM(responses=script),
        agent=kind,
        agent_kwargs={"output_parser": ReActOutputParser()},
    )
    given = {**QUESTION, "chat_history": ""}
    assert agent.invoke(given)["output"] == "Norway"
    assert seen == ["Oslo"]


def test_initialize_agent_refuses_the_plain_class() -> None:
    """That is why there is a subclass: pydantic wants one of LangChain's own base class."""
    with pytest.raises(ValueError, match="instance of AgentOutputParser"):
        initialize_agent(
            [Tool(name="find", func=lambda q: q, description="Find.")],
            FakeListLLM(responses=[]),
            agent=AgentType.ZERO_SHOT_REACT_DESCRIPTION,
            agent_kwargs={"output_parser": AgentActionOutputParser()},
        )
    assert isinstance(ReActOutputParser(), AgentOutputParser)


def test_handle_parsing_error_for_foreign_parsers() -> None:
    """LangChain's own parsers get precise feedback as well, without changing the parser."""
    agent, llm = executor(
        *(" I will search the web.", INVENTED.partition("\nObs")[0], DONE),
        parser=ReActSingleInputOutputParser(),
        handle_parsing_errors=handle_parsing_error,
    )
    assert agent.invoke(QUESTION)["output"] == "Norway"
    assert "Describing a call does not run it." in str(llm.asked[1][0].content)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OutputParserException("x", "Say yes.", "no", send_to_llm=True), "Say yes."),
        (OutputParserException("Could not parse LLM output: ``"), "Your reply was empty."),
        (OutputParserException("x", llm_output="Action: f"), "The tool call has no input."),
        (
            OutputParserException("x", llm_output="Action: f\nAction Input: 1"),
            "Your tool call could not be parsed.",
        ),
        (OutputParserException("something else"), "could not be used: something else"),
    ],
    ids=["own-words", "prefix", "output", "readable", "unknown"],
)
def test_handle_parsing_error(error: OutputParserException, words: str) -> None:
    """Whatever the error tells is used."""
    found = handle_parsing_error(error)
    assert words in found
    assert "troubleshooting" not in found


def test_handle_parsing_error_says_more_than_langchain() -> None:
    """LangChain's own feedback names the keyword that is missing; ours says what happened."""
    with pytest.raises(OutputParserException) as caught:
        ReActSingleInputOutputParser().parse("I will search the web.")
    assert "You described a tool call" in handle_parsing_error(caught.value)
    with pytest.raises(OutputParserException) as caught:
        ReActJsonSingleInputOutputParser().parse("Action: f")
    assert "The tool call has no input." in handle_parsing_error(caught.value)


def test_tools_of_the_agent_and_the_parser_agree() -> None:
    """A number that came as text reaches a structured tool as a number."""
    agent, _ = executor('Action: add\nAction Input: {"a": "40"}', DONE)
    assert steps(agent.invoke(QUESTION))[0][1:] == ({"a": 40}, 42)
    assert add.name in {described.name for described in TOOLS} - {search.name}


LOOK = " look it up\nAction: search\nAction Input: Oslo"


def guarded(*script: str, **options: Any) -> tuple[AgentExecutor, Any]:
    """Return an executor whose agent is guarded against loops, and its model."""
    llm = ScriptedChatModel(script=script)
    agent = create_react_agent(llm, TOOLS, REACT, output_parser=ReActOutputParser())
    return AgentExecutor(agent=with_loop_guard(agent, **options), tools=TOOLS), llm


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream"])
def test_a_loop_is_stopped_with_its_result(way: str) -> None:
    """Natively the executor goes on to its cap and returns no more than that it stopped."""
    native, _ = executor(*[LOOK] * 15)
    assert (
        native.invoke(QUESTION)["output"] == "Agent stopped due to iteration limit or time limit."
    )
    run, llm = guarded(*[LOOK] * 3, warn_after=2, stop_after=3)
    ways: dict[str, Any] = {
        "invoke": lambda: run.invoke(QUESTION),
        "ainvoke": lambda: wait(run.ainvoke(QUESTION)),
        "stream": lambda: list(run.stream(QUESTION))[-1],
    }
    output = ways[way]()["output"]
    assert output.startswith("Stopped: search was called 3 times")
    assert output.endswith(f"the same result: {search.invoke('Oslo')}")
    assert len(llm.asked) == 3
    assert "You called search 2 times" in str(llm.asked[-1][-1].content)


def test_a_guarded_agent_that_makes_progress() -> None:
    """Who is nudged and then answers is not stopped; polling can be left out."""
    run, llm = guarded(LOOK, LOOK, LOOK, DONE)
    assert run.invoke(QUESTION)["output"] == "Norway"
    assert "You called search 3 times" in str(llm.asked[-1][-1].content)
    run, llm = guarded(LOOK, LOOK, LOOK, DONE, warn_after=2, stop_after=2, exclude_tools=["search"])
    assert run.invoke(QUESTION)["output"] == "Norway"
    assert "You called" not in str(llm.asked[-1][-1].content)


def test_a_stop_says_that_it_is_one() -> None:
    """What ended the run in the model's place is told from an answer by its type."""
    steps = [(AgentAction("search", "Oslo", ""), "a city")] * 3
    agent: Any = with_loop_guard(RunnablePassthrough(), warn_after=2, stop_after=3)
    stop = agent.plan(steps)
    assert isinstance(stop, LoopStop)
    assert stop.reason == stop.return_values["loopmend_ended"] == "blocked"
    assert dumpd(stop)["type"] == "not_implemented"
    assert agent.plan([]) == {"intermediate_steps": []}


def test_a_guarded_agent_with_several_actions() -> None:
    """The executor still knows that there may be several actions at once."""
    llm = ScriptedChatModel(script=[LOOK, DONE])
    parser: Any = AgentActionsOutputParser()
    agent = create_react_agent(llm, TOOLS, REACT, output_parser=parser)
    run = AgentExecutor(agent=with_loop_guard(agent), tools=TOOLS)
    assert isinstance(run.agent, RunnableMultiActionAgent)
    assert run.invoke(QUESTION)["output"] == "Norway"


def test_structured_output_parser() -> None:
    """langchain-classic's parser by keys: the same instructions, and it reads what models write."""
    schemas = [ResponseSchema(name="city", description="a city", type="string")]
    parser = StructuredOutputParser.from_response_schemas(schemas)
    theirs = LangChainStructuredParser.from_response_schemas(schemas)
    assert parser.get_format_instructions() == theirs.get_format_instructions()
    assert parser.get_format_instructions(only_json=True) == theirs.get_format_instructions(
        only_json=True
    )
    for text in ("Sure! {'city': 'Oslo',}", "<think>?</think>{city: 'Oslo'}"):
        assert parser.parse(text) == parser.invoke(AIMessage(text)) == {"city": "Oslo"}
        assert wait(parser.ainvoke(text)) == {"city": "Oslo"}
    for text in ('{"town": "Oslo"}', '{"city": "Os', "Oslo"):
        with pytest.raises(ValueParseException):
            parser.parse(text)
    retrying = RetryingOutputParser.from_llm(ScriptedChatModel(script=[]), theirs)
    assert retrying.parse("Sure! {'city': 'Oslo',}") == {"city": "Oslo"}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_legacy_retry_chain(*, asynchronous: bool) -> None:
    """An `LLMChain` is run as LangChain's retry parsers run it, with what its prompt names."""
    llm = ScriptedChatModel(script=["Final Answer: 4"])
    chain = LLMChain(llm=llm, prompt=NAIVE_FIX_PROMPT)
    parser: Any = RetryingOutputParser(parser=AgentActionOutputParser(), retry_chain=chain)
    found = wait(parser.aparse("")) if asynchronous else parser.parse("")
    assert found.return_values == {"output": "4"}
    assert "Your reply was empty." in str(llm.asked[0][0].content)
    assert llm.ways == ["async" if asynchronous else "sync"]


@pytest.mark.parametrize("replies", [["", "", ""], ["I will search."] * 3])
def test_a_reply_that_could_not_be_read_is_no_call(replies: list[str]) -> None:
    """The executor writes our correction down as a result, but nothing was found by it."""
    run, llm = guarded(*replies, warn_after=2)
    run.handle_parsing_errors = True
    run.max_iterations = 3
    output = run.invoke(QUESTION)["output"]
    assert output.startswith("Stopped:")
    assert "_Exception" not in output
    assert "Your reply" not in output
    assert "described a tool call" not in output
    assert all("_Exception" not in str(asked[-1].content) for asked in llm.asked)
