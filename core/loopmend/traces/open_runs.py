"""What a host tells of its runs while they go on: who asks whom, and what comes of it.

A recorder that is called back as runs start and end, as LangChain calls it, keeps them here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal, Union

from loopmend.mending.messages import Reply
from loopmend.traces.exceptions import causes, ending_of, is_fault
from loopmend.traces.trace import Observation, Tokens, TraceCall, TraceError

__all__ = ["Finish", "Kind", "ModelReply", "News", "Note", "OpenRuns", "Recording", "Run"]

Kind = Literal["chain", "parser", "model", "tool"]

# Runs that never end, such as those of a thread that died, must not pile up.
_MOST_OPEN: Final = 1000
# What is a step or a part of one; other runs only tell where it belongs.
_FACTS: Final = frozenset({"model", "tool"})


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model replied, and what that took.

    >>> ModelReply(Reply("It is in Norway.")).tokens is None
    True
    """

    reply: Reply
    tokens: Tokens | None = None
    is_message: bool = True
    """Whether it is a message, which may hold calls, and not a text alone."""


@dataclass(frozen=True, slots=True)
class Finish:
    """How an executor of text agents says that it is done.

    >>> Finish("in Norway").reason is None
    True
    """

    answer: str | None
    """The model's answer; `None` if the words are the executor's own."""
    reason: str | None = None
    """Why, if somebody ended the run in the model's place."""


News = Union[TraceCall, Finish, Sequence[Observation], BaseException]
"""What is told beside models and tools: a call, an end, results, a parser's error."""


