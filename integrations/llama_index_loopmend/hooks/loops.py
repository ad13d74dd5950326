"""A hook that notices when a run goes in circles, and answers when it runs out of steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Literal

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from typing_extensions import override

from llama_index_loopmend.hooks.protocol import After, Answer, Before, Proceed, StepHook
from llama_index_loopmend.steps import AgentStep
from loopmend import LoopPolicy, StopReason, read_response
from loopmend.mending import CallResult, Nudge, Stop

__all__ = ["LoopGuardHook"]

_DEFAULT: Final = LoopPolicy()
_FEW: Final = 2
_LAST: Final = "This is your last step. Answer now, with what you know."
_LONGEST: Final = 300
_MOST_FOUND: Final = 5


class LoopGuardHook(StepHook):
    """Warns, and stops if you want, a model that keeps making the same call with the same result.

    It counts the calls since the user's last message. The model sees the warning, but the
    conversation does not keep it. In the last step that a run may take, it tells the model so; if
    the model still does not answer, the run ends with an answer from what was found, where
    LlamaIndex raises an error.

    >>> LoopGuardHook(warn_after=2, stop_after=3, on_cap="raise").on_cap
    'raise'
    """

    def __init__(
        self,
        *,
        warn_after: int = _DEFAULT.warn_after,
        stop_after: Any = _DEFAULT.stop_after,
        window: int = _DEFAULT.window,
        exclude_tools: Collection[str] = (),
        on_cap: Literal["answer", "raise"] = "answer",
    ) -> None:
        """Set the limits.

        Args:
            warn_after: Repeats before the model is warned.
            stop_after: Repeats before the run ends.
            window: How many of the latest calls count.
            exclude_tools: Tools that may repeat freely, such as those that poll.
            on_cap: In the last step, `"answer"` from what was found if the model does not, or let
                LlamaIndex `"raise"`, or do what its `early_stopping_method` says.

        Raises:
            ValueError: Not `1 < warn_after <= stop_after`, or `on_cap` is unknown.
        """
        if on_cap not in ("answer", "raise"):
            msg = f"on_cap must be 'answer' or 'raise', not {on_cap!r}"
            raise ValueError(msg)
        self._policy = LoopPolicy(warn_after, stop_after, window, exclude_tools)
        self.on_cap = on_cap
        """What happens in the last step if the model does not answer."""

    @override
    async def before(self, step: AgentStep) -> Before:
        """Go on, warn the model, or answer in its place."""
        made = step.results
        decision = self._policy.decide(_calls(made, self._policy.window), step.user_text)
        if isinstance(decision, Stop):
            return Answer(decision.content)
        notes = [decision.content] if isinstance(decision, Nudge) else []
        if step.is_last and step.tools and (step.max_iterations or 0) > _FEW:
            notes.append(_LAST)
        return Proceed(tuple(notes)) if notes else None

    @override
    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Let an answer in the last step count, or answer from what was found."""
        if not step.is_last:
            return None
        if not output.tool_calls and not output.retry_messages:
            await step.count_answer()
        elif self.on_cap == "answer":
            return Answer(await _from_findings(step), StopReason.MAX_ITERATIONS)
        return None


def _calls(made: Sequence[ToolCallResult], window: int) -> list[CallResult]:
    return [
        CallResult(
            call.tool_name,
            call.tool_kwargs,
            str(call.tool_output.content),
            call.tool_output.is_error,
        )
        for call in made[-window:]
    ]


async def _from_findings(step: AgentStep) -> str:
    """Ask the model once more, without tools, or tell what was found if that is of no use."""
    words = f"You have no steps left. Answer from what the tools returned: {step.user_text}"
    found = step.pad.messages(step.held)
    asked = [*step.messages, *found, ChatMessage(role=MessageRole.USER, content=words)]
    try:
        said = (await step.agent.llm.achat(asked)).message.content or ""
    except Exception:  # noqa: BLE001 - whatever it is, the run has found something
        said = ""
    turn = read_response(said, tools=step.toolbox)
    return _what_was_found(step) if turn.failure is not None else _without_label(said)


def _without_label(said: str) -> str:
    """Return an answer without the label that a ReAct prompt makes models write."""
    before, label, after = said.rpartition("Answer:")
    return after.strip() if label and "\n" not in before.strip() else said.strip()


def _what_was_found(step: AgentStep) -> str:
    told = f"Stopped after {step.iteration + 1} steps without an answer."
    results = [call for call in step.results if not call.tool_output.is_error]
    found = dict.fromkeys(
        f"{call.tool_name}: {' '.join(str(call.tool_output.content).split())[:_LONGEST]}"
        for call in results[-_MOST_FOUND:]
    )
    return f"{told} What was found: {'; '.join(found)}" if found else told
