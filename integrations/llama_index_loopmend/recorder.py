"""Recording runs of LlamaIndex agents, from their stream of events or from instrumentation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, Final, TypeVar

from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import active_instrument_tags
from workflows.events import Event, StopEvent
from workflows.handler import WorkflowHandler

from llama_index_loopmend.instrumentation import RunSpans, tools_of
from llama_index_loopmend.runs import Run
from loopmend.traces.kept import KeptTraces
from loopmend.traces.trace import Trace

__all__ = ["TraceRecorder", "record_traces"]

T = TypeVar("T")

_handlers: Final = Lock()
_here: ContextVar[tuple[TraceRecorder, ...]] = ContextVar("loopmend_recorders", default=())


class TraceRecorder(KeptTraces):
    """Keeps a trace of each run, and never breaks one: it logs its own errors, once.

    Either hand it a run, which leaves the events to you:

        async for event in recorder.tee(agent.run(user_msg="…", memory=memory)):
            ...

    or let it watch from outside, with `attach` for all runs of the process or `record_traces`
    for those of a block. Do only one of the two: otherwise it records the run twice.

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
        self._spans: RunSpans | None = None

    def tee(self, handler: WorkflowHandler) -> AsyncGenerator[Event, None]:
        """Pass on the events of a run as they come, and record it.

        A run has only one stream of events, and this consumes it. To get the result or the
        exception, await the handler, as always.
        """
        return self._follow(handler, self._run_of(handler))

    async def record(self, handler: WorkflowHandler) -> Trace | None:
        """Follow a run to its end and return its trace, even if the run fails.

        To get the result or the exception, await the handler. There is no trace only if recording
        it went wrong, which the recorder logs.
        """
        run = self._run_of(handler)
        async for _ in self._follow(handler, run):
            pass
        return self._safely("record", run.trace)

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

    def _run_of(self, handler: WorkflowHandler) -> Run:
        workflow = getattr(handler, "_workflow", None)
        # Who records the run of an agent in a tool does so in the run that the tool is part of.
        parent = active_instrument_tags.get().get("llamaindex.run_id")
        return Run(
            id=getattr(handler, "run_id", None),
            max_iterations=self.max_iterations,
            max_seconds=getattr(workflow, "_timeout", None),
            tools=self._safely("tools", tools_of, workflow),
            parent=parent,
        )

    async def _follow(self, handler: WorkflowHandler, run: Run) -> AsyncGenerator[Event, None]:
        kept = False
        try:
            async for event in handler.stream_events():
                self._safely("tee", run.see, event)
                if isinstance(event, StopEvent):
                    # Now and not afterwards: many leave their loop at this event.
                    kept = True
                    self._keep(run)
                yield event
        except asyncio.CancelledError:
            if not kept:
                self._safely("tee", run.cancelled)
            raise
        finally:
            if not kept:
                self._keep(run)

    def _keep(self, run: Run) -> None:
        """Keep the trace of a run that ended, or that nobody looks at any more."""
        self._safely("trace", run.left)
        trace = self._safely("trace", run.trace)
        if trace is not None:
            self.keep(trace)

    def _safely(self, hook: str, do: Callable[..., T], *given: Any) -> T | None:
        """Do it without ever breaking the run that is looked at."""
        try:
            return do(*given)
        except KeyboardInterrupt:  # this is a person's
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, the run goes on
            self.complain(hook, error)
        return None


@contextmanager
def record_traces(**options: Any) -> Iterator[TraceRecorder]:
    """Record the agent runs that start and end in this block.

    It does not record runs that other tasks or threads start meanwhile.

    Args:
        options: Those of `TraceRecorder`.

    >>> with record_traces() as recorder:
    ...     pass  # asyncio.run(…), with agents in it
    >>> recorder.traces
    ()
    """
    recorder = TraceRecorder(**options)
    token = _here.set((*_here.get(), recorder))
    spans = _added(recorder, lambda: recorder in _here.get())
    try:
        yield recorder
    finally:
        _remove(spans)
        _here.reset(token)
        recorder.flush()


def _added(recorder: TraceRecorder, wanted: Callable[[], bool]) -> RunSpans:
    """Let a recorder hear of all spans, and follow the runs that are wanted when they start."""
    spans = RunSpans.following(
        wanted,
        recorder._keep,  # noqa: SLF001 - the module's own
        recorder._safely,  # noqa: SLF001 - the module's own
        max_runs=recorder.max_traces,
        max_iterations=recorder.max_iterations,
    )
    with _handlers:
        get_dispatcher().add_span_handler(spans)
    return spans


def _remove(spans: RunSpans) -> None:
    with _handlers:
        root = get_dispatcher()
        # A new list, because another thread may be going through the old one.
        root.span_handlers = [one for one in root.span_handlers if one is not spans]
