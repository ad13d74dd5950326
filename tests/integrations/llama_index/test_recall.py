"""The recall probe: scores of real retrievers and memories, for each run by itself."""

from __future__ import annotations

import asyncio
import copy
import logging
import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, cast

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import instrument_tags

from llama_index_loopmend.recall import RecallProbe
from llama_index_loopmend.testing import call
from loopmend import TaskStateInput
from loopmend.contracts.synthesis import synthesize_task_state
from loopmend.contracts.task_input import RetrievalMetrics

from .agents import function, start
from .memories import Words, memory_of, vector_block

NAMES_RUNS_OF_SYNC_TOOLS = tuple(map(int, version("llama-index-core").split("."))) >= (0, 14, 22)


@pytest.fixture(scope="module")
def retriever() -> BaseRetriever:
    """Return a real retriever over four texts that finds two of them."""
    nodes = [TextNode(text=text) for text in ("Oslo", "Oslo and Bergen", "cats", "dogs")]
    return VectorStoreIndex(nodes, embed_model=Words()).as_retriever(similarity_top_k=2)


def searching(retriever: BaseRetriever) -> Callable[..., Any]:
    """Return an async tool that asks a retriever."""

    async def search(query: str) -> str:
        """Search."""
        return " ".join(node.text for node in await retriever.aretrieve(query))

    return search


def run(agent: Any, **options: Any) -> str:
    """Run an agent and return the run's id."""

    async def once() -> str:
        handler = start(agent, **options)
        await handler
        return str(handler.run_id)

    return asyncio.run(once())


def noted(probe: RecallProbe, *scores: Any, run_id: str = "r") -> RetrievalMetrics | None:
    """Let scores pass by in a run, and return its metrics."""
    nodes = [NodeWithScore(node=TextNode(text="x")) for _ in scores]
    for node, score in zip(nodes, scores, strict=True):
        node.score = score
    with instrument_tags({"llamaindex.run_id": run_id}):
        assert probe.as_postprocessor().postprocess_nodes(nodes) is nodes
    return probe.metrics(run_id)


def test_a_retriever_in_a_tool(retriever: BaseRetriever) -> None:
    """What a tool retrieves is noted under the id of the run."""
    agent = function(call("search", query="Oslo"), "Done.", tools=[searching(retriever)])
    with RecallProbe() as probe:
        metrics = probe.metrics(run(agent))
    assert metrics is not None
    assert (metrics.retrieval_count, metrics.retrieval_hit) == (2, True)
    assert metrics.avg_similarity == pytest.approx((1 + math.sqrt(0.5)) / 2, abs=1e-3)


@pytest.mark.skipif(not NAMES_RUNS_OF_SYNC_TOOLS, reason="LlamaIndex does not tell the run")
def test_a_tool_that_is_not_async(retriever: BaseRetriever) -> None:
    """A tool that runs in a thread is still in its run."""

    def search(query: str) -> str:
        """Search."""
        return str(len(retriever.retrieve(query)))

    agent = function(call("search", query="cats"), "Done.", tools=[search])
    with RecallProbe() as probe:
        metrics = probe.metrics(run(agent))
    assert metrics is not None
    assert metrics.avg_similarity == pytest.approx(0.5, abs=1e-2)


def test_the_current_run(retriever: BaseRetriever) -> None:
    """Inside a run no id is needed, and all retrievals so far count."""
    seen: list[RetrievalMetrics | None] = []

    async def search(query: str) -> str:
        """Search."""
        seen.append(probe.metrics())
        await retriever.aretrieve(query)
        seen.append(probe.metrics())
        return "found"

    agent = function(
        call("search", query="dogs"), call("search", query="cats"), "Done.", tools=[search]
    )
    with RecallProbe() as probe:
        run(agent)
    assert [None if one is None else one.retrieval_count for one in seen] == [None, 2, 2, 4]
    assert probe.metrics() is None


def test_concurrent_runs(retriever: BaseRetriever) -> None:
    """Twenty runs at once, of one agent or of many, stay separate."""

    async def search(times: int) -> str:
        """Search."""
        for _ in range(times):
            await retriever.aretrieve("Oslo")
            await asyncio.sleep(0)
        return "found"

    async def all_at_once() -> dict[str, int]:
        agents = [function(call("search", times=n), "Done.", tools=[search]) for n in range(20)]
        handlers = [start(agent) for agent in agents]
        await asyncio.gather(*handlers)
        return {str(handler.run_id): n for n, handler in enumerate(handlers)}

    with RecallProbe() as probe:
        runs = asyncio.run(all_at_once())
    assert len(runs) == 20
    for id, times in runs.items():
        metrics = probe.metrics(id)
        assert times * 2 == (0 if metrics is None else metrics.retrieval_count)


