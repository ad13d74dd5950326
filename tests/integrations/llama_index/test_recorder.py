"""Runs of real LlamaIndex agents become traces."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.tools import FunctionTool

from llama_index_loopmend.recorder import record_traces
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend.traces.stop import StopReason, stop_of
from loopmend.traces.trace import Tokens, Trace

from .agents import ACT, BAD, FINISH, add, function, react, recorded, start


def reason(trace: Trace) -> StopReason:
    """Return why the run stopped, by the core's own judgement."""
    return stop_of(trace).reason


def test_a_react_agent() -> None:
    """A ReAct run has a step for each call of the model, with thoughts, calls and results."""
    trace = recorded(react(ACT, FINISH))
    first, second = trace.steps
    assert (first.text, first.thought, second.text) == (ACT, "add them", FINISH)
    assert [(c.name, c.arguments) for c in first.calls] == [("add", {"a": 1, "b": 2})]
    assert [(o.text, o.tool, o.failed) for o in first.observations] == [("3", "add", False)]
    assert first.calls[0].id == first.observations[0].call_id
    assert (trace.question, trace.answer, trace.reason) == ("1 + 2?", "3", "final_answer")
    assert (second.answer, second.calls, second.agent) == ("3", (), "Agent")
    assert (trace.framework, trace.tools) == ("llama_index", ("add", "fail", "hang"))
    assert trace.id
    assert trace.exit_code == 0
    assert Trace.from_json(trace.to_json()) == trace


def test_times_are_taken() -> None:
    """The run, its steps and its tools say how long they took."""
    trace = recorded(react(ACT, FINISH))
    times = [trace.seconds, *(step.seconds for step in trace.steps)]
    times.append(trace.steps[0].observations[0].seconds)
    assert all(time is not None and 0 <= time < 5 for time in times)


@pytest.mark.parametrize("options", [{}, {"streaming": False}])
def test_a_function_agent(options: dict[str, Any]) -> None:
    """A run of a function-calling agent is the same with and without streaming."""
    two = ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="both at once"),
            ToolCallBlock(tool_call_id="x", tool_name="hangs", tool_kwargs={}),
            ToolCallBlock(tool_call_id="y", tool_name="add", tool_kwargs={"a": 1, "b": 2}),
        ],
    )
    trace = recorded(function(two, "It is 3.", **options))
    first, second = trace.steps
    assert (first.text, first.thought) == ("", "both at once")
    assert [(o.call_id, o.failed) for o in first.observations] == [("x", True), ("y", False)]
    assert "not found" in first.observations[0].text
    assert (second.answer, trace.answer, reason(trace)) == (
        "It is 3.",
        "It is 3.",
        StopReason.FINAL_ANSWER,
    )


def test_results_in_the_order_of_the_calls() -> None:
    """Results of calls that run at the same time stand in the order of the calls."""

    async def slow() -> str:
        """Be slow."""
        await asyncio.sleep(0.05)
        return "slow"

    def quick() -> str:
        """Be quick."""
        return "quick"

    message = ChatMessage(role="assistant", blocks=[*call("slow", "1").blocks])
    message.blocks += call("quick", "2").blocks
    agent = function(message, "Done.", tools=[slow, quick])
    assert [o.text for o in recorded(agent).steps[0].observations] == ["slow", "quick"]


def test_a_handoff() -> None:
    """In a workflow of several agents each step says whose it is."""
    first = function(call("handoff", to_agent="sums", reason="a sum"), name="front")
    second = function(call("add", a=1, b=2), "It is 3.", name="sums")
    trace = recorded(AgentWorkflow([first, second], root_agent="front"))
    assert [step.agent for step in trace.steps] == ["front", "sums", "sums"]
    assert [c.name for step in trace.steps for c in step.calls] == ["handoff", "add"]
    assert "sums" in trace.steps[0].observations[0].text
    assert (trace.answer, trace.reason) == ("It is 3.", "final_answer")
    assert trace.tools == ("add", "fail", "hang", "handoff")


