"""What decides about the replies of a step, and the output that a reply stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Union, cast

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.codeact_agent import EXECUTE_TOOL_NAME
from llama_index.core.output_parsers.base import OutputParserException

from llama_index_loopmend.messages import (
    core_messages,
    has_media,
    output_like,
    reply_of,
    selection,
    text_of,
    with_calls,
    without_calls,
)
from llama_index_loopmend.parsers import REACT_READING, TolerantReActOutputParser
from llama_index_loopmend.schemas import remember_refusal, takes_schema
from llama_index_loopmend.steps import HANDOFF, AgentStep
from loopmend import (
    Ask,
    AskUser,
    Done,
    Failure,
    FailurePattern,
    FinalAnswer,
    GaveUp,
    Mending,
    ReadingConfig,
    Reply,
    RetryPolicy,
    Turn,
)
from loopmend.adapting import fits, is_unusual, read_react
from loopmend.mending import Message, is_clean, parser_correction, refuses_schema

__all__ = ["StepMending", "in_error", "issue_of"]

Verdict = Union[Done, Ask, GaveUp, None]
"""What to do about a reply; nothing if it is fine as it is."""

_FORM: Final = "The reply is not in the requested form."
_QUIET: Final = ReadingConfig(detect_signals=False)
# Whoever only looks on asks nothing again.
_LOOK: Final = RetryPolicy(0, salvage=False, constrain=False)
_OWN_PARSERS: Final = (ReActOutputParser, TolerantReActOutputParser)
# What `CodeActAgent` can call; it knows the second by this name only.
_OF_CODE: Final = frozenset({EXECUTE_TOOL_NAME, HANDOFF})


class StepMending:
    """Decides about the replies of a step. Most are fine, and need no `Mending`."""

    def __init__(self, step: AgentStep, policy: RetryPolicy) -> None:
        self.reply = Reply()
        """The latest reply, as the core takes it."""
        self._step = step
        self._policy = policy
        self._mending: Mending | None = None
        # What somebody's own parser refuses is refused, and nobody else can tell what it reads.
        self._others = type(getattr(step.agent, "output_parser", None)) not in _OWN_PARSERS

    def start(self) -> Ask:
        """Return what to ask at first."""
        step, policy = self._step, self._policy
        native = step.form == "native" and step.pad.key is not None
        can = bool(policy.constrain) and (native or not self._others)
        can = can and takes_schema(step.agent.llm)
        config = REACT_READING if step.form == "react" else _QUIET
        how: dict[str, Any] = {"policy": policy, "config": config, "can_constrain": can}
        self._mending = Mending(step.toolbox, step.form, answer_label="Answer", **how)
        return self._mending.start(
            step.user_text,
            after_tool_result=step.pad.after_result(step.held),
            holds_more=can and has_media([*step.messages, *step.held]),
            conversation=_said_before(step),
        )

    @property
    def mending(self) -> Mending:
        """The loop, made when it is needed."""
        if self._mending is None:
            self.start()
        return cast("Mending", self._mending)

    def verdict(self, output: AgentOutput) -> Verdict:
        """Return what to do about a reply."""
        step = self._step
        reply = self.reply = reply_of(output)
        read = None
        if step.form == "react" and not (self._others or step.decoded):
            held = step.reading  # what the agent's parser read, if it is ours
            read = held.turn if held is not None and held.text == reply.text else None
            read = read or read_react(reply.text, step.toolbox, REACT_READING)
        if self._mending is None and self.is_fine(output, reply, read):
            return None
        if output.retry_messages and self._others:
            failure = Reply(reply.text).read(step.toolbox, "text", _QUIET).failure
            pattern = FailurePattern.MALFORMED
            failure = failure or Failure(pattern, _FORM, (0, len(reply.text)))
            return self.mending.refuse(reply, failure, output.retry_messages[-1].content)
        if step.form == "code" and reply.calls:
            wrong = tuple(call for call in reply.calls if call.name not in _OF_CODE)
            return self.mending.reply(replace(reply, calls=wrong)) if wrong else None
        if (step.form == "react" and self._others) or (reply.holds_more and not reply.calls):
            return None  # a picture or the like, which nobody here can judge
        return self.mending.reply(reply, read)

    def raised(self, error: Exception) -> Verdict:
        """Return what to do about an exception in place of a reply; `None` to raise it."""
        if self._step.decoded and refuses_schema(error):
            remember_refusal(self._step.agent.llm)
        self.reply = Reply(error=error, holds_more=True)
        if not isinstance(error, OutputParserException):
            return self.mending.raised(error)
        # LlamaIndex's own error for parsers, which its agents do not expect of one. Nobody but the
        # parser has seen the reply, so that no two are known to be the same.
        message = f"The parser refused the reply: {error}"
        failure = Failure(FailurePattern.MALFORMED, message, (0, 0))
        return self.mending.refuse(self.reply, failure, parser_correction(str(error)))

    def is_fine(self, output: AgentOutput, reply: Reply, read: Turn | None) -> bool:
        """Tell quickly whether a reply is one that is used as it is: most are."""
        if output.retry_messages or self._step.decoded:
            return False
        if self._step.form == "native":
            return is_clean(reply, self._step.toolbox)
        if read is None or read.failure is not None or (read.calls and read.dialect != "react"):
            return False  # a call in another form may be copied from a result, or only to be seen
        unusual = reply.finish_reason and is_unusual(reply.finish_reason)
        return not unusual and self.made_of(Done(read), output) is None

    def made_of(self, done: Done, output: AgentOutput) -> AgentOutput | None:
        """Return the output that a reply stands for, or `None` if it can be used as it is."""
        turn, said = done.turn, text_of(output)
        if self._step.form != "react":
            if done.calls is None:
                return None if done.content is None else without_calls(output, done.content)
            text = said if done.content is None else done.content
            made = [selection(c.name, c.arguments, c.id) for c in done.calls]
            return with_calls(output, made, text)
        if turn.calls:
            called = [(call.tool_name, call.tool_kwargs) for call in output.tool_calls]
            if called == [(call.name, call.arguments) for call in turn.calls]:
                return None
            chosen = [selection(call.name, call.arguments) for call in turn.calls]
            return output_like(output, output.response, chosen)
        again = output.retry_messages or output.tool_calls or self._step.decoded
        if not again and turn.dialect != "contract":
            return None
        action = turn.actions[0] if turn.actions else None
        if isinstance(action, AskUser):
            return without_calls(output, action.question)
        text = action.content if isinstance(action, FinalAnswer) else said.strip()
        return without_calls(output, text)


def in_error(verdict: GaveUp, output: AgentOutput) -> AgentOutput | None:
    """Return an output whose calls LlamaIndex answers with what is wrong with them."""
    failure = verdict.failure
    if not verdict.runs_into_error:
        return None
    given = failure.call and failure.call.arguments
    if calls := output.tool_calls:  # nothing else of a refused reply runs
        bad = min(calls, key=lambda c: (c.tool_name != failure.tool, c.tool_kwargs != given))
        return output if len(calls) == 1 else with_calls(output, [bad], text_of(output))
    if not output.retry_messages or failure.tool is None:
        return None
    return output_like(output, output.response, [selection(failure.tool, given or {})])


def issue_of(step: AgentStep, output: AgentOutput) -> str | None:
    """Return what is wrong with a reply, where no hook mends it."""
    made = output.tool_calls
    if made and all(fits(call.tool_name, call.tool_kwargs, step.toolbox) for call in made):
        return None  # as in most steps
    verdict = StepMending(step, _LOOK).verdict(output)
    return verdict.failure.pattern.value if isinstance(verdict, GaveUp) else None


def _said_before(step: AgentStep) -> Iterator[Message]:
    """Yield the conversation; it is only looked at where a call was written as text."""
    yield from core_messages(step.messages)
    yield from step.pad.core(step.held)
