"""What LangChain's callbacks tell of a run, as it is remembered until the run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal, Union
from uuid import UUID

from langchain_core.exceptions import OutputParserException

from langchain_loopmend.run_values import (
    CANCELS,
    causes,
    error_of,
    ids_in,
    is_control_flow,
    is_fault,
    mark_of,
    tools_in,
)
from loopmend import StopReason
from loopmend.traces import TraceError

__all__ = ["Kind", "Note", "OpenRuns", "Recording", "Run"]

Kind = Literal["chain", "parser", "model", "tool"]

# Runs that never end, such as those of a thread that died, must not pile up.
_MOST_OPEN: Final = 1000
# What is a step or a part of one; other runs only tell where it belongs.
_FACTS: Final = frozenset({"model", "tool"})
# With these LangChain's own middleware marks its calls, and asks others to do so.
_MARKS: Final = frozenset({"lc_internal_call", "lc_source"})
_HOOKS: Final = frozenset({"before_agent", "before_model", "after_model", "after_agent"})
# Names that say nothing about who acts.
_GENERIC: Final = frozenset({"LangGraph", "AgentExecutor", ""})


@dataclass(slots=True, eq=False)
class Run:
    """One run of LangChain's: a chain, a parser, a model's call or a tool's."""

    id: UUID
    kind: Kind
    name: str
    parent: Run | None
    started: float
    given: Any = None
    """A tool's input; for other runs nothing is kept."""
    call_id: str | None = None
    node: str | None = None
    """The node's name, if it is one of a graph."""
    framework: str | None = None
    """What kind of agent it is, if it is one."""
    marked: bool = False
    """Whether it is marked as a middleware's own, or inherits such a mark."""
    messages: frozenset[str] = frozenset()
    """The ids of the messages that a node was given, or that a model was asked."""
    seconds: float | None = None
    """How long it took; `None` if it has not ended."""
    result: Any = None
    error: BaseException | None = None

    def upwards(self) -> Iterator[Run]:
        """Yield the run, its parent, and so on to the root."""
        run: Run | None = self
        while run is not None:
            yield run
            run = run.parent

    @property
    def agent(self) -> Run | None:
        """The innermost agent that it is a part of."""
        run: Run | None = self
        while run is not None and run.framework is None:
            run = run.parent
        return run

    @property
    def place(self) -> Run | None:
        """The innermost node or tool that it is a part of."""
        run: Run | None = self
        while run is not None and not (run.node or run.kind == "tool"):
            run = run.parent
        return run

    @property
    def is_aside(self) -> bool:
        """Whether a middleware does it for itself, such as a summary, and not for the agent."""
        run = self
        while run.parent is not None:
            if _starts_an_aside(run, run.parent):
                return True
            run = run.parent
        return False

    @property
    def is_strange(self) -> bool:
        """Whether a model was asked nothing of what the agent knows."""
        place = self.place
        if self.kind != "model" or place is None or place.node != "model":
            return False
        return bool(place.messages) and place.messages.isdisjoint(self.messages)

    @property
    def agent_name(self) -> str | None:
        """What to call an agent that works for another one; `None` for the outermost one."""
        if self.parent is None or self.parent.agent is None:
            return None
        # One without a name is called after the tool or the node that it works for.
        works_for = (run.name if run.kind == "tool" else run.node or "" for run in self.upwards())
        names = (name for name in (self.name, *works_for) if name not in _GENERIC)
        return next(names, self.name or None)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was told about a run: an action, a finish, a parser's error, tool results."""

    run: Run
    value: Any


@dataclass(slots=True, eq=False)
class Recording:
    """A root run and what happened in it, in order."""

    root: Run
    given: Any
    open: set[Run] = field(default_factory=set)
    facts: list[Union[Run, Note]] = field(default_factory=list)
    """Models' and tools' runs as they started, and notes as they came."""
    asked: Any = None
    """What the first model was asked."""
    tools: tuple[str, ...] | None = None
    agent: Run | None = None
    """The outermost agent."""
    interrupted: bool = False
    """Whether the outermost agent waits for a human."""

    @property
    def is_worth_keeping(self) -> bool:
        """Whether a model was asked, an agent ran or something failed.

        A prompt, a tool or a lambda that somebody calls by itself is no agent's run.
        """
        asked = any(isinstance(fact, Run) and fact.kind == "model" for fact in self.facts)
        return asked or self.agent is not None or self.root.error is not None

    @property
    def reason(self) -> str | None:
        """Why it stopped, where that is certain; else the trace tells it."""
        error = self.root.error
        if isinstance(error, CANCELS):
            return StopReason.CANCELLED.value
        if self.interrupted or is_control_flow(error):
            return StopReason.INTERRUPTED.value
        return None

    @property
    def ended(self) -> str | None:
        """Why loopmend, not the model, ended it; the trace tells it of any other end."""
        finished = (f.value for f in reversed(self.facts) if isinstance(f, Note))
        last = next((value for value in finished if hasattr(value, "return_values")), None)
        return mark_of(self.root.result) or mark_of(last)

    @property
    def error(self) -> TraceError | None:
        """What was raised to the host, and where it came from."""
        error = self.root.error
        if not is_fault(error):
            return None
        source = self.source(error)
        if isinstance(source, Run):
            return error_of(error, source.kind)
        parsing = any(isinstance(cause, OutputParserException) for cause in causes(error))
        return error_of(error, "parser" if source is not None or parsing else "host")

    def source(self, error: BaseException) -> Run | Note | None:
        """Return who told of an error, or of what it was raised from."""
        chain = list(causes(error))
        for fact in reversed(self.facts):  # what is inside starts later
            if (fact.value if isinstance(fact, Note) else fact.error) in chain:
                return fact
        return None


