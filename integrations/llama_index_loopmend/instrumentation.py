"""Runs of agents as LlamaIndex's instrumentation shows them: spans of a workflow and its steps.

The spans carry the same events as the stream, so that both are read by `runs.Run`. A run's
spans are found by its id, which is among the active tags.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from inspect import BoundArguments
from threading import Lock
from typing import Any, Final

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.agent.workflow.base_agent import DEFAULT_MAX_ITERATIONS, BaseWorkflowAgent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index_instrumentation.dispatcher import active_instrument_tags
from pydantic import PrivateAttr
from typing_extensions import override
from workflows.events import StopEvent

from llama_index_loopmend.runs import Run

__all__ = ["RunSpans", "tools_of"]

_RUN_ID: Final = "llamaindex.run_id"
# A span's id is its name, a dash and a UUID.
_SUFFIX: Final = 37
_RUN: Final = "run"
_PARSED: Final = "parse_agent_output"
# The steps whose input and output tell what the model and the tools do.
_TOLD: Final = frozenset({"run_agent_step", "call_tool"})
_STEPS: Final = _TOLD | {_PARSED, "aggregate_tool_results"}


class RunSpans(BaseSpanHandler[BaseSpan]):
    """Follows each run by itself, however many go on at once; keeps no spans.

    >>> spans = RunSpans.following(lambda: True, print, lambda hook, do, *given: do(*given))
    >>> spans.open_runs
    0
    """

    _wanted: Callable[[], bool] = PrivateAttr()
    _keep: Callable[[Run], object] = PrivateAttr()
    _safely: Callable[..., object] = PrivateAttr()
    _max_runs: int = PrivateAttr()
    _max_iterations: int | None = PrivateAttr()
    _runs: OrderedDict[str, Run] = PrivateAttr(default_factory=OrderedDict)
    _owners: dict[str, str] = PrivateAttr(default_factory=dict)
    _guard: Any = PrivateAttr(default_factory=Lock)

    @classmethod
    def following(
        cls,
        wanted: Callable[[], bool],
        keep: Callable[[Run], object],
        safely: Callable[..., object],
        *,
        max_runs: int = 1000,
        max_iterations: int | None = None,
    ) -> RunSpans:
        """Return a handler that keeps the runs that are wanted when they start.

        Args:
            wanted: Asked at the start of a run, in its context.
            keep: Called with each run that ended.
            safely: Calls a function with arguments and lets no error out; told the hook's name.
            max_runs: How many runs to follow at once; the oldest are given up.
            max_iterations: The cap on steps where a run does not tell it.
        """
        spans = cls()
        spans._wanted, spans._keep, spans._safely = wanted, keep, safely
        spans._max_runs, spans._max_iterations = max_runs, max_iterations
        return spans

    @property
    def open_runs(self) -> int:
        """How many runs are going on."""
        return len(self._runs)

    @override
    def new_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any | None = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Hear of a span that is entered."""
        self._safely("span_enter", self._enter, id_, bound_args, instance, parent_span_id)

    @override
    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """Hear of a span that ends."""
        self._safely("span_exit", self._exit, id_, instance, result)

    @override
    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """Hear of a span that fails."""
        self._safely("span_drop", self._drop, id_, instance, err)

    def _enter(self, id: str, bound: BoundArguments, instance: object, within: str | None) -> None:
        name = _name(id)
        if name == _RUN and _is_agent(instance) and self._wanted():
            parent = self._owners.get(within or "")
            self._open(instance, bound.arguments.get("start_event"), parent)
        elif (run := self._current()) is not None:
            self._owners[id] = run.id or ""
            for given in bound.arguments.values() if name in _TOLD else ():
                run.see(given)

    def _exit(self, id: str, instance: object, result: object) -> None:
        name = _name(id)
        self._owners.pop(id, None)
        if name == _RUN and _is_agent(instance):
            self._close(lambda run: run.cancelled() if result is None else run.see(result))
        elif name in _STEPS and (run := self._current()) is not None:
            if name in _TOLD:
                run.see(result)
            elif name == _PARSED and isinstance(result, StopEvent):
                run.stopped_with(result.result)

    def _drop(self, id: str, instance: object, error: BaseException) -> None:
        name = _name(id)
        self._owners.pop(id, None)
        if name == _RUN and _is_agent(instance):
            self._close(lambda run: run.failed(error))
        elif name in _STEPS and (run := self._current()) is not None:
            run.step_failed(error, name)

    def _open(self, workflow: object, start: Any, parent: str | None) -> None:
        id = active_instrument_tags.get().get(_RUN_ID)
        if id is None:
            return
        asked = None if start is None else start.get("user_msg")
        told = None if start is None else start.get("max_iterations")
        run = Run(
            id=id,
            max_iterations=told or self._max_iterations or DEFAULT_MAX_ITERATIONS,
            question=asked if asked is None or isinstance(asked, str) else asked.content,
            max_seconds=getattr(workflow, "_timeout", None),
            tools=tools_of(workflow),
            parent=parent,
        )
        with self._guard:
            self._runs[id] = run
            while len(self._runs) > self._max_runs:
                self._runs.popitem(last=False)

    def _current(self) -> Run | None:
        return self._runs.get(active_instrument_tags.get().get(_RUN_ID, ""))

    def _close(self, end: Callable[[Run], object]) -> None:
        with self._guard:
            run = self._runs.pop(active_instrument_tags.get().get(_RUN_ID, ""), None)
        if run is not None:
            self._safely("run_end", end, run)
            self._keep(run)


def _name(id: str) -> str:
    return id[:-_SUFFIX].rpartition(".")[2]


def _is_agent(instance: object) -> bool:
    return isinstance(instance, (BaseWorkflowAgent, AgentWorkflow))


def tools_of(workflow: object) -> Sequence[str] | None:
    """Return the names of the tools on offer, or `None` where they are found anew each time.

    >>> tools_of(None) is None
    True
    """
    agents = list(getattr(workflow, "agents", {"": workflow}).values())
    if not all(isinstance(one, BaseWorkflowAgent) and not one.tool_retriever for one in agents):
        return None
    names = [str(tool.metadata.name) for one in agents for tool in one.tools or ()]
    return tuple(dict.fromkeys([*names, *(["handoff"] if len(agents) > 1 else [])]))
