"""How well retrieval went in a run: the scores of what was found, as the planner takes them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.memory import BaseMemory
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import active_instrument_tags
from pydantic import PrivateAttr
from typing_extensions import Self, override

from loopmend.contracts.task_input import RetrievalMetrics

__all__ = ["RecallProbe", "empty_tiers"]

_RUN_ID: Final = "llamaindex.run_id"
_LOG: Final = logging.getLogger(__name__)
_handlers: Final = Lock()


@dataclass(slots=True)
class _Found:
    """What was found in one run so far."""

    nodes: int = 0
    scored: int = 0
    total: float = 0.0

    def add(self, nodes: Sequence[NodeWithScore]) -> None:
        scores = [float(node.score) for node in nodes if node.score is not None]
        known = [min(max(score, 0.0), 1.0) for score in scores if score == score]
        self.nodes += len(nodes)
        self.scored += len(known)
        self.total += sum(known)

    def metrics(self) -> RetrievalMetrics | None:
        if self.nodes and not self.scored:
            return None
        mean = self.total / self.scored if self.scored else 0.0
        return RetrievalMetrics(
            retrieval_count=self.nodes, retrieval_hit=self.nodes > 0, avg_similarity=min(mean, 1.0)
        )


class RecallProbe:
    """Notes the scores of what is retrieved, for each run by itself; never breaks a run.

    While attached it hears of every retriever of the process that is asked inside a run of an
    agent, be it in a tool or elsewhere. A retriever that asks others is heard along with them.
    A `VectorMemoryBlock` tells nobody, so give it the probe as a postprocessor:

        probe = RecallProbe().attach()
        block = VectorMemoryBlock(..., node_postprocessors=[probe.as_postprocessor()])

    All that a run has found so far counts alike. Scores are taken for similarities from 0 to 1,
    as cosines are: what lies outside counts as the nearer end, and what has no score, or NaN, is
    counted as found but left out of the mean. Before llama-index-core 0.14.22 LlamaIndex does
    not say in which run a tool is that is not async; what such a tool retrieves is not noted.

    Args:
        max_runs: How many runs to keep; those that retrieved longest ago go.

    >>> with RecallProbe(max_runs=100) as probe:
    ...     pass  # asyncio.run(…), with agents in it
    >>> probe.metrics("no such run") is None
    True
    """

    def __init__(self, *, max_runs: int = 1000) -> None:
        if max_runs < 1:
            msg = f"max_runs must be at least 1, not {max_runs}"
            raise ValueError(msg)
        self.max_runs = max_runs
        self._runs: OrderedDict[str, _Found] = OrderedDict()
        self._lock = Lock()
        self._complained = False
        self._handler: _Hearing | None = None

    def attach(self) -> RecallProbe:
        """Listen to all retrievers of this process from now on, until `detach`.

        >>> probe = RecallProbe().attach()
        >>> probe.detach()
        """
        with self._lock:
            if self._handler is None:
                self._handler = _added(self)
        return self

    def detach(self) -> None:
        """Stop what `attach` began; what was noted stays."""
        with self._lock:
            handler, self._handler = self._handler, None
        if handler is not None:
            _remove(handler)

    def __enter__(self) -> Self:
        self.attach()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()

    def as_postprocessor(self) -> BaseNodePostprocessor:
        """Return a postprocessor that passes nodes on as they are and notes their scores.

        It needs no `attach`. Do not give it to what `attach` hears of already, such as a query
        engine: that would count twice. It is not called when nothing is found.

        >>> RecallProbe().as_postprocessor().postprocess_nodes([])
        []
        """
        return _Noting.with_probe(self)

    def metrics(self, run_id: str | None = None) -> RetrievalMetrics | None:
        """Return how well retrieval went in a run so far, or `None` where nothing can be said.

        That is so while nothing was looked for, and when nothing that was found has a score. When
        something was looked for and nothing found, there are metrics, and they say so.

        Args:
            run_id: The run's id, as its handler has it; the current run's if left out.
        """
        with self._lock:
            found = self._runs.get(_current() if run_id is None else run_id)
            return None if found is None else found.metrics()

    def forget(self, run_id: str) -> None:
        """Forget a run; one that is not known is none to forget.

        >>> RecallProbe().forget("no such run")
        """
        with self._lock:
            self._runs.pop(run_id, None)

    def __deepcopy__(self, memo: object) -> RecallProbe:
        """Return itself, so that a copied memory still reports to it."""
        return self

    def _note(self, nodes: Sequence[NodeWithScore]) -> None:
        try:
            self._add(_current(), nodes)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on
            self._complain(error)

    def _add(self, run: str, nodes: Sequence[NodeWithScore]) -> None:
        if not run:
            return
        with self._lock:
            self._runs.setdefault(run, _Found()).add(nodes)
            self._runs.move_to_end(run)
            while len(self._runs) > self.max_runs:
                self._runs.popitem(last=False)

    def _complain(self, error: Exception) -> None:
        with self._lock:
            complained, self._complained = self._complained, True
        if not complained:
            _LOG.warning("noting scores failed, and the run goes on: %r", error)


class _Hearing(BaseEventHandler):
    """Tells a probe of retrievals that ended."""

    _probe: RecallProbe = PrivateAttr()

    @override
    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if isinstance(event, RetrievalEndEvent):
            self._probe._note(event.nodes)  # noqa: SLF001 - the module's own


class _Noting(BaseNodePostprocessor):
    """Tells a probe of nodes that pass by."""

    _probe: RecallProbe = PrivateAttr()

    @classmethod
    def with_probe(cls, probe: RecallProbe) -> _Noting:
        made = cls()
        made._probe = probe
        return made

    @classmethod
    @override
    def class_name(cls) -> str:
        return "RecallProbe"

    @override
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        self._probe._note(nodes)  # noqa: SLF001 - the module's own
        return nodes

    @override
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        # Not in a thread, as it would be otherwise: this takes no time.
        return self._postprocess_nodes(nodes, query_bundle)


async def empty_tiers(
    memory: BaseMemory, messages: Sequence[ChatMessage] = ()
) -> tuple[str, ...] | None:
    """Ask each block of a memory and return the names of those that have nothing to say.

    `None` means that it cannot be known, because the memory has no blocks. Each block is asked
    as the memory would ask it, so this costs one retrieval for each that searches, which a
    probe notes as well; what a block raises is raised.

    Args:
        memory: LlamaIndex's `Memory`, or any other.
        messages: What to search with; what the memory holds, if left out.

    >>> import asyncio
    >>> from llama_index.core.memory import Memory, StaticMemoryBlock
    >>> blank = StaticMemoryBlock(name="profile", static_content=[])
    >>> memory = Memory.from_defaults(memory_blocks=[blank])
    >>> asyncio.run(empty_tiers(memory, [ChatMessage(content="Who am I?")]))
    ('profile',)
    """
    blocks = getattr(memory, "memory_blocks", None)
    if not blocks:
        return None
    asked = list(messages) or await memory.aget_all()
    session = getattr(memory, "session_id", None)
    # One after the other, as the memory itself does it: blocks may share what they ask.
    return tuple(
        [block.name for block in blocks if _is_blank(await block.aget(asked, session_id=session))]
    )


def _is_blank(content: Any) -> bool:
    if isinstance(content, str):
        return not content.strip()
    return all(isinstance(one, TextBlock) and not one.text.strip() for one in content or ())


def _current() -> str:
    return str(active_instrument_tags.get().get(_RUN_ID) or "")


def _added(probe: RecallProbe) -> _Hearing:
    handler = _Hearing()
    handler._probe = probe  # noqa: SLF001 - the module's own
    with _handlers:
        get_dispatcher().add_event_handler(handler)
    return handler


def _remove(handler: _Hearing) -> None:
    with _handlers:
        root = get_dispatcher()
        # A new list, because another thread may be going through the old one.
        root.event_handlers = [one for one in root.event_handlers if one is not handler]
