"""A hook that corrects a model that breaks the tool protocol."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final, Literal

from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.output_parsers.base import OutputParserException
from typing_extensions import override

from llama_index_loopmend.decoding import remember_refusal, takes_schema
from llama_index_loopmend.events import ProtocolIssueEvent
from llama_index_loopmend.hooks.protocol import Accept, After, Answer, AskAgain, Proceed, StepHook
from llama_index_loopmend.mending import (
    answered_by_framework,
    has_own_say,
    judged,
    made_of,
    nothing_said,
    reads_react,
    standing,
)
from llama_index_loopmend.messages import reply_of, text_of, without_calls
from llama_index_loopmend.parsers import REACT_READING, Reading
from llama_index_loopmend.steps import ENDED, OWN_WORDS, AgentStep
from loopmend import (
    Ask,
    Done,
    Failure,
    FailurePattern,
    GaveUp,
    Mending,
    NormalizationError,
    ReadingConfig,
    Reply,
    RetryPolicy,
    StopReason,
)
from loopmend.contracts import MAX_NORMALIZATION_RETRIES
from loopmend.mending import OnFailure, check_on_failure, is_protocol_error, refuses_schema

__all__ = ["NormalizationHook"]

_QUIET: Final = ReadingConfig(detect_signals=False)
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
    async def before(self, step: AgentStep) -> Proceed:
        """Get ready to judge the reply."""
        mending = self._mending(step)
        after_result = step.pad.after_result(step.held)
        first = mending.start(step.user_text, after_tool_result=after_result)
        step.local[self] = _Exchange(mending, first.schema is not None)
        if reads_react(step.agent):
            step.reading = Reading(step.toolbox)
        return Proceed(schema=first.schema)

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Use the reply, ask again, or give up."""
        exchange: _Exchange = step.local[self]
        read = None if step.reading is None else step.reading.of(text_of(output))
        verdict = judged(step, exchange.mending, output, read)
        if verdict is None:
            step.notes.note_issue(None)
            return None
        if isinstance(verdict, Done):
            return await self._accepted(step, exchange, output, verdict)
        if isinstance(verdict, Ask):
            return self._again(step, exchange, verdict, output)
        return self._given_up(step, exchange, verdict, output)

    def _mending(self, step: AgentStep) -> Mending:
        # Who did not take two corrections in this turn will not take two more at each step.
        gave_up = step.notes.turn.get(_GAVE_UP)
        policy = replace(self.policy, max_retries=0) if gave_up else self.policy
        react = step.pad.form == "react"
        if react and not step.toolbox.tools:
            # Who has no tools cannot be telling what will be done with them.
            policy = replace(policy, patterns={*policy.patterns} - {FailurePattern.NARRATED})
        return Mending(
            step.toolbox,
            step.pad.form,
            policy=policy,
            config=REACT_READING if react else _QUIET,
            can_constrain=self._can_constrain(step),
            answer_label="Answer",
        )

    def _can_constrain(self, step: AgentStep) -> bool:
        """Tell whether the model can be asked without its agent, which is not if others have a say.

        What a parser or an agent of somebody's own makes of a reply, nobody else can tell.
        """
        native = step.pad.form == "native" and step.pad.key is not None
        if not native and has_own_say(step.agent):
            return False
        return takes_schema(step.agent.llm)

    @override
    def failed(self, step: AgentStep, error: BaseException) -> AskAgain | Answer | None:
        """Say what to do if asking raised what is only the model's mistake."""
        exchange: _Exchange = step.local[self]
        mending = exchange.mending
        if not isinstance(error, Exception):
            return None
        if exchange.decoded and refuses_schema(error):
            remember_refusal(step.agent.llm)
            exchange.decoded = False
            # Why the model is asked again was told before.
            return AskAgain(_words(mending.unconstrained()))
        if isinstance(error, OutputParserException):
            # LlamaIndex's own error for parsers, which its agents do not expect of one.
            message = f"The parser refused the reply: {error}"
            failure = Failure(FailurePattern.MALFORMED, message, (0, 0))
            words = f"Your last reply could not be used: {error}"
            # Nobody but the parser has seen the reply, so that no two are known to be the same.
            verdict = mending.refuse(Reply(holds_more=True), failure, words)
        elif is_protocol_error(error):
            verdict = mending.reply(Reply(error=error))  # type: ignore[assignment] # never done
        else:
            return None
        if isinstance(verdict, Ask):
            return self._again(step, exchange, verdict, nothing_said(step.agent_name))
        return self._stopped(step, verdict)

    def _again(
        self, step: AgentStep, exchange: _Exchange, ask: Ask, output: AgentOutput
    ) -> AskAgain:
        retry = ask.retry
        attempt, words = (0, None) if retry is None else (retry.attempt, retry.correction)
        failure = exchange.mending.refused[-1]
        step.refused.append({"text": text_of(output), "message": failure.message})
        _note(step, output, failure, "retry", attempt, words)
        exchange.decoded = ask.schema is not None
        return AskAgain(_words(ask), ask.schema)

    async def _accepted(
        self, step: AgentStep, exchange: _Exchange, output: AgentOutput, done: Done
    ) -> Accept:
        step.notes.note_issue(None)
        if done.outcome == "made":
            _note(step, output, done.refused[-1], "salvaged")
        made = made_of(step, done, output, unparsed=exchange.decoded)
        if made is None and step.pad.after_result(step.held) and _is_empty(output):
            # Nothing to remember, and some providers refuse a conversation that holds it.
            await step.put(step.held)
            return Accept()
        if made is None and not exchange.decoded:
            return Accept()
        return Accept(made or output, done.turn.thought or "")

    def _given_up(
        self, step: AgentStep, exchange: _Exchange, verdict: GaveUp, output: AgentOutput
    ) -> Accept:
        """Return what can still be used of a reply, or words that say why nothing can."""
        self._note_end(step, verdict, output)
        made = answered_by_framework(output, verdict.failure)
        if made is None:
            answer = standing(step, output, verdict.failure)
            stands = answer and step.pad.form != "react"
            made = output if stands else without_calls(output, answer or _why(verdict))
            made[ENDED] = StopReason.PARSE_FAIL.value
            if not answer:
                made[OWN_WORDS] = True
        if callable(self.on_failure):
            return Accept(self.on_failure(verdict, made))
        # The agent knows its own output, but not one that the model gave without it.
        return Accept() if made is output and not exchange.decoded else Accept(made)

    def _stopped(self, step: AgentStep, verdict: GaveUp) -> Answer:
        """Return the words that say why a reply that nobody has seen ends the run."""
        output = nothing_said(step.agent_name)
        self._note_end(step, verdict, output)
        made = without_calls(output, _why(verdict))
        own = self.on_failure(verdict, made) if callable(self.on_failure) else made
        return Answer(text_of(own), StopReason.PARSE_FAIL)

    def _note_end(self, step: AgentStep, verdict: GaveUp, output: AgentOutput) -> None:
        step.notes.note_issue(verdict.failure.pattern.value)
        step.notes.turn[_GAVE_UP] = True
        _note(step, output, verdict.failure, _GAVE_UP)
        if self.on_failure == "raise":
            step.refused.append({"text": text_of(output), "message": verdict.failure.message})
            raise verdict.error()


