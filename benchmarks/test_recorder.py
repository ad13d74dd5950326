"""What recording costs, against LangChain's own tracer on the same run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from benchmarks.timing import interleaved

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
        seconds = interleaved(runs, rounds=ROUNDS)
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