def test_a_memory_block() -> None:
    """A vector memory block reports through the postprocessor, without being listened to."""
    probe = RecallProbe()

    async def once() -> str:
        block, run_of = vector_block(probe), cast("Any", function("Yes!").run)
        async with memory_of(block) as memory:
            await block.aput([ChatMessage(content="cats")], session_id=memory.session_id)
            handler = run_of(user_msg="dogs and cats?", memory=memory)
            await handler
        return str(handler.run_id)

    metrics = probe.metrics(asyncio.run(once()))
    assert metrics is not None
    assert metrics.retrieval_hit
    assert metrics.avg_similarity == pytest.approx(math.sqrt(0.5), abs=1e-3)


def test_outside_of_runs(retriever: BaseRetriever) -> None:
    """What is retrieved outside of any run belongs to none."""
    with RecallProbe() as probe:
        assert len(retriever.retrieve("Oslo")) == 2
    assert probe.metrics() is None
    assert probe._runs == {}


def test_scores_that_are_none() -> None:
    """Scores that are missing or NaN are left out of the mean, but their nodes were found."""
    assert noted(RecallProbe(), 0.4, None, math.nan) == RetrievalMetrics(3, True, 0.4)


def test_nothing_can_be_said() -> None:
    """Without any score the mean is unknown, which is not the same as bad."""
    assert noted(RecallProbe(), None, math.nan) is None


def test_nothing_found() -> None:
    """A search that found nothing is known to have failed."""
    assert noted(RecallProbe()) == RetrievalMetrics(0, False, 0.0)


def test_scores_out_of_range() -> None:
    """What lies outside of 0 to 1 counts as the nearer end."""
    assert noted(RecallProbe(), -1.0, 3.5, math.inf, -math.inf) == RetrievalMetrics(4, True, 0.5)


def test_the_planner_sees_a_gap() -> None:
    """Poor scores are a recall gap to the planner, and good ones are not."""
    for score, gap in ((0.2, True), (0.9, False)):
        metrics = noted(RecallProbe(), score)
        state = synthesize_task_state(TaskStateInput("hello", retrieval_metrics=metrics))
        assert state.memory_confidence.recall_gap is gap


def test_bounded() -> None:
    """The runs that retrieved longest ago are given up."""
    probe = RecallProbe(max_runs=2)
    for id in ("a", "b", "a", "c"):
        noted(probe, 1.0, run_id=id)
    assert [probe.metrics(id) is None for id in "abc"] == [False, True, False]
    with pytest.raises(ValueError, match="max_runs"):
        RecallProbe(max_runs=0)


def test_forget() -> None:
    """A run that is forgotten starts anew."""
    probe = RecallProbe()
    noted(probe, 1.0)
    probe.forget("r")
    probe.forget("r")
    assert probe.metrics("r") is None
    assert noted(probe, 0.5) == RetrievalMetrics(1, True, 0.5)


def test_attach_and_detach() -> None:
    """A probe is attached once, and taking it away leaves all others."""

    class Other(BaseEventHandler):
        def handle(self, event: Any, **kwargs: Any) -> None:
            """Do nothing."""

    root, other = get_dispatcher(), Other()
    before = list(root.event_handlers)
    probe = RecallProbe()
    assert probe.attach() is probe.attach()
    root.add_event_handler(other)
    assert len(root.event_handlers) == len(before) + 2
    probe.detach()
    probe.detach()
    assert root.event_handlers == [*before, other]
    root.event_handlers = before


def test_it_never_breaks_a_run(
    retriever: BaseRetriever, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What goes wrong in the probe is logged once, and the nodes pass on."""

    def broken(*_: Any) -> None:
        msg = "no room"
        raise RuntimeError(msg)

    probe = RecallProbe()
    monkeypatch.setattr(probe, "_add", broken)
    agent = function(call("search", query="Oslo"), "Done.", tools=[searching(retriever)])
    with caplog.at_level(logging.WARNING, "llama_index_loopmend.recall"), probe:
        run(agent)
        assert noted(probe, 1.0) is None
    assert [record.getMessage() for record in caplog.records] == [
        "noting scores failed, and the run goes on: RuntimeError('no room')"
    ]


def test_copies_report_to_the_same_probe() -> None:
    """A memory that is copied still reports to its probe, and can be written down."""
    probe = RecallProbe()
    copied = copy.deepcopy(probe.as_postprocessor())
    with instrument_tags({"llamaindex.run_id": "r"}):
        copied.postprocess_nodes([NodeWithScore(node=TextNode(text="x"), score=1.0)])
    assert probe.metrics("r") == RetrievalMetrics(1, True, 1.0)
    assert copied.to_dict()["class_name"] == "RecallProbe"
