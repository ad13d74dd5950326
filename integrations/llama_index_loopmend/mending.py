"""Asking an agent's model again, inside the step, until its reply can be used.

So no iteration is spent, the user's message is not repeated, and all refused replies stand in
the order in which they came. The scratchpad is put back to what it was before each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from llama_index.core.agent.react.types import ActionReasoningStep
from llama_index.core.agent.workflow import AgentOutput
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.output_parsers.base import OutputParserException

from llama_index_loopmend.events import ProtocolIssueEvent
from llama_index_loopmend.outputs import (
    DIALECTS,
    has_own_say,
    is_clean,
    read_output,
    remade,
    text_of,
    without_calls,
)
from llama_index_loopmend.provider import used_tokens
from llama_index_loopmend.replies import BY_PARSER, is_answered, is_empty, standing, wording
from llama_index_loopmend.scratchpads import JsonActionStep
from llama_index_loopmend.steps import Step
from loopmend import (
    MAX_NORMALIZATION_RETRIES,
    Accept,
    Breaker,
    CircuitBreaker,
    Failure,
    FailurePattern,
    GiveUp,
    NormalizationError,
    RetryPolicy,
    Turn,
)
from loopmend.reading.retry import FORMATS
from loopmend.words import gave_up

__all__ = ["Mender", "Mends"]

OnExhausted = Literal["answer", "error"]

# How a program or its setup is wrong, not the provider. Only these very types: subclasses are
# somebody's own, such as the error of JSON that did not arrive as such.
_MISUSE: Final = frozenset(
    {AssertionError, AttributeError, KeyError, NotImplementedError, TypeError, ValueError}
)
# How LlamaIndex pauses a step, which is no failure of the provider.
_CONTROL_FLOW: Final = frozenset({"WaitingForEvent"})
_AS_CODE: Final = (
    "Write the code that is to run between <execute> and </execute>. If none is needed, answer in "
    "plain words."
)
_ACTIONS: Final = (ActionReasoningStep, JsonActionStep)


@dataclass(frozen=True, slots=True)
class Mends:
    """Which of LlamaIndex's own ways are mended; each can be switched off.

    >>> Mends(last_answer=False).json_history
    True
    """

    retry_in_step: bool = True
    """A reply that cannot be used is corrected within the step: natively the user's message is
    repeated, the reply stands in the wrong place, earlier ones are forgotten, iterations are
    spent, and empty or narrated replies are answers."""
    tolerant_reading: bool = True
    """A ReAct reply is read in whatever dialect it is: natively an answer without a thought is
    refused, arguments that are not texts are lost, and calls in JSON or XML are answers."""
    json_history: bool = True
    """The model sees its actions as the JSON that it is asked for: natively as Python."""
    parsed_answer: bool = True
    """The answer is the one that the parser found: natively what follows the first `Answer:`."""
    fresh_reasoning: bool = True
    """A run starts with an empty scratchpad, and a handover is told to the specialist: natively
    what a failed run or a handover leaves behind leaks into the next one."""
    last_answer: bool = True
    """An answer in the last iteration counts: natively it is thrown away."""
    informed_stop: bool = True
    """A last answer at the cap is made from what was found: natively from the memory alone."""


class _Uncounted(BaseException):
    """Tells a breaker that a call is over and says nothing: what is no `Exception` never counts."""


class Mender:
    """Takes steps until the reply can be used or all retries are used up."""

    def __init__(  # noqa: PLR0913 - all by name
        self,
        *,
        max_retries: int = MAX_NORMALIZATION_RETRIES,
        salvage: bool = True,
        mends: Mends | None = None,
        on_exhausted: OnExhausted = "answer",
        breaker: Breaker | None = None,
        counting: bool = False,
    ) -> None:
        self.mends = mends or Mends()
        self._max_retries = max_retries
        self._salvage = salvage
        self._on_exhausted = on_exhausted
        self._breaker = breaker
        self._counting = counting

    async def take(self, step: Step, messages: list[ChatMessage], before: list[Any]) -> AgentOutput:
        """Take a step, and ask again as long as that helps.

        Args:
            step: The step.
            messages: What the model is shown.
            before: The scratchpad as it is before.
        """
        policy = RetryPolicy(self._retries(step), dialect=DIALECTS[step.kind])
        shown: list[Any] = []
        heard: list[Any] = []
        attempt = 0
        while True:
            asked = [*messages, *_beside(step, shown)]
            output, turn = await self._heard(step, asked, before, again=bool(shown))
            if turn is None:
                step.notes.streak = 0
                return output
            decision = policy.decide(turn, attempt, step.toolbox)
            if isinstance(decision, Accept):
                return await self._accepted(step, output, turn, before, len(shown))
            failure = cast("Failure", turn.failure)
            said = wording(output, failure)
            if not isinstance(decision, GiveUp) and said in heard:
                # Who says it again word for word was not helped by being told.
                decision = GiveUp(failure, attempt)
            if isinstance(decision, GiveUp):
                return await self._given_up(step, output, decision, before, len(shown))
            heard += [said] if said is not None else []
            words = _worded(step, output, decision.messages[0].content)
            self.note(step, output, failure, attempt=attempt, outcome="retry", words=words)
            shown += step.pad.refused(output, failure, words)
            await step.put([*before, *shown])
            attempt = decision.attempt

    async def ask(self, step: Step, messages: list[ChatMessage]) -> AgentOutput:
        """Let the agent take the step in its own way, once."""
        held = step.pad.messages(await step.entries()) if self._counting else []
        try:
            output = await step.take(step.ctx, messages, step.tools, step.memory)
        except BaseException as error:
            self._tell_breaker(step, error)
            raise
        self._tell_breaker(step, None)
        if self._counting:
            step.notes.tokens += used_tokens(output.raw, [*messages, *held, output.response])
        return output

    async def _heard(
        self, step: Step, messages: list[ChatMessage], before: list[Any], *, again: bool
    ) -> tuple[AgentOutput, Turn | None]:
        """Return a reply and what it is read as, or `None` if it is fine beyond doubt."""
        try:
            output = await self.ask(step, messages)
        except OutputParserException as error:
            # LlamaIndex's own error for parsers, which its agents do not expect of one.
            if not self.mends.retry_in_step:
                raise
            return _unparsed(step, error)
        except BaseException:
            if again:
                await step.put(before)
            raise
        as_is = step.kind != "react" or self.mends.json_history
        if as_is and not again and is_clean(output, step.agent, step.toolbox):
            return output, None
        return output, self.read(step, output, [] if again else before)

    def read(self, step: Step, output: AgentOutput, before: list[Any]) -> Turn:
        """Read what the model said; who was corrected must say something."""
        return read_output(
            output,
            step.agent,
            step.toolbox,
            after_result=step.pad.after_result(before),
            salvage=self._salvage,
            tolerant=self.mends.tolerant_reading,
        )

    def note(  # noqa: PLR0913 - what an event holds
        self,
        step: Step,
        output: AgentOutput,
        failure: Failure,
        *,
        attempt: int = 0,
        outcome: str,
        words: str | None = None,
    ) -> None:
        """Tell of a refused reply, and remember it."""
        step.notes.issue(step.agent.name, failure.pattern.value, outcome)
        if outcome == "retry":
            step.refused.append({"text": text_of(output), "message": failure.message})
        step.tell(
            ProtocolIssueEvent(
                pattern=failure.pattern.value,
                message=failure.message,
                attempt=attempt,
                text=text_of(output),
                correction=words,
                outcome=outcome,
                current_agent_name=step.agent.name,
            )
        )

    def _tell_breaker(self, step: Step, error: BaseException | None) -> None:
        """Tell how the provider did: what a parser refuses did arrive, and a pause says nothing."""
        breaker = self._breaker
        if breaker is None or type(error).__name__ in _CONTROL_FLOW:
            return
        step.notes.may_call = False
        if error is None or isinstance(error, OutputParserException):
            breaker.record_success()
        elif type(error) in _MISUSE and _counts_all(breaker):
            breaker.record_failure(_Uncounted())
        else:
            breaker.record_failure(error)

    def _retries(self, step: Step) -> int:
        # Who did not take two corrections in this turn will not take two more at each step.
        return self._max_retries if self.mends.retry_in_step and not step.notes.gave_up else 0

    async def _accepted(
        self, step: Step, output: AgentOutput, turn: Turn, before: list[Any], shown: int
    ) -> AgentOutput:
        """Return the output that a turn stands for, with the scratchpad as if nothing had been."""
        step.notes.streak = 0
        if turn.fidelity == "salvaged" and turn.failure is not None:
            self.note(step, output, turn.failure, outcome="salvaged")
        made = remade(output, turn, step.kind)
        if made is None and step.pad.after_result(before) and is_empty(output):
            # Nothing to remember, and some providers refuse a conversation that holds it.
            await step.put(before)
            return output
        if made is None:
            await self._settle(step, before, shown)
            return output
        if step.kind != "react":
            entries = [made.response]
        elif made.tool_calls:
            entries = step.pad.calls(turn.thought or "", made.tool_calls)
        else:
            entries = step.pad.answer(turn.thought or "", text_of(made))
        await step.put([*before, *map(self._written, entries)])
        return made

    async def _settle(self, step: Step, before: list[Any], shown: int) -> None:
        """Take refused replies out of the scratchpad, and write actions down as wanted."""
        if not shown and step.kind != "react":
            return
        held = await step.entries()
        added = [self._written(entry) for entry in held[len(before) + shown :]]
        if shown or added != held[len(before) :]:
            await step.put([*before, *added])

    def _written(self, entry: Any) -> Any:
        """Return an action as the model is to see it; one of somebody else's stays as it is."""
        kind = JsonActionStep if self.mends.json_history else ActionReasoningStep
        if type(entry) not in _ACTIONS or type(entry) is kind:
            return entry
        return kind(thought=entry.thought, action=entry.action, action_input=entry.action_input)

    async def _given_up(
        self, step: Step, output: AgentOutput, verdict: GiveUp, before: list[Any], shown: int
    ) -> AgentOutput:
        """Return what can still be used of a reply, or words that say why nothing can."""
        step.notes.streak += 1
        if not self.mends.retry_in_step:
            self.note(step, output, verdict.failure, outcome="noticed")
            await self._settle(step, before, shown)
            return output
        step.notes.gave_up = True
        self.note(step, output, verdict.failure, attempt=verdict.attempts, outcome="gave_up")
        if self._on_exhausted == "error":
            step.refused.append({"text": text_of(output), "message": verdict.failure.message})
            await step.put(before)
            raise NormalizationError(verdict)
        answer = standing(step, output, verdict.failure)
        if (answer and step.kind != "react") or is_answered(output, verdict.failure):
            await self._settle(step, before, shown)
            return output
        # The first failure tells most: later ones are what the model made of its correction.
        why = step.refused[0]["message"] if step.refused else verdict.failure.message
        text = answer or gave_up(why)
        await step.put(before)
        await step.keep_answer(text)
        return without_calls(output, text)


