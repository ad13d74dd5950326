"""Contract 4: how did a ReAct run stop, is its scratchpad grammatical, was the budget kept?

A trace is the JSON object `{"iterations", "answer"?, "reason"?, "scratchpad",
"exit_code"}`. The three classifiers are independent, each returns a verdict and none
raises on a bad trace. Headers are found by plain, case-sensitive text search.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from loopmend._arguments import not_text, require_int
from loopmend._text import trim
from loopmend.contracts.react_outcomes import (
    ActionAfterFinalAnswer,
    BoundOk,
    EmptyScratchpad,
    ExitCodeMismatch,
    FinalAnswerWithoutAnswerField,
    GrammarOk,
    IterationsExceedBudget,
    IterationsNegative,
    MissingAction,
    MissingExitCode,
    MissingThought,
    NotAnObject,
    ReactBoundOutcome,
    ReactGrammarOutcome,
    ReactTerminationOutcome,
    TerminationOk,
    UnknownReason,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "I06_REASON_EXIT",
    "classify_iteration_bound",
    "classify_scratchpad_grammar",
    "classify_termination",
]

I06_REASON_EXIT: Final[Mapping[str, int]] = MappingProxyType(
    {"final_answer": 0, "max_iterations": 2, "timeout": 2, "tool_error": 3, "parse_fail": 4}
)
"""The exit code that belongs to each reason to stop.

>>> I06_REASON_EXIT["timeout"]
2
"""

_I64_MIN: Final = -(2**63)
_I64_MAX: Final = 2**63 - 1
_THOUGHT: Final = "Thought:"
_ACTION: Final = "Action:"
_FINAL: Final = "Final Answer:"

# The common verdicts are made once: making one costs more than finding it.
_TERMINATION_OK: Final = {
    reason: TerminationOk(reason, exit_code) for reason, exit_code in I06_REASON_EXIT.items()
}
_BOUND_OK: Final = BoundOk()
_GRAMMAR_OK: Final = tuple(GrammarOk(blocks) for blocks in range(32))


def classify_termination(body: Any) -> ReactTerminationOutcome:
    """Check that reason, exit code and answer of a trace agree.

    Args:
        body: The trace as decoded JSON, whatever it is.

    >>> classify_termination({"exit_code": 0, "answer": "4"})
    TerminationOk(reason='final_answer', exit_code=0, kind='Ok')
    """
    if not isinstance(body, dict):
        return NotAnObject()
    exit_code = _as_i64(body.get("exit_code"))
    if exit_code is None:
        return MissingExitCode()
    reason = body.get("reason")
    if not isinstance(reason, str):
        if exit_code != 0:
            return UnknownReason("<missing>")
        reason = "final_answer"
    expected = I06_REASON_EXIT.get(reason)
    if expected is None:
        return UnknownReason(reason)
    if exit_code != expected:
        return ExitCodeMismatch(reason, exit_code, expected)
    if reason == "final_answer" and not isinstance(body.get("answer"), str):
        return FinalAnswerWithoutAnswerField()
    return _TERMINATION_OK[reason]


def classify_scratchpad_grammar(scratchpad: str) -> ReactGrammarOutcome:
    r"""Check that every thought of a scratchpad leads to an action or to the final answer.

    Linear in the length of the text: it is cut into blocks, and each is searched once.

    Raises:
        TypeError: `scratchpad` is not a `str`.

    >>> classify_scratchpad_grammar("Thought: 2 + 2\nFinal Answer: 4")
    GrammarOk(blocks=1, kind='Ok')
    """
    if not isinstance(scratchpad, str):
        raise not_text(scratchpad, "scratchpad")
    text = trim(scratchpad)
    if not text:
        return EmptyScratchpad()
    blocks = text.split(_THOUGHT)[1:]
    first_final = text.find(_FINAL)
    for index, block in enumerate(blocks):
        if _ACTION in block and (first_final == -1 or _FINAL not in block):
            continue
        if not _leads_on(block, is_last=index == len(blocks) - 1):
            return MissingAction(index)
    if first_final != -1 and text.find(_ACTION, first_final) != -1:
        return ActionAfterFinalAnswer(max(len(blocks) - 1, 0))
    if not blocks and first_final == -1:
        return MissingThought(0)
    return _GRAMMAR_OK[len(blocks)] if len(blocks) < len(_GRAMMAR_OK) else GrammarOk(len(blocks))


def _leads_on(block: str, *, is_last: bool) -> bool:
    """Tell whether a thought leads to an action or, in the last block, to the final answer."""
    final = block.find(_FINAL)
    if final == -1:
        return _ACTION in block
    return is_last or block.find(_ACTION, 0, final) != -1


def classify_iteration_bound(body: Any, max_iterations: int) -> ReactBoundOutcome:
    """Check that a trace kept its budget of iterations.

    Args:
        body: The trace as decoded JSON; `iterations` counts as 0 unless it is a 64-bit integer.
        max_iterations: The budget.

    Raises:
        TypeError: `max_iterations` is not an `int`.

    >>> classify_iteration_bound({"iterations": 10}, 5)
    IterationsExceedBudget(iterations=10, max=5, kind='IterationsExceedBudget')
    """
    require_int(max_iterations, "max_iterations")
    iterations = (_as_i64(body.get("iterations")) if isinstance(body, dict) else None) or 0
    if iterations < 0:
        return IterationsNegative(iterations)
    if iterations > max_iterations:
        return IterationsExceedBudget(iterations, max_iterations)
    return _BOUND_OK


def _as_i64(value: object) -> int | None:
    """Return `value` if it is an integer of JSON's, not a bool, that fits 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool) and _I64_MIN <= value <= _I64_MAX:
        return value
    return None
