"""Corners of recording: other handlers, middleware's own calls, refusals, cancelling, threads."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import BaseOutputParser, JsonOutputParser
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_classic")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    LLMToolSelectorMiddleware,
    SummarizationMiddleware,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langgraph.graph import START, MessagesState, StateGraph

from langchain_loopmend import with_tool_call_retry
from langchain_loopmend.middleware.arrivals import Arrivals
from langchain_loopmend.recorder import TraceRecorder, record_traces
from langchain_loopmend.run_values import answer_of
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import ToolCall, classify_trace
from loopmend.traces import StopReason, Trace, TraceError
from loopmend.traces.unread import as_read
from tests.integrations.langchain.test_recorder import (
    ASKED,
    DONE,
    FINAL,
    GOOD,
    GRAPH_WAYS,
    PROMPT,
    QUESTION,
    WAYS,
    agent,
    executor,
    lost,
    trace,
    why,
)
from tests.integrations.langchain.tools import TOOLS, wait

CHAINED = {"question": "Where is Oslo?"}


def small(*lines: Any) -> ScriptedChatModel:
    """Return a model that a middleware asks for itself."""
    return ScriptedChatModel(script=lines or ["aside"], repeat=True)


def texts(found: Trace) -> list[str]:
    """Return what was said in each step."""
    return [step.text for step in found.steps]


# Other handlers


@pytest.mark.parametrize("way", ["config", "block"])
def test_other_handlers_see_text_models_start(way: str) -> None:
    """Whoever watches an async model of plain text with us is told that it starts."""

    async def names(config: Any) -> list[str]:
        llm = FakeListLLM(responses=[DONE])
        return [e["event"] async for e in llm.astream_events("?", config, version="v2")]

    with record_traces() as block:
        recorder = block if way == "block" else TraceRecorder()
        seen = wait(names({"callbacks": [recorder]} if way == "config" else {}))
    assert (seen[0], seen[-1]) == ("on_llm_start", "on_llm_end")
    assert [found.answer for found in recorder.traces] == [DONE]


@lost
def test_many_tasks() -> None:
    """Runs that go on at once in one loop are kept apart, although their hooks are on threads."""
    recorder = TraceRecorder()

    async def work(name: str) -> None:
        run = agent(call("search", query=name), name)
        asked: Any = {"messages": [("user", name)]}
        async for _ in run.astream(asked, {"callbacks": [recorder]}):
            pass

    async def all_at_once() -> None:
        await asyncio.gather(*(work(f"t{number}") for number in range(20)))

    wait(all_at_once())
    assert len(recorder.traces) == 20
    for found in recorder.traces:
        assert found.question == found.answer
        assert found.steps[0].observations[0].text == f"about {found.answer}"


class Streaming(ScriptedChatModel):
    """A model that streams although it is invoked."""

    streaming: bool = True


def heard(*lines: Any) -> list[tuple[AIMessage, Arrivals]]:
    """Ask a model for each line, all at once, and return the replies and what arrived of them."""

    async def ask(line: Any) -> tuple[AIMessage, Arrivals]:
        arrivals = Arrivals()
        with arrivals.heard():
            reply = await Streaming(script=[line]).ainvoke("go")
        return reply, arrivals

    async def all_at_once() -> list[tuple[AIMessage, Arrivals]]:
        return await asyncio.gather(*map(ask, lines))

    return wait(all_at_once())


def test_what_arrives_of_streams_at_once() -> None:
    """The pieces of each stream are kept where it was asked for, whichever thread tells them."""
    cut = {"name": "search", "args": '{"query": "Os', "id": "1", "error": None}
    broken = AIMessage("", invalid_tool_calls=[{**cut, "type": "invalid_tool_call"}])
    replies = heard(*[GOOD, broken] * 10)
    for number, (reply, arrivals) in enumerate(replies):
        calls = arrivals.as_arrived(reply).tool_calls
        assert [made["args"] for made in calls] == ([] if number % 2 else [{"query": "Oslo"}])


def test_the_listener_keeps_its_place() -> None:
    """A handler that asks to go first hides starts from those that do not, so ours does not."""
    assert [handler.run_inline for handler in (Arrivals(), TraceRecorder())] == [False] * 2


# What middleware asks for itself


@pytest.mark.parametrize("way", GRAPH_WAYS)
def test_summaries_are_no_steps(way: str) -> None:
    """What a middleware asks before the agent's model is asked is not the agent's."""
    many: Any = {"messages": [("user", str(number)) for number in range(5)]}
    limits: Any = {"trigger": ("messages", 4), "keep": ("messages", 2)}
    run = agent(GOOD, DONE, middleware=[SummarizationMiddleware(small(), **limits)])
    found = trace(run, many, way)
    assert (texts(found), found.answer, len(found.steps[0].observations)) == (["", DONE], DONE, 1)


class Selecting(ScriptedChatModel):
    """A model that answers in JSON where a schema is asked for."""

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        """Return the model with a parser."""
        return self | JsonOutputParser()


@pytest.mark.parametrize("way", GRAPH_WAYS)
def test_selecting_tools_is_no_step(way: str) -> None:
    """LangChain marks what its middleware asks around the agent's own question."""
    pytest.importorskip("langchain.agents.middleware.internal_call_transformer")
    llm = Selecting(script=['{"tools": ["search"]}'], repeat=True)
    selector = LLMToolSelectorMiddleware(model=llm)
    found = trace(agent(GOOD, DONE, middleware=[selector]), QUESTION, way)
    assert texts(found) == ["", DONE]


