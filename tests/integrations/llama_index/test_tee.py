"""Following a run by its stream, to the end or not."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.workflow import Context
from workflows.events import HumanResponseEvent, InputRequiredEvent, StopEvent

from llama_index_loopmend.recorder import TraceRecorder, record_traces
from llama_index_loopmend.testing import ScriptedLLM, call
from loopmend.traces.stop import StopReason, stop_of
from loopmend.traces.trace import Trace

from .agents import ACT, FINISH, function, react, start


def test_tee_passes_on_what_it_sees() -> None:
    """The tee yields the events of the stream, and the result is there afterwards."""
    recorder = TraceRecorder()

    async def run() -> tuple[list[str], str]:
        handler = start(react(ACT, FINISH))
        seen = [type(event).__name__ async for event in recorder.tee(handler)]
        return seen, str(await handler)

    seen, result = asyncio.run(run())
    assert [s for s in seen if s not in ("AgentInput", "AgentStream")] == [
        *("AgentOutput", "ToolCall", "ToolCallResult", "AgentOutput", "StopEvent")
    ]
    assert result == "3"
    assert [t.answer for t in recorder.traces] == ["3"]


def test_a_trace_is_there_at_the_last_event() -> None:
    """Whoever leaves the loop at the last event has the trace already."""
    recorder = TraceRecorder()

    async def run() -> Trace | None:
        events = recorder.tee(start(react(FINISH)))
        async for event in events:
            if isinstance(event, StopEvent):
                break
        found = recorder.last
        await events.aclose()
        return found

    assert asyncio.run(run()) is recorder.last is not None
    assert len(recorder.traces) == 1


@pytest.mark.parametrize("cut", ["Thought: ", "Thought: done\nA"])
def test_a_loop_that_is_left_early(cut: str) -> None:
    """Of a run that nobody looks at any more there is what was seen of it."""
    recorder = TraceRecorder()

    async def run() -> None:
        handler = start(react(FINISH))
        events = recorder.tee(handler)
        async for event in events:
            if getattr(event, "response", "") and len(str(event.response)) >= len(cut):
                break
        await events.aclose()
        await handler

    asyncio.run(run())
    trace = recorder.last
    assert trace is not None
    assert trace.steps[0].text.startswith(cut)
    assert (trace.metadata, trace.reason, trace.answer) == ({"partial": True}, None, None)
    assert stop_of(trace).reason is StopReason.UNKNOWN


def test_a_run_that_waits_for_a_human() -> None:
    """A run that is left while it waits is interrupted; one that is answered goes on."""

    async def ask(ctx: Context) -> str:
        """Ask a human."""
        said = await ctx.wait_for_event(
            HumanResponseEvent, waiter_event=InputRequiredEvent(), waiter_id="q"
        )
        return str(said.get("response"))

    ask.__annotations__["ctx"] = Context  # LlamaIndex does not look up names of types

    async def run(recorder: TraceRecorder, *, answer: bool) -> None:
        handler = start(function(call("ask"), "Done.", tools=[ask]))
        events = recorder.tee(handler)
        async for event in events:
            if isinstance(event, InputRequiredEvent):
                if not answer:
                    break
                human = HumanResponseEvent()
                human["response"] = "yes"
                handler.ctx.send_event(human)
        await events.aclose()
        await handler.cancel_run()

    recorder = TraceRecorder()
    with record_traces() as watching:
        asyncio.run(run(recorder, answer=False))
        asyncio.run(run(recorder, answer=True))
    left, answered = recorder.traces
    assert left.reason == "interrupted"
    assert answered.answer == "Done."
    assert answered.steps[0].observations[0].text == "yes"
    assert [t.reason for t in watching.traces] == ["cancelled", "final_answer"]
    assert [len(t.steps[0].observations) for t in watching.traces] == [0, 1]


def test_a_run_that_is_cancelled() -> None:
    """Cancelling a run is no error, and both ways say that it was cancelled."""
    recorder = TraceRecorder()

    async def run() -> None:
        handler = start(function(call("hang")))
        async for event in recorder.tee(handler):
            if type(event).__name__ == "ToolCall":
                asyncio.get_running_loop().call_soon(
                    lambda: tasks.append(asyncio.ensure_future(handler.cancel_run()))
                )
        await asyncio.gather(*tasks)

    tasks: list[asyncio.Future[None]] = []
    with record_traces() as watching:
        asyncio.run(run())
    for trace in (recorder.last, watching.last):
        assert trace is not None
        assert (trace.reason, trace.error, trace.exit_code) == ("cancelled", None, None)
        assert [c.name for c in trace.steps[0].calls] == ["hang"]
        assert stop_of(trace).reason is StopReason.CANCELLED


def test_a_consumer_that_is_cancelled() -> None:
    """Cancelling whoever follows the stream is passed on, and what was said so far is kept."""
    recorder = TraceRecorder()

    async def run() -> None:
        agent = react()
        agent.llm = ScriptedLLM(script=["Thought: this takes long"], pause=0.02)
        handler = start(agent)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(recorder.record(handler), 0.05)
        await handler.cancel_run()

    asyncio.run(run())
    trace = recorder.last
    assert trace is not None
    assert (trace.reason, trace.error) == ("cancelled", None)
    assert trace.steps[0].text.startswith("Thought:")
    assert trace.steps[0].agent == "Agent"


def test_a_consumer_that_is_cancelled_at_the_end() -> None:
    """A cancellation that comes after the last event does not touch the trace."""
    recorder = TraceRecorder()

    async def run() -> None:
        events = recorder.tee(start(react(FINISH)))
        async for event in events:
            if isinstance(event, StopEvent):
                with pytest.raises(asyncio.CancelledError):
                    await events.athrow(asyncio.CancelledError())

    asyncio.run(run())
    assert [t.reason for t in recorder.traces] == ["final_answer"]
