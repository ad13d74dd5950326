"""Records what agents, graphs and chains do, as traces. It only watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from langchain_loopmend.run_values import (
    UNKNOWN,
    actions_in,
    answer_of,
    ids_in,
    mark_of,
    model_reply,
    observed,
    question_of,
    results_in,
    told_by,
    tools_in,
)
from loopmend.adapting import (
    KeptTraces,
    Kind,
    ModelReply,
    OpenRuns,
    Recording,
    Run,
    ending_of,
    is_fault,
    trace_of,
)
from loopmend.traces import Limits, Observation, Trace, TraceCall

__all__ = ["TraceRecorder", "record_traces"]

# With these LangChain's own middleware marks its calls, and asks others to do so.
_MARKS: Final = frozenset({"lc_internal_call", "lc_source"})
_HOOKS: Final = frozenset({"before_agent", "before_model", "after_model", "after_agent"})
_EXECUTOR: Final = "AgentExecutor"
# Names that say nothing about who acts.
_GENERIC: Final = frozenset({"LangGraph", _EXECUTOR})


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
        name, tags = str(kwargs.get("name") or ""), kwargs.get("tags")
        run = self._start(run_id, kind, name, inputs, kwargs)[0]
        if name == _EXECUTOR:
            self._runs.mark(run, "agent_executor")
        elif tags and any(tag.startswith("graph:step:") for tag in tags):
            told = kwargs.get("metadata") or {}
            run.node = str(told.get("langgraph_node", name))
            made = told.get("ls_integration") == "langchain_create_agent"
            if made:
                run.messages = ids_in(inputs)
            if run.parent is not None:
                self._runs.mark(run.parent, "create_agent" if made else "langgraph")

    @_guarded
    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Note the results that a node returns, and finish a root."""
        run = self._runs.find(run_id)
        if run is not None and run.node is not None:
            results = list(map(observed, results_in(outputs)))
            if results:
                self._runs.note(run, results)
        self._end(run_id, outputs, given=kwargs.get("inputs"))

    @_guarded
    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note a parser's error and an interrupt, and finish a root."""
        run = self._runs.find(run_id)
        if run is not None and run.kind == "parser" and is_fault(error):
            self._runs.note(run, error)
        if run is not None and run.node and run.parent and ending_of(error) == "interrupted":
            self._runs.interrupt(run.parent)
        self._end(run_id, error=error, given=kwargs.get("inputs"))

    @_guarded
    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Remember that a model is asked."""
        name, known = (serialized or {}).get("name"), {"messages": ids_in(prompts)}
        run, recording = self._start(run_id, "model", str(name or ""), prompts, kwargs, **known)
        run.strange = _is_strange(run)
        if recording.asked is None and not (run.aside or run.strange):
            recording.asked = question_of(prompts)
            recording.tools = tools_in(kwargs.get("invocation_params"))

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
        wanted = name
        if name == UNKNOWN and isinstance(given, dict):
            wanted = str(given.get("requested_tool_name", name))
        made = TraceCall(wanted, given, kwargs.get("tool_call_id"))
        self._start(run_id, "tool", name, given, kwargs, call=made)

    @_guarded
    def on_agent_action(self, action: Any, *, run_id: UUID, **_: Any) -> None:
        """Note what an executor is about to do, or that it is done."""
        run = self._runs.find(run_id)
        if run is None:
            return
        self._runs.mark(run, "agent_executor")
        told = told_by(action)
        if told is not None:
            self._runs.note(run, told)

    on_agent_finish = on_agent_action

    @_guarded
    def on_interrupt(self, event: Any) -> None:
        """Note that a graph waits for a human."""
        run = self._runs.find(event.run_id)
        if run is not None:
            # A graph none of whose nodes has run is known to be one only now.
            self._runs.mark(run, "langgraph")
            self._runs.interrupt(run)

    # What the hooks do

    def _start(
        self, id: UUID, kind: Kind, name: str, given: Any, told: dict[str, Any], **known: Any
    ) -> tuple[Run, Recording]:
        marked = not _MARKS.isdisjoint(told.get("metadata") or ())
        own = "" if name in _GENERIC else name
        parent = told.get("parent_run_id")
        run, recording = self._runs.start(id, parent, kind, own, marked=marked, **known)
        run.aside = _is_aside(run)
        if run is recording.root:
            recording.question = question_of(given)
        return run, recording

    def _end(
        self, id: UUID, result: Any = None, error: BaseException | None = None, given: Any = None
    ) -> None:
        run = self._runs.find(id)
        told: ModelReply | Observation | None = None
        if run is not None and run.kind == "model":
            told = model_reply(result)
        elif run is not None and run.call is not None and error is None:
            told = observed(result)
            if run.name == UNKNOWN:
                told = replace(told, failed=True)
        ended = self._runs.end(id, told, error)
        if ended is None or not ended.is_worth_keeping:
            return
        if given is not None:  # a stream's input is known at its end
            ended.question = question_of(given)
        said = answer_of(result), mark_of(result), actions_in(result)
        self.keep(trace_of(ended, self._limits, *said))


def _is_aside(run: Run) -> bool:
    """Tell whether a run is what a middleware of `create_agent` does for itself."""
    parent = run.parent
    if parent is None or parent.aside:
        return parent is not None
    agent, place = run.agent, run.place
    if run.kind == "model" and place is not None and place.node == "tools":
        # A model that no tool asks is asked around one.
        return agent is not None and agent.framework == "create_agent"
    hooked = parent.node is not None and parent.node.rpartition(".")[2] in _HOOKS
    return (hooked or (run.marked and not parent.marked)) and agent is not None


def _is_strange(model: Run) -> bool:
    """Tell whether a model is asked nothing of what the agent knows."""
    place = model.place
    known = frozenset() if place is None or place.node != "model" else place.messages
    return bool(known) and known.isdisjoint(model.messages)


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
