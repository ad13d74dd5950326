"""Recording runs of real agents, graphs and chains as traces."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.callbacks.manager import CallbackManager
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.outputs import Generation, LLMResult
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_core.tracers import context

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_classic")

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, wrap_tool_call
from langchain.agents.structured_output import ToolStrategy
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_classic.agents import create_react_agent as create_classic_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent as create_graph_agent
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langchain_loopmend import recorder as module
from langchain_loopmend.recorder import TraceRecorder, record_traces
from langchain_loopmend.run_values import answer_of, model_reply, question_of, text_of_output
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import Reply
from loopmend.traces import open_runs
from loopmend.traces.open_runs import ModelReply
from loopmend.traces.stop import stop_of
from loopmend.traces.trace import Limits, Tokens, Trace, TraceCall, TraceError
from tests.integrations.langchain.tools import REACT, TOOLS, search, wait

GOOD, DONE = call("search", query="Oslo"), "It is in Norway."
QUESTION: Any = {"messages": [("user", "Where is Oslo?")]}
ACTION, FINAL = " look it up\nAction: search\nAction Input: Oslo", " done\nFinal Answer: Norway"
ASKED = {"input": "Where is Oslo?"}
PROMPT = ChatPromptTemplate.from_template("{question}")
WAYS = ["sync", "async", "stream", "astream"]
# Before Python 3.11 LangChain does not tell callbacks of models that a graph asks with async.
lost = pytest.mark.skipif(sys.version_info < (3, 11), reason="LangChain loses the context here")
GRAPH_WAYS = [pytest.param(way, marks=lost) if "a" in way[:1] else way for way in WAYS]
told = pytest.mark.skipif(
    importlib.util.find_spec("langgraph.callbacks") is None, reason="this LangGraph does not tell"
)


def traces(run: Any, given: Any, way: str = "sync", **options: Any) -> tuple[Trace, ...]:
    """Run something in one of the four ways and return the traces of it, whatever it raises."""
    recorder = TraceRecorder(**options.pop("recorder", {}))
    config: Any = {"callbacks": [recorder], **options}

    async def consume() -> None:
        async for _ in run.astream(given, config):
            pass

    with suppress(Exception):  # the trace tells it
        if way == "sync":
            run.invoke(given, config)
        elif way == "async":
            wait(run.ainvoke(given, config))
        elif way == "stream":
            list(run.stream(given, config))
        else:
            wait(consume())
    assert not recorder._complained
    assert len(recorder._runs) == 0
    return recorder.traces


def trace(run: Any, given: Any, way: str = "sync", **options: Any) -> Trace:
    """Return the only trace of a run."""
    [found] = traces(run, given, way, **options)
    assert Trace.from_json(found.to_json()).steps == found.steps
    return found


def why(found: Trace) -> str:
    """Return why a run stopped."""
    return stop_of(found).reason.value


def agent(*script: Any, **options: Any) -> Any:
    """Return an agent whose model follows a script."""
    return create_agent(ScriptedChatModel(script=script), options.pop("tools", TOOLS), **options)


def executor(*script: Any, **options: Any) -> AgentExecutor:
    """Return an executor of a ReAct agent."""
    chosen = options.pop("tools", TOOLS)
    made = create_classic_agent(ScriptedChatModel(script=script), chosen, REACT)
    return AgentExecutor(agent=made, tools=chosen, **options)


# create_agent


@pytest.mark.parametrize("way", GRAPH_WAYS)
def test_create_agent(way: str) -> None:
    """Each call of the model is a step with its calls, results, turn and time."""
    found = trace(agent(GOOD, DONE), QUESTION, way)
    assert (found.framework, found.question, found.answer) == (
        "create_agent",
        "Where is Oslo?",
        DONE,
    )
    first, second = found.steps
    assert first.calls == (TraceCall("search", {"query": "Oslo"}, "call_1"),)
    [seen] = first.observations
    assert (seen.text, seen.tool, seen.call_id, seen.failed) == (
        "about Oslo",
        "search",
        "call_1",
        False,
    )
    assert first.seconds is not None
    assert seen.seconds is not None
    assert first.turn is not None
    assert first.turn.actions[0].type == "tool_call"
    assert (second.text, second.answer, second.calls) == (DONE, DONE, ())
    assert (found.reason, found.error, why(found)) == (None, None, "final_answer")
    assert {step.agent for step in found.steps} == {None}


def test_parallel_calls_and_tokens() -> None:
    """Results belong to their calls, and the provider's count of tokens is kept."""
    usage: Any = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    made = [{"name": "search", "args": {"query": q}, "id": q} for q in ("Oslo", "Rome")]
    both = AIMessage("Two at once.", tool_calls=made, usage_metadata=usage)
    [first, _] = trace(agent(both, DONE), QUESTION).steps
    assert {seen.call_id: seen.text for seen in first.observations} == {
        "Oslo": "about Oslo",
        "Rome": "about Rome",
    }
    assert first.tokens == Tokens(10, 5)
    assert first.thought == "Two at once."


