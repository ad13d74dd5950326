"""What sets these adapters apart: one test for each capability, named after it.

Each shows the capability on real parts in a few lines; the other modules go into the corners.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_classic")

from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_react_agent

from langchain_loopmend import (
    ActionParseException,
    AgentActionOutputParser,
    RetryingOutputParser,
    TraceRecorder,
    TurnOutputParser,
    with_parsing_retry,
)
from langchain_loopmend.middleware import (
    LoopGuardMiddleware,
    MetaSignalMiddleware,
    NormalizationMiddleware,
    PlannerMiddleware,
    ToolCallingMiddleware,
)
from langchain_loopmend.testing import DecodingChatModel, ScriptedChatModel, call
from loopmend import classify_trace
from tests.integrations.langchain.test_mending import broken
from tests.integrations.langchain.tools import REACT, TOOLS, wait

QUESTION: Any = {"messages": [("user", "Where is Oslo?")]}
REACTED = "Thought: look it up\nAction: search\nAction Input: Oslo"
PROMPT = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{q}")])


def read(text: str) -> AgentAction | AgentFinish:
    """Read a reply in a chain."""
    return (ScriptedChatModel(script=[text]) | AgentActionOutputParser(tools=TOOLS)).invoke("go")


def run(*script: Any, middleware: list[Any]) -> dict[str, Any]:
    """Run an agent whose model follows a script."""
    agent = create_agent(ScriptedChatModel(script=script), TOOLS, middleware=middleware)
    found: dict[str, Any] = agent.invoke(QUESTION)
    return found


def test_text_react() -> None:
    """ReAct text is read into an action with its log."""
    found = read(REACTED)
    assert isinstance(found, AgentAction)
    assert (found.tool, found.tool_input, found.log) == ("search", {"query": "Oslo"}, REACTED)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"action": "search", "action_input": {"query": "Oslo"}}\n```',
        '{"action": "search", "action_input": {"query": "Oslo"}}',
        '{"tool_call": {"name": "search", "arguments": {"query": "Oslo"}}}',
        '{"name": "search", "arguments": {"query": "Oslo"}}',
        '{"name": "search", "arguments": "{\\"query\\": \\"Oslo\\"}"}',
    ],
    ids=["fenced", "bare", "wrapped", "name-arguments", "double-encoded"],
)
def test_json_action_in_all_shapes(text: str) -> None:
    """A JSON action is read in each shape that models use."""
    found = read(text)
    assert isinstance(found, AgentAction)
    assert (found.tool, found.tool_input) == ("search", {"query": "Oslo"})


def test_spec_actions() -> None:
    """The contract's own three actions are read."""
    made = read('{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}')
    assert isinstance(made, AgentAction)
    final = read('{"type": "final", "content": "Norway"}')
    asked = read('{"type": "ask_user", "question": "Which?"}')
    assert isinstance(final, AgentFinish)
    assert isinstance(asked, AgentFinish)
    assert (final.return_values["output"], asked.return_values["ask_user"]) == ("Norway", "Which?")


def test_hallucinated_observation_cut() -> None:
    """What the model made up reaches neither the tool nor the log."""
    found = read(f"{REACTED}\nObservation: Sweden\nThought: done\nFinal Answer: Sweden")
    assert isinstance(found, AgentAction)
    assert "Sweden" not in f"{found.tool_input} {found.log}"


def test_narrated_empty_malformed_named_separately() -> None:
    """Each way to fail has its own name and its own correction."""
    patterns, told = [], set()
    for text in ("I will search the web.", "", '{"name": "search", "arg', "Action: search"):
        with pytest.raises(ActionParseException) as caught:
            AgentActionOutputParser().parse(text)
        patterns.append(caught.value.failure.pattern.value)
        told.add(caught.value.observation)
    assert patterns == ["narrated", "empty", "truncated", "missing_input"]
    assert len(told) == 4


def test_retry_sees_original_conversation() -> None:
    """The correction follows the prompt's own messages, roles kept, without the refused reply."""
    llm = ScriptedChatModel(script=["I will search the web.", REACTED])
    (PROMPT | with_parsing_retry(llm)).invoke({"q": "Where is Oslo?"})
    kinds = [message.type for message in llm.asked[1]]
    assert kinds == ["system", "human", "human"]
    assert llm.asked[1][:2] == llm.asked[0]


def test_pipeable_in_lcel() -> None:
    """Parser, retrying parser and retry all stand behind a pipe."""
    llm = ScriptedChatModel(script=[REACTED], repeat=True)
    chains: list[Any] = [
        PROMPT | llm | AgentActionOutputParser(),
        PROMPT | llm | RetryingOutputParser.from_llm(llm),
        PROMPT | with_parsing_retry(llm),
    ]
    for chain in chains:
        assert chain.invoke({"q": "go"}).tool == "search"


def test_true_async() -> None:
    """Awaited, the model's async method is called and no other."""
    llm = ScriptedChatModel(script=["I will search the web.", REACTED])
    parser: Any = RetryingOutputParser.from_llm(llm)
    assert wait(parser.ainvoke("")).tool == "search"
    assert llm.ways == ["async", "async"]


