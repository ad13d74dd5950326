"""Why a run stopped, told from what is in its trace and not from what the host claims."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from loopmend.contracts.actions import AskUser
from loopmend.contracts.react_trace import I06_REASON_EXIT
from loopmend.contracts.signal_detection import STUCK_PHRASES
from loopmend.contracts.signals import Stuck, Yield
from loopmend.reading.turn import FailurePattern, Turn
from loopmend.traces.trace import Step, Trace, TraceError
from loopmend.traces.unread import as_read, is_worth

__all__ = ["StopReason", "Stopped", "cut_by", "is_cap_sentence", "stop_of"]


class StopReason(str, Enum):
    """Why a run stopped: the contract's five reasons, and some beyond the contract.

    >>> StopReason.PROVIDER_ERROR.exit_code is None
    True
    """

    FINAL_ANSWER = "final_answer"
    """The model answered."""
    MAX_ITERATIONS = "max_iterations"
    """The run reached a limit of steps, calls or tokens, even if the host words it as an answer."""
    TIMEOUT = "timeout"
    """The run reached its time limit."""
    TOOL_ERROR = "tool_error"
    """A tool failed and ended the run."""
    PARSE_FAIL = "parse_fail"
    """The model's replies could not be used."""
    PROVIDER_ERROR = "provider_error"
    """The model's provider failed."""
    INTERRUPTED = "interrupted"
    """The run waits for a human."""
    STUCK = "stuck"
    """The model says it is stuck."""
    YIELDED = "yielded"
    """The model hands over to somebody else."""
    ASKED_USER = "asked_user"
    """The model asked the user."""
    BLOCKED = "blocked"
    """Something outside, such as a policy or an open breaker, stopped it."""
    CANCELLED = "cancelled"
    """Somebody cancelled it."""
    HOST_ERROR = "host_error"
    """Another exception of the host ended the run."""
    UNKNOWN = "unknown"
    """The record ends without an answer and does not say why."""

    __str__ = str.__str__

    @property
    def exit_code(self) -> int | None:
        """The contract's exit code, or `None` for a reason beyond the contract."""
        return I06_REASON_EXIT.get(self.value)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a run stopped, and the evidence.

    >>> from loopmend import Trace
    >>> stop_of(Trace(answer="Agent stopped due to max iterations.")).reason.value
    'max_iterations'
    """

    reason: StopReason
    evidence: str
    """The evidence, in a sentence."""
    step: int | None = None
    """The step that shows it, from 0."""


# What frameworks say in place of an answer when a cap was reached, word for word and nothing else:
# an answer may speak of limits as well.
_COUNTS: Final = r"(?:thread|run) limit(?: exceeded)?(?: \(\d+/\d+(?: calls)?\))?"
_CAPS: Final = re.compile(
    r"\s*(?:Agent stopped due to (?:iteration limit or time limit|max iterations)"
    r"|Sorry, need more steps to process this request"
    rf"|(?:Model call limits? exceeded|[^.!?]{{0,80}}\btool call limits? reached)(?:: {_COUNTS}"
    rf"(?:(?:,| and) {_COUNTS}){{0,2}})?"
    r"|Reached max(?:imum)? (?:steps|iterations)"
    r"|Max(?:imum)? (?:number of )?iterations (?:of \d+ )?reached)[.!]?\s*",
    re.IGNORECASE,
)
# Names of exceptions tell more than their messages, which speak of anything.
_CAP_ERRORS: Final = re.compile(
    r"\A(?:\w{0,60}(?:Recursion|Usage|Turns?|Steps?|Iterations?|CallLimit|CallsLimit|MaxTurns)\w{0,60}:"
    r"|\w*: .{0,200}?(?:Recursion limit of|Max(?:imum)? (?:number of )?(?:iterations|steps|turns)"
    r"|Reached max(?:imum)? (?:iteration|step|turn)s?\b))",
    re.IGNORECASE | re.DOTALL,
)
_TIME_ERRORS: Final = re.compile(
    r"\A(?:\w{0,60}(?:Time(?:d)?_?out|DeadlineExceeded)\w{0,60}:"
    r"|\w*: .{0,200}?\b(?:timed out|time limit)\b)",
    re.IGNORECASE | re.DOTALL,
)
_PARSE_ERRORS: Final = re.compile(
    r"\A(?:\w{0,60}(?:OutputParser|ParseException|ParsingError|NormalizationError)\w{0,60}:"
    r"|\w*: .{0,200}?(?:Could not parse (?:LLM|function|tool)|code (?:parsing|blob)"
    r"|Invalid Format:))",
    re.IGNORECASE | re.DOTALL,
)
_INTERRUPTS: Final = re.compile(
    r"(?<!Keyboard)(?<!User)Interrupt|HumanInTheLoop|NeedsApproval|ParentCommand"
)
_CANCELS: Final = re.compile(r"Cancel|KeyboardInterrupt|UserInterrupt|\AAbort|UserAbort")
PROVIDER_ERRORS: Final = re.compile(
    r"Rate[ _-]?Limit|API[ _]?Error|APIConnection|APIStatus|InternalServer|ServiceUnavailable"
    r"|Authentication|PermissionDenied|BadRequest|ContextWindow|ContextLength|Overloaded|ModelError"
    # a code of HTTP, where one stands: a number alone may count anything
    r"|(?:\A\w*: |HTTP |code:? |status:? )(?:429|50[0234]|529)\b",
    re.IGNORECASE,
)
# What providers say of a reply that ended by itself.
_ENDED: Final = ("stop", "end_turn", "STOP")
# What a reply holds that asks the user, is stuck or hands over: reading takes longer than looking.
_SIGNS: Final = ("ask_user", "<stuck>", "<yield>", *STUCK_PHRASES)


def stop_of(trace: Trace) -> Stopped:
    r"""Return why a run stopped.

    It looks first at an exception, then for a limit phrased as an answer, then at the host's
    reason, then at the last step.

    >>> from loopmend import Trace
    >>> stop_of(Trace.from_react_log("Thought 1: easy\nAction 1: Finish[4]")).reason.value
    'final_answer'
    """
    if trace.unreadable is not None:
        said = f"Nothing could be read; the record looks like {trace.unreadable}."
        return Stopped(StopReason.UNKNOWN, said)
    return (
        _raised(trace.error)
        or _worded(trace)
        or _cut(trace)
        or _said(trace)
        or _last_step(trace)
        or _exhausted(trace)
    )


def _raised(error: TraceError | None) -> Stopped | None:
    if error is None:
        return None
    said = f"{error.kind}: {error.message[:2000]}"
    evidence = f"The run ended with {said[:150].strip(' :.')}."
    for pattern, reason in (
        (_INTERRUPTS, StopReason.INTERRUPTED),
        (_CANCELS, StopReason.CANCELLED),
    ):
        if pattern.search(error.kind):
            return Stopped(reason, evidence)
    if error.origin == "tool":
        return Stopped(StopReason.TOOL_ERROR, evidence)
    for pattern, reason in (
        (_PARSE_ERRORS, StopReason.PARSE_FAIL),
        (_CAP_ERRORS, StopReason.MAX_ITERATIONS),
        (_TIME_ERRORS, StopReason.TIMEOUT),
        (PROVIDER_ERRORS, StopReason.PROVIDER_ERROR),
    ):
        if pattern.search(said):
            return Stopped(reason, evidence)
    by_origin = {"model": StopReason.PROVIDER_ERROR, "parser": StopReason.PARSE_FAIL}
    return Stopped(by_origin.get(error.origin, StopReason.HOST_ERROR), evidence)


def is_cap_sentence(text: str) -> bool:
    """Tell whether a text is what a framework says in place of an answer at a cap.

    >>> is_cap_sentence("Agent stopped due to iteration limit or time limit.")
    True
    """
    return _CAPS.fullmatch(text[:300]) is not None


def _worded(trace: Trace) -> Stopped | None:
    """Tell an end of the run that the host words as an answer."""
    answer = trace.answer
    if answer is None or not is_cap_sentence(answer):
        return None
    limits = trace.limits
    late = limits.max_seconds is not None and (trace.seconds or 0) >= limits.max_seconds
    few = limits.max_iterations is None or trace.iterations < limits.max_iterations
    if late and few and "time limit" in answer:
        return Stopped(
            StopReason.TIMEOUT, f"The framework, not the model, wrote this: {answer[:100]!r}"
        )
    return Stopped(
        StopReason.MAX_ITERATIONS, f"The framework, not the model, wrote this: {answer[:100]!r}"
    )


def cut_by(finish: str | None) -> StopReason | None:
    """Return what ended a reply before its time, if its finish reason says that something did.

    >>> cut_by("length"), cut_by("stop")
    (<StopReason.MAX_ITERATIONS: 'max_iterations'>, None)
    """
    if finish is None:
        return None
    # Imported here: most records tell no reason, and do without the reader.
    from loopmend.reading.response import is_cut, is_declined

    if is_cut(finish):
        return StopReason.MAX_ITERATIONS
    return StopReason.BLOCKED if is_declined(finish) else None


def _cut(trace: Trace) -> Stopped | None:
    """Tell a last reply that its provider cut off or filtered, unless the host got another one."""
    last = trace.steps[-1] if trace.steps else None
    if last is None or last.calls or trace.reason not in (None, StopReason.FINAL_ANSWER.value):
        return None
    reason = cut_by(last.finish)
    if reason is None or (trace.answer or "").strip() not in last.text:
        return None
    how = "cut the last reply off" if reason is StopReason.MAX_ITERATIONS else "refused the reply"
    evidence = f"The provider {how}: `{(last.finish or '')[:60]}`."
    return Stopped(reason, evidence, len(trace.steps) - 1)


def _said(trace: Trace) -> Stopped | None:
    if trace.reason is None:
        return None
    try:
        reason = StopReason(trace.reason)
    except ValueError:
        return None
    if reason is StopReason.FINAL_ANSWER:
        if trace.answer is None:
            return None  # an answer that is not there is none
        return _narrated(trace) or Stopped(reason, f"The host gave this reason: {reason.value}.")
    if reason is StopReason.YIELDED and trace.steps and trace.steps[-1].calls:
        name = trace.steps[-1].calls[-1].name[:60]
        return Stopped(reason, f"The last call, `{name}`, hands over.", len(trace.steps) - 1)
    if reason is StopReason.UNKNOWN:
        return Stopped(reason, "The record ends before a reply to the last request.")
    return Stopped(reason, f"The host gave this reason: {reason.value}.")


def _last_step(trace: Trace) -> Stopped | None:
    if not trace.steps:
        return _answered(trace)
    at = len(trace.steps) - 1
    last = trace.steps[at]
    if last.answer is not None:
        said = "The last step gives the answer."
        return _narrated(trace) or Stopped(StopReason.FINAL_ANSWER, said, at)
    # Only a step that does nothing can say in words why it is the last one.
    turn = None if last.calls or last.observations else _told(last)
    if turn is not None:
        if any(isinstance(action, AskUser) for action in turn.actions):
            return Stopped(StopReason.ASKED_USER, "The last step asks the user.", at)
        if isinstance(turn.signal, Stuck):
            return Stopped(StopReason.STUCK, "The model says it is stuck.", at)
        if isinstance(turn.signal, Yield):
            return Stopped(StopReason.YIELDED, "The last step hands over.", at)
    if trace.answer is None and last.error is not None:
        found = _raised(last.error)
        if found is not None and found.reason is not StopReason.HOST_ERROR:
            return Stopped(found.reason, found.evidence, at)
    if last.finish in _ENDED and trace.answer is None and not (last.calls or last.text):
        said = "The provider says that the last reply ended; the record omits its text."
        return Stopped(StopReason.FINAL_ANSWER, said, at)
    return _answered(trace) or _unparsed(trace)


def _told(step: Step) -> Turn | None:
    """Return a step's turn, if it was read or may say in words why the run ends there."""
    turn: Turn | None = as_read(step)
    folded = "" if turn is not None else step.text.lower()
    for sign in _SIGNS:
        if sign in folded:
            return step.turn
    return turn


