"""Runs that reach a cap: what LangChain makes of them alone, and what they answer with us."""

from __future__ import annotations

import time
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain.agents")
pytest.importorskip("langchain_classic")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    ToolCallLimitMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import InjectedState, InjectedToolCallId
from langchain_classic.agents import (
    AgentExecutor,
    create_react_agent,
    create_tool_calling_agent,
)
from langchain_core.agents import AgentFinish
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from langchain_loopmend import record_traces
from langchain_loopmend.classic import with_loop_guard
from langchain_loopmend.messages import ENDED
from langchain_loopmend.middleware import CapAnswerMiddleware, LoopGuardMiddleware
from langchain_loopmend.testing import ScriptedChatModel, call
from loopmend import StopReason, classify_trace
from loopmend.mending import CapError
from tests.integrations.langchain.events import WITH_CONTEXT
from tests.integrations.langchain.tools import wait

QUESTION: Any = {"messages": [("user", "How many users are there?")]}
DONE = "There are 3."
EITHER_WAY = pytest.mark.parametrize("asynchronous", [False, True])
FOUND = "Stopped: the run reached its step limit. Results so far: "


@tool
def count(table: str) -> str:
    """Count the rows of a table."""
    return f"{table}: 3"


@tool
def sql(query: str) -> str:
    """Run a query."""
    return f"(sqlite3.OperationalError) no such column in {query}"


TOOLS = [count, sql]


def counting(n: int) -> AIMessage:
    """Return a call that was not made before."""
    return call("count", f"call_{n}", table=f"t{n}")


def invoke(run: Any, given: Any, *, asynchronous: bool = False, limit: int = 25) -> Any:
    """Run it with a limit of steps."""
    config: Any = {"recursion_limit": limit}
    return wait(run.ainvoke(given, config)) if asynchronous else run.invoke(given, config)


