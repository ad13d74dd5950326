"""The trace classifiers: corners of the grammar, the table and the bound."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend.contracts import (
    I06_REASON_EXIT,
    ActionAfterFinalAnswer,
    BoundOk,
    EmptyScratchpad,
    FinalAnswerWithoutAnswerField,
    GrammarOk,
    IterationsExceedBudget,
    IterationsNegative,
    MissingAction,
    MissingExitCode,
    MissingThought,
    NotAnObject,
    TerminationOk,
    UnknownReason,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
)


@pytest.mark.parametrize(
    ("scratchpad", "expected"),
    [
        ("\u3000\n", EmptyScratchpad()),
        ("\x1c", MissingThought(0)),
        ("Thought: a\nAction: b", GrammarOk(1)),
        ("Thought:Action:", GrammarOk(1)),
        ("AfterThought: a\nReAction: b", GrammarOk(1)),
        ("thought: a\naction: b", MissingThought(0)),
        ("Action: b\nThought: c", MissingAction(0)),
        ("Thought: a\nThought: b\nAction: c", MissingAction(0)),
        ("Thought: a\nFinal Answer: 4\nThought: b\nAction: c", MissingAction(0)),
        ("Thought: t\nAction Input: a\nFinal Answer: 4", GrammarOk(1)),
        ("Final Answer: my Action: plan", ActionAfterFinalAnswer(0)),
        ("Thought: not Final Answer: yet\nAction: x", ActionAfterFinalAnswer(0)),
        ("Thought: a\nAction: b\nFinal Answer: 4", GrammarOk(1)),
        ("Action: a\nFinal Answer: 4", GrammarOk(0)),
        ("Final Answer:", GrammarOk(0)),
        ("Thought: a\nAction: b\n" * 40, GrammarOk(40)),
        ("Thought: a\nAction: b\n" * 40 + "Thought:", MissingAction(40)),
    ],
)
def test_grammar(scratchpad: str, expected: object) -> None:
    """Headers count wherever they stand, also in the middle of prose."""
    assert classify_scratchpad_grammar(scratchpad) == expected


@pytest.mark.parametrize("reason", list(I06_REASON_EXIT))
def test_every_reason_has_its_exit_code(reason: str) -> None:
    """Each row of the table is accepted with its own code."""
    exit_code = I06_REASON_EXIT[reason]
    body = {"exit_code": exit_code, "reason": reason, "answer": ""}
    assert classify_termination(body) == TerminationOk(reason, exit_code)


def test_the_table_cannot_be_changed() -> None:
    """The table is a constant."""
    with pytest.raises(TypeError):
        I06_REASON_EXIT["oops"] = 1  # type: ignore[index]


@pytest.mark.parametrize("body", [None, 1, "x", [], True])
def test_not_an_object(body: Any) -> None:
    """Only an object is a trace; for the bound everything else has no iterations."""
    assert classify_termination(body) == NotAnObject()
    assert classify_iteration_bound(body, 0) == BoundOk()


@pytest.mark.parametrize("exit_code", [None, "0", 0.0, True, 2**63, -(2**63) - 1, [0]])
def test_exit_codes_that_are_none(exit_code: Any) -> None:
    """An exit code is a 64-bit integer and nothing else."""
    assert classify_termination({"exit_code": exit_code}) == MissingExitCode()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"exit_code": 0, "reason": None, "answer": "4"}, TerminationOk("final_answer", 0)),
        ({"exit_code": 2, "reason": ["timeout"]}, UnknownReason("<missing>")),
        ({"exit_code": 2, "reason": " timeout"}, UnknownReason(" timeout")),
        ({"exit_code": 0, "answer": 4}, FinalAnswerWithoutAnswerField()),
    ],
)
def test_termination(body: Any, expected: object) -> None:
    """Reasons are compared exactly, and an answer is a string."""
    assert classify_termination(body) == expected


@pytest.mark.parametrize(
    ("iterations", "budget", "expected"),
    [
        (5, 5, BoundOk()),
        (6, 5, IterationsExceedBudget(6, 5)),
        (-1, -5, IterationsNegative(-1)),
        ("9", 5, BoundOk()),
        (9.0, 5, BoundOk()),
        (True, 0, BoundOk()),
        (2**63, 5, BoundOk()),
        (None, -1, IterationsExceedBudget(0, -1)),
    ],
)
def test_bound(iterations: Any, budget: int, expected: object) -> None:
    """A count that is no 64-bit integer is zero, which only a negative budget minds."""
    assert classify_iteration_bound({"iterations": iterations}, budget) == expected


@pytest.mark.parametrize("budget", ["5", 5.0, None, True])
def test_the_budget_is_an_integer(budget: Any) -> None:
    """A budget of another type is the caller's mistake."""
    with pytest.raises(TypeError, match="`max_iterations` must be an int"):
        classify_iteration_bound({}, budget)
