"""Contract 4, values: the verdicts on a ReAct trace."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, Union

from loopmend.wire import Tagged

__all__ = [
    "ActionAfterFinalAnswer",
    "BoundOk",
    "EmptyScratchpad",
    "ExitCodeMismatch",
    "FinalAnswerWithoutAnswerField",
    "GrammarOk",
    "IterationsExceedBudget",
    "IterationsNegative",
    "MissingAction",
    "MissingExitCode",
    "MissingThought",
    "NotAnObject",
    "ReactBoundOutcome",
    "ReactGrammarOutcome",
    "ReactTerminationOutcome",
    "TerminationOk",
    "UnknownReason",
]


@dataclass(frozen=True, slots=True)
class TerminationOk:
    """Reason, exit code and answer agree.

    >>> TerminationOk("timeout", 2).kind
    'Ok'
    """

    reason: str
    """Why the run stopped, one of `I06_REASON_EXIT`."""
    exit_code: int
    """The exit code that goes with it."""
    _: KW_ONLY
    kind: Literal["Ok"] = "Ok"


@dataclass(frozen=True, slots=True)
class NotAnObject:
    """The trace is not a JSON object.

    >>> from loopmend.contracts import classify_termination
    >>> classify_termination([1, 2])
    NotAnObject(kind='NotAnObject')
    """

    _: KW_ONLY
    kind: Literal["NotAnObject"] = "NotAnObject"


@dataclass(frozen=True, slots=True)
class MissingExitCode:
    """There is no `exit_code`, or it is not a 64-bit integer.

    >>> from loopmend.contracts import classify_termination
    >>> classify_termination({"exit_code": "0"})
    MissingExitCode(kind='MissingExitCode')
    """

    _: KW_ONLY
    kind: Literal["MissingExitCode"] = "MissingExitCode"


@dataclass(frozen=True, slots=True)
class UnknownReason:
    """The reason is none of the five, or missing although the run failed.

    >>> from loopmend.contracts import classify_termination
    >>> classify_termination({"exit_code": 2})
    UnknownReason(got='<missing>', kind='UnknownReason')
    """

    got: str
    """The reason as given, or `<missing>`."""
    _: KW_ONLY
    kind: Literal["UnknownReason"] = "UnknownReason"


@dataclass(frozen=True, slots=True)
class ExitCodeMismatch:
    """The exit code does not belong to the reason.

    >>> from loopmend.contracts import classify_termination
    >>> classify_termination({"exit_code": 1, "reason": "timeout"}).expected
    2
    """

    reason: str
    """The reason as given."""
    got: int
    """The exit code as given."""
    expected: int
    """The exit code that belongs to the reason."""
    _: KW_ONLY
    kind: Literal["ExitCodeMismatch"] = "ExitCodeMismatch"


@dataclass(frozen=True, slots=True)
class FinalAnswerWithoutAnswerField:
    """The run says that it answered, but holds no answer string.

    >>> from loopmend.contracts import classify_termination
    >>> classify_termination({"exit_code": 0})
    FinalAnswerWithoutAnswerField(kind='FinalAnswerWithoutAnswerField')
    """

    _: KW_ONLY
    kind: Literal["FinalAnswerWithoutAnswerField"] = "FinalAnswerWithoutAnswerField"


ReactTerminationOutcome = Annotated[
    Union[
        TerminationOk,
        NotAnObject,
        MissingExitCode,
        UnknownReason,
        ExitCodeMismatch,
        FinalAnswerWithoutAnswerField,
    ],
    Tagged("kind"),
]
"""Verdict of `classify_termination`, told apart by `kind`."""


@dataclass(frozen=True, slots=True)
class GrammarOk:
    r"""The scratchpad is grammatical.

    >>> from loopmend.contracts import classify_scratchpad_grammar
    >>> classify_scratchpad_grammar("Thought: a\nAction: b")
    GrammarOk(blocks=1, kind='Ok')
    """

    blocks: int
    """How many `Thought:` blocks it has."""
    _: KW_ONLY
    kind: Literal["Ok"] = "Ok"


@dataclass(frozen=True, slots=True)
class EmptyScratchpad:
    """The scratchpad is blank.

    >>> from loopmend.contracts import classify_scratchpad_grammar
    >>> classify_scratchpad_grammar(" ")
    EmptyScratchpad(kind='Empty')
    """

    _: KW_ONLY
    kind: Literal["Empty"] = "Empty"


@dataclass(frozen=True, slots=True)
class MissingThought:
    """There is neither a `Thought:` nor a `Final Answer:`.

    >>> from loopmend.contracts import classify_scratchpad_grammar
    >>> classify_scratchpad_grammar("Action: b")
    MissingThought(block=0, kind='MissingThought')
    """

    block: int
    """Index of the block, always 0."""
    _: KW_ONLY
    kind: Literal["MissingThought"] = "MissingThought"


@dataclass(frozen=True, slots=True)
class MissingAction:
    r"""A thought leads neither to an action nor to the final answer.

    >>> from loopmend.contracts import classify_scratchpad_grammar
    >>> classify_scratchpad_grammar("Thought: a\nAction: b\nThought: c")
    MissingAction(block=1, kind='MissingAction')
    """

    block: int
    """Index of the block, from 0."""
    _: KW_ONLY
    kind: Literal["MissingAction"] = "MissingAction"


@dataclass(frozen=True, slots=True)
class ActionAfterFinalAnswer:
    r"""An action follows the final answer.

    >>> from loopmend.contracts import classify_scratchpad_grammar
    >>> classify_scratchpad_grammar("Final Answer: 4\nAction: b")
    ActionAfterFinalAnswer(block=0, kind='ActionAfterFinalAnswer')
    """

    block: int
    """Index of the last block."""
    _: KW_ONLY
    kind: Literal["ActionAfterFinalAnswer"] = "ActionAfterFinalAnswer"


ReactGrammarOutcome = Annotated[
    Union[GrammarOk, EmptyScratchpad, MissingThought, MissingAction, ActionAfterFinalAnswer],
    Tagged("kind"),
]
"""Verdict of `classify_scratchpad_grammar`, told apart by `kind`."""


@dataclass(frozen=True, slots=True)
class BoundOk:
    """The run kept its budget.

    >>> from loopmend.contracts import classify_iteration_bound
    >>> classify_iteration_bound({"iterations": 3}, 5)
    BoundOk(kind='Ok')
    """

    _: KW_ONLY
    kind: Literal["Ok"] = "Ok"


@dataclass(frozen=True, slots=True)
class IterationsExceedBudget:
    """The run took more iterations than it was allowed.

    >>> from loopmend.contracts import classify_iteration_bound
    >>> classify_iteration_bound({"iterations": 10}, 5).max
    5
    """

    iterations: int
    """How many it took."""
    max: int
    """How many it was allowed."""
    _: KW_ONLY
    kind: Literal["IterationsExceedBudget"] = "IterationsExceedBudget"


@dataclass(frozen=True, slots=True)
class IterationsNegative:
    """The count of iterations is negative.

    >>> from loopmend.contracts import classify_iteration_bound
    >>> classify_iteration_bound({"iterations": -1}, 5).got
    -1
    """

    got: int
    """The count as given."""
    _: KW_ONLY
    kind: Literal["IterationsNegative"] = "IterationsNegative"


ReactBoundOutcome = Annotated[
    Union[BoundOk, IterationsExceedBudget, IterationsNegative], Tagged("kind")
]
"""Verdict of `classify_iteration_bound`, told apart by `kind`."""
