"""A hook that corrects a model that breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final, Literal

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers.base import OutputParserException
from typing_extensions import override

from llama_index_loopmend.decoding import remember_refusal
from llama_index_loopmend.events import ProtocolIssueEvent
from llama_index_loopmend.hooks.protocol import Accept, After, Answer, AskAgain, Proceed, StepHook
from llama_index_loopmend.hooks.replies import (
    answered_by_framework,
    is_fine,
    judged,
    made_of,
    mending_of,
    standing,
)
from llama_index_loopmend.messages import reply_of, text_of, without_calls
from llama_index_loopmend.parsers import Reading, TolerantReActOutputParser
from llama_index_loopmend.steps import ENDED, OWN_WORDS, AgentStep
from loopmend import (
    Ask,
    Done,
    Failure,
    FailurePattern,
    GaveUp,
    Mending,
    NormalizationError,
    Reply,
    RetryPolicy,
    StopReason,
)
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, check_on_failure, refuses_schema

__all__ = ["NormalizationHook"]

_GAVE_UP: Final = "gave_up"


class NormalizationHook(StepHook):
    """Corrects a model that narrates, says nothing, or calls tools in a way that cannot run.

    Without loopmend such a reply ends the run as if it were the answer, or spends iterations. This
    hook makes a call that the model wrote as text if it is complete and fits its tool. Otherwise it
    asks the model again within the step, at most `max_retries` times, and has the provider decode
    by a schema of the actions if it can. Nothing of a refused reply stays in the scratchpad or in
    memory. A `ProtocolIssueEvent` says that what was streamed of it is not to be shown.

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
            patterns: Which failures to act on; all if left out.
            on_failure: After the last retry, `"return"` what can be used of the last reply,
                `"raise"` a `loopmend.NormalizationError`, or a function of the verdict and the
                output that returns the output to use.

        Raises:
            TypeError: `max_retries` is not an `int`.
            ValueError: `max_retries` is negative, or an option is unknown.
        """
        check_on_failure(on_failure)
        chosen = FailurePattern if patterns is None else map(FailurePattern, patterns)
        self.policy = RetryPolicy(max_retries, salvage, constrain, patterns=frozenset(chosen))
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
        step.local[self], first = mending_of(step, self.policy)
        return Proceed(schema=first.schema)

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Use the reply, ask again, or give up."""
        reply, held = reply_of(output), step.reading
        read = held.turn if held is not None and held.text == reply.text else None
        if self not in step.local and is_fine(step, output, reply, read):
            step.notes.note_issue(None)
            return None
        verdict = judged(step, self._mending(step), output, reply, read)
        if isinstance(verdict, Ask):
            return self._again(step, verdict, output)
        if isinstance(verdict, GaveUp):
            return self._given_up(step, verdict, output)
        step.notes.note_issue(None)
        return None if verdict is None else await _accepted(step, output, reply, verdict)

    @override
    def failed(self, step: AgentStep, error: BaseException) -> AskAgain | Answer | None:
        """Say what to do if asking raised what is only the model's mistake."""
        if not isinstance(error, Exception):
            return None
        mending = self._mending(step)
        nothing = ChatMessage(role=MessageRole.ASSISTANT, content="")
        unseen = AgentOutput(response=nothing, current_agent_name=step.agent_name)
        if step.decoded and refuses_schema(error):
            remember_refusal(step.agent.llm)
        verdict = mending.raised(error)
        if isinstance(error, OutputParserException):
            # LlamaIndex's own error for parsers, which its agents do not expect of one.
            message = f"The parser refused the reply: {error}"
            failure = Failure(FailurePattern.MALFORMED, message, (0, 0))
            words = f"Your last reply could not be used: {error}"
            # Nobody but the parser has seen the reply, so that no two are known to be the same.
            verdict = mending.refuse(Reply(holds_more=True), failure, words)
        if isinstance(verdict, Ask):
            return self._again(step, verdict, unseen)
        if not isinstance(verdict, GaveUp):
            return None
        made = self._given_up(step, verdict, unseen).output
        return Answer(text_of(made or unseen), StopReason.PARSE_FAIL)

    def _mending(self, step: AgentStep) -> Mending:
        """Return the mending of a step, made when it is needed: most replies are fine."""
        if self not in step.local:
            # Who did not take two corrections in this turn will not take two more at each step.
            gave_up = step.notes.turn.get(_GAVE_UP)
            policy = replace(self.policy, max_retries=0) if gave_up else self.policy
            step.local[self], _ = mending_of(step, policy)
        made: Mending = step.local[self]
        return made

    def _again(self, step: AgentStep, ask: Ask, output: AgentOutput) -> AskAgain:
        if (retry := ask.retry) is not None:  # otherwise why is known from before
            failure = self._mending(step).refused[-1]
            step.refused.append({"text": text_of(output), "message": failure.message})
            _tell(step, output, failure, "retry", retry.attempt, retry.correction)
        # A refused reply is not shown again, so that there is the correction at most.
        words = "\n\n".join(message.content for message in ask.messages)
        return AskAgain(words, ask.schema)

    def _given_up(self, step: AgentStep, verdict: GaveUp, output: AgentOutput) -> Accept:
        """Return what can still be used of a reply, or words that say why nothing can."""
        failure = verdict.failure
        step.notes.note_issue(failure.pattern.value)
        step.notes.turn[_GAVE_UP] = True
        _tell(step, output, failure, _GAVE_UP)
        if self.on_failure == "raise":
            step.refused.append({"text": text_of(output), "message": failure.message})
        made = answered_by_framework(output, failure)
        if made is None:
            answer = standing(step, output, failure)
            stands = answer and step.pad.form != "react"
            # The first failure tells most: later ones are what the model made of its correction.
            why = str(NormalizationError(verdict.refused[0], verdict.retries))
            made = output if stands else without_calls(output, answer or why)
            made[ENDED] = StopReason.PARSE_FAIL.value
            if not answer:
                made[OWN_WORDS] = True
        chosen = verdict.concluded(self.on_failure, made)
        # The agent knows its own output, but not one that the model gave without it.
        known = chosen is output and not callable(self.on_failure) and not step.decoded
        return Accept() if known else Accept(chosen)


async def _accepted(step: AgentStep, output: AgentOutput, reply: Reply, done: Done) -> Accept:
    if done.outcome == "made":
        _tell(step, output, done.refused[-1], "salvaged")
    made = made_of(step, done, output)
    said = output.tool_calls or reply.text.strip() or reply.holds_more
    if made is None and not said and step.pad.after_result(step.held):
        # Nothing to remember, and some providers refuse a conversation that holds it.
        await step.put(step.held)
    elif made is not None or step.decoded:
        return Accept(made or output, done.turn.thought or "")
    return Accept()


def _tell(  # noqa: PLR0913, PLR0917 - what an event tells
    step: AgentStep,
    output: AgentOutput,
    failure: Failure,
    outcome: str,
    attempt: int = 0,
    words: str | None = None,
) -> None:
    """Tell of a refused reply."""
    step.tell(
        ProtocolIssueEvent(
            pattern=failure.pattern.value,
            message=failure.message,
            attempt=attempt,
            text=text_of(output),
            correction=words,
            outcome=outcome,
            current_agent_name=step.agent_name,
        )
    )
