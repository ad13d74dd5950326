"""A hook that corrects a model that breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final, Literal

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from typing_extensions import override

from llama_index_loopmend.events import ProtocolIssueEvent
from llama_index_loopmend.hooks.protocol import Accept, After, Answer, AskAgain, Proceed, StepHook
from llama_index_loopmend.hooks.step_mending import StepMending, in_error
from llama_index_loopmend.messages import text_of, without_calls
from llama_index_loopmend.parsers import Reading, TolerantReActOutputParser
from llama_index_loopmend.steps import ENDED, OWN_WORDS, AgentStep
from loopmend import (
    Ask,
    Done,
    Failure,
    FailurePattern,
    GaveUp,
    RetryPolicy,
    StopReason,
)
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, Retry, check_on_failure

__all__ = ["NormalizationHook"]

_GAVE_UP: Final = "gave_up"


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
        chosen: dict[str, Any] = {} if patterns is None else {"patterns": patterns}
        self.policy = RetryPolicy(max_retries, salvage, constrain, **chosen)
        """How far it goes."""
        self.on_failure = on_failure
        """What happens after the last retry."""

    @override
    async def before(self, step: AgentStep) -> Proceed | None:
        """Have the reply read only once, and decoded by a schema if that is always wanted."""
        if type(getattr(step.agent, "output_parser", None)) is TolerantReActOutputParser:
            step.reading = Reading(step.toolbox)
        # Who did not take two corrections in this turn will not take two more at each step.
        gave_up = step.notes.turn.get(_GAVE_UP)
        policy = replace(self.policy, max_retries=0) if gave_up else self.policy
        mends = step.local[self] = StepMending(step, policy)
        return Proceed(schema=mends.start().schema) if policy.constrain == "always" else None

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Use the reply, ask again, or give up."""
        mends: StepMending = step.local[self]
        verdict = mends.verdict(output)
        if isinstance(verdict, Ask):
            return _again(step, verdict, mends)
        if isinstance(verdict, GaveUp):
            return self._given_up(step, verdict, output)
        made = None if verdict is None else await _accepted(step, output, mends, verdict)
        step.notes.note_issue(None)
        return made

    @override
    def failed(self, step: AgentStep, error: BaseException) -> AskAgain | Answer | None:
        """Say what to do if asking raised what is only the model's mistake."""
        mends: StepMending = step.local[self]
        verdict = mends.raised(error) if isinstance(error, Exception) else None
        if isinstance(verdict, Ask):
            return _again(step, verdict, mends)
        if not isinstance(verdict, GaveUp):
            return None
        nothing = ChatMessage(role=MessageRole.ASSISTANT, content="")
        output = AgentOutput(response=nothing, current_agent_name=step.agent_name)
        made = self._given_up(step, verdict, output).output or output
        return Answer(text_of(made), StopReason.PARSE_FAIL)

    def _given_up(self, step: AgentStep, verdict: GaveUp, output: AgentOutput) -> Accept:
        """Return what can still be used of a reply, or words that say why nothing can."""
        failure, text = verdict.failure, text_of(output)
        step.notes.note_issue(failure.pattern.value)
        step.notes.turn[_GAVE_UP] = True
        raises = self.on_failure == "raise"
        _tell(step, text, _unasked(failure), _GAVE_UP, refused=raises)
        made = in_error(verdict, output)
        if made is None:
            stands = verdict.stands and step.form != "react"
            made = output if stands else without_calls(output, verdict.stands or verdict.why)
            made[ENDED] = StopReason.PARSE_FAIL.value
            if not verdict.stands:
                made[OWN_WORDS] = True
        chosen = verdict.concluded(self.on_failure, made)
        if not isinstance(chosen, AgentOutput):
            msg = f"`on_failure` must return an AgentOutput, not {type(chosen).__name__}"
            raise TypeError(msg)
        # The agent knows its own output, but not one that the model gave without it.
        known = chosen is output and not callable(self.on_failure) and not step.decoded
        return Accept() if known else Accept(chosen)


def _again(step: AgentStep, ask: Ask, mends: StepMending) -> AskAgain:
    if ask.retry is not None:  # otherwise why is known from before
        _tell(step, mends.reply.text, ask.retry, "retry", refused=True)
    return AskAgain(schema=ask.schema, shown=ask.messages)


async def _accepted(step: AgentStep, output: AgentOutput, mends: StepMending, done: Done) -> Accept:
    reply = mends.reply
    if done.outcome == "made":
        _tell(step, reply.text, _unasked(done.refused[-1]), "salvaged", refused=False)
    made = mends.made_of(done, output)
    said = output.tool_calls or reply.text.strip() or reply.holds_more
    if made is None and not said and step.pad.after_result(step.held):
        # Nothing to remember, and some providers refuse a conversation that holds it.
        await step.put(step.held)
    elif made is not None or step.decoded:
        return Accept(made or output, done.turn.thought or "")
    return Accept()


def _unasked(failure: Failure) -> Retry:
    """Return what to tell of a reply after which nobody asks again."""
    return Retry(0, failure.pattern.value, failure.message, None)


def _tell(step: AgentStep, text: str, retry: Retry, outcome: str, *, refused: bool) -> None:
    """Tell of a reply; one that is `refused` is no step of the run, but one of its trace."""
    if refused:
        step.refused.append({"text": text, "message": retry.message, "agent": step.agent_name})
    told = {**retry.data(), "text": text, "outcome": outcome}
    step.ctx.write_event_to_stream(ProtocolIssueEvent(**told, current_agent_name=step.agent_name))