def test_why_the_provider_stopped() -> None:
    """Each step keeps the provider's word for why its reply ended."""
    cut = AIMessage("It is in", response_metadata={"finish_reason": "length"})
    assert [step.finish for step in trace(agent(GOOD, cut), QUESTION).steps] == [None, "length"]


def test_unknown_tool() -> None:
    """What a node answers without running a tool is a result that failed."""
    [first, _] = trace(agent(call("nope", x=1), DONE), QUESTION).steps
    [seen] = first.observations
    assert (seen.failed, seen.tool, seen.call_id) == (True, "nope", "call_1")


def test_middleware_has_the_last_word() -> None:
    """Of a call that was retried, or whose result was changed, the model's view counts."""

    @wrap_tool_call
    def twice(request: Any, handler: Any) -> Any:
        handler(request)
        return handler(request).model_copy(update={"content": "changed"})

    [first, _] = trace(agent(GOOD, DONE, middleware=[twice]), QUESTION).steps
    [seen] = first.observations
    assert (seen.text, seen.tool, seen.seconds is not None) == ("changed", "search", True)


def test_caps_that_look_like_answers() -> None:
    """The words with which hosts say that a cap was reached are the answer, and no step's."""
    limit = ModelCallLimitMiddleware(run_limit=1)
    found = trace(agent(GOOD, DONE, middleware=[limit]), QUESTION)
    assert (len(found.steps), found.steps[0].answer, why(found)) == (1, None, "max_iterations")
    llm = ScriptedChatModel(script=[GOOD], repeat=True)
    found = trace(create_graph_agent(llm, TOOLS), QUESTION, recursion_limit=4)
    assert (found.framework, why(found)) == ("langgraph", "max_iterations")
    assert str(found.answer).startswith("Sorry, need more steps")
    assert found.steps[-1].calls[0].name == "search"
    looping = create_agent(ScriptedChatModel(script=[GOOD], repeat=True), TOOLS)
    found = trace(looping, QUESTION, recursion_limit=3)
    assert found.error is not None
    assert (found.error.kind, found.error.origin) == ("GraphRecursionError", "host")
    assert (found.answer, why(found)) == (None, "max_iterations")


def test_structured_answers() -> None:
    """An answer through a tool for structured output is told as JSON."""

    class Place(BaseModel):
        country: str

    run = agent(call("Place", country="Norway"), response_format=ToolStrategy(Place))
    assert trace(run, QUESTION).answer == '{"country":"Norway"}'


@pytest.mark.parametrize("way", GRAPH_WAYS)
def test_errors_of_models_and_tools(way: str) -> None:
    """It is told where an error came from, and the step that it hit."""
    found = trace(agent(GOOD, ConnectionError("down")), QUESTION, way)
    assert found.error == TraceError("ConnectionError", "down", "model")
    assert found.steps[1].error == found.error
    assert (found.steps[1].text, found.answer, why(found)) == ("", None, "provider_error")

    @tool
    def broken(query: str) -> str:
        """Break."""
        raise LookupError

    found = trace(agent(call("broken", query="x"), DONE, tools=[broken]), QUESTION, way)
    assert found.error == TraceError("LookupError", "", "tool")
    [seen] = found.steps[0].observations
    assert (seen.text, seen.failed, why(found)) == ("LookupError()", True, "tool_error")


def test_return_direct() -> None:
    """A tool's output that is the answer is no words of the model."""

    @tool(return_direct=True)
    def final(query: str) -> str:
        """Answer at once."""
        return f"straight {query}"

    found = trace(agent(call("final", query="x"), tools=[final]), QUESTION)
    assert (found.answer, found.steps[0].answer) == ("straight x", None)


