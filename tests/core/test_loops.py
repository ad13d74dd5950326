"""The loop policy: the same call with the same result, and nothing new in between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import CallResult, GoOn, LoopPolicy, Nudge, Stop
from tests.core.strategies import json_values

A = CallResult("search", {"q": "a", "n": 1}, "nothing")
A_AGAIN = CallResult("search", {"n": 1, "q": "a"}, " nothing\n")
B = CallResult("search", {"q": "b", "n": 1}, "nothing")
POLICY = LoopPolicy()


def new(n: int) -> CallResult:
    """Return a call that was never made before."""
    return CallResult("read", {"page": n}, f"page {n}")


def test_soft_then_hard() -> None:
    """The model is told from the third time on, and the run ends at the sixth."""
    kinds = [type(POLICY.decide([A] * n)) for n in range(1, 8)]
    assert kinds == [GoOn, GoOn, Nudge, Nudge, Nudge, Stop, Stop]


def test_order_and_spacing_do_not_matter() -> None:
    """The same arguments in another order are the same, and so is a result with blanks around."""
    assert isinstance(POLICY.decide([A, A, A_AGAIN]), Nudge)
    assert isinstance(POLICY.decide([A_AGAIN, A_AGAIN, A]), Nudge)


def test_cycles() -> None:
    """Two calls in turn are a loop as well."""
    assert isinstance(POLICY.decide([A, B] * 3), Nudge)
    assert isinstance(POLICY.decide([A, B] * 6), Stop)


@pytest.mark.parametrize("fresh", [new(1), CallResult("search", {"q": "a", "n": 1}, "found")])
def test_progress_starts_the_count_again(fresh: CallResult) -> None:
    """A new call or a new result means that the run goes somewhere."""
    assert POLICY.decide([A, A, A, A, A, fresh]) == GoOn(repeats=1)
    assert POLICY.decide([A, A, A, A, fresh, A]) == GoOn(repeats=2)
    work = [call for n in range(9) for call in (A, new(n))]
    assert POLICY.decide([*work, A]) == GoOn(repeats=2)


def test_only_recent_calls_count() -> None:
    """What lies further back than the window is forgotten."""
    assert LoopPolicy(window=2).decide([A] * 9) == GoOn(repeats=2)


def test_excluded_tools() -> None:
    """Tools that poll may be repeated at will, and do not hide the loop of another."""
    poll = CallResult("status", {}, "busy")
    policy = LoopPolicy(exclude=["status"])
    assert policy.decide([poll] * 9) == GoOn(repeats=0)
    assert isinstance(policy.decide([A, poll, A, poll, A, poll]), Nudge)


def test_limits() -> None:
    """Limits that make no sense are refused."""
    for soft, hard in ((1, 3), (4, 3)):
        with pytest.raises(ValueError, match="1 < soft <= hard"):
            LoopPolicy(soft=soft, hard=hard)
    with pytest.raises(TypeError, match="`soft` must be an int"):
        LoopPolicy(soft="3")  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [{1: 2, "a": 3}, object(), float("nan"), {("a",): 1}])
def test_any_arguments(arguments: Any) -> None:
    """Arguments that JSON cannot tell are told apart by their repr."""
    same = CallResult("f", arguments, "x")
    assert isinstance(POLICY.decide([same] * 3), Nudge)


def test_arguments_within_themselves() -> None:
    """Not even those that hold themselves."""
    endless: list[Any] = []
    endless.append(endless)
    assert isinstance(POLICY.decide([CallResult("f", endless, "x")] * 3), Nudge)


@given(
    st.lists(
        st.builds(CallResult, st.text(max_size=3), json_values, st.text(max_size=3)), max_size=40
    )
)
def test_total(calls: list[CallResult]) -> None:
    """Any history is decided on, and only what was repeated is called so."""
    decision = POLICY.decide(calls)
    if not isinstance(decision, GoOn):
        assert calls.count(decision.call) >= 1
        assert decision.repeats <= len(calls)


def test_a_stop_tells_what_was_found() -> None:
    """Each result once, in the order in which they came, short and on one line."""
    lamp, chair = (CallResult("price", {"item": item}, item * 2) for item in ("lamp", "chair"))
    stopped = LoopPolicy(2, 3).decide([lamp, chair, chair, chair])
    assert isinstance(stopped, Stop)
    said = "the same result. What was found: price(lamp): lamplamp; price(chair): chairchair"
    assert stopped.content.endswith(said)
    long = [CallResult("price", "x" * 500, "a\n" * 500)] * 3
    only = LoopPolicy(2, 3).decide(long)
    assert isinstance(only, Stop)
    assert only.content.endswith("a a a…")
    many = [CallResult("f", n, str(n)) for n in range(9)] + [CallResult("f", "x" * 99, "y")] * 3
    last = LoopPolicy(2, 3).decide(many)
    assert isinstance(last, Stop)
    assert last.content.endswith(f"f(8): 8; f({'x' * 60}…): y")
    wrong = CallResult("f", {}, "no such tool", failed=True)
    failing = LoopPolicy(2, 3).decide([lamp, wrong, wrong, wrong])
    assert isinstance(failing, Stop)
    assert failing.content.endswith("no such tool. What was found: price(lamp): lamplamp")
    nothing = LoopPolicy(2, 3).decide([wrong] * 3)
    assert isinstance(nothing, Stop)
    assert nothing.content.endswith("the same result: no such tool")
    silent = LoopPolicy(2, 3).decide([CallResult("f", {}, " ")] * 3)
    assert isinstance(silent, Stop)
    assert silent.content.endswith("the same result.")
