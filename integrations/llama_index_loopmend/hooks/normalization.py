"""A hook that corrects a model that breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, Final, Literal, Union

from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.agent.workflow.codeact_agent import EXECUTE_TOOL_NAME
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers.base import OutputParserException
from typing_extensions import override

from llama_index_loopmend.events import ProtocolIssueEvent
from llama_index_loopmend.hooks.protocol import Accept, After, Answer, AskAgain, Proceed, StepHook
from llama_index_loopmend.mending import remember_refusal, takes_schema
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
from llama_index_loopmend.parsers import REACT_READING, Reading, TolerantReActOutputParser
from llama_index_loopmend.steps import ENDED, HANDOFF, OWN_WORDS, AgentStep
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
    StopReason,
    ToolCall,
    Turn,
)
from loopmend.adapting import fits, is_unusual, read_react
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import (
    Message,
    OnFailure,
    Retry,
    check_on_failure,
    is_clean,
    parser_correction,
    refuses_schema,
)

__all__ = ["NormalizationHook", "is_fine", "issue_of", "judged", "made_of", "mending_of"]

Verdict = Union[Done, Ask, GaveUp, None]
"""What to do about a reply; nothing if it is fine as it is."""

_GAVE_UP: Final = "gave_up"
_MALFORMED: Final = FailurePattern.MALFORMED
_QUIET: Final = ReadingConfig(detect_signals=False)
# Whoever only looks on asks nothing again.
_LOOK: Final = RetryPolicy(0, salvage=False, constrain=False)
_OWN_PARSERS: Final = (ReActOutputParser, TolerantReActOutputParser)
# What `CodeActAgent` can call; it knows the second by this name only.
_OF_CODE: Final = frozenset({EXECUTE_TOOL_NAME, HANDOFF})


class NormalizationHook(StepHook):
    """Corrects a model that only describes calls, says nothing, or makes calls that cannot run.

    Without loopmend such a reply ends the run as if it were the answer, or spends iterations. This
    hook makes a call that the model wrote as text if it is complete and fits its tool. Otherwise it
    asks the model again within the step, at most `max_retries` times, and has the provider decode
    by a schema of the actions if it can. Nothing of a refused reply stays in the scratchpad or in
    memory. A `ProtocolIssueEvent` tells you not to show the tokens that it streamed.

    >>> NormalizationHook(max_retries=1).acts
    True
    """

    def __init__(
        self,
        *,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        salvage: bool | Collection[str] = True,
        constrain: Literal["retry", "always", False] = "retry",
        patterns: Collection[FailurePattern | str] | None = None,
        on_failure: OnFailure = "return",
    ) -> None:
        """Set the limits.

        Args:
            max_retries: The maximum number of retries for one step.
            salvage: Whether to make calls that the model wrote as text: all, none, or only to
                these tools.
            constrain: When to have the provider decode by a JSON schema of the actions, if it
                can: from the first retry on, always or never.
            patterns: The failures to act on; by default all.
            on_failure: After the last retry, `"return"` what can be used of the last reply,
                `"raise"` a `loopmend.NormalizationError`, or a function of the verdict and the
                output that returns the output to use.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or an option is unknown.
        """
        check_on_failure(on_failure)
        chosen: Any = FailurePattern if patterns is None else patterns
        self.policy = RetryPolicy(max_retries, salvage, constrain, patterns=chosen)
        """How far it goes."""
        self.on_failure = on_failure
        """What happens after the last retry."""

    @override
    async def before(self, step: AgentStep) -> Proceed | None:
        """Have the reply read only once, and decoded by a schema if that is always wanted."""
        if type(getattr(step.agent, "output_parser", None)) is TolerantReActOutputParser:
            step.reading = Reading(step.toolbox)
        if self.policy.constrain != "always":
            return None
        return Proceed(schema=self._mending(step)[1].schema)

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Use the reply, ask again, or give up."""
        reply, held = reply_of(output), step.reading
        read = held.turn if held is not None and held.text == reply.text else None
        if self not in step.local and is_fine(step, output, reply, read):
            step.notes.note_issue(None)
            return None
        verdict = judged(step, self._mending(step)[0], output, reply, read)
        if isinstance(verdict, Ask):
            return self._again(step, verdict, reply)
        if isinstance(verdict, GaveUp):
            return self._given_up(step, verdict, output)
        made = None if verdict is None else await _accepted(step, output, reply, verdict)
        step.notes.note_issue(None)
        return made

    @override
    def failed(self, step: AgentStep, error: BaseException) -> AskAgain | Answer | None:
        """Say what to do if asking raised what is only the model's mistake."""
        if not isinstance(error, Exception):
            return None
        if step.decoded and refuses_schema(error):
            remember_refusal(step.agent.llm)
        unseen = Reply(error=error, holds_more=True)
        if isinstance(error, OutputParserException):
            # LlamaIndex's own error for parsers, which its agents do not expect of one. Nobody but
            # the parser has seen the reply, so that no two are known to be the same.
            failure = Failure(_MALFORMED, f"The parser refused the reply: {error}", (0, 0))
            words = parser_correction(str(error))
            verdict: Any = self._mending(step)[0].refuse(unseen, failure, words)
        else:
            verdict = self._mending(step)[0].raised(error)
        if isinstance(verdict, Ask):
            return self._again(step, verdict, unseen)
        if not isinstance(verdict, GaveUp):
            return None
        nothing = ChatMessage(role=MessageRole.ASSISTANT, content="")
        output = AgentOutput(response=nothing, current_agent_name=step.agent_name)
        made = self._given_up(step, verdict, output).output or output
        return Answer(made.response.content or "", StopReason.PARSE_FAIL)

    def _mending(self, step: AgentStep) -> tuple[Mending, Ask]:
        """Return the mending of a step, made when it is needed, and what it asks at first."""
        if self not in step.local:
            # Who did not take two corrections in this turn will not take two more at each step.
            gave_up = step.notes.turn.get(_GAVE_UP)
            policy = replace(self.policy, max_retries=0) if gave_up else self.policy
            step.local[self] = mending_of(step, policy)
        return step.local[self]  # type: ignore[no-any-return] # just made

    def _again(self, step: AgentStep, ask: Ask, reply: Reply) -> AskAgain:
        if ask.retry is not None:  # otherwise why is known from before
            _tell(step, reply.text, self._mending(step)[0].refused[-1], "retry", ask.retry)
        return AskAgain(schema=ask.schema, shown=ask.messages)

    def _given_up(self, step: AgentStep, verdict: GaveUp, output: AgentOutput) -> Accept:
        """Return what can still be used of a reply, or words that say why nothing can."""
        failure, text = verdict.failure, output.response.content or ""
        step.notes.note_issue(failure.pattern.value)
        step.notes.turn[_GAVE_UP] = True
        _tell(step, text, failure, _GAVE_UP, ends=self.on_failure == "raise")
        made = _run_into_error(verdict, output)
        if made is None:
            stands = verdict.stands and step.form != "react"
            made = output if stands else without_calls(output, verdict.stands or verdict.why)
            made[ENDED] = StopReason.PARSE_FAIL.value
            if not verdict.stands:
                made[OWN_WORDS] = True
        chosen = verdict.concluded(self.on_failure, made)
        # The agent knows its own output, but not one that the model gave without it.
        known = chosen is output and not callable(self.on_failure) and not step.decoded
        return Accept() if known else Accept(chosen)