# Interrupts, cancelling, nesting


@tool
def ask_human(question: str) -> str:
    """Ask a human."""
    return str(interrupt(question))


@pytest.mark.parametrize("way", WAYS)
def test_interrupts(way: str) -> None:
    """A run that waits for a human is interrupted and not failed; the resumed one goes on."""
    if way in ("async", "astream") and sys.version_info < (3, 11):
        pytest.skip("LangGraph cannot interrupt async tools before Python 3.11")
    script = [call("ask_human", question="ok?"), DONE]
    run = agent(*script, tools=[ask_human], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    found = trace(run, QUESTION, way, **thread)
    assert (found.reason, found.answer, found.error) == ("interrupted", None, None)
    assert (found.steps[0].observations, why(found)) == ((), "interrupted")
    found = trace(run, Command(resume="yes"), way, **thread)
    assert (found.question, found.answer) == ("Where is Oslo?", DONE)
    resumed, _ = found.steps
    assert resumed.calls == (TraceCall("ask_human", {"question": "ok?"}, "call_1"),)
    assert (resumed.observations[0].text, resumed.turn) == ("yes", None)


@told
def test_interrupt_before_a_node() -> None:
    """LangGraph tells of a pause that raises nothing, even before any node has run."""
    for before, steps in ((["tools"], 1), (["model"], 0)):
        run = agent(GOOD, DONE, checkpointer=InMemorySaver(), interrupt_before=before)
        found = trace(run, QUESTION, configurable={"thread_id": "1"})
        assert (found.reason, len(found.steps)) == ("interrupted", steps)


def test_closed_streams_and_cancelled_tasks() -> None:
    """Who stops listening or cancels ends the run, and that is no error of it."""
    recorder = TraceRecorder()
    stream = agent(GOOD, DONE).stream(QUESTION, {"callbacks": [recorder]})
    next(stream)
    stream.close()
    assert recorder.last is not None
    assert (recorder.last.reason, recorder.last.error) == ("cancelled", None)

    async def slow(query: str) -> str:
        """Take long."""
        started.set()
        await asyncio.sleep(9)
        return query

    async def cancelled() -> None:
        task = asyncio.create_task(run.ainvoke(QUESTION, {"callbacks": [recorder]}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = asyncio.Event()
    run = agent(call("slow", query="x"), DONE, tools=[slow])
    wait(cancelled())
    assert (recorder.last.reason, recorder.last.error) == ("cancelled", None)
    assert recorder.last.steps[0].observations == ()
    assert len(recorder._runs) == 0


@pytest.mark.parametrize(("name", "label"), [("helper", "helper"), (None, "delegate")])
def test_nested_agents(name: str | None, label: str) -> None:
    """What a sub-agent does belongs to the outer trace, under its name or its tool's."""
    inner = agent(GOOD, "inner answer", name=name)

    @tool
    def delegate(question: str) -> str:
        """Let somebody else do it."""
        return str(inner.invoke(QUESTION)["messages"][-1].content)

    found = trace(agent(call("delegate", question="x"), DONE, tools=[delegate]), QUESTION)
    assert [step.agent for step in found.steps] == [None, label, label, None]
    assert [[seen.text for seen in step.observations] for step in found.steps] == [
        ["inner answer"],
        ["about Oslo"],
        [],
        [],
    ]
    assert (found.answer, found.framework) == (DONE, "create_agent")
    assert [step.answer for step in found.steps] == [None, None, None, DONE]


def test_an_interrupt_within_a_sub_agent() -> None:
    """The outer run waits as well."""
    inner = agent(call("ask_human", question="ok?"), tools=[ask_human])

    @tool
    def delegate(question: str) -> str:
        """Let somebody else do it."""
        return str(inner.invoke(QUESTION))

    script = [call("delegate", question="x"), DONE]
    run = agent(*script, tools=[delegate], checkpointer=InMemorySaver())
    found = trace(run, QUESTION, configurable={"thread_id": "1"})
    assert (found.reason, [step.agent for step in found.steps]) == (
        "interrupted",
        [None, "delegate"],
    )


def test_an_error_within_a_sub_agent() -> None:
    """The error comes from where it was raised first, not from what it went through."""
    lines: list[Any] = [OSError("down"), "rubbish"]

    @tool
    def delegate(question: str) -> str:
        """Let somebody else do it."""
        return str(executor(lines.pop(0)).invoke(ASKED))

    for origin in ("model", "parser"):
        found = trace(agent(call("delegate", question="x"), tools=[delegate]), QUESTION)
        assert found.error is not None
        assert found.error.origin == origin
        assert found.steps[0].observations[0].failed


def test_an_executor_within_an_agent() -> None:
    """What an inner executor answers does not end the outer run."""

    @tool
    def delegate(question: str) -> str:
        """Let somebody else do it."""
        return str(executor(ACTION, FINAL).invoke(ASKED)["output"])

    found = trace(agent(call("delegate", question="x"), DONE, tools=[delegate]), QUESTION)
    assert [step.agent for step in found.steps] == [None, "delegate", "delegate", None]
    assert [step.answer for step in found.steps] == [None, None, None, DONE]
    assert found.steps[1].calls == (TraceCall("search", "Oslo"),)


def test_an_answer_that_is_not_the_models() -> None:
    """A graph may answer in other words than its model; these are no step's."""
    llm = ScriptedChatModel(script=["a draft"])

    def node(state: Any) -> Any:
        return {"messages": [AIMessage(str(llm.invoke("?").content).upper())]}

    graph = StateGraph(MessagesState)
    graph.add_node("write", node)
    graph.add_edge(START, "write")
    found = trace(graph.compile(), QUESTION)
    assert (found.answer, found.steps[0].answer, found.steps[0].text) == (
        "A DRAFT",
        None,
        "a draft",
    )


def test_graphs_of_agents() -> None:
    """Agents that are nodes of a graph are told apart by the nodes' names."""

    def conclude(state: Any) -> Any:
        return {"messages": [AIMessage("all done")]}

    graph = StateGraph(MessagesState)
    graph.add_node("scout", agent(GOOD, "found"))
    graph.add_node("judge", create_graph_agent(ScriptedChatModel(script=["judged"]), []))
    graph.add_node("end", conclude)
    for pair in ((START, "scout"), ("scout", "judge"), ("judge", "end"), ("end", END)):
        graph.add_edge(*pair)
    found = trace(graph.compile(), QUESTION)
    assert [step.agent for step in found.steps] == ["scout", "scout", "judge"]
    assert (found.framework, found.answer) == ("langgraph", "all done")
    assert len(found.steps[0].observations) == 1


# AgentExecutor


@pytest.mark.parametrize("way", WAYS)
def test_agent_executor(way: str) -> None:
    """A ReAct agent's actions and their results are read from what the executor tells."""
    found = trace(executor(ACTION, FINAL), ASKED, way)
    assert (found.framework, found.question, found.answer) == (
        "agent_executor",
        "Where is Oslo?",
        "Norway",
    )
    first, second = found.steps
    assert first.calls == (TraceCall("search", "Oslo"),)
    assert [(seen.text, seen.tool) for seen in first.observations] == [("about Oslo", "search")]
    assert first.turn is not None
    assert first.turn.dialect == "react"
    assert (second.answer, why(found)) == ("Norway", "final_answer")


@pytest.mark.parametrize("way", WAYS)
def test_refused_replies(way: str) -> None:
    """A reply that the parser refuses is a failed step, whether the run goes on or not."""
    found = trace(executor("rubbish", FINAL, handle_parsing_errors=True), ASKED, way)
    first, second = found.steps
    assert (first.text, first.calls, second.answer) == ("rubbish", (), "Norway")
    assert first.error is not None
    assert (first.error.kind, first.error.origin) == ("OutputParserException", "parser")
    [seen] = first.observations
    assert (seen.tool, seen.failed) == ("_Exception", False)
    found = trace(executor("rubbish"), ASKED, way)
    assert found.error is not None
    assert (found.error.origin, found.answer, why(found)) == ("parser", None, "parse_fail")


@pytest.mark.parametrize("way", WAYS)
def test_executor_with_an_unknown_tool(way: str) -> None:
    """The call keeps the name that the model gave, and its result failed."""
    unknown = " look\nAction: nope\nAction Input: Oslo"
    first, _ = trace(executor(unknown, FINAL), ASKED, way).steps
    assert first.calls == (TraceCall("nope", "Oslo"),)
    assert [(seen.tool, seen.failed) for seen in first.observations] == [("nope", True)]


def test_executor_caps() -> None:
    """Its own word for a cap is no step's answer; the limits tell which cap it was."""
    found = trace(executor(ACTION, max_iterations=1), ASKED, recorder={"max_iterations": 1})
    assert found.limits == Limits(max_iterations=1)
    assert (found.steps[0].answer, why(found)) == (None, "max_iterations")
    late = {"max_seconds": 1e-9}
    run = executor(ACTION, max_iterations=None, max_execution_time=1e-9)
    assert why(trace(run, ASKED, recorder=late)) == "timeout"


def test_executor_with_native_calls() -> None:
    """Calls through the provider are told once, with their ids, and results matched to them."""
    prompt = ChatPromptTemplate.from_messages(
        [("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    )
    made = [{"name": "search", "args": {"query": q}, "id": q} for q in ("Oslo", "Rome")]
    llm = ScriptedChatModel(script=[AIMessage("", tool_calls=made), DONE])
    run = AgentExecutor(agent=create_tool_calling_agent(llm, TOOLS, prompt), tools=TOOLS)
    found = trace(run, ASKED)
    assert [c.id for c in found.steps[0].calls] == ["Oslo", "Rome"]
    assert [seen.call_id for seen in found.steps[0].observations] == ["Oslo", "Rome"]
    assert found.answer == DONE


def test_an_executor_under_another_name() -> None:
    """An executor is known by what it tells, whatever it is called."""
    found = trace(executor(ACTION, FINAL).with_config(run_name="mine"), ASKED)
    assert (found.framework, found.answer) == ("agent_executor", "Norway")


# Chains


@pytest.mark.parametrize("way", WAYS)
def test_chains(way: str) -> None:
    """A chain is one step, and its result the answer."""
    chain = PROMPT | ScriptedChatModel(script=[DONE]) | StrOutputParser()
    found = trace(chain, {"question": "Where is Oslo?"}, way)
    assert (found.framework, found.question, found.answer) == ("chain", "Where is Oslo?", DONE)
    assert [(step.text, step.answer) for step in found.steps] == [(DONE, DONE)]


def test_chains_with_parsers() -> None:
    """A parser's result is told as JSON, its error as the step's and the run's."""
    parsed = PROMPT | ScriptedChatModel(script=['{"a": 1}']) | JsonOutputParser()
    assert trace(parsed, {"question": "?"}).answer == '{"a": 1}'
    refused = PROMPT | ScriptedChatModel(script=["{"]) | JsonOutputParser()
    refused.invoke({"question": "?"})  # an open brace is an empty object while it streams
    refused = PROMPT | ScriptedChatModel(script=["no"]) | JsonOutputParser()
    found = trace(refused, {"question": "?"})
    assert found.error is not None
    assert found.error.origin == "parser"
    assert (found.steps[0].error, why(found)) == (found.error, "parse_fail")
    [alone] = traces(JsonOutputParser(), "no")
    assert (alone.error is not None, alone.steps) == (True, ())


def test_a_chain_for_agents() -> None:
    """An action that a chain returns is a call and no answer."""
    from langchain_loopmend import AgentActionOutputParser, AgentActionsOutputParser

    for parser in (AgentActionOutputParser(), AgentActionsOutputParser()):
        chain = PROMPT | ScriptedChatModel(script=[ACTION]) | parser
        found = trace(chain, {"question": "?"})
        assert (found.answer, found.steps[0].calls[0].name) == (None, "search")
    chain = PROMPT | ScriptedChatModel(script=[FINAL]) | AgentActionOutputParser()
    assert trace(chain, {"question": "?"}).answer == "Norway"


def test_batches() -> None:
    """Each input of a batch is a trace, however many threads there are."""
    recorder = TraceRecorder()
    chain = PROMPT | ScriptedChatModel(script=[DONE], repeat=True)
    asked = [{"question": str(number)} for number in range(20)]
    chain.batch(asked, {"callbacks": [recorder]})
    wait(chain.abatch(asked, {"callbacks": [recorder]}))
    assert sorted(str(t.question) for t in recorder.traces[:20]) == sorted(map(str, range(20)))
    assert [len(t.steps) for t in recorder.traces] == [1] * 40


def fallbacks(*, chain: bool) -> Any:
    """Return something that fails, with something else to fall back to."""
    bad, good = ScriptedChatModel(script=[OSError("x")]), ScriptedChatModel(script=[DONE])
    return (PROMPT | bad).with_fallbacks([PROMPT | good]) if chain else bad.with_fallbacks([good])


def test_fallbacks() -> None:
    """LangChain makes each attempt a run of its own, or in a batch a part of one."""
    for run, given in (
        (fallbacks(chain=False), "Where is Oslo?"),
        (fallbacks(chain=True), {"question": "Where is Oslo?"}),
    ):
        first, second = traces(run, given)
        assert (first.error, second.answer) == (TraceError("OSError", "x", "model"), DONE)
        assert first.question == second.question == "Where is Oslo?"
    recorder = TraceRecorder()
    fallbacks(chain=True).batch([{"question": "?"}], {"callbacks": [recorder]})
    [found] = recorder.traces
    assert [step.error is None for step in found.steps] == [False, True]
    assert (found.answer, found.error) == (DONE, None)


def test_models_alone() -> None:
    """A model of either kind that is called by itself is a trace, with the tools it was given."""
    offered = [{"type": "function", "function": {"name": "search"}}, {"name": "add"}, "odd"]
    llm = ScriptedChatModel(script=[DONE, GOOD], repeat=True)
    found = trace(llm.bind(tools=offered), [("system", "Be brief."), ("user", "Where is Oslo?")])
    assert (found.question, found.answer) == ("Where is Oslo?", DONE)
    assert found.tools == ("search", "add")
    assert trace(llm, "again").answer is None
    found = trace(FakeListLLM(responses=[DONE]), "Where is Oslo?")
    assert (found.question, found.answer, found.steps[0].tokens) == ("Where is Oslo?", DONE, None)


def test_what_leaves_no_trace() -> None:
    """A prompt or a tool alone is no run of an agent, unless it fails."""
    assert traces(PROMPT, {"question": "?"}) == ()
    assert traces(search, {"query": "Oslo"}) == ()
    [failed] = traces(search, {"wrong": "Oslo"})
    assert failed.error is not None
    assert failed.error.origin == "tool"


def test_retrievers() -> None:
    """A model that a retriever asks is a step of the run that it is in."""

    class Asking(BaseRetriever):
        llm: Any

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            self.llm.invoke(query, {"callbacks": run_manager.get_child()})
            return []

    run = Asking(llm=ScriptedChatModel(script=[DONE, OSError("x")]))
    assert trace(run, "Oslo?").steps[0].text == DONE
    found = trace(run, "Oslo?")
    assert (found.question, found.error) == ("Oslo?", TraceError("OSError", "x", "model"))


# The recorder itself


def test_what_is_kept(tmp_path: Path) -> None:
    """Traces are kept up to a number, found by their run, written to a file and forgotten."""
    seen: list[Trace] = []
    recorder = TraceRecorder(max_traces=2, on_trace=seen.append, clock=iter(range(99)).__next__)
    assert recorder.last is None
    llm = ScriptedChatModel(script=["a", "b", "c\ud800"])
    ids = [uuid4() for _ in range(3)]
    for id in ids:
        llm.invoke("?", {"callbacks": [recorder], "run_id": id})
    assert [t.answer for t in recorder.traces] == ["b", "c\ud800"]
    assert recorder.flush()
    assert [t.seconds for t in seen] == [1, 1, 1]
    assert recorder.get(ids[0]) is None
    assert recorder.get(str(ids[2])) == recorder.last
    recorder.to_jsonl(tmp_path / "traces.jsonl")
    lines = (tmp_path / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    assert [Trace.from_json(line).answer for line in lines] == ["b", "c\ud800"]
    recorder.clear()
    assert recorder.traces == ()


def test_the_host_is_never_broken(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever fails in a hook is logged once, and the run goes on."""

    def refuse(_: Trace) -> None:
        msg = "no space left"
        raise OSError(msg)

    recorder = TraceRecorder(on_trace=refuse)
    llm = ScriptedChatModel(script=[DONE], repeat=True)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert llm.invoke("?", {"callbacks": [recorder]}).content == DONE
        assert recorder.flush()
    assert [record.getMessage() for record in caplog.records] == [
        "on_trace failed, but the run goes on: OSError('no space left')"
    ]
    assert len(recorder.traces) == 3


@pytest.mark.parametrize("inline", [True, False])
def test_a_receiver_that_exits_ends_nothing(inline: bool) -> None:  # noqa: FBT001
    """An exit that `on_trace` asks for is not the host's, in the run and beside it."""
    recorder = TraceRecorder(on_trace=lambda _: sys.exit(3), inline=inline)
    llm = ScriptedChatModel(script=[DONE])
    assert llm.invoke("?", {"callbacks": [recorder]}).content == DONE
    assert recorder.flush()


def test_a_hook_lets_nothing_out_but_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a hook raises stays inside, except that somebody pressed Ctrl-C."""
    recorder = TraceRecorder()
    raised: list[type[BaseException]] = [SystemExit, KeyboardInterrupt]

    def fail(*_: Any, **__: Any) -> None:
        raise raised.pop(0)

    monkeypatch.setattr(recorder, "_end", fail)
    recorder.on_llm_end(None, run_id=uuid4())
    with pytest.raises(KeyboardInterrupt):
        recorder.on_llm_end(None, run_id=uuid4())


@pytest.mark.parametrize("message", [{"content": "{" * 3_000_000}, "broken"])
def test_a_reply_beyond_measure_is_read_in_part(message: Any) -> None:
    """Of a reply of 3 MB the recorder reads the start, in little time, and the trace says so."""
    if message == "broken":
        bad = {"name": "t", "args": "{" * 3_000_000, "id": "1", "error": None}
        message = {"content": "", "invalid_tool_calls": [bad]}
    recorder = TraceRecorder()
    llm = ScriptedChatModel(script=[AIMessage(**message)])
    llm.invoke("?", {"callbacks": [recorder]})
    assert recorder.last is not None
    if message["content"]:
        assert recorder.last.metadata == {"read_up_to": 100_000, "cut_steps": [0]}
        assert len(recorder.last.steps[0].text) == 3_000_000


def test_unfinished_runs_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots that never end are forgotten with their children, and late news of them ignored."""
    monkeypatch.setattr(open_runs, "_MOST_OPEN", 3)
    recorder = TraceRecorder()
    ids = []
    for _ in range(10):
        [manager] = [CallbackManager.configure([recorder]).on_chain_start(None, {}, name="x")]
        [child] = manager.get_child().on_chat_model_start({}, [[]])
        ids.append(child.run_id)
    assert len(recorder._runs) == 6
    recorder.on_llm_end(None, run_id=ids[0])
    recorder.on_chain_end(None, run_id=uuid4())
    recorder.on_chain_error(OSError(), run_id=uuid4())
    recorder.on_agent_action(None, run_id=uuid4())
    recorder.on_interrupt(SimpleNamespace(run_id=uuid4()))
    assert (recorder.traces, recorder._complained) == ((), set())


def test_listening_from_within() -> None:
    """A run whose parent is not known is a root."""
    recorder = TraceRecorder()
    llm = ScriptedChatModel(script=[GOOD, DONE], callbacks=[recorder])
    create_agent(llm, TOOLS).invoke(QUESTION)
    assert [len(t.steps) for t in recorder.traces] == [1, 1]
    node, parent = uuid4(), uuid4()
    recorder.on_chain_start(
        None, {}, run_id=node, parent_run_id=parent, tags=["graph:step:1"], name="x"
    )
    recorder.on_chain_error(GraphInterrupt(), run_id=node)
    assert recorder.last is not None
    assert (recorder.last.reason, recorder.last.error) == ("interrupted", None)
    assert not recorder._complained


@lost
def test_record_traces() -> None:
    """All runs in the block are recorded, also async ones, by the innermost block."""
    before = len(context._configure_hooks)
    with record_traces(max_iterations=7) as outer:
        agent(GOOD, DONE).invoke(QUESTION)
        with record_traces() as inner:
            wait(agent(GOOD, DONE).ainvoke(QUESTION))
    agent(GOOD, DONE).invoke(QUESTION)
    assert [len(t.steps) for t in (*outer.traces, *inner.traces)] == [2, 2]
    assert outer.traces[0].limits.max_iterations == 7
    assert len(context._configure_hooks) == before
    with pytest.raises(TypeError, match="bogus"), record_traces(bogus=1):  # type: ignore[call-arg]
        pass


def test_interrupts_in_a_block() -> None:
    """Interrupts are seen although the recorder is in no config."""
    script = [call("ask_human", question="ok?"), DONE]
    run = agent(*script, tools=[ask_human], checkpointer=InMemorySaver())
    with record_traces() as recorder:
        run.invoke(QUESTION, {"configurable": {"thread_id": "1"}})
    assert recorder.last is not None
    assert recorder.last.reason == "interrupted"


# LangChain silences warnings around its own, which is not safe with threads: theirs get through.
@pytest.mark.filterwarnings("ignore")
def test_many_threads() -> None:
    """Runs on many threads are kept apart by one recorder."""
    recorder = TraceRecorder()

    def work(name: str) -> None:
        run = agent(call("search", query=name), name)
        run.invoke({"messages": [("user", name)]}, {"callbacks": [recorder]})

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorder.traces) == 20
    for found in recorder.traces:
        assert found.question == found.answer
        assert found.steps[0].observations[0].text == f"about {found.answer}"


@told
def test_without_langgraph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where LangGraph is not installed, LangChain's own handler is what we build on."""
    from langchain_core.callbacks import BaseCallbackHandler

    assert module._handler_class() is not BaseCallbackHandler
    monkeypatch.setitem(sys.modules, "langgraph.callbacks", None)
    assert module._handler_class() is BaseCallbackHandler


# What LangChain passes, in its many forms


def test_questions() -> None:
    """The question is a text, what a human said last, or the only text there is."""
    human = HumanMessage("Where?")
    for given in (
        "Where?",
        human,
        ["Where?"],
        [human, AIMessage("x")],
        [[human]],
        ChatPromptValue(messages=[human]),
        {"messages": [{"role": "user", "content": "Where?"}]},
        {"input": "Where?", "history": "long"},
        {"topic": "Where?"},
    ):
        assert question_of(given) == "Where?"
    for none in (
        "",
        None,
        7,
        [7],
        AIMessage("x"),
        [("ai", "x")],
        {"a": "x", "b": "y"},
        {"input": 1},
    ):
        assert question_of(none) is None


def test_answers() -> None:
    """The answer is text, or JSON for anything else; one that is empty is none."""
    circle: list[Any] = []
    circle.append(circle)
    for result, answer in (
        (" ", None),
        ({"output": ""}, None),
        ({"messages": []}, None),
        ({"messages": [HumanMessage("x")]}, None),
        ({"messages": [AIMessage("")]}, None),
        ({"count": 3}, '{"count": 3}'),
        (circle, "[[...]]"),
    ):
        assert answer_of(result) == answer


def test_results() -> None:
    """A tool's result is found in whatever a tool or a node returns."""
    picture: Any = [{"type": "image_url", "image_url": {"url": "data:"}}]
    message = ToolMessage("x", tool_call_id="1")
    for output, text in (
        ("x", "x"),
        (message, "x"),
        (Command(update={"messages": [message]}), "x"),
        (Command(goto="y", update=[("messages", [message])]), "x"),
        (ToolMessage("", tool_call_id="1"), ""),
        (ToolMessage(picture, tool_call_id="1"), json.dumps(picture)),
        ({"a": 1}, '{"a": 1}'),
        (3, "3"),
    ):
        assert text_of_output(output) == text


def test_replies() -> None:
    """Tokens are counted as the provider tells them, and a model may return nothing."""
    usage = {"prompt_tokens": 3, "completion_tokens": None}
    told = LLMResult(generations=[[Generation(text="x")]], llm_output={"token_usage": usage})
    assert model_reply(told) == ModelReply(Reply("x"), Tokens(3, 0), is_message=False)
    assert model_reply(LLMResult(generations=[])) is None
    broken: Any = {"name": None, "args": "{", "id": "1", "error": None}
    nameless = AIMessage("", invalid_tool_calls=[broken])
    found = trace(ScriptedChatModel(script=[nameless]), "go")
    assert found.steps[0].calls == (TraceCall("", "{", "1"),)