@dataclass(slots=True, eq=False)
class Run:
    """One piece of work: a chain's, a parser's, a model's or a tool's.

    >>> agent = Run(1, "chain", "helper", None, 0.0, framework="langgraph")
    >>> Run(2, "model", "", agent, 0.5).agent.name
    'helper'
    """

    id: Hashable
    kind: Kind
    name: str
    """Its own name; empty if that says nothing about who acts."""
    parent: Run | None
    started: float
    call: TraceCall | None = None
    """What a tool was given."""
    node: str | None = None
    """The node's name, if it is one of a graph."""
    framework: str | None = None
    """What kind of agent it is, if it is one."""
    marked: bool = False
    """Whether the host marks it as work that a middleware does for itself."""
    aside: bool = False
    """Whether a middleware does it for itself, such as a summary, and not for the agent."""
    messages: frozenset[str] = frozenset()
    """The ids of the messages that a node was given, or that a model was asked."""
    strange: bool = False
    """Whether a model was asked nothing of what the agent knows."""
    seconds: float | None = None
    """How long it took; `None` if it has not ended."""
    result: ModelReply | Observation | None = None
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
    def agent_name(self) -> str | None:
        """What to call an agent that works for another one; `None` for the outermost one."""
        if self.parent is None or self.parent.agent is None:
            return None
        # One without a name is called after the tool or the node that it works for.
        works_for = (run.name if run.kind == "tool" else run.node or "" for run in self.upwards())
        return next((name for name in (self.name, *works_for) if name), self.framework)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was told about a run."""

    run: Run
    value: News


@dataclass(slots=True, eq=False)
class Recording:
    """A root run and what happened in it, in order.

    >>> runs = OpenRuns(iter(range(9)).__next__)
    >>> _, recording = runs.start("a", None, "model", "")
    >>> [each is recording.root for each in recording.facts]
    [True]
    """

    root: Run
    question: str | None = None
    """What the root was asked."""
    open: set[Run] = field(default_factory=set)
    facts: list[Union[Run, Note]] = field(default_factory=list)
    """Models' and tools' runs as they started, and notes as they came."""
    asked: str | None = None
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
        ending = "interrupted" if self.interrupted else ending_of(self.root.error)
        # Who jumps out of the outermost run waits for whoever goes on from there.
        return "interrupted" if ending == "" else ending

    @property
    def error(self) -> TraceError | None:
        """What was raised to the host, and where it came from."""
        error = self.root.error
        if not is_fault(error):
            return None
        source = self.source(error)
        if isinstance(source, Run):
            return TraceError(type(error).__name__, str(error), source.kind)
        parsing = any("OutputParser" in k.__name__ for c in causes(error) for k in type(c).__mro__)
        origin = "parser" if source is not None or parsing else "host"
        return TraceError(type(error).__name__, str(error), origin)

    def source(self, error: BaseException) -> Run | Note | None:
        """Return who told of an error, or of what it was raised from."""
        chain = list(causes(error))
        for fact in reversed(self.facts):  # what is inside starts later
            if (fact.value if isinstance(fact, Note) else fact.error) in chain:
                return fact
        return None


class OpenRuns:
    """The runs that go on, and what is remembered of each root's; safe for several threads.

    >>> runs = OpenRuns(iter(range(9)).__next__)
    >>> _ = runs.start("a", None, "model", "")
    >>> runs.end("a", ModelReply(Reply("in Norway"))).root.seconds, len(runs)
    (1, 0)
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._roots: dict[Hashable, Recording] = {}
        self._runs: dict[Hashable, tuple[Run, Recording]] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def find(self, id: Hashable) -> Run | None:
        """Return a run that goes on."""
        found = self._runs.get(id)
        return None if found is None else found[0]

    def start(
        self,
        id: Hashable,
        parent_id: Hashable | None,
        kind: Kind,
        name: str,
        **known: Any,
    ) -> tuple[Run, Recording]:
        """Remember a run; one whose parent is not known is a root.

        Args:
            id: The host's id of it.
            parent_id: That of the run that it is a part of.
            kind: What it is.
            name: Its name; empty if that says nothing about who acts.
            **known: More fields of the `Run`.
        """
        with self._lock:
            above = None if parent_id is None else self._runs.get(parent_id)
            run = Run(id, kind, name, above[0] if above else None, self._clock(), **known)
            if above is None:
                recording = self._roots[id] = Recording(run)
            else:
                recording = above[1]
            recording.open.add(run)
            self._runs[id] = run, recording
            if kind in _FACTS:
                recording.facts.append(run)
            if len(self._roots) > _MOST_OPEN:
                self._forget(self._roots.pop(next(iter(self._roots))))
        return run, recording

    def mark(self, run: Run, framework: str) -> None:
        """Remember that a run is an agent; the outermost one starts first."""
        known = self._runs.get(run.id)
        if known is None or run.framework is not None:
            return
        with self._lock:
            run.framework = framework
            known[1].agent = known[1].agent or run

    def note(self, run: Run, value: News) -> None:
        """Remember something that was told about a run."""
        with self._lock:
            known = self._runs.get(run.id)
            if known is None:
                return
            if isinstance(value, BaseException) and isinstance(known[1].source(value), Run):
                return  # a model failed that the parser asked
            known[1].facts.append(Note(run, value))

    def interrupt(self, run: Run) -> None:
        """Remember that an agent waits for a human; an inner one may be resumed within the run."""
        known = self._runs.get(run.id)
        if known is not None and run is known[1].agent:
            known[1].interrupted = True

    def end(
        self,
        id: Hashable,
        result: ModelReply | Observation | None = None,
        error: BaseException | None = None,
    ) -> Recording | None:
        """End a run; return what was recorded if it is a root."""
        with self._lock:
            run, recording = self._runs.pop(id, (None, None))
            if run is None or recording is None:
                return None  # it outlived its root, or started before we listened
            recording.open.discard(run)
            run.seconds = self._clock() - run.started
            run.result, run.error = result, error
            if run is not recording.root:
                return None
            del self._roots[id]
            self._forget(recording)
            return recording

    def _forget(self, recording: Recording) -> None:
        for run in recording.open:
            self._runs.pop(run.id, None)