def issue_of(step: AgentStep, output: AgentOutput) -> str | None:
    """Return what is wrong with a reply, where no hook mends it."""
    made = output.tool_calls
    if made and all(fits(call.tool_name, call.tool_kwargs, step.toolbox) for call in made):
        return None  # as in most steps
    reply, read = reply_of(output), None
    if step.form == "react" and not _has_own_say(step.agent):
        read = read_react(reply.text, step.toolbox, REACT_READING)
    if is_fine(step, output, reply, read):
        return None
    verdict = judged(step, mending_of(step, _LOOK)[0], output, reply, read)
    return verdict.failure.pattern.value if isinstance(verdict, GaveUp) else None


def mending_of(step: AgentStep, policy: RetryPolicy) -> tuple[Mending, Ask]:
    """Return what decides about the replies of a step, and what to ask at first."""
    # What a parser or an agent of somebody's own makes of a reply, nobody else can tell.
    native = step.form == "native" and step.pad.key is not None
    can = bool(policy.constrain) and (native or not _has_own_say(step.agent))
    can = can and takes_schema(step.agent.llm)
    config = REACT_READING if step.form == "react" else _QUIET
    after_result = step.pad.after_result(step.held)
    how: dict[str, Any] = {"policy": policy, "config": config, "can_constrain": can}
    mending = Mending(step.toolbox, step.form, answer_label="Answer", **how)
    return mending, mending.start(
        step.user_text,
        after_tool_result=after_result,
        holds_more=can and has_media([*step.messages, *step.held]),
        conversation=_said_before(step),
    )