def test_streaming_error_at_end() -> None:
    """A stream that cannot be read ends in an error, not in silence."""
    with pytest.raises(ActionParseException):
        list((ScriptedChatModel(script=["Action: search"]) | TurnOutputParser()).stream("go"))


def test_retries_do_not_burn_iterations() -> None:
    """An executor with two iterations gets by although each of them needs a correction."""
    fixing = ScriptedChatModel(script=[REACTED, "Final Answer: Norway"])
    parser: Any = RetryingOutputParser.from_llm(fixing, AgentActionOutputParser(tools=TOOLS))
    llm = ScriptedChatModel(script=["", "I will search the web."])
    agent = create_react_agent(llm, TOOLS, REACT, output_parser=parser)
    done = AgentExecutor(agent=agent, tools=TOOLS, max_iterations=2).invoke({"input": "go"})
    assert done["output"] == "Norway"


def test_invalid_tool_calls_in_same_run() -> None:
    """A call that could not be decoded is retried, or made whole, and the run goes on."""
    for salvage in (False, True):
        script = [broken("{'query': 'Oslo'}"), *([] if salvage else [call("search", query="Oslo")])]
        result = run(*script, "Norway.", middleware=[NormalizationMiddleware(salvage=salvage)])
        assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]


def test_finish_reason_malformed_and_truncated_stream_args() -> None:
    """A provider's word that a call is malformed or cut off is acted on."""
    cut = call("search", query="Os")
    cut.response_metadata = {"finish_reason": "length"}
    empty = AIMessage("", response_metadata={"finish_reason": "MALFORMED_FUNCTION_CALL"})
    result = run(empty, cut, "Norway.", middleware=[NormalizationMiddleware()])
    assert [m.type for m in result["messages"]] == ["human", "ai"]
    assert result["normalization"][0]["patterns"] == ["malformed", "truncated"]


def test_loop_guard() -> None:
    """The same call with the same result is stopped."""
    script = [call("search", f"call_{n}", query="Oslo") for n in range(9)]
    result = run(*script, middleware=[LoopGuardMiddleware(warn_after=2, stop_after=3)])
    assert result["messages"][-1].content.startswith("Stopped: search was called 3 times")


def test_a_call_written_as_text_is_made() -> None:
    """No model call is spent on a call that is whole and fits its tool."""
    script = ['{"name": "search", "arguments": {"query": "Oslo"}}', "Norway."]
    result = run(*script, middleware=[NormalizationMiddleware()])
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]


def test_any_model_that_decodes_by_a_schema_calls_tools() -> None:
    """A provider that decodes by a JSON schema makes a tool-calling agent of any model."""
    model = DecodingChatModel(
        script=[
            '{"type": "tool_call", "name": "search", "arguments": {"query": "Oslo"}}',
            '{"type": "final", "content": "Norway."}',
        ]
    )
    agent = create_agent(model, TOOLS, middleware=[ToolCallingMiddleware()])
    messages = agent.invoke(QUESTION)["messages"]
    assert [m.content for m in messages[1:]] == ["", "about Oslo", "Norway."]


def test_trace_from_any_kind_of_run() -> None:
    """One recorder gives the contract's trace of executors, agents and chains alike."""
    recorder = TraceRecorder()
    config: Any = {"callbacks": [recorder]}
    executor = AgentExecutor(
        agent=create_react_agent(
            ScriptedChatModel(script=[REACTED, "Final Answer: Norway"]), TOOLS, REACT
        ),
        tools=TOOLS,
    )
    executor.invoke({"input": "go"}, config)
    model = ScriptedChatModel(script=[call("search", query="Oslo"), "Norway"])
    create_agent(model, TOOLS).invoke(QUESTION, config)
    (ScriptedChatModel(script=["Final Answer: Norway"]) | AgentActionOutputParser()).invoke(
        "go", config
    )
    for trace in recorder.traces:
        body = {**trace.to_react_trace(), "reason": "final_answer", "exit_code": 0}
        assert {"iterations", "scratchpad", "answer"} <= set(body)
        assert classify_trace(trace).stop_reason.value == "final_answer"
    assert [trace.iterations for trace in recorder.traces] == [2, 2, 1]


def test_says_which_limit_stopped_the_run() -> None:
    """A cap that looks like an answer is told as a cap."""
    recorder = TraceRecorder(max_iterations=1)
    agent = create_react_agent(ScriptedChatModel(script=[REACTED]), TOOLS, REACT)
    executor = AgentExecutor(agent=agent, tools=TOOLS, max_iterations=1)
    done = executor.invoke({"input": "go"}, {"callbacks": [recorder]})
    assert done["output"] == "Agent stopped due to iteration limit or time limit."
    assert recorder.last is not None
    assert classify_trace(recorder.last).stop_reason.value == "max_iterations"


def test_meta_signals_and_planner() -> None:
    """What the model says of itself and what should happen next stand in the state."""
    doubt = "<uncertain><partial>Norway</partial></uncertain>"
    result = run(doubt, middleware=[PlannerMiddleware(), MetaSignalMiddleware()])
    assert result["meta_signals"][0]["kind"] == "Uncertain"
    assert result["plan"]["candidates"][0]["action"] == "ContinueCentralized"
