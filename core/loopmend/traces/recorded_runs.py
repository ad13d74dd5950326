"""The trace of a run that a host told of while it went on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Union

from typing_extensions import override

from loopmend.mending.messages import Reply
from loopmend.reading.response import is_unusual
from loopmend.reading.turn import FailurePattern, ReadingConfig, Turn
from loopmend.traces.exceptions import is_fault
from loopmend.traces.open_runs import Finish, ModelReply, News, Note, Recording, Run
from loopmend.traces.readers.draft import Draft
from loopmend.traces.trace import Limits, Observation, Step, Trace, TraceCall, TraceError
from loopmend.traces.unread import MOST_READ, UNREAD, cap_note

__all__ = ["trace_of"]

_EXECUTOR: Final = "agent_executor"
_UNREADABLE: Final = (FailurePattern.TEXTUAL_CALL, FailurePattern.MALFORMED)
_NO_ANSWER: Final = (*_UNREADABLE, FailurePattern.TRUNCATED)
_CONFIGS: Final = {
    (native, after_result): ReadingConfig(native=native, after_tool_result=after_result)
    for native in (False, True)
    for after_result in (False, True)
}


def trace_of(
    recording: Recording,
    limits: Limits,
    answer: str | None = None,
    ended_by: str | None = None,
    calls: Iterable[TraceCall] = (),
) -> Trace:
    """Return the trace of a root run that has ended.

    Args:
        recording: What was told of it.
        limits: The host's limits.
        answer: What the run returned, as text.
        ended_by: Why somebody ended it in the model's place, where its result says so.
        calls: The calls that it returned instead of an answer.

    >>> from loopmend.traces.open_runs import OpenRuns
    >>> runs = OpenRuns(iter(range(9)).__next__)
    >>> _ = runs.start("a", None, "model", "")
    >>> ended = runs.end("a", ModelReply(Reply("It is in Norway.")))
    >>> trace_of(ended, Limits(), "It is in Norway.").steps[0].answer
    'It is in Norway.'
    """
    root, agent, reason = recording.root, recording.agent, recording.reason
    if reason is not None or root.error is not None:
        answer = None
    drafts = _drafted(recording)
    _concluded(drafts, recording, answer, calls)
    question = recording.question
    return Trace(
        tuple(_steps(drafts, native=agent is not None and agent.framework != _EXECUTOR)),
        question=recording.asked if question is None else question,
        answer=answer,
        reason=reason or ended_by or _finished_by(recording),
        limits=limits,
        error=recording.error,
        framework="chain" if agent is None else agent.framework,
        seconds=root.seconds,
        id=str(root.id),
        tools=recording.tools,
        metadata=cap_note(draft.text for draft in drafts),
    )


def _finished_by(recording: Recording) -> str | None:
    """Return why somebody else than the model ended it, as the last finish says."""
    notes = (fact.value for fact in reversed(recording.facts) if isinstance(fact, Note))
    return next((value.reason for value in notes if isinstance(value, Finish)), None)


class _Draft(Draft):
    """A step that is being put together, with the runs that it is about."""

    def __init__(self, owner: Run | None, run: Run) -> None:
        super().__init__(id=str(run.id))
        self.owner = owner
        self.run = run
        self.told = run.result if isinstance(run.result, ModelReply) else None
        if self.told is not None:
            said = self.told.reply
            self.text, self.finish, self.tokens = said.text, said.finish_reason, self.told.tokens
            made = (*said.calls, *said.broken_calls)
            self.calls = [TraceCall(call.name or "", call.arguments, call.id) for call in made]
        self.native = bool(self.calls)
        if run.kind == "model":
            self.seconds = run.seconds

    @property
    def is_silent(self) -> bool:
        """Whether it is calls and nothing else, so that reading it tells nothing new."""
        broken = self.told is not None and self.told.reply.broken_calls
        usual = not is_unusual(self.finish)
        return self.native and not self.text and not broken and self.error is None and usual

    @override
    def observe(self, result: Observation) -> None:
        """Take a result; a graph tells it once more, and does not know how long it took."""
        for before in self.observations:
            if before.call_id is not None and before.call_id == result.call_id:
                took = result.seconds if before.seconds is None else before.seconds
                known = result.text, result.tool, result.call_id, result.failed
                result = Observation(*known, took)
                if result == before:
                    return
                break
        super().observe(result)

    def unanswered(self, name: str) -> str | None:
        """Return the id of the first call of a tool that has no result yet."""
        done = {seen.call_id for seen in self.observations}
        return next((c.id for c in self.calls if c.name == name and c.id not in done), None)


def _drafted(recording: Recording) -> list[_Draft]:
    drafts: list[_Draft] = []
    for fact in _facts(recording):
        run = fact.run if isinstance(fact, Note) else fact
        agent = run.agent
        if isinstance(fact, Note):
            _noted(drafts, agent, fact.value, final=agent is recording.agent)
        elif run.call is not None:
            _used(drafts, agent, run, run.call)
        else:
            drafts.append(_Draft(agent, run))
            if is_fault(run.error):
                drafts[-1].error = _error_of(run.error, "model")
    return drafts


def _error_of(error: BaseException, origin: str) -> TraceError:
    return TraceError(type(error).__name__, str(error), origin)


def _facts(recording: Recording) -> Iterator[Union[Run, Note]]:
    """Yield what the agents did, without what middleware asked models for itself."""
    facts = recording.facts
    models = [fact for fact in facts if isinstance(fact, Run) and fact.kind == "model"]
    # A middleware may pass the agent's question on in words of its own: then all are strange.
    at_home = {run.place for run in models if not run.strange}
    # A model that asks another one, as a mended model does, says nothing of its own.
    asking = {above for run in models if run.parent for above in run.parent.upwards()}
    for fact in facts:
        run = fact.run if isinstance(fact, Note) else fact
        if run.kind == "model" and run in asking:
            continue
        if not (run.aside or (run.strange and run.place in at_home)):
            yield fact


def _latest(drafts: list[_Draft], agent: Run | None, call_id: str | None = None) -> _Draft | None:
    """Return an agent's latest step, or its latest one that made a call."""
    own = (draft for draft in reversed(drafts) if draft.owner is agent)
    return next((d for d in own if call_id is None or d.made(call_id)), None)


