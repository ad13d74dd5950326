"""A recorder under many threads, tasks, cancellations and runs. LOOPMEND_RUNS=20000 for more."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_loopmend.recorder import TraceRecorder

RUNS = int(os.environ.get("LOOPMEND_RUNS", "300"))
THREADS, TASKS = 64, 200


class Echo(BaseChatModel):
    """A model that answers with the question, after a moment."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        said = AIMessage(f"{messages[-1].content} is done")
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
        await asyncio.sleep(0.002)
        return self._generate(messages)


def test_many_threads_share_a_recorder() -> None:
    """The runs of 64 threads do not mix, and none is lost."""
    recorder, llm = TraceRecorder(max_traces=10_000), Echo()

    def work(number: int) -> None:
        for turn in range(4):
            llm.invoke(f"{number}.{turn}", {"callbacks": [recorder]})

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert len({trace.question for trace in recorder.traces}) == 4 * THREADS
    assert all(trace.answer == f"{trace.question} is done" for trace in recorder.traces)
    assert len(recorder._runs) == 0


@pytest.mark.parametrize("inline", [True, False])
def test_an_observer_that_exits_does_not_end_the_run(inline: bool) -> None:  # noqa: FBT001
    """`SystemExit` from `on_trace` reaches neither the run nor its caller."""

    def leave(_: Any) -> NoReturn:
        raise SystemExit(3)

    recorder = TraceRecorder(on_trace=leave, inline=inline)
    assert Echo().invoke("it", {"callbacks": [recorder]}).content == "it is done"
    assert recorder.flush(30)
    assert len(recorder.traces) == 1


def test_many_tasks_of_which_some_are_cancelled() -> None:
    """The runs of 200 tasks do not mix, wherever half of them are cancelled."""
    recorder, llm = TraceRecorder(max_traces=10_000), Echo()
    moments = random.Random(3)  # noqa: S311 - seeded, and no secret

    async def run() -> list[Any]:
        tasks = [
            asyncio.create_task(llm.ainvoke(str(number), {"callbacks": [recorder]}))
            for number in range(TASKS)
        ]
        for task in tasks[::2]:
            await asyncio.sleep(moments.random() / 5000)
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.run(run())
    answered = [one.content for one in ended if isinstance(one, AIMessage)]
    assert len(answered) >= TASKS // 2
    kept = {trace.answer for trace in recorder.traces if trace.answer is not None}
    assert set(answered) <= kept
    for trace in recorder.traces:
        assert trace.answer in (None, f"{trace.question} is done")


def test_memory_is_flat_over_many_runs() -> None:
    """After the first runs, more of them take no more memory."""
    recorder, llm = TraceRecorder(max_traces=20, on_trace=lambda _: None), Echo()

    def work(count: int) -> int:
        for number in range(count):
            llm.invoke(str(number), {"callbacks": [recorder]})
        assert recorder.flush(30)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = work(100)
        after = work(RUNS)
    finally:
        tracemalloc.stop()
    assert after - before < 100_000
    assert len(recorder.traces) == 20
