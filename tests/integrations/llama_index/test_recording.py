"""What a recorder does around runs: keep them apart, keep few, and never break one."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import instrument_tags
from workflows import Workflow, step
from workflows.events import StartEvent, StopEvent

from llama_index_loopmend import recorder as module
from llama_index_loopmend.recorder import TraceRecorder, _tools_of, record_traces
from llama_index_loopmend.runs import Run
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend.traces.live_run import as_data
from loopmend.traces.trace import Trace

from .agents import ACT, FINISH, Agent, function, react, start


def by_question(messages: Sequence[ChatMessage]) -> str:
    """Call a tool with the question, then answer with what it returned."""
    asked = next(m.content or "" for m in messages if m.role == "user")
    if any("Observation:" in (m.content or "") for m in messages[1:]):
        return f"Thought: done\nAnswer: {asked} is done"
    return f'Thought: {asked}\nAction: add\nAction Input: {{"a": {asked}, "b": 0}}'


def concurrent() -> Agent:
    """Return one agent that many runs can share."""
    agent = react()
    agent.llm = ScriptedLLM(script=[by_question], repeat=True)
    return agent


def kept_apart(traces: Sequence[Trace]) -> None:
    """Check that each of 20 traces is of one run."""
    assert sorted(int(t.question or "") for t in traces) == list(range(20))
    assert len({t.id for t in traces}) == 20
    for trace in traces:
        first, last = trace.steps
        assert first.thought == trace.question
        assert first.observations[0].text == trace.question
        assert trace.answer == last.answer == f"{trace.question} is done"


def test_20_runs_at_once() -> None:
    """Spans of 20 concurrent runs of one agent do not mix."""
    agent = concurrent()

    async def runs() -> None:
        await asyncio.gather(*(start(agent, str(n)) for n in range(20)))

    with record_traces() as recorder:
        asyncio.run(runs())
    kept_apart(recorder.traces)


def test_runs_that_a_step_of_another_run_makes() -> None:
    """An agent that is a tool of another has a trace of its own."""

    async def ask_expert(question: str) -> str:
        """Ask an agent."""
        return str(await start(react(ACT, FINISH), question))

    asks = call("ask_expert", question="1 + 2?")
    agent = function(asks, "The expert says 3.", tools=[ask_expert])

    async def run() -> None:
        await start(agent, "Ask!")

    with record_traces() as recorder:
        asyncio.run(run())
    assert [(t.question, t.iterations) for t in recorder.traces] == [("1 + 2?", 2), ("Ask!", 2)]


async def answered() -> None:
    """Run an agent that answers at once."""
    await start(react(FINISH))


def test_attach_and_detach() -> None:
    """An attached recorder sees all runs until it is detached, and is attached once."""
    before = list(get_dispatcher().span_handlers)
    recorder = TraceRecorder().attach()
    assert recorder.attach() is recorder
    assert len(get_dispatcher().span_handlers) == len(before) + 1
    asyncio.run(answered())
    recorder.detach()
    recorder.detach()
    asyncio.run(answered())
    assert len(recorder.traces) == 1
    assert get_dispatcher().span_handlers == before


def test_blocks_are_kept_apart() -> None:
    """A block records what is started in it, also by blocks in it, and nothing else."""

    async def inner(times: int) -> int:
        with record_traces() as recorder:
            for _ in range(times):
                await answered()
            return len(recorder.traces)

    async def outer() -> list[int]:
        return list(await asyncio.gather(inner(1), inner(2), inner(3)))

    before = list(get_dispatcher().span_handlers)
    with record_traces() as recorder:
        assert asyncio.run(outer()) == [1, 2, 3]
    asyncio.run(answered())
    assert len(recorder.traces) == 6
    assert get_dispatcher().span_handlers == before


def test_a_block_that_raises_is_left_clean() -> None:
    """An error in the block goes out, and the recorder is gone."""
    before = list(get_dispatcher().span_handlers)
    with pytest.raises(KeyError), record_traces():
        raise KeyError
    assert get_dispatcher().span_handlers == before
    assert module._here.get() == ()


def test_other_workflows_are_no_agents() -> None:
    """A workflow that is no agent leaves no trace."""

    class Other(Workflow):
        @step
        async def call_tool(self, ev: StartEvent) -> StopEvent:
            if ev.get("bad"):
                raise KeyError
            return StopEvent(result=1)

    async def run(**given: Any) -> None:
        await asyncio.gather(Other().run(**given), return_exceptions=True)

    with record_traces() as recorder:
        asyncio.run(run())
        asyncio.run(run(bad=True))
    assert recorder.traces == ()


def test_memory_is_bounded() -> None:
    """Only the newest traces are kept, and `clear` forgets them."""

    async def run(text: str) -> None:
        await start(function(text))

    with record_traces(max_traces=2) as recorder:
        for text in "abc":
            asyncio.run(run(text))
    assert [t.answer for t in recorder.traces] == ["b", "c"]
    recorder.clear()
    assert (recorder.traces, recorder.last) == ((), None)
    with pytest.raises(ValueError, match="max_traces must be at least 1, not 0"):
        TraceRecorder(max_traces=0)


NOTHING = inspect.signature(lambda: None).bind()


def span(name: str) -> str:
    """Return the id of a span."""
    return f"{name}-{'0' * 36}"


def test_runs_that_never_end_are_given_up() -> None:
    """No more runs are followed than traces are kept; the oldest are given up."""
    recorder = TraceRecorder(max_traces=2).attach()
    spans: Any = recorder._spans
    recorder.detach()
    agent = react()
    for id in ("1", "2", "3"):
        with instrument_tags({"llamaindex.run_id": id}):
            spans.span_enter(span("ReActAgent.run"), NOTHING, agent)
    for id in ("1", "2"):
        with instrument_tags({"llamaindex.run_id": id}):
            spans.span_exit(span("ReActAgent.run"), NOTHING, agent, None)
    assert [trace.id for trace in recorder.traces] == ["2"]
    assert recorder.traces[0].limits.max_iterations == 20
    spans.span_enter(span("ReActAgent.run"), NOTHING, agent)  # one without an id is not followed
    assert list(spans._runs) == ["3"]


def test_errors_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A hook that fails does not break the run, and says so once."""

    def bad(trace: Trace) -> None:
        msg = f"no disk for {trace.answer}"
        raise OSError(msg)

    async def run() -> str:
        return str(await start(react(FINISH)))

    with record_traces(on_trace=bad) as recorder, caplog.at_level(logging.WARNING):
        assert [asyncio.run(run()) for _ in range(2)] == ["3", "3"]
        assert recorder.flush()
    said = "recording failed in on_trace, but the run goes on: OSError('no disk for 3')"
    assert [r.getMessage() for r in caplog.records] == [said]
    assert len(recorder.traces) == 2