class OpenRuns:
    """The runs that go on, and what is remembered of each root's; safe for several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._roots: dict[UUID, Recording] = {}
        self._runs: dict[UUID, tuple[Run, Recording]] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def find(self, id: UUID) -> Run | None:
        """Return a run that goes on."""
        found = self._runs.get(id)
        return None if found is None else found[0]

    def start(  # noqa: PLR0913 - what a run is
        self,
        id: UUID,
        parent_id: UUID | None,
        kind: Kind,
        name: str,
        given: Any,
        *,
        call_id: str | None = None,
        told: dict[str, Any] | None = None,
    ) -> tuple[Run, Recording]:
        """Remember a run; one whose parent is not known is a root."""
        with self._lock:
            above = None if parent_id is None else self._runs.get(parent_id)
            run = Run(id, kind, name, None if above is None else above[0], self._clock())
            if above is None:
                recording = self._roots[id] = Recording(run, given)
            else:
                recording = above[1]
            recording.open.add(run)
            self._runs[id] = run, recording
            if told:
                run.marked = not _MARKS.isdisjoint(told)
            if kind == "tool":
                run.given, run.call_id = given, call_id
            elif kind == "model":
                run.messages = ids_in(given)
            if kind in _FACTS:
                recording.facts.append(run)
            if len(self._roots) > _MOST_OPEN:
                self._forget(self._roots.pop(next(iter(self._roots))))
        return run, recording

    def ask(self, serialized: Any, asked: Any, id: UUID, told: dict[str, Any]) -> None:
        """Remember that a model is asked."""
        name, parent = str((serialized or {}).get("name") or ""), told.get("parent_run_id")
        run, recording = self.start(id, parent, "model", name, asked, told=told.get("metadata"))
        if recording.asked is None and not (run.is_aside or run.is_strange):
            recording.asked = asked
            recording.tools = tools_in(told.get("invocation_params"))

    def mark(self, id: UUID, framework: str) -> None:
        """Remember that a run is an agent; the outermost one starts first."""
        run, recording = self._runs.get(id, (None, None))
        if run is not None and recording is not None:
            self._mark(run, recording, framework)

    def _mark(self, run: Run, recording: Recording, framework: str) -> None:
        if run.framework is not None:
            return
        with self._lock:
            run.framework = framework
            recording.agent = recording.agent or run

    def mark_node(self, run: Run, recording: Recording, given: Any, told: dict[str, Any]) -> None:
        """Remember that a run is a graph's node, and its parent a graph."""
        run.node = str(told.get("langgraph_node", run.name))
        made = told.get("ls_integration") == "langchain_create_agent"
        if made:
            run.messages = ids_in(given)
        if run.parent is not None:
            # Older versions do not say who made the graph, but name the node in this way.
            made = made or run.node == "model"
            self._mark(run.parent, recording, "create_agent" if made else "langgraph")

    def note(self, id: UUID, value: Any) -> None:
        """Remember something that was told about a run; an error of a parser counts once."""
        with self._lock:
            run, recording = self._runs.get(id, (None, None))
            if run is None or recording is None:
                return
            if isinstance(value, BaseException):
                source = recording.source(value)
                if isinstance(source, Run):
                    return  # a model failed that the parser asked
                if source is not None:  # an inner parser refused the same reply
                    recording.facts.remove(source)
            recording.facts.append(Note(run, value))

    def interrupt(self, id: UUID) -> None:
        """Remember that a graph waits for a human; an inner one may be resumed within the run."""
        run, recording = self._runs.get(id, (None, None))
        if recording is not None and run is recording.agent:
            recording.interrupted = True

    def end(
        self,
        id: UUID,
        result: Any = None,
        *,
        error: BaseException | None = None,
        given: Any = None,
    ) -> Recording | None:
        """End a run; return what was recorded if it is a root."""
        with self._lock:
            run, recording = self._runs.pop(id, (None, None))
            if run is None or recording is None:
                return None  # it outlived its root, or started before we listened
            recording.open.discard(run)
            run.seconds = self._clock() - run.started
            run.error = error
            if run is not recording.root:
                run.result = result if run.kind in _FACTS else None
                return None
            run.result = result
            del self._roots[id]
            self._forget(recording)
            if given is not None:  # a stream's input is known at its end
                recording.given = given
            return recording

    def _forget(self, recording: Recording) -> None:
        for run in recording.open:
            self._runs.pop(run.id, None)


def _starts_an_aside(run: Run, parent: Run) -> bool:
    """Tell whether a run is the first of what a middleware of `create_agent` does for itself."""
    if run.kind == "model" and (place := run.place) is not None and place.node == "tools":
        # A model that no tool asks is asked around one.
        agent = run.agent
        return agent is not None and agent.framework == "create_agent"
    hooked = parent.node is not None and parent.node.rpartition(".")[2] in _HOOKS
    return (hooked or (run.marked and not parent.marked)) and run.agent is not None