class _Exchange:
    """What belongs to one step: its mending, and whether the model decodes by a schema."""

    def __init__(self, mending: Mending, decoded: bool) -> None:  # noqa: FBT001 - its own
        self.mending = mending
        self.decoded = decoded


def _note(  # noqa: PLR0913, PLR0917 - what an event tells
    step: AgentStep,
    output: AgentOutput,
    failure: Failure,
    outcome: str,
    attempt: int = 0,
    words: str | None = None,
) -> None:
    """Tell of a refused reply, and remember it."""
    pattern, agent = failure.pattern.value, step.agent_name
    step.notes.add("issues", {"agent": agent, "pattern": pattern, "outcome": outcome})
    step.tell(
        ProtocolIssueEvent(
            pattern=pattern,
            message=failure.message,
            attempt=attempt,
            text=text_of(output),
            correction=words,
            outcome=outcome,
            current_agent_name=agent,
        )
    )


def _words(ask: Ask) -> str:
    # A refused reply is not shown again, so that there is the correction at most.
    return "\n\n".join(message.content for message in ask.messages)


def _why(verdict: GaveUp) -> str:
    # The first failure tells most: later ones are what the model made of its correction.
    return str(NormalizationError(verdict.refused[0], verdict.retries))


def _is_empty(output: AgentOutput) -> bool:
    return not (output.tool_calls or text_of(output).strip() or reply_of(output).holds_more)