def test_a_reader_that_fails_breaks_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong inside a recorder, the run returns its result."""

    def broken(*_: Any) -> Any:
        msg = "a bug"
        raise TypeError(msg)

    for name in ("see", "stopped_with", "trace"):
        monkeypatch.setattr(Run, name, broken)

    async def run() -> str:
        return str(await start(react(ACT, FINISH)))

    with record_traces() as recorder, caplog.at_level(logging.WARNING):
        assert asyncio.run(run()) == "3"
    assert recorder.traces == ()
    hooks = {r.getMessage().split(" in ")[1].split(",")[0] for r in caplog.records}
    assert hooks == {"span_enter", "span_exit", "run_end", "on_trace"}


@pytest.mark.parametrize("inline", [True, False])
def test_a_receiver_that_exits_ends_nothing(inline: bool) -> None:  # noqa: FBT001
    """An exit that `on_trace` asks for is not the host's, in the run and beside it."""

    async def run() -> str:
        return str(await start(react(FINISH)))

    with record_traces(on_trace=lambda _: sys.exit(3), inline=inline) as recorder:
        assert asyncio.run(run()) == "3"
    assert len(recorder.traces) == 1


def test_a_recorder_lets_nothing_out_but_a_person() -> None:
    """Whatever a recorder meets stays inside, except that somebody pressed Ctrl-C."""

    def fail(kind: type[BaseException]) -> None:
        raise kind

    recorder = TraceRecorder().attach()
    spans = recorder._spans
    assert spans is not None
    spans._safely("x", fail, SystemExit)
    with pytest.raises(KeyboardInterrupt):
        spans._safely("x", fail, KeyboardInterrupt)
    recorder.detach()


def test_a_reply_beyond_measure_is_read_in_part() -> None:
    """Of a reply beyond the cap the recorder reads the start, and the trace says so."""

    async def run() -> None:
        await start(function("{" * 100_001))

    with record_traces() as recorder:
        asyncio.run(run())
    assert recorder.last is not None
    assert recorder.last.metadata["read_up_to"] == 100_000
    assert recorder.last.metadata["cut_steps"] == [0]
    assert len(recorder.last.steps[0].text) == 100_001


def test_on_trace() -> None:
    """Each trace is handed over when its run has ended."""
    told: list[Trace] = []
    with record_traces(on_trace=told.append, max_iterations=7, max_traces=5) as recorder:
        asyncio.run(answered())
    assert told == list(recorder.traces)
    assert told[0].limits.max_iterations == 7


def test_to_jsonl(tmp_path: Path) -> None:
    """Traces are written one a line and read back as they are, also with half characters."""
    path = tmp_path / "traces.jsonl"

    async def run(text: str) -> None:
        await start(function(text))

    with record_traces() as recorder:
        for text in ("naïve \ud83d", "a\nb\u2028c"):
            asyncio.run(run(text))
    recorder.to_jsonl(path)
    lines = path.read_text("utf-8").split("\n")
    assert lines.pop() == ""
    assert tuple(Trace.from_json(line) for line in lines) == recorder.traces


def test_events_that_fit_nothing() -> None:
    """A result without a step and a foreign object are passed over."""
    from llama_index.core.agent.workflow import AgentOutput, AgentSetup, ToolCallResult
    from llama_index.core.tools import ToolOutput

    run = Run("1")
    output = ToolOutput(content="3", tool_name="add", raw_input={}, raw_output=3)
    run.see(
        ToolCallResult(
            tool_name="add", tool_kwargs={}, tool_id="1", tool_output=output, return_direct=False
        )
    )
    run.see(object())
    run.see(AgentSetup(input=[], current_agent_name="a"))
    run.stopped_with(AgentOutput(response=ChatMessage(content="x"), current_agent_name="a"))
    run.stopped_with(None)
    assert run.trace() == Trace(framework="llama_index", id="1")


def test_a_step_that_is_cancelled() -> None:
    """A step that is cancelled is no failed call of the model."""
    run = Run("1")
    run.step_failed(asyncio.CancelledError(), "run_agent_step")
    assert run.trace().steps == ()


def test_arguments_in_a_circle() -> None:
    """Arguments that hold themselves are written as text."""
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert as_data(loop) == "{'self': {...}}"


def test_tools_that_are_not_known() -> None:
    """Tools that are looked up for each question have no fixed names."""
    agent = function()
    agent.tool_retriever = object()  # type: ignore[assignment]
    assert _tools_of(agent) is None
    assert _tools_of(function(tools=None)) == ()
