"""What a model's turn says, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from loopmend._rich import html_of
from loopmend.contracts.actions import AgentAction
from loopmend.contracts.normalization import NormalizationPattern
from loopmend.contracts.signals import MetaSignal

__all__ = ["Failure", "FailurePattern", "ReadingConfig", "Repair", "Turn"]

Fidelity = Literal["exact", "repaired", "salvaged"]


class FailurePattern(str, Enum):
    """The ways in which a turn can fail.

    >>> FailurePattern.UNKNOWN_TOOL.parent.value
    'MalformedToolCall'
    """

    MALFORMED = "malformed"
    """A call that cannot be read for sure."""
    NARRATED = "narrated"
    """The model tells what it would do instead of doing it."""
    EMPTY = "empty"
    """Nothing is said, or the action has no name."""
    UNKNOWN_TOOL = "unknown_tool"
    """A call of a tool that is not on offer."""
    BAD_ARGUMENTS = "bad_arguments"
    """A call whose arguments do not fit the tool."""
    MISSING_INPUT = "missing_input"
    """An action without its input."""
    TRUNCATED = "truncated"
    """The text stops in the middle of a call."""
    TEMPLATE_ECHO = "template_echo"
    """The prompt's own template comes back unfilled."""
    FABRICATED_OUTPUT = "fabricated_output"
    """The model made up a tool's output instead of calling the tool."""
    ACTION_AND_ANSWER = "action_and_answer"
    """An action and a final answer in one turn."""
    NO_ACTION = "no_action"
    """A thought that leads to neither an action nor an answer."""
    TEXTUAL_CALL = "textual_call"
    """A call written as text where the provider's own calls were asked for."""

    __str__ = str.__str__

    @property
    def parent(self) -> NormalizationPattern:
        """The contract's pattern that this one is a kind of."""
        if self in (FailurePattern.NARRATED, FailurePattern.FABRICATED_OUTPUT):
            return NormalizationPattern.NARRATED_TOOL_USE
        if self in (FailurePattern.EMPTY, FailurePattern.TEMPLATE_ECHO, FailurePattern.NO_ACTION):
            return NormalizationPattern.EMPTY_ACTION
        return NormalizationPattern.MALFORMED_TOOL_CALL


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was put right.

    >>> Repair("trailing comma", (8, 9)).span
    (8, 9)
    """

    what: str
    """In a few words."""
    span: tuple[int, int]
    """Where in the text."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn could not be read for sure.

    >>> Failure(FailurePattern.EMPTY, "Nothing was said.", (0, 0)).pattern.value
    'empty'
    """

    pattern: FailurePattern
    message: str
    """What is wrong, in one sentence."""
    span: tuple[int, int]
    """Where in the text."""
    tool: str | None = None
    """The tool's name as the model wrote it."""
    nearest: str | None = None
    """The tool on offer whose name is most like it."""


@dataclass(frozen=True, slots=True)
class ReadingConfig:
    """How to read.

    >>> ReadingConfig(salvage=True).salvage
    True
    """

    salvage: bool = False
    """Also return actions that are only likely, with `fidelity="salvaged"`."""
    after_tool_result: bool = False
    """Whether the turn follows a tool's result: then saying nothing is a way to finish."""
    detect_signals: bool | Literal["tags"] = True
    """Whether to look for meta-signals: all, none, or only those in tags and not in phrases."""
    calls: Literal["sure", "any"] = "sure"
    """Which calls in the text to make: those that are surely meant, or also those that words
    around them may only show, quote or forbid."""
    forms: tuple[Callable[[str], Any], ...] = ()
    """Forms of your own, tried first: each takes the text and returns its `ToolCall`s or `None`."""
    plain_text: Literal["answer", "error"] = "answer"
    """Whether prose in no form is the answer, or a failure because a form was asked for."""
    action_and_answer: Literal["error", "action", "answer"] = "error"
    """Which one counts where a turn holds both."""
    strict: bool = False
    """Whether a turn that had to be repaired is a failure."""
    native: bool = False
    """Whether calls go through the provider's interface: then code, keywords and examples in the
    text are part of an answer unless they surely are a call of a tool on offer."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model's turn says.

    >>> from loopmend import read_turn
    >>> read_turn("It is 4.").actions
    (Final(content='It is 4.', type='final'),)
    """

    actions: tuple[AgentAction, ...] = ()
    """What it asks for: several calls, or one answer or question; empty if that is not sure."""
    thought: str | None = None
    """What it thought on the way."""
    signal: MetaSignal | None = None
    """What it says about its own progress."""
    failure: Failure | None = None
    """Why it could not be read for sure."""
    fidelity: Fidelity = "exact"
    """Whether the text had to be repaired, or the actions are only likely."""
    repairs: tuple[Repair, ...] = ()
    """What was put right, each with its place."""
    dialect: str | None = None
    """The form it was read in; `None` for plain text."""
    span: tuple[int, int] = (0, 0)
    """The part of the text that the actions were read from."""

    def _repr_html_(self) -> str:
        return html_of("turn", self)