def test_a_code_agent() -> None:
    """The code that a CodeAct agent runs is a call."""
    llm = ScriptedLLM(script=["<execute>print(1 + 2)</execute>", "It is 3."])
    agent = CodeActAgent(code_execute_fn=lambda code: f"ran {len(code)}", llm=llm, tools=[add])
    trace = recorded(agent)
    assert [c.arguments for c in trace.steps[0].calls] == [{"code": "print(1 + 2)"}]
    assert trace.steps[0].observations[0].text == "ran 12"
    assert trace.answer == "It is 3."


def test_a_cap() -> None:
    """A run that reaches its cap says so, and how many steps it had."""
    trace = recorded(react(ACT, ACT), max_iterations=2)
    assert (trace.reason, trace.iterations, trace.exit_code) == ("max_iterations", 2, 2)
    assert trace.limits.max_iterations == 2
    assert trace.error is not None
    assert (trace.error.kind, trace.error.origin) == ("WorkflowRuntimeError", "host")
    assert trace.answer is None


@pytest.mark.parametrize("last", [ACT, BAD, "Thought: done\nAnswer: 4"])
def test_a_cap_that_looks_like_an_answer(last: str) -> None:
    """A model that is made to answer at the cap did not finish, and the call is no step."""
    agent = react(ACT, last, "About 3.", early_stopping_method="generate")
    trace = recorded(agent, max_iterations=2)
    assert (trace.answer, trace.reason, trace.iterations) == ("About 3.", "max_iterations", 2)
    assert reason(trace) is StopReason.MAX_ITERATIONS
    assert trace.metadata == {"early_stopping": "generate"}
    assert trace.steps[-1].answer is None


def test_retries() -> None:
    """What cannot be parsed is a step with an error, and the run goes on."""
    trace = recorded(react(BAD, "", FINISH))
    bad, empty, good = trace.steps
    assert bad.error is not None
    assert empty.error is not None
    assert (bad.error.origin, empty.error.origin, good.error) == ("parser", "parser", None)
    assert "Error while parsing the output" in bad.error.message
    assert "was empty" in empty.error.message
    assert trace.answer == "3"


def test_a_parser_that_raises() -> None:
    """An error of the output parser ends the run as a parse failure."""

    class OutputParserException(Exception):
        """As LlamaIndex calls its own."""

    class Parser:
        def parse(self, output: str, **_: Any) -> Any:
            msg = "no"
            raise OutputParserException(msg)

    trace = recorded(react("What?", output_parser=Parser()))
    assert (trace.reason, trace.iterations) == ("parse_fail", 1)
    assert trace.error is not None
    assert trace.error.origin == "parser"


def test_a_tool_that_raises() -> None:
    """A tool's error is a failed observation; LlamaIndex goes on."""
    trace = recorded(function(call("fail", why="no disk"), "Sorry."))
    (seen,) = trace.steps[0].observations
    assert (seen.text, seen.failed, seen.tool) == ("no disk", True, "fail")
    assert (trace.answer, trace.reason, trace.error) == ("Sorry.", "final_answer", None)


def test_results_that_cannot_be_used() -> None:
    """An error in the handling of results ends the run as a tool error."""

    class Broken(FunctionAgent):
        async def handle_tool_call_results(self, ctx: Any, results: Any, memory: Any) -> None:
            msg = "cannot use it"
            raise TypeError(msg)

    agent = Broken(tools=[add], llm=ScriptedLLM(script=[call("add", a=1, b=2)]))
    trace = recorded(agent)
    assert (trace.reason, trace.exit_code) == ("tool_error", 3)
    assert trace.steps[0].observations[0].text == "3"


def test_a_model_that_raises() -> None:
    """A provider's error ends the run, and the failed call is a step."""
    trace = recorded(function(call("add", a=1, b=2), ConnectionError("503")))
    assert (trace.reason, trace.exit_code, trace.iterations) == ("provider_error", None, 2)
    assert trace.error is not None
    assert (trace.error.kind, trace.error.origin) == ("ConnectionError", "model")
    assert trace.steps[1].error == trace.error


def test_an_error_before_the_first_step() -> None:
    """A run that cannot start has no steps and no reason that is made up."""
    trace = recorded(function(), chat_history=[], question="")
    assert (trace.steps, trace.reason, trace.answer) == ((), None, None)
    assert trace.error is not None
    assert trace.error.origin == "host"