def _answered(trace: Trace) -> Stopped | None:
    if trace.answer is None:
        return None
    return _narrated(trace) or Stopped(StopReason.FINAL_ANSWER, "The host returned an answer.")


def _narrated(trace: Trace) -> Stopped | None:
    """Tell a run whose host took a call that the model only described for the answer."""
    last = trace.steps[-1] if trace.steps else None
    if last is None or last.calls or last.observations or not is_worth(last.text):
        return None
    if any(answer not in (None, last.text) for answer in (last.answer, trace.answer)):
        return None
    failure = last.turn.failure if last.turn is not None else None
    if failure is None or failure.pattern is not FailurePattern.NARRATED:
        return None
    said = "The last reply describes a call that the model did not make."
    return Stopped(StopReason.UNKNOWN, said, len(trace.steps) - 1)


def _unparsed(trace: Trace) -> Stopped | None:
    """Tell a run whose last two steps asked for nothing, which is the contract's parse failure."""
    last = trace.steps[-2:]
    if len(last) == 2 and all(not s.calls and s.answer is None for s in last):  # noqa: PLR2004
        said = "The last two steps contain neither an action nor an answer."
        return Stopped(StopReason.PARSE_FAIL, said, len(trace.steps) - 1)
    return None


def _exhausted(trace: Trace) -> Stopped:
    most, taken = trace.limits.max_iterations, trace.iterations
    # A cap holds for each request of the user.
    last = trace.steps[-1].request if taken else 0
    served = sum(step.request == last for step in trace.steps)
    if most is not None and served >= most:
        said = f"No answer after {served} of {most} steps."
        return Stopped(StopReason.MAX_ITERATIONS, said, taken - 1 if taken else None)
    seconds = trace.limits.max_seconds
    if seconds is not None and (trace.seconds or 0) >= seconds:
        return Stopped(StopReason.TIMEOUT, f"No answer after {trace.seconds} seconds.")
    return Stopped(StopReason.UNKNOWN, _last_seen(trace), taken - 1 if taken else None)


def _last_seen(trace: Trace) -> str:
    """Say where a record ends that does not say why."""
    last = trace.steps[-1] if trace.steps else None
    if last is None:
        return "The record contains no steps and no answer."
    after = "a tool's result" if last.observations else "a call" if last.calls else "a reply"
    return f"The record ends after {after}; it does not say whether the run went on."