def agent(*script: Any, middleware: Any = (), **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Return an agent that follows the script, and its model."""
    llm = ScriptedChatModel(script=script)
    return create_agent(llm, TOOLS, middleware=list(middleware), **options), llm


def is_valid(messages: list[Any]) -> bool:
    """Tell whether each call has exactly one result."""
    made = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    return made == [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]


# The limit of steps


@WITH_CONTEXT
def test_langgraph_6731(*, asynchronous: bool) -> None:
    """A loop ends in `GraphRecursionError`; here the model is told, and ends with what it found."""
    same = [call("count", f"call_{n}", table="users") for n in range(20)]
    native, llm = agent(*same)
    with pytest.raises(GraphRecursionError):
        invoke(native, QUESTION, asynchronous=asynchronous)
    assert len(llm.asked) == 13

    told, llm = agent(*same[:2], DONE, middleware=[LoopGuardMiddleware()])
    assert invoke(told, QUESTION, asynchronous=asynchronous)["messages"][-1].content == DONE
    assert str(llm.asked[-1][-1].content).startswith("You called count 2 times with the same")

    deaf, llm = agent(*same, middleware=[LoopGuardMiddleware()])
    with record_traces() as recorder:
        messages = invoke(deaf, QUESTION, asynchronous=asynchronous)["messages"]
    assert messages[-1].content == f"{FOUND}count(users): users: 3"
    assert messages[-1].response_metadata == {ENDED: "max_iterations"}
    assert is_valid(messages)
    assert sum(isinstance(m, HumanMessage) for m in messages) == 1
    said = "This is the last step: no more calls. Answer from what the tools returned: How many"
    assert str(llm.asked[-1][-1].content).startswith(said)
    assert len(llm.asked) == 12  # one fewer than natively, where the last was for nothing
    assert classify_trace(recorder.traces[0]).stop_reason is StopReason.MAX_ITERATIONS


@EITHER_WAY
def test_langgraph_6731_queries_that_fail_in_other_words(*, asynchronous: bool) -> None:
    """The loop that the thread reports of text-to-SQL: each query is new, and each one fails."""
    failing = [call("sql", f"call_{n}", query=f"select {n}") for n in range(20)]
    run, llm = agent(counting(0), *failing, middleware=[LoopGuardMiddleware()])
    last = invoke(run, QUESTION, asynchronous=asynchronous)["messages"][-1]
    assert last.content == (
        "Stopped: the run reached its step limit. The last call failed: "
        "(sqlite3.OperationalError) no such column in select 9. Results so far: count(t0): t0: 3"
    )
    told = [str(asked[-1].content)[:27] for asked in llm.asked if asked[-1].type == "human"]
    assert told[1:4] == [f"sql failed {n} times in a row" for n in (3, 4, 5)]
    stopped, llm = agent(counting(0), *failing, middleware=[LoopGuardMiddleware(stop_after=3)])
    last = invoke(stopped, QUESTION, asynchronous=asynchronous)["messages"][-1]
    assert last.content.startswith("Stopped: sql failed 4 times in a row: (sqlite3.Operational")
    assert len(llm.asked) == 5


class Before(AgentMiddleware[Any, Any, Any]):
    """Takes a step before the model."""

    def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


class After(AgentMiddleware[Any, Any, Any]):
    """Takes a step after the model."""

    def after_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""


STEPS: dict[str, tuple[list[Any], int]] = {
    "alone": ([], 2),
    "before": ([Before()], 6),
    "after": ([After()], 6),
    "both": ([Before(), After()], 8),
}
"""What else takes steps, and from which limit on the guard knows: two rounds, if there is more than
model and tools."""


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(STEPS)), st.integers(2, 12), st.integers(0, 12))
def test_the_limit_is_never_reached(which: str, limit: int, needed: int) -> None:
    """Whatever else takes steps; and what fits into the limit alone is answered as it is alone."""
    others, known = STEPS[which]
    script = [*map(counting, range(needed)), DONE]
    outcomes = []
    for middleware in (others, [*others, LoopGuardMiddleware()]):
        run, _ = agent(*script, middleware=middleware)
        try:
            outcomes.append(invoke(run, QUESTION, limit=limit)["messages"][-1])
        except GraphRecursionError:
            outcomes.append(None)
    native, ours = outcomes
    if limit >= known:
        assert ours is not None
        assert ours.content == DONE or ours.response_metadata[ENDED] == "max_iterations"
    if native is not None and which in ("alone", "after"):
        assert ours.content == native.content == DONE


@settings(deadline=None, max_examples=30)
@given(st.integers(4, 12), st.integers(0, 12))
def test_the_limit_is_never_reached_with_steps_after_the_answer(limit: int, needed: int) -> None:
    """The guard cannot see them, but can be told."""
    guard = LoopGuardMiddleware(steps_after=1)
    script = [*map(counting, range(needed)), DONE]
    run, _ = agent(*script, middleware=[guard, CapAnswerMiddleware()])
    last = invoke(run, QUESTION, limit=limit)["messages"][-1]
    assert last.content == DONE or last.response_metadata[ENDED] == "max_iterations"


def test_raising_is_a_choice() -> None:
    """With `on_cap="raise"` LangGraph's own error comes as ever."""
    run, llm = agent(*map(counting, range(9)), middleware=[LoopGuardMiddleware(on_cap="raise")])
    with pytest.raises(GraphRecursionError):
        invoke(run, QUESTION, limit=6)
    assert not any("last step" in str(asked[-1].content) for asked in llm.asked)
    with pytest.raises(ValueError, match="on_cap must be"):
        LoopGuardMiddleware(on_cap="stop")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`steps_after` must be an int"):
        LoopGuardMiddleware(steps_after=None)  # type: ignore[arg-type]


def test_calls_that_need_no_answer_of_the_model() -> None:
    """What such a tool returns is the answer, so its call is made while there is a step for it."""

    @tool(return_direct=True)
    def direct(table: str) -> str:
        """Count the rows of a table."""
        return "3, directly"

    for limit, expected in ((3, "3, directly"), (2, f"{FOUND}none")):
        llm = ScriptedChatModel(script=[call("direct", table="users")])
        web: Any = {"type": "web_search"}
        run = create_agent(llm, [direct, web], middleware=[LoopGuardMiddleware()])
        assert invoke(run, QUESTION, limit=limit)["messages"][-1].content == expected


class Users(BaseModel):
    """How many there are."""

    number: int


def test_a_structured_answer_in_the_last_step() -> None:
    """Is the answer, though it is written as a call."""
    answer = call("Users", "call_9", number=3)
    run, _ = agent(
        counting(0),
        answer,
        middleware=[LoopGuardMiddleware()],
        response_format=ToolStrategy(Users),
    )
    result = invoke(run, QUESTION, limit=4)
    assert result["structured_response"] == Users(number=3)


def test_another_run_on_the_same_thread() -> None:
    """How fast an earlier run went says nothing about this one, which has fewer steps."""
    run, llm = agent(
        *(counting(0), DONE, counting(1), DONE, counting(2), counting(3)),
        middleware=[LoopGuardMiddleware()],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    for limit in (9_000, 5):
        result = run.invoke(QUESTION, {**config, "recursion_limit": limit})
        assert result["messages"][-1].content == DONE
        assert not {"loop_guard", "loop_guard_pace", "loop_guard_left"} & set(result)
    assert not any("last step" in str(asked[-1].content) for asked in llm.asked[:3])
    last = run.invoke(QUESTION, {**config, "recursion_limit": 4})["messages"][-1]
    assert last.content == f"{FOUND}count(t2): t2: 3"


def test_nothing_came_back_from_the_model() -> None:
    """Other middleware may return no reply at all; that is passed on."""

    class Silent(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            response = handler(request)
            response.result = [HumanMessage("Never mind.")]
            return response

    run, _ = agent(DONE, middleware=[LoopGuardMiddleware(), Silent()])
    assert invoke(run, QUESTION, limit=2)["messages"][-1].content == "Never mind."


# Handoffs


def swarm(*script: str, **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Return two agents that can hand the work to each other, and the model of both."""
    llm = ScriptedChatModel(
        script=[
            DONE if to == "done" else call(f"ask_{to}", f"call_{n}", reason=f"reason {n}")
            for n, to in enumerate(script)
        ]
    )
    graph = StateGraph(MessagesState)
    for name, other in (("ann", "bob"), ("bob", "ann")):

        @tool(f"ask_{other}")
        def hand_over(
            reason: str,
            state: Annotated[Any, InjectedState],
            tool_call_id: Annotated[str, InjectedToolCallId],
            to: str = other,
        ) -> Any:
            """Hand over."""
            said = ToolMessage(f"{to} takes over: {reason}", tool_call_id=tool_call_id)
            messages = [*state["messages"], said]
            return Command(goto=to, graph=Command.PARENT, update={"messages": messages})

        guard = LoopGuardMiddleware(**options)
        graph.add_node(name, create_agent(llm, [hand_over], middleware=[guard], name=name))
    graph.add_edge(START, "ann")
    return graph.compile(), llm


def test_handoffs_back_and_forth() -> None:
    """Agents that pass the work to each other, each time for another reason, are told."""
    run, llm = swarm("bob", "ann", "bob", "ann", "done")
    assert run.invoke(QUESTION)["messages"][-1].content == DONE
    told = [str(asked[-1].content) for asked in llm.asked if asked[-1].type == "human"]
    assert told[1:] == [
        "The work went to ann 2 times without progress. Do not hand it over "
        "again. Answer from what the tools returned: How many users are there?"
    ]
    run, llm = swarm(*["bob", "ann"] * 9, stop_after=3)
    last = run.invoke(QUESTION)["messages"][-1]
    assert last.content == (
        "Stopped: the work went to ann 3 times without progress. Results so far: none"
    )
    assert len(llm.asked) == 6


# The limits of calls

LIMITS: dict[str, Any] = {
    "model": ModelCallLimitMiddleware(run_limit=2),
    "tools": ToolCallLimitMiddleware(run_limit=2, exit_behavior="end"),
}


@EITHER_WAY
@pytest.mark.parametrize("which", LIMITS)
def test_limits_of_calls(which: str, *, asynchronous: bool) -> None:
    """LangChain's own limits end with a stock sentence; here with what was found."""
    script = list(map(counting, range(9)))
    native, _ = agent(*script, middleware=[LIMITS[which]])
    stock = invoke(native, QUESTION, asynchronous=asynchronous)["messages"][-1]
    assert "limit" in stock.content
    assert "t0" not in stock.content
    ours, _ = agent(*script, middleware=[LIMITS[which], CapAnswerMiddleware()])
    messages = invoke(ours, QUESTION, asynchronous=asynchronous)["messages"]
    assert messages[-1].content.startswith("Stopped: the run reached its call limit.")
    assert messages[-1].content.endswith("Results so far: count(t0): t0: 3; count(t1): t1: 3")
    assert messages[-1].response_metadata == {ENDED: "max_iterations"}
    assert is_valid(messages)
    raising, _ = agent(*script, middleware=[LIMITS[which], CapAnswerMiddleware(on_cap="raise")])
    with pytest.raises(CapError, match="Results so far"):
        invoke(raising, QUESTION, asynchronous=asynchronous)


def test_answers_of_the_model_stand() -> None:
    """Even those that read like a limit's sentence, or that are a call."""
    stock = "Model call limits exceeded: run limit (2/2)"
    own = AIMessage(stock, response_metadata={"finish_reason": "stop"})
    counted = AIMessage(
        stock, usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    )
    for last in (own, counted, AIMessage(DONE)):
        run, _ = agent(last, middleware=[CapAnswerMiddleware()])
        assert invoke(run, QUESTION)["messages"][-1].content == last.content
    ended = CapAnswerMiddleware().after_agent({"messages": []}, None)
    assert ended is None
    assert CapAnswerMiddleware().after_agent({"messages": [counting(0)]}, None) is None


# AgentExecutor

REACT = PromptTemplate.from_template("{tools} {tool_names}\n{input}\nThought:{agent_scratchpad}")
CHAT = ChatPromptTemplate.from_messages(
    [("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
)
ASKED = {"input": "How many users are there?"}
STOCK = "Agent stopped due to iteration limit or time limit."
AT_CAP = "Stopped: the run reached its iteration or time limit. Results so far: "


def looking(n: int) -> str:
    """Return a call that was not made before."""
    return f" look\nAction: count\nAction Input: t{n}"


def executor(*script: Any, guard: Any = None, **options: Any) -> tuple[Any, ScriptedChatModel]:
    """Return an executor of a ReAct agent, guarded if there are options for that."""
    llm = ScriptedChatModel(script=script)
    react = create_react_agent(llm, TOOLS, REACT)
    made: Any = react if guard is None else with_loop_guard(react, **guard)
    return AgentExecutor(agent=made, tools=TOOLS, **options), llm


@EITHER_WAY
def test_langchain_24111(*, asynchronous: bool) -> None:
    """At the cap an executor returns a stock sentence; here what was found, with a mark."""
    script = list(map(looking, range(9)))
    native, _ = executor(*script, max_iterations=2)
    assert invoke(native, ASKED, asynchronous=asynchronous)["output"] == STOCK
    run, _ = executor(*script, max_iterations=2, guard={})
    with record_traces() as recorder:
        result = invoke(run, ASKED, asynchronous=asynchronous)
    assert result["output"] == f"{AT_CAP}count(t0): t0: 3; count(t1): t1: 3"
    assert result[ENDED] == "max_iterations"
    assert classify_trace(recorder.traces[0]).stop_reason is StopReason.MAX_ITERATIONS
    run, llm = executor(*script, max_iterations=2, guard={"on_cap": "raise"})
    with pytest.raises(CapError) as caught:
        invoke(run, ASKED, asynchronous=asynchronous)
    assert [found.result for found in caught.value.answer.found] == ["t0: 3", "t1: 3"]
    assert len(llm.asked) == 2
    answered, _ = executor(looking(0), " I know\nFinal Answer: 3", max_iterations=2, guard={})
    assert invoke(answered, ASKED, asynchronous=asynchronous) == {**ASKED, "output": "3"}


def test_langchain_24111_time() -> None:
    """The same when the time is up."""

    @tool
    def slow(table: str) -> str:
        """Count the rows of a table."""
        time.sleep(0.2)
        return f"{table}: 3"

    llm = ScriptedChatModel(script=[" look\nAction: slow\nAction Input: users"] * 9)
    made: Any = with_loop_guard(create_react_agent(llm, [slow], REACT))
    run = AgentExecutor(agent=made, tools=[slow], max_execution_time=0.1)
    assert run.invoke(ASKED)["output"] == f"{AT_CAP}slow(users): users: 3"


@EITHER_WAY
def test_langchain_16263(*, asynchronous: bool) -> None:
    """`early_stopping_method="generate"` raises; here the model is asked for the answer."""
    options: Any = {"max_iterations": 2, "early_stopping_method": "generate"}
    script = [looking(0), looking(1), " I know\nFinal Answer: 3 each"]
    native, _ = executor(*script, **options)
    with pytest.raises(ValueError, match="unsupported early_stopping_method `generate`"):
        invoke(native, ASKED, asynchronous=asynchronous)
    run, llm = executor(*script, **options, guard={})
    result = invoke(run, ASKED, asynchronous=asynchronous)
    assert (result["output"], result[ENDED]) == ("3 each", "max_iterations")
    said = "t1: 3\nThis is the last step: no more calls. Answer from what the tools returned: How"
    assert said in str(llm.asked[-1][-1].content)
    for last in (looking(2), "I cannot say.", " I know\nFinal Answer:"):
        run, _ = executor(*script[:2], last, **options, guard={})
        result = invoke(run, ASKED, asynchronous=asynchronous)
        assert result["output"] == f"{AT_CAP}count(t0): t0: 3; count(t1): t1: 3"


def test_langchain_16263_with_several_calls_at_once() -> None:
    """The thread's own agent, which makes native calls."""
    options: Any = {"max_iterations": 1, "early_stopping_method": "generate"}
    llm = ScriptedChatModel(script=[counting(0), DONE])
    made = create_tool_calling_agent(llm, TOOLS, CHAT)
    with pytest.raises(ValueError, match="unsupported early_stopping_method `generate`"):
        AgentExecutor(agent=made, tools=TOOLS, **options).invoke(ASKED)
    llm = ScriptedChatModel(script=[counting(0), DONE])
    guarded: Any = with_loop_guard(create_tool_calling_agent(llm, TOOLS, CHAT))
    result = AgentExecutor(agent=guarded, tools=TOOLS, **options).invoke(ASKED)
    assert (result["output"], result[ENDED]) == (DONE, "max_iterations")


def test_nothing_to_answer_from() -> None:
    """Before the first step there is nothing to ask the model about."""
    run, llm = executor(looking(0), max_iterations=0, early_stopping_method="generate", guard={})
    assert run.invoke(ASKED)["output"] == f"{AT_CAP}none"
    assert llm.asked == []
    run, _ = executor(max_iterations=0, early_stopping_method="other", guard={})
    with pytest.raises(ValueError, match="unsupported early_stopping_method `other`"):
        run.invoke(ASKED)
    with pytest.raises(ValueError, match="on_cap must be"):
        executor(guard={"on_cap": "stop"})


def test_results_that_are_no_text() -> None:
    """An object that says that it is an error is one."""

    @tool
    def lookup(table: str) -> Any:
        """Look a table up."""
        return {"error": f"no table {table}"}

    script = [f" look\nAction: lookup\nAction Input: t{n}" for n in range(4)]
    llm = ScriptedChatModel(script=script)
    made: Any = with_loop_guard(create_react_agent(llm, [lookup], REACT))
    run = AgentExecutor(agent=made, tools=[lookup], max_iterations=4)
    assert run.invoke(ASKED)["output"].endswith("Results so far: none")
    assert "lookup failed 3 times in a row" in str(llm.asked[-1][-1].content)


def test_an_agent_that_does_not_say_what_it_returns() -> None:
    """It makes one call at a time, as the executor takes it."""

    class Finishing(Runnable):  # type: ignore[type-arg]
        @property
        def OutputType(self) -> Any:  # noqa: N802 - LangChain's name
            raise TypeError

        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return AgentFinish({"output": DONE}, "")

    run = AgentExecutor(agent=with_loop_guard(Finishing()), tools=TOOLS)
    assert run.invoke(ASKED)["output"] == DONE
