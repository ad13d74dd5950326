"""Doing what was planned for a step, by LlamaIndex's own means."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Union

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import Memory

from llama_index_loopmend.observing import HANDOFF, StepView
from llama_index_loopmend.scratchpads import selection
from llama_index_loopmend.steps import ASKED, Step
from loopmend import AdvisedPlan, CallResult, LoopPolicy, Nudge, PlannedAction, Stop
from loopmend.words import blocked

__all__ = ["Acted", "Compose", "Inspect", "act", "break_loop"]

Told = Union[str, None]
Inspect = Callable[[StepView], Union[Told, Awaitable[Told]]]
"""Looks deeper into memory, and returns what the model should know, or `None`."""
Compose = Callable[[StepView, AdvisedPlan], Union[Told, Awaitable[Told]]]
"""Makes a skill or a specialist, and returns what the model should know of it, or `None`."""

_LONGEST_MEMORY: Final = 8_000
_COMPOSES: Final = frozenset({PlannedAction.COMPOSE_SKILL, PlannedAction.COMPOSE_SUBAGENT})


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of an action."""

    output: AgentOutput | None = None
    """What the step returns without asking the model."""
    texts: tuple[str, ...] = ()
    """What the model is told."""
    outcome: str | None = None
    """The same in a few words."""


async def act(
    step: Step,
    view: StepView,
    planned: AdvisedPlan,
    *,
    inspect_memory: Inspect | None = None,
    compose: Compose | None = None,
) -> Acted:
    """Do what was selected, as far as it is more than to go on."""
    action = planned.selected
    if action is PlannedAction.RETURN_BLOCKER:
        return await _block(step, planned)
    if action is PlannedAction.DELEGATE_TO_SPECIALIST:
        return await _delegate(step, view, planned)
    if action is PlannedAction.INSPECT_MEMORY and not step.notes.inspected:
        return await _inspect(step, view, inspect_memory)
    if action in _COMPOSES and not step.notes.composed:
        return await _compose(step, view, planned, compose)
    return Acted()


async def break_loop(step: Step, made: Sequence[ToolCallResult], loops: LoopPolicy) -> Acted | None:
    """Nudge the model out of a loop, or answer in its place; `None` if it makes progress."""
    calls = [
        CallResult(
            call.tool_name,
            call.tool_kwargs,
            str(call.tool_output.content),
            call.tool_output.is_error,
        )
        for call in made[-loops.window :]
    ]
    decision = loops.decide(calls)
    if isinstance(decision, Stop):
        return await _answered(step, decision.content, "stopped a loop")
    if isinstance(decision, Nudge):
        return Acted(texts=(decision.content,), outcome="nudged out of a loop")
    return None


async def _block(step: Step, planned: AdvisedPlan) -> Acted:
    """Say why it cannot go on."""
    text = blocked(planned.selected_rationale)
    return await _answered(step, text, "answered without asking the model")


async def _answered(step: Step, text: str, outcome: str) -> Acted:
    """Answer without asking the model."""
    await step.keep_answer(text)
    said = ChatMessage(role=MessageRole.ASSISTANT, content=text)
    output = AgentOutput(response=said, current_agent_name=step.agent.name)
    output["blocked"] = True  # kept along with the event, for whoever asks
    output[ASKED] = next(
        (m.content for m in reversed(step.messages) if m.role == MessageRole.USER), None
    )
    step.notes.may_call = False  # the turn is over, and with it what was allowed for it
    return Acted(output, outcome=outcome)


async def _delegate(step: Step, view: StepView, planned: AdvisedPlan) -> Acted:
    """Hand over with LlamaIndex's own tool, as if the model had asked for it."""
    fit = (n for n in planned.input.fit_agent_names if n not in step.notes.delegated)
    target = next((name for name in fit if name in view.roster), None)
    if target is None or all(tool.metadata.name != HANDOFF for tool in view.tools):
        return Acted(texts=(planned.selected_rationale,), outcome="no one to hand over to")
    step.notes.delegated = [*step.notes.delegated, target]
    reason = planned.selected_rationale
    call = selection(HANDOFF, {"to_agent": target, "reason": reason})
    entries = step.pad.calls(reason, [call])
    await step.put([*await step.entries(), *entries])
    said = ChatMessage(role=MessageRole.ASSISTANT, content=f"Handing over to {target}.")
    output = AgentOutput(response=said, tool_calls=[call], current_agent_name=step.agent.name)
    return Acted(output, outcome=f"handed over to {target}")


async def _inspect(step: Step, view: StepView, inspect_memory: Inspect | None) -> Acted:
    """Look into memory once a turn, and let the model know what was found."""
    step.notes.inspected = True
    found = await _awaited((inspect_memory or _blocks)(view))
    if not found:
        return Acted(outcome="nothing found")
    return Acted(texts=(f"From memory:\n{found[:_LONGEST_MEMORY]}",), outcome="looked into memory")


async def _blocks(view: StepView) -> str:
    """Ask each block of LlamaIndex's memory what it holds on the user's message."""
    if not isinstance(view.memory, Memory):
        return ""
    asked = [ChatMessage(role=MessageRole.USER, content=view.user_text)]
    session = view.memory.session_id
    found = [await block.aget(asked, session_id=session) for block in view.memory.memory_blocks]
    return "\n\n".join(text for each in found if (text := _as_text(each)))


def _as_text(content: Any) -> str:
    if isinstance(content, list):
        texts = (getattr(item, "text", None) or getattr(item, "content", None) for item in content)
        return "\n".join(text for text in texts if text)
    return content.strip() if isinstance(content, str) else ""


async def _compose(
    step: Step, view: StepView, planned: AdvisedPlan, compose: Compose | None
) -> Acted:
    """Let the user's callback make what is missing, or say what is missing."""
    if compose is None:
        return Acted(texts=(planned.selected_rationale,), outcome="advised")
    step.notes.composed = True
    made = await _awaited(compose(view, planned))
    return Acted(texts=(made,) if made else (), outcome="composed")


async def _awaited(value: Told | Awaitable[Told]) -> Told:
    return await value if inspect.isawaitable(value) else value
