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

from llama_index_loopmend.recorder import TraceRecorder, record_traces

from .agents import FINISH, react, start

RUNS = int(os.environ.get("LOOPMEND_RUNS", "30"))
THREADS, TASKS = 64, 200


def test_many_threads_share_a_recorder() -> None:
    """The runs of 64 threads, each with a loop of its own, do not mix, and none is lost."""
    recorder = TraceRecorder(max_traces=10_000).attach()

    async def run(number: int) -> str:
        return str(await start(react(FINISH), question=str(number)))

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(lambda number: asyncio.run(run(number)), range(2 * THREADS)))
    finally:
        recorder.detach()
    assert set(answers) == {"3"}
    asked = sorted(int(trace.question or "") for trace in recorder.traces)
    assert asked == list(range(2 * THREADS))
    assert {trace.answer for trace in recorder.traces} == {"3"}


@pytest.mark.parametrize("inline", [True, False])
def test_an_observer_that_exits_does_not_end_the_run(inline: bool) -> None:  # noqa: FBT001
    """`SystemExit` from `on_trace` reaches neither the run nor the thread of its loop."""

    def leave(_: Any) -> NoReturn:
        raise SystemExit(3)

    async def run() -> str:
        return str(await start(react(FINISH)))

    with record_traces(on_trace=leave, inline=inline) as recorder:
        assert asyncio.run(run()) == "3"
        assert recorder.flush(30)
    assert len(recorder.traces) == 1


def test_many_tasks_of_which_some_are_cancelled() -> None:
    """The runs of 200 tasks are recorded apart, wherever half of them are cancelled."""
    moments = random.Random(3)  # noqa: S311 - seeded, and no secret

    async def one(number: int) -> str:
        handler = start(react(FINISH), question=str(number))
        try:
            return str(await handler)
        except asyncio.CancelledError:
            await handler.cancel_run()
            raise

    async def run() -> list[Any]:
        tasks = [asyncio.create_task(one(number)) for number in range(TASKS)]
        for task in tasks[::2]:
            await asyncio.sleep(moments.random() / 500)
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with record_traces(max_traces=10_000) as recorder:
        ended = asyncio.run(run())
    assert {str(one) for one in ended[1::2]} == {"3"}
    answered = [trace for trace in recorder.traces if trace.answer == "3"]
    assert len({trace.id for trace in answered}) == len(answered) >= TASKS // 2
    assert {str(number) for number in range(1, TASKS, 2)} <= {t.question for t in answered}


def test_memory_is_flat_over_many_runs() -> None:
    """After the first runs, more of them take no more memory of ours."""
    with record_traces(max_traces=5, on_trace=lambda _: None) as recorder:

        async def run(count: int) -> None:
            for _ in range(count):
                await start(react(FINISH))

        def work(count: int) -> tracemalloc.Snapshot:
            asyncio.run(run(count))
            assert recorder.flush(30)
            gc.collect()
            return tracemalloc.take_snapshot().filter_traces(
                [tracemalloc.Filter(inclusive=True, filename_pattern="*loopmend*")]
            )

        tracemalloc.start()
        try:
            before, after = work(10), work(RUNS)
        finally:
            tracemalloc.stop()
    grown = sum(stat.size_diff for stat in after.compare_to(before, "filename"))
    assert grown < 50_000
    assert len(recorder.traces) == 5
