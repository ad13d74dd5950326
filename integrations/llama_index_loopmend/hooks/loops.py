"""A hook that notices when a run goes in circles, and answers when it runs out of steps."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any, Final

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from typing_extensions import override

from llama_index_loopmend.hooks.protocol import Answer, Before, Proceed, StepHook
from llama_index_loopmend.steps import HANDOFF, AgentStep
from loopmend import LoopPolicy, StopReason
from loopmend.adapting import answer_said_at_cap
from loopmend.mending import (
    CallResult,
    Nudge,
    OnCap,
    Stop,
    ask_before_cap,
    check_on_cap,
)

__all__ = ["LoopGuardHook"]

_DEFAULT: Final = LoopPolicy()
_REFUSED: Final = ("not found.", "cannot hand off to")
_LOG: Final = logging.getLogger(__name__)


class LoopGuardHook(StepHook):
    """Warns a model that repeats a call with the same result, and stops it if you want.

    It counts the calls since the user's last message. The model sees the warning, but the
    conversation does not keep it. In the last step that a run may take, it tells the model to
    answer; if the model still does not, the run ends with an answer from the results so far, where
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
        on_cap: OnCap = "answer",
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
        check_on_cap(on_cap)
        self._policy = LoopPolicy(warn_after, stop_after, window, exclude_tools)
        self.on_cap = on_cap
        """What happens in the last step if the model does not answer."""

    @override
    async def before(self, step: AgentStep) -> Before:
        """Go on, warn the model, or answer in its place."""
        if not step.results:
            return None
        made = _calls(step.results[-self._policy.window :])
        label = "Answer" if step.form == "react" else ""
        decision = self._policy.decide(made, step.user_text, answer_label=label)
        if isinstance(decision, Stop):
            return Answer(decision.content)
        if step.is_last:
            return Proceed(words=ask_before_cap(step.user_text))
        return Proceed(words=decision.content) if isinstance(decision, Nudge) else None

    @override
    async def at_cap(self, step: AgentStep, output: AgentOutput) -> Answer | None:
        """Let an answer in the last step count, or answer from what was found."""
        goes_on = output.tool_calls or output.retry_messages
        if not goes_on or step.is_answered_by(output.tool_calls):
            await step.count_answer()
        elif self.on_cap == "answer":
            return Answer(await _from_findings(step), StopReason.MAX_ITERATIONS)
        return None


def _calls(made: Sequence[ToolCallResult]) -> list[CallResult]:
    return [_call(call, str(call.tool_output.content)) for call in made]


def _call(call: ToolCallResult, result: str) -> CallResult:
    to = str(call.tool_kwargs.get("to_agent")) if call.tool_name == HANDOFF else None
    # Whom LlamaIndex does not hand over to, it tells the model in a result like any other.
    refusals = tuple(f"Agent {to} {why}" for why in _REFUSED)
    failed = call.tool_output.is_error or (to is not None and result.startswith(refusals))
    return CallResult(call.tool_name, call.tool_kwargs, result, failed, None if failed else to)


async def _from_findings(step: AgentStep) -> str:
    """Ask the model once more, without tools, or tell what was found if that is of no use."""
    words = ChatMessage(role=MessageRole.USER, content=ask_before_cap(step.user_text))
    asked = [*step.messages, *step.pad.messages(step.held), words]
    try:
        said = (await step.agent.llm.achat(asked)).message.content or ""
    except Exception as error:  # noqa: BLE001 - whatever it is, the run has found something
        _LOG.debug("no answer at the cap: %r", error)
        said = ""
    return answer_said_at_cap(said, _calls(step.results), step.toolbox)
