"""What recording costs, against LangChain's own tracer on the same run."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

TIMES_TRACER = 1.0
TRIES = 5
ROUNDS = 200

pytest.importorskip("langchain.agents")


def test_recorder(report: list[str]) -> None:
    """Recording a run of `create_agent` costs at most what LangChain's `BaseTracer` costs.

    The tracer here keeps nothing and makes no trace, so that all it does is to follow the runs.
    """
    from langchain_core.tracers.base import BaseTracer

    from langchain_loopmend.recorder import TraceRecorder

    class Tracer(BaseTracer):
        def _persist_run(self, run: Any) -> None:
            """Keep nothing."""

    run = _agent()
    runs: dict[str, Callable[[], Any]] = {
        "none": run,
        "tracer": partial(run, {"callbacks": [Tracer()]}),
        "recorder": partial(run, {"callbacks": [TraceRecorder()]}),
    }
    found: list[float] = []
    while not found or (found[-1] > TIMES_TRACER and len(found) < TRIES):
        seconds = _interleaved(runs)
        added = {name: taken - seconds["none"] for name, taken in seconds.items()}
        found.append(added["recorder"] / added["tracer"])
    share = added["recorder"] / seconds["none"]
    report.append(f"TraceRecorder: {min(found):5.2f} x BaseTracer, {share:.1%} of a run")
    assert min(found) <= TIMES_TRACER


def _agent() -> Callable[..., Any]:
    """Return a run of an agent whose model calls two tools and answers."""
    from langchain.agents import create_agent

    from langchain_loopmend.testing import ScriptedChatModel, call

    def search(query: str) -> str:
        """Search the web."""
        return f"about {query}"

    script = [
        call("search", "call_1", query="Oslo"),
        call("search", "call_2", query="Norway"),
        "Oslo is the capital of Norway, as far as I know.",
    ]
    agent = create_agent(ScriptedChatModel(script=script, repeat=True), [search])
    asked: Any = {"messages": [("user", "Where is Oslo?")]}
    return partial(agent.invoke, asked)


def _interleaved(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median seconds of each, run in turns so that noise hits all alike.

    The process's time is taken, because LangGraph runs tools on other threads.
    """
    taken: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, run in runs.items():
                started = time.process_time()
                run()
                taken[name].append(time.process_time() - started)
    finally:
        gc.enable()
    return {name: statistics.median(times) for name, times in taken.items()}