def _noted(drafts: list[_Draft], agent: Run | None, value: News, *, final: bool) -> None:
    """Add to the step that it is about what was told outside of models and tools."""
    if isinstance(value, Sequence):
        for result in value:
            # Nodes may return the whole history: only results of calls in this run are news.
            draft = _latest(drafts, agent, result.call_id)
            if draft is not None:
                draft.observe(result)
        return
    draft = _latest(drafts, agent)
    if draft is None:
        return
    if isinstance(value, BaseException):
        draft.error = _error_of(value, "parser")
    elif isinstance(value, Finish):
        draft.answer = value.answer if final else None  # what a sub-agent answers is not the end
    elif not draft.native:
        draft.calls.append(value)


def _used(drafts: list[_Draft], agent: Run | None, run: Run, call: TraceCall) -> None:
    """Add a tool's result to the step that asked for it."""
    draft = (call.id and _latest(drafts, agent, call.id)) or _latest(drafts, agent)
    if draft is None:  # a run that was resumed starts with a tool
        draft = _Draft(agent, run)
        draft.calls.append(call)
        drafts.append(draft)
    seen = run.result if isinstance(run.result, Observation) else None
    if is_fault(run.error):
        seen = Observation(str(run.error) or repr(run.error), call.name, failed=True)
    if seen is not None:  # else it never came back
        id = call.id if call.id is not None else draft.unanswered(call.name)
        draft.observe(Observation(seen.text, call.name, id, seen.failed, run.seconds))


def _concluded(
    drafts: list[_Draft], recording: Recording, answer: str | None, calls: Iterable[TraceCall]
) -> None:
    """Give the answer to the step that it comes from."""
    agent = recording.agent
    last = _latest(drafts, agent)
    if last is None:
        return
    last.calls += calls
    executor = agent is not None and agent.framework == _EXECUTOR
    if executor or last.calls or last.error is not None or not last.text.strip():
        return
    if agent is None or answer == last.text:
        last.answer = answer


def _steps(drafts: list[_Draft], *, native: bool) -> Iterator[Step]:
    before: dict[Run | None, _Draft] = {}
    for draft in drafts:
        earlier = before.get(draft.owner)
        before[draft.owner] = draft
        turn, pattern = None, None
        if draft.told is not None and not draft.is_silent:
            after_result = earlier is not None and bool(earlier.observations)
            turn = _read(draft.told, native=native, after_result=after_result)
            pattern = None if turn.failure is None else turn.failure.pattern
        if turn is not None and draft.error is not None and pattern in _UNREADABLE:
            turn = replace(turn, failure=None)  # the parser has the say, and told it
        yield Step(
            text=draft.text,
            thought=None if turn is None else turn.thought,
            calls=draft.calls,
            observations=draft.observations,
            answer=None if pattern in _NO_ANSWER else draft.answer,
            turn=UNREAD if draft.is_silent else turn,
            error=draft.error,
            tokens=draft.tokens,
            seconds=draft.seconds,
            agent=None if draft.owner is None else draft.owner.agent_name,
            id=draft.id,
            finish=draft.finish,
        )


def _read(told: ModelReply, *, native: bool, after_result: bool) -> Turn:
    said = _capped(told.reply)
    by_call = told.is_message and (native or bool(said.calls or said.broken_calls))
    config = _CONFIGS[by_call, after_result]
    return said.read(None, "native" if by_call else "text", config)


def _capped(said: Reply) -> Reply:
    """Return a reply with no more text than a trace is read for."""
    given = [str(call.arguments or "") for call in said.broken_calls]
    if len(said.text) + sum(map(len, given)) <= MOST_READ:
        return said
    pairs = zip(said.broken_calls, given, strict=True)
    cut = tuple(replace(call, arguments=text[:MOST_READ]) for call, text in pairs)
    return replace(said, text=said.text[:MOST_READ], broken_calls=cut)