def _counts_all(breaker: Breaker) -> bool:
    """Tell whether nobody said which errors a breaker counts; who did has the say."""
    return type(breaker) is CircuitBreaker and breaker.counts is None


def _beside(step: Step, shown: list[Any]) -> list[ChatMessage]:
    """Return what must be shown with the question, as the agent keeps no scratchpad."""
    return shown if step.pad.key is None else []


def _worded(step: Step, output: AgentOutput, words: str) -> str:
    """Return a correction in the terms of the agent's own prompt, or of whoever refused it."""
    if output.retry_messages and has_own_say(step.agent):
        return output.retry_messages[-1].content or words
    if step.kind == "code":
        return words.replace(FORMATS["native"], _AS_CODE)
    return words.replace("the words Final Answer", "the word Answer")


def _unparsed(step: Step, error: Exception) -> tuple[AgentOutput, Turn]:
    """Return the output that LlamaIndex would have made if it expected the error."""
    said = ChatMessage(role=MessageRole.ASSISTANT, content="")
    words = f"Your last reply cannot be used. {error}"
    told = ChatMessage(role=MessageRole.USER, content=words)
    output = AgentOutput(
        response=said, retry_messages=[said, told], current_agent_name=step.agent.name
    )
    failure = Failure(FailurePattern.MALFORMED, f"{BY_PARSER}{error}", (0, 0))
    return output, Turn(failure=failure)
