"""The trace of a run, put together from what was remembered of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Union

from langchain_core.messages import AIMessage
from typing_extensions import override

from langchain_loopmend.messages import reply_of as message_reply
from langchain_loopmend.messages import text_of
from langchain_loopmend.run_values import (
    answer_of,
    calls_in,
    error_of,
    is_fault,
    question_of,
    reply_of,
    text_of_output,
    tokens_of,
)
from langchain_loopmend.runs import Note, Recording, Run
from loopmend import FailurePattern, ReadingConfig, Turn, read_turn
from loopmend.reading.response import is_unusual
from loopmend.traces import Limits, Observation, Step, Trace, TraceCall
from loopmend.traces.readers.draft import Draft
from loopmend.traces.readers.values import finish_in
from loopmend.traces.unread import MOST_READ, UNREAD, cap_note

__all__ = ["trace_of"]

# AgentExecutor runs these two in place of a tool: for a reply that its parser refused, and for
# a tool that there is not.
_REFUSED: Final = "_Exception"
_UNKNOWN: Final = "invalid_tool"
_UNREADABLE: Final = (FailurePattern.TEXTUAL_CALL, FailurePattern.MALFORMED)
_NO_ANSWER: Final = (*_UNREADABLE, FailurePattern.TRUNCATED)
_CONFIG: Final = ReadingConfig()
_AFTER_RESULT: Final = ReadingConfig(after_tool_result=True)


def trace_of(recording: Recording, limits: Limits) -> Trace:
    """Return the trace of a root run that has ended."""
    root, agent = recording.root, recording.agent
    drafts = _drafted(recording)
    reason = recording.reason
    answer = answer_of(root.result) if reason is None and root.error is None else None
    _concluded(drafts, recording, answer)
    question = question_of(recording.given)
    return Trace(
        tuple(_steps(drafts, native=agent is not None and agent.framework != "agent_executor")),
        question=question_of(recording.asked) if question is None else question,
        answer=answer,
        reason=reason or recording.ended,
        limits=limits,
        error=recording.error,
        framework="chain" if agent is None else agent.framework,
        seconds=root.seconds,
        id=str(root.id),
        tools=recording.tools,
        metadata=cap_note(draft.text for draft in drafts),
    )


# Steps


class _Draft(Draft):
    """A step that is being put together, with the runs that it is about."""

    def __init__(self, owner: Run | None, run: Run) -> None:
        super().__init__(id=str(run.id))
        self.owner = owner
        self.run = run
        self.reply = reply_of(run.result) if run.kind == "model" else None
        if self.reply is not None:
            self.text, self.calls = text_of(self.reply), calls_in(self.reply)
        self.native = bool(self.calls)

    @property
    def is_silent(self) -> bool:
        """Whether it is calls and nothing else, so that reading it tells nothing new."""
        broken = getattr(self.reply, "invalid_tool_calls", None)
        return self.native and not self.text and not broken and self.error is None

    @override
    def observe(self, result: Observation) -> None:
        """Take a result; a graph tells it once more, and does not know how long it took."""
        for before in self.observations:
            if before.call_id is not None and before.call_id == result.call_id:
                took = result.seconds if before.seconds is None else before.seconds
                result = replace(result, seconds=took)
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
        elif run.kind == "tool":
            _used(drafts, agent, run)
        else:
            drafts.append(_Draft(agent, run))
            if is_fault(run.error):
                drafts[-1].error = error_of(run.error, "model")
    return drafts


def _facts(recording: Recording) -> Iterator[Union[Run, Note]]:
    """Yield what the agents did, without what middleware asked models for itself."""
    facts = recording.facts
    runs = [fact for fact in facts if isinstance(fact, Run)]
    # A middleware may pass the agent's question on in words of its own: then all are strange.
    models = [run for run in runs if run.kind == "model"]
    at_home = {run.place for run in models if not run.is_strange}
    # A model that asks another one, as a mended model does, says nothing of its own.
    asking = {above for run in models if run.parent for above in run.parent.upwards()}
    for fact in facts:
        run = fact.run if isinstance(fact, Note) else fact
        if run.kind == "model" and run in asking:
            continue
        if not (run.is_aside or (run.is_strange and run.place in at_home)):
            yield fact


def _latest(drafts: list[_Draft], agent: Run | None, call_id: str | None = None) -> _Draft | None:
    """Return an agent's latest step, or its latest one that made a call."""
    own = (draft for draft in reversed(drafts) if draft.owner is agent)
    return next((d for d in own if call_id is None or d.made(call_id)), None)


