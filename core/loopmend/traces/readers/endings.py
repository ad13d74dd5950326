"""How a run that was read ended: with an answer, with somebody else, or nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from loopmend._repr import written
from loopmend.reading.response import read_response
from loopmend.reading.turn import FailurePattern
from loopmend.results import failure_in
from loopmend.traces.readers.draft import Draft
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.trace import Step, Trace
from loopmend.traces.unread import may_hold_call

__all__ = ["answer_in", "ended", "reason_in"]

# Words by which hosts say that a run was not let go on, each in a field of its own.
_CAPPED: Final = re.compile(
    r"(?:error_)?max(?:imum)?[ _](?:number of )?"
    r"(?:steps|turns|iterations|messages|rounds)(?:\b|_).*"
    r"|(?:task|step|turn|iteration|message|budget)s?[ _]limit\b.*",
    re.IGNORECASE | re.DOTALL,
)
_HANDED: Final = re.compile(r"hand-?off (?:to|from)\b.*", re.IGNORECASE | re.DOTALL)
_CANCELLED: Final = re.compile(
    r"(?:external termination requested|cancell?ed|aborted|interrupted by (?:the )?user)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_LATE: Final = re.compile(r"time(?:d)?[ _-]?(?:out|limit)\b.*", re.IGNORECASE | re.DOTALL)
_WORDS: Final = (
    (_CAPPED, "max_iterations"),
    (_LATE, "timeout"),
    (_HANDED, "yielded"),
    (re.compile(r"too_many_errors\Z"), "tool_error"),  # tau2's, of calls
    (_CANCELLED, "cancelled"),
)

_BROKEN: Final = (
    FailurePattern.TEXTUAL_CALL,
    FailurePattern.MALFORMED,
    FailurePattern.TRUNCATED,
)


def ended(
    drafts: Sequence[Draft],
    trace: Trace,
    options: ReadOptions,
    *,
    talks: bool,
    waits: bool = False,
) -> Trace:
    """Return a trace with its steps, and with its ending as far as the steps tell it.

    Args:
        drafts: The steps.
        trace: What else is known of the run; what it says about its ending counts first.
        options: Which calls end a run.
        talks: Whether the last reply is the answer, as it is in a conversation.
        waits: Whether the user spoke last, and the record does not tell what came of it.
    """
    answer, reason = trace.answer, trace.reason
    last = drafts[-1] if drafts else None
    if last is not None and trace.error is None and reason is None:
        call = last.calls[-1] if last.calls else None
        agents = (draft.agent for draft in drafts)
        if call is not None and options.hands_over(call, agents) and not _failed(last):
            reason = "yielded"
        elif call is not None and options.ends(call) and not _failed(last):
            last.answer = last.answer or answer or answer_in(call.arguments)
        elif talks and answer is None and last.answer is None and _speaks(last):
            _, final, answered = last.text.rpartition("Final Answer:")
            told = final and any(draft.executed_text for draft in drafts)
            last.answer = answered.strip() if told else last.text
        answer = answer if answer is not None else last.answer
    if waits and answer is None and reason is None:
        reason = "unknown"
    return Trace(
        _steps(drafts),
        trace.question,
        answer,
        reason,
        options.limits,
        trace.error,
        trace.framework,
        trace.seconds,
        trace.id,
        options.tools if options.tools is not None else trace.tools,
        trace.metadata,
        trace.unreadable,
    )


def _speaks(draft: Draft) -> bool:
    """Tell whether a reply is an answer: it says something, asks for nothing and can be used."""
    asks = bool(draft.calls) and not draft.concludes
    said = not asks and draft.error is None and bool(draft.text.strip())
    return said and not (may_hold_call(draft.text) and _is_broken(draft))


def _is_broken(draft: Draft) -> bool:
    """Tell whether a reply is a call that its host could not use."""
    failure = read_response(draft.text, finish_reason=draft.finish).failure
    return failure is not None and failure.pattern in _BROKEN


def _failed(draft: Draft) -> bool:
    seen = draft.observations[-1] if draft.observations else None
    return seen is not None and (seen.failed or failure_in(seen.text) is not None)


def _steps(drafts: Sequence[Draft]) -> list[Step]:
    steps: list[Step] = []
    after_result = False
    for draft in drafts:
        step = draft.step()
        # To say nothing after a tool's result is a normal way to finish.
        if not step.text and draft.reads and not after_result and _is_empty(step):
            step = replace(step, turn=read_response(""))
        steps.append(step)
        after_result = bool(step.observations)
    return steps


def _is_empty(step: Step) -> bool:
    return not (step.calls or step.thought or step.observations) and step.error is None


def answer_in(given: Any) -> str:
    """Return the answer in the arguments of the call that gives it."""
    while isinstance(given, (Mapping, list)) and len(given) == 1:
        given = next(iter(given.values())) if isinstance(given, Mapping) else given[0]
        if isinstance(given, Mapping):
            break
    if given is None:
        return ""
    return given if isinstance(given, str) else written(given)


def reason_in(told: Any) -> str | None:
    """Return what a host's word for the end of a run means, if it was a limit.

    >>> reason_in("error_max_turns"), reason_in("timeout"), reason_in("end_turn")
    ('max_iterations', 'timeout', None)
    """
    if not isinstance(told, str):
        return None
    return next((reason for word, reason in _WORDS if word.match(told)), None)