@wrap_model_call
def routed(request: Any, handler: Any) -> Any:
    """Ask another model which model to ask."""
    small("the large one").invoke("Which model can answer this?")
    return handler(request)


@wrap_tool_call
def judged(request: Any, handler: Any) -> Any:
    """Ask another model whether the call may be made."""
    small("yes").invoke("May it be called?")
    return handler(request)


@before_model
def delegated(state: Any, runtime: Any) -> None:
    """Let another agent look first."""
    agent(call("add", "inner", a=1), "looked").invoke(QUESTION)


@pytest.mark.parametrize("own", [routed, judged, delegated])
def test_middleware_without_marks(own: Any) -> None:
    """A middleware of the user's own need not mark what it asks for itself."""
    found = trace(agent(GOOD, DONE, middleware=[own]), QUESTION)
    assert texts(found) == ["", DONE]
    assert [seen.text for seen in found.steps[0].observations] == ["about Oslo"]


def test_middleware_that_puts_the_question_anew() -> None:
    """A question in other words than the state's is the agent's, if it is the only one."""

    @wrap_model_call
    def anew(request: Any, handler: Any) -> Any:
        return handler(request.override(messages=[HumanMessage("In short: Oslo?")]))

    assert texts(trace(agent(DONE, middleware=[anew]), QUESTION)) == [DONE]


def test_errors_of_middleware() -> None:
    """An error of a model that a middleware asks comes from a model, and is no step's."""

    @before_model
    def summarized(state: Any, runtime: Any) -> None:
        small(ConnectionError("down")).invoke("Sum up.")

    found = trace(agent(DONE, middleware=[summarized]), QUESTION)
    assert (found.error, found.steps) == (TraceError("ConnectionError", "down", "model"), ())