def test_a_timeout() -> None:
    """A run that takes too long ends with a timeout."""
    trace = recorded(function(call("hang"), timeout=0.2))
    assert (trace.reason, trace.limits.max_seconds) == ("timeout", 0.2)
    assert [c.name for c in trace.steps[0].calls] == ["hang"]


def test_a_result_that_is_returned_directly() -> None:
    """A tool's result that is the answer is the answer of its step."""
    direct = FunctionTool.from_defaults(add, return_direct=True)
    trace = recorded(function(call("add", a=1, b=2), tools=[direct]))
    assert (trace.answer, trace.reason, trace.steps[0].answer) == ("3", "final_answer", "3")


def test_a_structured_answer() -> None:
    """What the answer was made into is kept beside it."""
    agent = function("It is 3.", structured_output_fn=lambda messages: {"sum": 3})
    trace = recorded(agent)
    assert trace.metadata == {"structured_response": {"sum": 3}}


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 2}}, Tokens(10, 2)),
        ({"usage": {"input_tokens": 10}}, Tokens(10, 0)),
        ({"prompt_eval_count": 7, "eval_count": 1}, Tokens(7, 1)),
        ({"usage_metadata": {"prompt_token_count": 5}}, Tokens(5, 0)),
        ({"usage": None}, None),
        (None, None),
    ],
)
def test_tokens(raw: Any, tokens: Tokens | None) -> None:
    """What the provider says was used is counted."""
    agent = function("Hello.")
    agent.llm = ScriptedLLM(script=["Hello."], raw=raw)
    assert recorded(agent).steps[0].tokens == tokens


def test_why_the_provider_stopped() -> None:
    """Each step keeps the provider's word for why its reply ended."""
    agent = function("Hello.")
    agent.llm = ScriptedLLM(script=["Hello."], raw={"choices": [{"finish_reason": "length"}]})
    assert recorded(agent).steps[0].finish == "length"


def test_arguments_that_are_no_json() -> None:
    """Arguments are copied as JSON, and what JSON cannot hold is written as text."""
    odd = ChatMessage(role="assistant", blocks=[TextBlock(text="so")])
    odd.blocks.append(ToolCallBlock(tool_call_id="1", tool_name="add", tool_kwargs={"a": {1, 2}}))
    trace = recorded(function(odd, "Done."))
    assert trace.steps[0].calls[0].arguments == {"a": "{1, 2}"}
    assert trace.steps[0].thought == "so"
    assert Trace.from_json(trace.to_json()) == trace


def test_a_question_as_a_message() -> None:
    """The question is found whether it is a text, a message or the end of a history."""

    def asked(**given: Any) -> str | None:
        return recorded(function("Hi."), **given).question

    assert asked(question=ChatMessage(content="Who?")) == "Who?"
    assert asked(question=None, chat_history=[ChatMessage(content="Where?")]) == "Where?"


def test_the_host_is_not_changed() -> None:
    """A recorded run returns and raises what it does without a recorder."""

    async def outcome(*script: Any) -> Any:
        return (await asyncio.gather(start(react(*script)), return_exceptions=True))[0]

    plain = [asyncio.run(outcome(*script)) for script in ([FINISH], [ConnectionError("503")])]
    assert str(plain[0]) == "3"
    assert str(recorded(react(FINISH)).answer) == "3"
    assert isinstance(plain[1], ConnectionError)


def test_a_run_that_is_cancelled() -> None:
    """Cancelling a run is no error, and the trace says that it was cancelled."""

    async def run() -> None:
        handler = start(function(call("hang")))
        async for event in handler.stream_events():
            if type(event).__name__ == "ToolCall":
                await handler.cancel_run()
        await asyncio.gather(handler, return_exceptions=True)

    with record_traces() as recorder:
        asyncio.run(run())
    (trace,) = recorder.traces
    assert (trace.reason, trace.error, trace.exit_code) == ("cancelled", None, None)
    assert [c.name for c in trace.steps[0].calls] == ["hang"]
    assert reason(trace) is StopReason.CANCELLED