def _said_before(step: AgentStep) -> Iterator[Message]:
    """Yield the conversation; it is only looked at where a call was written as text."""
    yield from core_messages(step.messages)
    yield from step.pad.core(step.held)


def _has_own_say(agent: Any) -> bool:
    """Tell whether an agent has a parser of somebody's own: what it refuses is refused."""
    return type(getattr(agent, "output_parser", None)) not in _OWN_PARSERS


def is_fine(step: AgentStep, output: AgentOutput, reply: Reply, read: Turn | None) -> bool:
    """Tell quickly whether a reply is one that is used as it is: most are."""
    if output.retry_messages or step.decoded:
        return False
    if step.form == "native":
        return is_clean(reply, step.toolbox)
    if read is None or read.failure is not None or (read.calls and read.dialect != "react"):
        return False  # a call in another form may be copied from a result, or only to be seen
    unusual = reply.finish_reason and is_unusual(reply.finish_reason)
    return not unusual and made_of(step, Done(read), output) is None


def judged(
    step: AgentStep, mending: Mending, output: AgentOutput, reply: Reply, read: Turn | None
) -> Verdict:
    """Return what to do about a reply; `read` is what the agent's parser read, if it is ours."""
    own = _has_own_say(step.agent)
    if output.retry_messages and own:
        message = "The reply is not in the requested form."
        failure = Reply(reply.text).read(step.toolbox, "text", _QUIET).failure
        failure = failure or Failure(_MALFORMED, message, (0, len(reply.text)))
        return mending.refuse(reply, failure, output.retry_messages[-1].content)
    if step.form == "code" and reply.calls:
        wrong = tuple(call for call in reply.calls if call.name not in _OF_CODE)
        return mending.reply(replace(reply, calls=wrong)) if wrong else None
    if (step.form == "react" and own) or (reply.holds_more and not reply.calls):
        return None  # a picture or the like, which nobody here can judge
    return mending.reply(reply, read)


def made_of(step: AgentStep, done: Done, output: AgentOutput) -> AgentOutput | None:
    """Return the output that a reply stands for, or `None` if it can be used as it is."""
    turn, said = done.turn, output.response.content or ""
    if step.form != "react":
        if done.calls is None:
            return None if done.content is None else without_calls(output, done.content)
        text = said if done.content is None else done.content
        return with_calls(output, [selection(c.name, c.arguments, c.id) for c in done.calls], text)
    calls = [action for action in turn.actions if isinstance(action, ToolCall)]
    if calls:
        made = [(call.tool_name, call.tool_kwargs) for call in output.tool_calls]
        if made == [(call.name, call.arguments) for call in calls]:
            return None
        chosen = [selection(call.name, call.arguments) for call in calls]
        return output_like(output, output.response, chosen)
    again = output.retry_messages or output.tool_calls or step.decoded
    if not again and turn.dialect != "contract":
        return None
    action = turn.actions[0] if turn.actions else None
    if isinstance(action, AskUser):
        return without_calls(output, action.question)
    text = action.content if isinstance(action, FinalAnswer) else said.strip()
    return without_calls(output, text)


def _run_into_error(verdict: GaveUp, output: AgentOutput) -> AgentOutput | None:
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


async def _accepted(step: AgentStep, output: AgentOutput, reply: Reply, done: Done) -> Accept:
    if done.outcome == "made":
        _tell(step, reply.text, done.refused[-1], "salvaged")
    made = made_of(step, done, output)
    said = output.tool_calls or reply.text.strip() or reply.holds_more
    if made is None and not said and step.pad.after_result(step.held):
        # Nothing to remember, and some providers refuse a conversation that holds it.
        await step.put(step.held)
    elif made is not None or step.decoded:
        return Accept(made or output, done.turn.thought or "")
    return Accept()


def _tell(  # noqa: PLR0913 - what an event tells
    step: AgentStep,
    text: str,
    failure: Failure,
    outcome: str,
    retry: Retry | None = None,
    *,
    ends: bool = False,
) -> None:
    """Tell of a refused reply; a trace has no other step for one that is asked again or raised."""
    if retry is not None or ends:
        refused = {"text": text, "message": failure.message, "agent": step.agent_name}
        step.refused.append(refused)
    step.ctx.write_event_to_stream(
        ProtocolIssueEvent(
            pattern=failure.pattern.value,
            message=failure.message,
            attempt=0 if retry is None else retry.attempt,
            text=text,
            correction=None if retry is None else retry.correction,
            outcome=outcome,
            current_agent_name=step.agent_name,
        )
    )
