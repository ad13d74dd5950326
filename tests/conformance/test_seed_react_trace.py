"""The 14 unit tests of the trace classifier specification, under their own names."""

from __future__ import annotations

from typing import Any

from loopmend.contracts import (
    ActionAfterFinalAnswer,
    BoundOk,
    EmptyScratchpad,
    ExitCodeMismatch,
    FinalAnswerWithoutAnswerField,
    GrammarOk,
    IterationsExceedBudget,
    IterationsNegative,
    MissingAction,
    NotAnObject,
    TerminationOk,
    UnknownReason,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
)

GOOD_FINAL_ANSWER: dict[str, Any] = {
    "iterations": 1,
    "answer": "4",
    "scratchpad": "Thought: I should compute 2+2.\nFinal Answer: 4",
    "exit_code": 0,
}
GOOD_MAX_ITERATIONS: dict[str, Any] = {
    "iterations": 3,
    "reason": "max_iterations",
    "scratchpad": "Thought: try\nAction: echo\nAction Input: hi\nObservation: hi\n"
    "Thought: try\nAction: echo\nAction Input: hi\nObservation: hi\n"
    "Thought: still trying\nAction: echo\nAction Input: x\nObservation: x",
    "exit_code": 2,
}


def test_termination_ok_on_final_answer() -> None:
    """A run that answered may leave its reason out."""
    assert classify_termination(GOOD_FINAL_ANSWER) == TerminationOk("final_answer", 0)


def test_termination_ok_on_max_iterations() -> None:
    """Reaching the cap is a proper way to stop."""
    assert classify_termination(GOOD_MAX_ITERATIONS) == TerminationOk("max_iterations", 2)


def test_termination_rejects_unknown_reason() -> None:
    """A reason outside the table is unknown."""
    body = {"iterations": 1, "reason": "whoops", "scratchpad": "", "exit_code": 5}
    assert classify_termination(body) == UnknownReason("whoops")


def test_termination_rejects_exit_code_mismatch() -> None:
    """The exit code must belong to the reason."""
    body = {"iterations": 3, "reason": "max_iterations", "scratchpad": "", "exit_code": 1}
    assert classify_termination(body) == ExitCodeMismatch("max_iterations", got=1, expected=2)


def test_termination_rejects_final_answer_without_answer_field() -> None:
    """A run that says it answered must hold the answer."""
    body = {"iterations": 1, "exit_code": 0, "scratchpad": "Final Answer: 4"}
    assert classify_termination(body) == FinalAnswerWithoutAnswerField()


def test_termination_rejects_not_an_object() -> None:
    """A list is not a trace."""
    assert classify_termination([1, 2]) == NotAnObject()


def test_scratchpad_ok_on_three_block_trace() -> None:
    """Three full blocks are three blocks."""
    scratchpad = "\n".join(
        f"Thought: t{n}\nAction: a{n}\nAction Input: i{n}\nObservation: o{n}" for n in (1, 2, 3)
    )
    assert classify_scratchpad_grammar(scratchpad) == GrammarOk(3)


def test_scratchpad_ok_on_thought_then_final_answer() -> None:
    """A thought may lead straight to the final answer."""
    scratchpad = "Thought: I should compute 2+2.\nFinal Answer: 4"
    assert isinstance(classify_scratchpad_grammar(scratchpad), GrammarOk)


def test_scratchpad_rejects_empty() -> None:
    """Nothing is not a scratchpad."""
    assert classify_scratchpad_grammar("") == EmptyScratchpad()


def test_scratchpad_rejects_action_after_final_answer() -> None:
    """The final answer ends the run."""
    scratchpad = "Thought: done.\nFinal Answer: 4\nAction: rogue\nAction Input: x"
    assert isinstance(classify_scratchpad_grammar(scratchpad), ActionAfterFinalAnswer)


def test_scratchpad_rejects_missing_action_in_middle_block() -> None:
    """A thought that leads nowhere is found by its index."""
    scratchpad = "Thought: t1\nAction: a1\nAction Input: i1\nObservation: o1\nThought: t2"
    assert classify_scratchpad_grammar(scratchpad) == MissingAction(1)


def test_iteration_bound_ok_within_budget() -> None:
    """Three of five is within the budget."""
    assert classify_iteration_bound({"iterations": 3}, 5) == BoundOk()


def test_iteration_bound_rejects_over_budget() -> None:
    """Ten of five is not."""
    assert classify_iteration_bound({"iterations": 10}, 5) == IterationsExceedBudget(10, 5)


def test_iteration_bound_rejects_negative() -> None:
    """A negative count is nonsense."""
    assert classify_iteration_bound({"iterations": -1}, 5) == IterationsNegative(-1)
