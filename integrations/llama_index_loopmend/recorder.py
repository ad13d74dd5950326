"""Recording runs of LlamaIndex agents, from its instrumentation: spans of a run and its steps.

A run's spans are found by its id, which is among the active tags.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import BoundArguments
from threading import Lock
from typing import Any, Final

from llama_index.core.agent.workflow import AgentWorkflow
from llama_index.core.agent.workflow.base_agent import DEFAULT_MAX_ITERATIONS, BaseWorkflowAgent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import active_instrument_tags
from pydantic import PrivateAttr
from typing_extensions import override
from workflows.events import StopEvent

from llama_index_loopmend.runs import Run
from loopmend.adapting import KeptTraces
from loopmend.traces import Limits, Trace

__all__ = ["TraceRecorder", "record_traces"]

_handlers: Final = Lock()
_here: ContextVar[tuple[TraceRecorder, ...]] = ContextVar("loopmend_recorders", default=())

_RUN_ID: Final = "llamaindex.run_id"
# A span's id is its name, a dash and a UUID.
_SUFFIX: Final = 37
_RUN: Final = "run"
_PARSED: Final = "parse_agent_output"
# The steps whose input and output tell what the model and the tools do.
_TOLD: Final = frozenset({"run_agent_step", "call_tool"})
_STEPS: Final = _TOLD | {_PARSED, "aggregate_tool_results"}


class TraceRecorder(KeptTraces):
    """Keeps a trace of each run and never breaks a run: it logs its own errors once.

    `attach` records all runs of the process, `record_traces` those of a block.

    Args:
        max_iterations: The cap on steps, if the run does not report it.
        max_traces: How many traces to keep, and how many runs to follow at once; the oldest go
            first.
        on_trace: Called with each trace when its run has ended, on a thread of its own; `flush`
            waits for it, and `dropped` counts the traces that it was too slow for.
        inline: Call `on_trace` in the run instead, which then waits for it.

    >>> recorder = TraceRecorder(max_traces=100)
    >>> recorder.traces, recorder.last
    ((), None)
    """

    def __init__(
        self,
        *,
        max_iterations: int | None = None,
        max_traces: int = 1000,
        on_trace: Callable[[Trace], object] | None = None,
        inline: bool = False,
    ) -> None:
        super().__init__(max_traces=max_traces, on_trace=on_trace, inline=inline)
        self.max_iterations = max_iterations
        self._spans: _RunSpans | None = None

    def attach(self) -> TraceRecorder:
        """Record all agent runs of this process from now on, until `detach`.

        >>> recorder = TraceRecorder().attach()
        >>> recorder.detach()
        """
        with self._lock:
            if self._spans is None:
                self._spans = _added(self, lambda: True)
        return self

    def detach(self) -> None:
        """Stop recording; forgets runs that have not ended."""
        with self._lock:
            spans, self._spans = self._spans, None
        if spans is not None:
            _remove(spans)


@contextmanager
def record_traces(
    *,
    max_iterations: int | None = None,
    max_traces: int = 1000,
    on_trace: Callable[[Trace], object] | None = None,
    inline: bool = False,
) -> Iterator[TraceRecorder]:
    """Record the agent runs that start and end in this block.

    It does not record runs that other tasks or threads start meanwhile.
    The arguments are those of `TraceRecorder`.

    >>> with record_traces() as recorder:
    ...     pass  # asyncio.run(…), with agents in it
    >>> recorder.traces
    ()
    """
    recorder = TraceRecorder(
        max_iterations=max_iterations, max_traces=max_traces, on_trace=on_trace, inline=inline
    )
    token = _here.set((*_here.get(), recorder))
    spans = _added(recorder, lambda: recorder in _here.get())
    try:
        yield recorder
    finally:
        _remove(spans)
        _here.reset(token)
        recorder.flush()


class _RunSpans(BaseSpanHandler[BaseSpan]):
    """Follows each run by itself, however many go on at once; keeps no spans."""

    _recorder: TraceRecorder = PrivateAttr()
    _wanted: Callable[[], bool] = PrivateAttr()
    _runs: OrderedDict[str, Run] = PrivateAttr(default_factory=OrderedDict)
    _owners: dict[str, str] = PrivateAttr(default_factory=dict)
    _guard: Any = PrivateAttr(default_factory=Lock)

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

    def _safely(self, hook: str, do: Callable[..., object], *given: Any) -> None:
        """Do it without ever breaking the run that is looked at."""
        try:
            do(*given)
        except KeyboardInterrupt:  # this is a person's
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, the run goes on
            self._recorder.complain(hook, error)

    def _enter(self, id: str, bound: BoundArguments, instance: object, within: str | None) -> None:
        name = _name(id)
        if name == _RUN and _is_agent(instance) and self._wanted():
            parent = self._owners.get(within or "")
            self._open(instance, bound.arguments.get("start_event"), parent)
        elif (run := self._current()) is not None:
            self._owners[id] = run.id
            for given in bound.arguments.values() if name in _TOLD else ():
                run.see(given)

    def _exit(self, id: str, instance: object, result: object) -> None:
        name = _name(id)
        self._owners.pop(id, None)
        if name == _RUN and _is_agent(instance):
            self._close(lambda run: run.fail(None) if result is None else run.see(result))
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
            id,
            question=asked if asked is None or isinstance(asked, str) else asked.content,
            limits=Limits(
                told or self._recorder.max_iterations or DEFAULT_MAX_ITERATIONS,
                getattr(workflow, "_timeout", None),
            ),
            tools=_tools_of(workflow),
            parent=parent,
        )
        with self._guard:
            self._runs[id] = run
            while len(self._runs) > self._recorder.max_traces:
                self._runs.popitem(last=False)

    def _current(self) -> Run | None:
        return self._runs.get(active_instrument_tags.get().get(_RUN_ID, ""))

    def _close(self, end: Callable[[Run], object]) -> None:
        with self._guard:
            run = self._runs.pop(active_instrument_tags.get().get(_RUN_ID, ""), None)
        if run is not None:
            self._safely("run_end", end, run)
            self._safely("on_trace", lambda: self._recorder.keep(run.trace()))


def _added(recorder: TraceRecorder, wanted: Callable[[], bool]) -> _RunSpans:
    """Let a recorder hear of all spans, and follow the runs that are wanted when they start."""
    spans = _RunSpans()
    spans._recorder, spans._wanted = recorder, wanted  # noqa: SLF001 - the module's own
    with _handlers:
        get_dispatcher().add_span_handler(spans)
    return spans


def _remove(spans: _RunSpans) -> None:
    with _handlers:
        root = get_dispatcher()
        # A new list, because another thread may be going through the old one.
        root.span_handlers = [one for one in root.span_handlers if one is not spans]


def _name(id: str) -> str:
    return id[:-_SUFFIX].rpartition(".")[2]


def _is_agent(instance: object) -> bool:
    return isinstance(instance, (BaseWorkflowAgent, AgentWorkflow))


def _tools_of(workflow: object) -> Sequence[str] | None:
    """Return the names of the tools on offer, or `None` where they are found anew each time."""
    agents = list(getattr(workflow, "agents", {"": workflow}).values())
    if any(one.tool_retriever for one in agents):
        return None
    names = [str(tool.metadata.name) for one in agents for tool in one.tools or ()]
    return tuple(dict.fromkeys([*names, *(["handoff"] if len(agents) > 1 else [])]))