def _noted(drafts: list[_Draft], agent: Run | None, value: Any, *, final: bool) -> None:
    """Add to the step that it is about what was told outside of models and tools."""
    if isinstance(value, list):
        for message in value:
            # Nodes may return the whole history: only results of calls in this run are news.
            draft = _latest(drafts, agent, message.tool_call_id)
            if draft is not None:
                failed = message.status == "error"
                text = text_of_output(message)
                draft.observe(Observation(text, message.name, message.tool_call_id, failed))
        return
    draft = _latest(drafts, agent)
    if draft is None:
        return
    if isinstance(value, BaseException):
        draft.error = error_of(value, "parser")
    elif hasattr(value, "return_values"):
        # Without a log it is the executor's own word for a cap, or a tool's output; and what a
        # sub-agent answers is not the end.
        draft.answer = answer_of(value) if value.log and final else None
    elif value.tool != _REFUSED and not draft.native:
        id = getattr(value, "tool_call_id", None)
        draft.calls.append(TraceCall(value.tool, value.tool_input, id))


def _used(drafts: list[_Draft], agent: Run | None, run: Run) -> None:
    """Add a tool's result to the step that asked for it."""
    name, call_id = run.name, run.call_id
    if name == _UNKNOWN and isinstance(run.given, dict):
        name = str(run.given.get("requested_tool_name", name))
    draft = (call_id and _latest(drafts, agent, call_id)) or _latest(drafts, agent)
    if draft is None:  # a run that was resumed starts with a tool
        draft = _Draft(agent, run)
        draft.calls.append(TraceCall(name, run.given, call_id))
        drafts.append(draft)
    if run.seconds is None or (run.error is not None and not is_fault(run.error)):
        return  # it never came back
    # That a parser refused the reply is the step's error, and told once.
    failed = run.error is not None or run.name == _UNKNOWN
    text = text_of_output(run.result) if run.error is None else (str(run.error) or repr(run.error))
    failed = failed or getattr(run.result, "status", None) == "error"
    id = call_id if call_id is not None else draft.unanswered(name)
    draft.observe(Observation(text, name, id, failed, run.seconds))


def _concluded(drafts: list[_Draft], recording: Recording, answer: str | None) -> None:
    """Give the answer to the step that it comes from."""
    last = _latest(drafts, recording.agent)
    if last is None:
        return
    for action in _actions(recording.root.result):
        last.calls.append(TraceCall(action.tool, action.tool_input))
    executor = recording.agent is not None and recording.agent.framework == "agent_executor"
    if executor or last.calls or last.error is not None or not last.text.strip():
        return
    if recording.agent is None or answer == last.text:
        last.answer = answer


def _actions(result: Any) -> list[Any]:
    """Return the actions that a chain for agents returns outside of an agent."""
    several = result if isinstance(result, list) else [result]
    return [one for one in several if hasattr(one, "tool_input") and hasattr(one, "tool")]


def _steps(drafts: list[_Draft], *, native: bool) -> Iterator[Step]:
    before: dict[Run | None, _Draft] = {}
    for draft in drafts:
        earlier = before.get(draft.owner)
        before[draft.owner] = draft
        after_result = earlier is not None and bool(earlier.observations)
        finish = finish_in(getattr(draft.reply, "response_metadata", None))
        turn, pattern = None, None
        silent = draft.is_silent and not is_unusual(finish)
        if not silent:
            turn = _read(draft, native=native, after_result=after_result)
            pattern = None if turn is None or turn.failure is None else turn.failure.pattern
        if turn is not None and draft.error is not None and pattern in _UNREADABLE:
            turn = replace(turn, failure=None)  # the parser has the say, and told it
        yield Step(
            text=draft.text,
            thought=None if turn is None else turn.thought,
            calls=draft.calls,
            observations=draft.observations,
            answer=None if pattern in _NO_ANSWER else draft.answer,
            turn=UNREAD if silent else turn,
            error=draft.error,
            tokens=tokens_of(draft.run.result),
            seconds=draft.run.seconds if draft.run.kind == "model" else None,
            agent=None if draft.owner is None else draft.owner.agent_name,
            id=draft.id,
            finish=finish,
        )


def _read(draft: _Draft, *, native: bool, after_result: bool) -> Turn | None:
    reply = draft.reply
    if reply is None:
        return None
    config = _AFTER_RESULT if after_result else _CONFIG
    if isinstance(reply, AIMessage):
        by_call = native or draft.native or bool(reply.invalid_tool_calls)
        said = message_reply(_capped(reply, draft.text))
        return said.read(None, "native" if by_call else "text", config)
    return read_turn(draft.text[:MOST_READ], config=config)


def _capped(reply: AIMessage, text: str) -> AIMessage:
    """Return a reply with no more text than a trace is read for."""
    broken = reply.invalid_tool_calls
    if len(text) + sum(len(call["args"] or "") for call in broken) <= MOST_READ:
        return reply
    cut = [{**call, "args": (call["args"] or "")[:MOST_READ]} for call in broken]
    return reply.model_copy(update={"content": text[:MOST_READ], "invalid_tool_calls": cut})
