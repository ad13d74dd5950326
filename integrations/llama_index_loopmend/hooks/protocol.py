"""What a step hook is: asked before a step and after it, it says how to go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from llama_index.core.agent.workflow import AgentOutput

from loopmend import StopReason
from loopmend.mending import Message

if TYPE_CHECKING:
    from llama_index_loopmend.steps import AgentStep

__all__ = ["Accept", "Answer", "AskAgain", "HandOver", "Proceed", "StepHook"]


@dataclass(frozen=True, slots=True)
class Proceed:
    """Ask the model.

    >>> Proceed(("Answer in one sentence.",)).notes
    ('Answer in one sentence.',)
    """

    notes: tuple[str, ...] = ()
    """What to tell the model in this step, as a system message."""
    words: str = ""
    """What to tell the model last, as a user message, where it is most likely to obey."""
    schema: Mapping[str, Any] | None = None
    """A JSON schema for the provider to decode by."""


@dataclass(frozen=True, slots=True)
class Answer:
    """End the run with an answer that the model did not give.

    >>> Answer("Only the owner may pay.").reason.value
    'blocked'
    """

    text: str
    reason: StopReason = StopReason.BLOCKED
    """Why; the output holds it under `loopmend_ended`."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """Hand over to another agent of the workflow, without asking the model.

    >>> HandOver("writer", "The user asks for the writer.").to
    'writer'
    """

    to: str
    """One of `AgentStep.roster`."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Accept:
    """Use the reply, or another output instead.

    >>> Accept().output is None
    True
    """

    output: AgentOutput | None = None
    thought: str = ""
    """What a ReAct agent keeps of the reasoning behind another output."""


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask the model again; the refused reply leaves no trace in the scratchpad.

    >>> AskAgain("Answer in English.").words
    'Answer in English.'
    """

    words: str = ""
    """What to tell the model, as a user message; it replaces the last such message."""
    schema: Mapping[str, Any] | None = None
    """A JSON schema for the provider to decode by."""
    shown: tuple[Message, ...] = ()
    """Messages before that: the refused reply, and an answer to each of its calls."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that it adds to the conversation."""
        return (*self.shown, Message("user", self.words)) if self.words else self.shown


Before = Union[Proceed, Answer, HandOver, None]
"""What a hook says before a step; `None` is `Proceed()`."""
After = Union[Accept, AskAgain, Answer, None]
"""What a hook says about a reply; `None` is `Accept()`."""


class StepHook:
    """Runs before and after each step of an agent; subclass it and override what you need.

    One hook serves any number of agents and runs at once, so keep what belongs to a run in
    `AgentStep.notes`, and what belongs to a step in `AgentStep.local`. `before` goes through the
    hooks in their order, `after` in the reverse order, as with middleware.

    >>> class Brief(StepHook):
    ...     async def before(self, step):
    ...         return Proceed(("Answer in one sentence.",))
    >>> Brief().acts
    True
    """

    acts: bool = True
    """Whether it may change a run; if no hook of an agent does, the run is LlamaIndex's own."""

    async def before(self, step: AgentStep) -> Before:
        """Say whether to ask the model."""

    async def after(self, step: AgentStep, output: AgentOutput) -> After:
        """Say whether to use the reply."""

    async def at_cap(self, step: AgentStep, output: AgentOutput) -> Answer | None:
        """Say how the run ends if this is the last step that it may take; asked after `after`."""

    def heard(self, step: AgentStep, output: AgentOutput) -> None:
        """Take note of each reply of the model, also of those that another hook refuses."""

    def failed(self, step: AgentStep, error: BaseException) -> AskAgain | Answer | None:
        """Say what to do about an exception of the model or its agent; `None` raises it."""
