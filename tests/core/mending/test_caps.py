"""What a run answers at its cap."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import StopReason
from loopmend.mending import CallResult, CapError, answer_at_cap, ask_before_cap, check_on_cap
from tests.core.mending.test_loops import any_call

LAMP = CallResult("price", {"item": "lamp", "n": 2}, "20\neuros")
WRONG = CallResult("price", {"item": "x"}, "KeyError: 'x'.")


def test_an_answer_from_what_was_found() -> None:
    """Each result once, and why the last call brought none."""
    answer = answer_at_cap([LAMP, WRONG, LAMP, CallResult("rest", {}, " "), WRONG], "its limit")
    assert answer.content == (
        "Stopped: the run reached its limit. The last call failed: KeyError: 'x'. "
        "Results so far: price(lamp, 2): 20 euros"
    )
    assert answer.found == (LAMP,)
    assert StopReason(answer.reason) is StopReason.MAX_ITERATIONS


def test_nothing_found() -> None:
    """Who found nothing says so; a handoff is not something found."""
    handed = CallResult("handoff", {}, "bob takes over", handoff="bob")
    for calls in ([], [handed]):
        assert answer_at_cap(calls).content.endswith("its step limit. Results so far: none")


def test_the_error_holds_the_answer() -> None:
    """Who catches it can still use what was found, in another process, too."""
    error = CapError(answer_at_cap([LAMP]))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.answer) == (str(error), error.answer)


def test_options() -> None:
    """Anything but the two ways is refused."""
    check_on_cap("raise")
    with pytest.raises(ValueError, match="on_cap must be 'answer' or 'raise', not 'force'"):
        check_on_cap("force")


@given(st.lists(any_call, max_size=40), st.text(max_size=2000))
def test_total(calls: list[CallResult], question: str) -> None:
    """Any history makes an answer, which nobody takes for the model's, and a short one."""
    answer = answer_at_cap(calls)
    assert answer.content.startswith("Stopped: ")
    assert len(answer.content) < 3_000
    assert not any(call.fails() for call in answer.found)
    assert len(ask_before_cap(question)) < 600
