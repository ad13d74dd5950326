"""Records what agents, graphs and chains do, as traces. It only watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from langchain_loopmend.run_traces import trace_of
from langchain_loopmend.run_values import is_fault, is_interrupt, results_in
from langchain_loopmend.runs import Kind, OpenRuns, Recording
from loopmend.traces import Limits, Trace
from loopmend.traces.kept import KeptTraces

__all__ = ["TraceRecorder", "record_traces"]


def _handler_class() -> type[BaseCallbackHandler]:
    """Return the class to build on: LangGraph tells of interrupts only to its own."""
    try:
        from langgraph.callbacks import GraphCallbackHandler
    except ImportError:
        return BaseCallbackHandler
    return GraphCallbackHandler


if TYPE_CHECKING:
    _Handler = BaseCallbackHandler
else:
    _Handler = _handler_class()


def _guarded(hook: Callable[..., None]) -> Any:
    """Make a hook that never raises: who watches must not break what is watched."""

    @wraps(hook)
    def guarded(self: TraceRecorder, *args: Any, **kwargs: Any) -> None:
        try:
            hook(self, *args, **kwargs)
        except KeyboardInterrupt:  # this is a person's
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, the host goes on
            self.complain(hook.__name__, error)

    return guarded


class TraceRecorder(KeptTraces, _Handler):
    """A callback handler that makes a `Trace` of each root run.

    Works with AgentExecutor, LangGraph, `create_agent` and chains, sync, async and streamed;
    pass it as `config={"callbacks": [recorder]}`. What a sub-agent does is part of the trace of
    the run that called it. If a middleware asks a model for something itself, such as a summary,
    that is not a step. Calling only a prompt or a tool leaves no trace, unless it fails.

    Args:
        max_iterations: The host's cap on steps, to note in the traces.
        max_seconds: The host's time limit.
        max_traces: How many finished traces to keep; the oldest go first.
        on_trace: Called with each finished trace, on a thread of its own; `flush` waits for it,
            and `dropped` counts the traces that it was too slow for.
        inline: Call `on_trace` in the run instead, which then waits for it.
        clock: Returns the time in seconds.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> recorder = TraceRecorder()
    >>> llm = FakeListChatModel(responses=["In Norway."])
    >>> _ = llm.invoke("Where is Oslo?", {"callbacks": [recorder]})
    >>> recorder.last.question, recorder.last.answer
    ('Where is Oslo?', 'In Norway.')
    """

    _complaint = "%s failed, but the run goes on: %s"

    def __init__(  # noqa: PLR0913 - each is an option of its own
        self,
        *,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        max_traces: int = 1000,
        on_trace: Callable[[Trace], object] | None = None,
        inline: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(max_traces=max_traces, on_trace=on_trace, inline=inline)
        self._limits = Limits(max_iterations, max_seconds)
        self._runs = OpenRuns(clock)

    # What was recorded

    def get(self, run_id: UUID | str) -> Trace | None:
        """Return the trace of a root run, if it is finished and still kept.

        >>> TraceRecorder().get("no such run") is None
        True
        """
        wanted = str(run_id)
        return next((trace for trace in reversed(self.traces) if trace.id == wanted), None)

    # Hooks

    @_guarded
    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Remember a chain, a parser, a graph or one of its nodes."""
        kind: Kind = "parser" if kwargs.get("run_type") == "parser" else "chain"
        name = str(kwargs.get("name") or "")
        told, tags = kwargs.get("metadata") or {}, kwargs.get("tags")
        parent = kwargs.get("parent_run_id")
        run, recording = self._runs.start(run_id, parent, kind, name, inputs, told=told)
        if name == "AgentExecutor":
            self._runs.mark(run_id, "agent_executor")
        elif tags and any(tag.startswith("graph:step:") for tag in tags):
            self._runs.mark_node(run, recording, inputs, told)

    @_guarded
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Note the results that a node returns, and finish a root."""
        run = self._runs.find(run_id)
        if run is not None and run.node is not None:
            results = list(results_in(outputs))
            if results:
                self._runs.note(run_id, results)
        self._end(run_id, outputs, given=kwargs.get("inputs"))

    @_guarded
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note a parser's error and an interrupt, and finish a root."""
        run = self._runs.find(run_id)
        if run is not None and run.kind == "parser" and is_fault(error):
            self._runs.note(run_id, error)
        if run is not None and run.node is not None and run.parent and is_interrupt(error):
            self._runs.interrupt(run.parent.id)
        self._end(run_id, error=error, given=kwargs.get("inputs"))

    @_guarded
    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Remember that a model is asked."""
        self._runs.ask(serialized, prompts, run_id, kwargs)

    @_guarded
    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """Remember what a model, a tool or a retriever returned."""
        self._end(run_id, response)

    @_guarded
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Remember that one of them failed."""
        self._end(run_id, error=error)

    on_chat_model_start = on_llm_start
    on_tool_end = on_retriever_end = on_llm_end
    on_tool_error = on_retriever_error = on_llm_error
    on_retriever_start = on_chain_start  # it may ask a model

    @_guarded
    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Remember that a tool runs."""
        name = str((serialized or {}).get("name") or kwargs.get("name") or "")
        given = input_str if kwargs.get("inputs") is None else kwargs["inputs"]
        parent, told = kwargs.get("parent_run_id"), kwargs.get("metadata")
        call_id = kwargs.get("tool_call_id")
        self._runs.start(run_id, parent, "tool", name, given, call_id=call_id, told=told)

    @_guarded
    def on_agent_action(self, action: Any, *, run_id: UUID, **_: Any) -> None:
        """Note what an executor is about to do, or that it is done."""
        self._runs.mark(run_id, "agent_executor")
        self._runs.note(run_id, action)

    on_agent_finish = on_agent_action

    @_guarded
    def on_interrupt(self, event: Any) -> None:
        """Note that a graph waits for a human."""
        # A graph none of whose nodes has run is known to be one only now.
        self._runs.mark(event.run_id, "langgraph")
        self._runs.interrupt(event.run_id)

    # What the hooks do

    def _end(self, id: UUID, result: Any = None, **told: Any) -> None:
        ended = self._runs.end(id, result, **told)
        if ended is not None:
            self._finish(ended)

    def _finish(self, recording: Recording) -> None:
        if recording.is_worth_keeping:
            self.keep(trace_of(recording, self._limits))


_ACTIVE: Final[ContextVar[TraceRecorder | None]] = ContextVar("loopmend_recorder", default=None)
# Once for the process: LangChain keeps each hook for ever.
register_configure_hook(_ACTIVE, inheritable=True)


@contextmanager
def record_traces(
    *,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    max_traces: int = 1000,
    on_trace: Callable[[Trace], object] | None = None,
    inline: bool = False,
) -> Iterator[TraceRecorder]:
    """Record every run within the block, without passing a callback.

    The block sees what runs in its context: on its own thread, in the threads that LangChain and
    LangGraph start for batches, branches and tools, in tasks and in `asyncio.to_thread`. It does
    not see a thread that you start yourself, unless that runs in a copy of the context
    (`contextvars.copy_context().run`) or you pass the recorder to its runs as a callback.

    Of nested blocks the innermost one records. LangGraph reports a graph's fixed stops
    (`interrupt_before`) only to recorders in the config; other interrupts show up here as well.

    The arguments are those of `TraceRecorder`.

    >>> from langchain_core.language_models import FakeListChatModel
    >>> with record_traces() as recorder:
    ...     _ = FakeListChatModel(responses=["In Norway."]).invoke("Where is Oslo?")
    >>> recorder.last.answer
    'In Norway.'
    """
    recorder = TraceRecorder(
        max_iterations=max_iterations,
        max_seconds=max_seconds,
        max_traces=max_traces,
        on_trace=on_trace,
        inline=inline,
    )
    token = _ACTIVE.set(recorder)
    try:
        yield recorder
    finally:
        _ACTIVE.reset(token)
        recorder.flush()
