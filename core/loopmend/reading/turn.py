"""What a model's turn says, and how certain that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from loopmend._repr import without_controls
from loopmend._rich import html_of
from loopmend.contracts.actions import AgentAction, ToolCall
from loopmend.contracts.normalization import NormalizationPattern
from loopmend.contracts.signals import MetaSignal
from loopmend.reading.problem import Problem

__all__ = ["Failure", "FailurePattern", "ReadingConfig", "Repair", "Turn", "repair"]

Fidelity = Literal["exact", "repaired", "salvaged"]


class FailurePattern(str, Enum):
    """The ways in which a turn can fail.

    >>> FailurePattern.UNKNOWN_TOOL.parent.value
    'MalformedToolCall'
    """

    MALFORMED = "malformed"
    """A call or a value whose meaning is not certain."""
    NARRATED = "narrated"
    """The model describes what it would do instead of doing it."""
    EMPTY = "empty"
    """The reply is empty, or the action has no name."""
    UNKNOWN_TOOL = "unknown_tool"
    """A call to a tool that is not available."""
    BAD_ARGUMENTS = "bad_arguments"
    """A call whose arguments do not fit the tool."""
    MISSING_INPUT = "missing_input"
    """An action without its input."""
    TRUNCATED = "truncated"
    """The text stops in the middle of a call or a value."""
    TEMPLATE_ECHO = "template_echo"
    """The model repeats the prompt's template without filling it in."""
    FABRICATED_OUTPUT = "fabricated_output"
    """The model made up a tool's output instead of calling the tool."""
    ACTION_AND_ANSWER = "action_and_answer"
    """An action and a final answer in one turn."""
    NO_ACTION = "no_action"
    """A reply with neither an action nor an answer: a bare thought, or prose where you asked for a
    value."""
    TEXTUAL_CALL = "textual_call"
    """A call written as text that should go through the provider's interface."""
    BAD_VALUE = "bad_value"
    """A value that does not fit the schema."""

    __str__ = str.__str__

    @property
    def parent(self) -> NormalizationPattern:
        """The contract's pattern to which this one belongs."""
        if self in (FailurePattern.NARRATED, FailurePattern.FABRICATED_OUTPUT):
            return NormalizationPattern.NARRATED_TOOL_USE
        if self in (FailurePattern.EMPTY, FailurePattern.TEMPLATE_ECHO, FailurePattern.NO_ACTION):
            return NormalizationPattern.EMPTY_ACTION
        return NormalizationPattern.MALFORMED_TOOL_CALL


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair that the reader made.

    >>> Repair("trailing comma", (8, 9)).span
    (8, 9)
    """

    what: str
    """The repair, in a few words."""
    span: tuple[int, int]
    """Where in the text."""


@dataclass(slots=True)
class _OpenRepair:
    """A repair while it is made: to fill a frozen one takes twice as long."""

    what: str
    span: tuple[int, int]


def repair(what: str, span: tuple[int, int]) -> Repair:
    """Return a repair.

    >>> repair("trailing comma", (8, 9)) == Repair("trailing comma", (8, 9))
    True
    """
    made: Any = _OpenRepair(what, span)
    made.__class__ = Repair
    done: Repair = made
    return done


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reply is not certain.

    >>> Failure(FailurePattern.EMPTY, "The reply is empty.", (0, 0)).pattern.value
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
    """The available tool with the most similar name."""
    call: ToolCall | None = None
    """The readable part of the call."""
    missing: tuple[str, ...] = ()
    """Required parameters that the call leaves out."""
    mistyped: tuple[str, ...] = ()
    """Parameters whose values have the wrong type."""
    unknown: tuple[str, ...] = ()
    """Arguments that the tool does not accept, under the model's names."""
    problems: tuple[Problem, ...] = ()
    """The parts of a value that do not fit the schema."""

    def __post_init__(self) -> None:
        # It ends up in terminals and logs, which must not obey a model.
        if not self.message.isprintable():
            object.__setattr__(self, "message", without_controls(self.message))


@dataclass(slots=True)
class _OpenFailure:
    """A failure while it is made: to fill a frozen one takes three times as long."""

    pattern: FailurePattern
    message: str
    span: tuple[int, int]
    tool: None = None
    nearest: None = None
    call: None = None
    missing: tuple[()] = ()
    mistyped: tuple[()] = ()
    unknown: tuple[()] = ()
    problems: tuple[()] = ()


def failure(pattern: FailurePattern, message: str, span: tuple[int, int]) -> Failure:
    """Return a failure in words of ours.

    >>> failure(FailurePattern.EMPTY, "No.", (0, 0)) == Failure(FailurePattern.EMPTY, "No.", (0, 0))
    True
    """
    made: Any = _OpenFailure(pattern, message, span)
    made.__class__ = Failure
    done: Failure = made
    return done


@dataclass(frozen=True, slots=True)
class ReadingConfig:
    """How to read.

    >>> ReadingConfig(salvage=True).salvage
    True
    """

    salvage: bool = False
    """Also return actions that are only likely, with `fidelity="salvaged"`."""
    after_tool_result: bool = False
    """Whether the turn follows a tool's result: then an empty turn is not a failure."""
    detect_signals: bool | Literal["tags"] = True
    """Whether to look for meta-signals: all, none, or only those in tags, not in phrases."""
    calls: Literal["sure", "any"] = "sure"
    """Which calls in the text to make: only those that are clearly meant, or also those that the
    text may only show, quote or forbid."""
    forms: tuple[Callable[[str], Any], ...] = ()
    """Your own forms, tried first: each takes the text and returns its `ToolCall`s or `None`."""
    plain_text: Literal["answer", "error"] = "answer"
    """Whether plain prose is the answer, or a failure because you asked for another form."""
    action_and_answer: Literal["error", "action", "answer"] = "error"
    """Which one counts if a turn contains both."""
    strict: bool = False
    """Whether a turn that needs repair is a failure."""
    native: bool = False
    """Whether calls go through the provider's interface: then code, keywords and examples in the
    text are part of an answer unless they are clearly a call to an available tool."""
    question: str = ""
    """What the user asked, if it is known: an argument that stands in it is no placeholder."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model's turn says.

    >>> from loopmend import read_turn
    >>> read_turn("It is 4.").actions
    (FinalAnswer(content='It is 4.', type='final'),)
    """

    actions: tuple[AgentAction, ...] = ()
    """Several calls, or one answer or question; empty if the reply is not certain."""
    thought: str | None = None
    """The model's thinking."""
    signal: MetaSignal | None = None
    """What the model says about its own progress."""
    failure: Failure | None = None
    """Why the reply is not certain."""
    fidelity: Fidelity = "exact"
    """Whether the text needed repair, or the actions are only likely."""
    repairs: tuple[Repair, ...] = ()
    """The reader's repairs, each with its place."""
    dialect: str | None = None
    """The form of the text; `None` for plain prose."""
    span: tuple[int, int] = (0, 0)
    """The part of the text that the actions come from."""

    @property
    def calls(self) -> list[ToolCall]:
        """The calls among the actions.

        >>> Turn((ToolCall("search", {}),)).calls[0].name
        'search'
        """
        return [action for action in self.actions if isinstance(action, ToolCall)]

    def _repr_html_(self) -> str:
        return html_of("turn", self)