def test_what_others_ask_is_a_step() -> None:
    """Models that tools and nodes ask are part of the run, whatever the run is marked with."""

    @tool
    def translate(text: str) -> str:
        """Translate."""
        return str(small("translated").invoke(text).content)

    run = agent(call("translate", text="x"), DONE, tools=[translate])
    found = trace(run, QUESTION, metadata={"lc_source": "nightly"})
    assert texts(found) == ["", "translated", DONE]

    def node(state: Any) -> Any:
        small("a draft").invoke("Write.")
        return {"messages": [small("checked").invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", node)
    graph.add_edge(START, "model")
    assert texts(trace(graph.compile(), QUESTION)) == ["a draft", "checked"]
    marked = PROMPT | small(DONE).with_config(metadata={"lc_source": "nightly"})
    assert texts(trace(marked, CHAINED)) == [DONE]


# Refused replies


class Retrying(BaseOutputParser[Any]):
    """A parser that has refused replies corrected, as parsers that retry do."""

    parser: Any
    llm: Any
    retries: int = 2
    wrapped: bool = False

    def parse_result(self, result: Any, *, partial: bool = False) -> Any:
        """Parse the reply, or what the model says instead."""
        reply: Any = result[0].text
        for left in reversed(range(self.retries + 1)):
            try:
                return self.parser.invoke(reply)
            except ValueError as error:
                if not left and self.wrapped:
                    msg = "Could not parse it."
                    raise ValueError(msg) from error
                if not left:
                    raise
            reply = self.llm.invoke("again")
        raise AssertionError

    def parse(self, text: str) -> Any:
        """Parse nothing: results are parsed."""
        raise NotImplementedError


def refusals(found: Trace) -> list[int | None]:
    """Return the steps in which a refused reply was found."""
    return [each.step for each in classify_trace(found).findings if each.kind == "parse_failure"]


UNREADABLE = "<tool_call>oops, what now</tool_call>"


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("reply", ["no", UNREADABLE])
def test_each_refusal_is_found_once(way: str, reply: str) -> None:
    """A refused reply is one failure, whether the parser, the reader or both complain."""
    parser = Retrying(parser=JsonOutputParser(), llm=small(reply, '{"a": 1}'))
    found = trace(PROMPT | small(reply) | parser, CHAINED, way)
    assert (found.answer, refusals(found)) == ('{"a": 1}', [0, 1])


@pytest.mark.parametrize("wrapped", [True, False])
def test_refusals_that_end_a_run(wrapped: bool) -> None:  # noqa: FBT001 - a parameter
    """The parser around another one says the same again, of the same reply."""
    parser = Retrying(parser=JsonOutputParser(), llm=small("no"), wrapped=wrapped)
    found = trace(PROMPT | small("no") | parser, CHAINED)
    assert [at for at in refusals(found) if at is not None] == [0, 1, 2]
    assert [step.error is None for step in found.steps] == [False] * 3
    assert found.steps[-1].error == found.error
    assert why(found) == "parse_fail"


def test_refusals_that_an_executor_handles() -> None:
    """What the executor tells the model of a refused reply is no second failure."""
    found = trace(executor("rubbish", FINAL, handle_parsing_errors=True), ASKED)
    assert refusals(found) == [0]


def test_a_model_that_fails_within_a_parser() -> None:
    """That a retrying parser's model is down is no refused reply."""
    down = Retrying(parser=JsonOutputParser(), llm=small(ConnectionError("down")))
    found = trace(PROMPT | small("no") | down, CHAINED)
    assert found.error == TraceError("ConnectionError", "down", "model")
    assert [step.error and step.error.origin for step in found.steps] == ["parser", "model"]
    assert (refusals(found), why(found)) == ([0], "provider_error")


# Answers


@pytest.mark.parametrize("way", WAYS)
def test_answers_of_several(way: str) -> None:
    """What several models say side by side is told in their words."""
    run = RunnableParallel(a=small("It is."), b=small("It is not."))
    told = json.loads(trace(run, "Is it?", way).answer or "")
    assert told == {"a": "It is.", "b": "It is not."}


def test_answers_that_hold_messages() -> None:
    """Messages are told as text however deep they are, and other values as ever."""
    picture: Any = [{"type": "image", "url": "x"}]
    held = {"all": [AIMessage("x"), {"last": AIMessage(picture)}], "kind": StopReason}
    told = answer_of(held)
    assert told is not None
    assert told.startswith('{"all": ["x", {"last": "[{')
    assert "content=" not in told


# Cancelling


def stopped(run: Any, given: Any = QUESTION) -> Trace:
    """Run something until it is interrupted from the keyboard, and return its trace."""
    recorder = TraceRecorder()
    with pytest.raises(KeyboardInterrupt):
        run.invoke(given, {"callbacks": [recorder]})
    assert recorder.last is not None
    assert not recorder._complained
    return recorder.last


class Pressing(ScriptedChatModel):
    """A model during whose reply somebody presses Ctrl-C."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt


def press(_: Any) -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt


def test_ctrl_c() -> None:
    """Ctrl-C cancels: nobody waits for a human, and nothing failed."""

    @tool
    def slow(query: str) -> str:
        """Take long."""
        raise KeyboardInterrupt

    class Slow(BaseOutputParser[str]):
        def parse(self, text: str) -> str:
            raise KeyboardInterrupt

    for found in (
        stopped(agent(call("slow", query="x"), tools=[slow])),
        stopped(create_agent(Pressing(script=[]), TOOLS)),
        stopped(PROMPT | Pressing(script=[]), CHAINED),
        stopped(PROMPT | small(DONE) | Slow(), CHAINED),
        stopped(PROMPT | small(DONE) | RunnableLambda(press), CHAINED),
    ):
        assert (found.reason, found.error, why(found)) == ("cancelled", None, "cancelled")
        assert [(step.error, step.observations) for step in found.steps] == [(None, ())]
        assert classify_trace(found).kinds() <= {"no_final_answer"}


class Sleeping(ScriptedChatModel):
    """A model that takes long."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(9)


async def _sleep(query: str) -> str:
    """Take long."""
    await asyncio.sleep(9)
    return query


@lost
@pytest.mark.parametrize(
    "run",
    [
        create_agent(ScriptedChatModel(script=[call("_sleep", query="x")]), [_sleep]),
        create_agent(Sleeping(script=[]), TOOLS),
    ],
    ids=["tool", "model"],
)
def test_cancelled_tasks(run: Any) -> None:
    """A task that is cancelled in a tool or in a model is cancelled, and nothing failed."""
    recorder = TraceRecorder()

    async def cancelled() -> None:
        await asyncio.wait_for(run.ainvoke(QUESTION, {"callbacks": [recorder]}), 0.3)

    with pytest.raises(asyncio.TimeoutError):
        wait(cancelled())
    [found] = recorder.traces
    assert (found.reason, found.error, why(found)) == ("cancelled", None, "cancelled")
    assert [(step.error, step.observations) for step in found.steps] == [(None, ())]
    assert classify_trace(found).kinds() <= {"no_final_answer"}


# Threads


def run_on_thread(work: Callable[[], Any]) -> None:
    """Do something on a new thread."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_threads_of_a_block() -> None:
    """A block sees the threads of LangChain, of tasks and of copied contexts, and no others."""
    llm = small(DONE)

    def ask() -> None:
        llm.invoke("?")

    with record_traces() as recorder:
        llm.batch(["?"] * 3)
        RunnableParallel(a=llm, b=llm).invoke("?")
        wait(_in_a_thread(ask))
        context = copy_context()
        run_on_thread(lambda: context.run(ask))
        assert len(recorder.traces) == 6
        run_on_thread(ask)
        with ThreadPoolExecutor() as pool:
            pool.submit(ask).result()
            assert len(recorder.traces) == (6 if not _inherits() else 8)
            pool.submit(llm.invoke, "?", {"callbacks": [recorder]}).result()
    assert len(recorder.traces) == (7 if not _inherits() else 9)


async def _in_a_thread(work: Callable[[], Any]) -> None:
    await asyncio.to_thread(work)


def _inherits() -> bool:
    """Tell whether new threads start in a copy of the context, as they may from Python 3.14 on."""
    return bool(getattr(sys.flags, "thread_inherit_context", False))


def test_a_model_that_asks_a_model_is_no_step() -> None:
    """Of a mended model whose `generate` is called, only what it asks for is recorded."""
    model = ScriptedChatModel(script=["Let me search for that.", "It is in Norway."])
    recorder = TraceRecorder()
    mended = with_tool_call_retry(model, ["search"])
    mended.generate([[HumanMessage("Where is Oslo?")]], callbacks=[recorder])
    trace = recorder.last
    assert trace is not None
    assert [step.text for step in trace.steps] == ["Let me search for that.", "It is in Norway."]


@pytest.mark.parametrize(("finish", "at_once"), [("tool_calls", False), ("length", True)])
def test_calls_alone_are_read_when_somebody_looks(finish: str, *, at_once: bool) -> None:
    """A reply that is calls and nothing else is read later, unless it was cut off."""
    made = call("wait", "c1", seconds=0)
    made.response_metadata["finish_reason"] = finish
    recorder = TraceRecorder()
    ScriptedChatModel(script=[made]).invoke("Wait.", {"callbacks": [recorder]})
    assert recorder.last is not None
    [step] = recorder.last.steps
    assert (as_read(step) is not None) == at_once
    assert step.turn is not None
    assert step.turn.actions == (() if at_once else (ToolCall("wait", {"seconds": 0}),))
    assert (step.turn.failure is not None) == at_once
