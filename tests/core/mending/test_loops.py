"""The loop policy: the same call, failing calls, the same agents, and nothing new in between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import LoopPolicy, StopReason
from loopmend.mending import CallResult, GoOn, Nudge, Stop
from tests.core.strategies import json_values

A = CallResult("search", {"q": "a", "n": 1}, "nothing")
A_AGAIN = CallResult("search", {"n": 1, "q": "a"}, " nothing\n")
B = CallResult("search", {"q": "b", "n": 1}, "nothing")
POLICY = LoopPolicy(stop_after=6)


def new(n: int) -> CallResult:
    """Return a call that was never made before."""
    return CallResult("read", {"page": n}, f"page {n}")


def test_warning_then_stop() -> None:
    """The model is told from the second time on; the run ends only if that was chosen."""
    kinds = [type(POLICY.decide([A] * n)) for n in range(1, 8)]
    assert kinds == [GoOn, Nudge, Nudge, Nudge, Nudge, Stop, Stop]
    assert isinstance(LoopPolicy(window=1000).decide([A] * 1000), Nudge)


def test_what_the_model_is_told() -> None:
    """It has the result, may go on if it waits, and else tells the user; no question is put."""
    told = LoopPolicy().decide([A] * 2, "Where is\n Oslo?")
    assert isinstance(told, Nudge)
    told_twice = (
        "You called search 2 times with the same arguments and got the same result each time. "
        "Do not call it again unless you are waiting for a change. "
    )
    results = (
        "ell the user what the results say. "
        "If they say that something does not exist, tell the user that it does not exist."
    )
    assert told.content == f"{told_twice}T{results}"
    labelled = LoopPolicy().decide([A] * 2, answer_label="Final Answer")
    assert isinstance(labelled, Nudge)
    assert labelled.content == f'{told_twice}Begin with "Final Answer:" and t{results}'


def test_order_and_spacing_do_not_matter() -> None:
    """The same arguments in another order are the same, and so is a result with blanks around."""
    assert isinstance(POLICY.decide([A, A, A_AGAIN]), Nudge)
    assert isinstance(POLICY.decide([A_AGAIN, A_AGAIN, A]), Nudge)


def test_cycles() -> None:
    """Two calls in turn are a loop as well."""
    assert isinstance(POLICY.decide([A, B] * 3), Nudge)
    assert isinstance(POLICY.decide([A, B] * 6), Stop)
    kinds = [type(POLICY.decide(([A, B] * 2)[:n])) for n in range(1, 5)]
    assert kinds == [GoOn, GoOn, GoOn, Nudge]


@pytest.mark.parametrize("fresh", [new(1), CallResult("search", {"q": "a", "n": 1}, "found")])
def test_progress_starts_the_count_again(fresh: CallResult) -> None:
    """A new call or a new result means that the run goes somewhere."""
    assert POLICY.decide([A, A, A, A, A, fresh]) == GoOn(repeats=1)
    assert POLICY.decide([A, A, A, A, fresh, A]) == GoOn(repeats=1)
    work = [call for n in range(9) for call in (A, new(n))]
    assert POLICY.decide([*work, A]) == GoOn(repeats=1)


def test_only_recent_calls_count() -> None:
    """What lies further back than the window is forgotten."""
    assert LoopPolicy(warn_after=3, window=2).decide([A] * 9) == GoOn(repeats=2)


def test_excluded_tools() -> None:
    """Tools that poll may be repeated at will, and do not hide the loop of another."""
    poll = CallResult("status", {}, "busy")
    policy = LoopPolicy(exclude_tools=["status"])
    assert policy.decide([poll] * 9) == GoOn(repeats=0)
    assert isinstance(policy.decide([A, poll, A, poll, A, poll]), Nudge)


def test_limits() -> None:
    """Limits that make no sense are refused."""
    for warn, stop in ((1, 3), (4, 3), (1, None)):
        with pytest.raises(ValueError, match="1 < warn_after <= stop_after"):
            LoopPolicy(warn_after=warn, stop_after=stop)
    with pytest.raises(TypeError, match="`stop_after` must be an int"):
        LoopPolicy(stop_after=2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`warn_after` must be an int"):
        LoopPolicy(warn_after="3")  # type: ignore[arg-type]


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


def test_a_stop_tells_what_was_found() -> None:
    """Each result once, in the order in which they came, short and on one line."""
    lamp, chair = (CallResult("price", {"item": item}, item * 2) for item in ("lamp", "chair"))
    stopped = LoopPolicy(2, 3).decide([lamp, chair, chair, chair])
    assert isinstance(stopped, Stop)
    said = "the same result. Results so far: price(lamp): lamplamp; price(chair): chairchair"
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
    assert failing.content.endswith("no such tool. Results so far: price(lamp): lamplamp")
    told = LoopPolicy().decide([wrong] * 2)
    assert isinstance(told, Nudge)
    assert told.content.startswith("f failed 2 times in the same way. Go on only if you are")
    assert told.content.endswith("tell the user what you could not do and why.")
    nothing = LoopPolicy(2, 3).decide([wrong] * 3)
    assert isinstance(nothing, Stop)
    assert nothing.content.endswith("the same result: no such tool. Results so far: none")
    silent = LoopPolicy(2, 3).decide([CallResult("f", {}, " ")] * 3)
    assert isinstance(silent, Stop)
    assert silent.content.endswith("the same result. Results so far: none")


# Failing


def query(n: int, result: str = "OperationalError: no such column") -> CallResult:
    """Return a query in words of its own."""
    return CallResult("sql", f"select {n}", f"{result} {n}")


def test_a_tool_that_keeps_failing_in_other_words() -> None:
    """After one retry the model is told; if that was chosen, the run ends with what was found."""
    table = CallResult("tables", {}, "users")
    tries = [table, *map(query, range(9))]
    kinds = [type(POLICY.decide(tries[:n])) for n in range(1, 9)]
    assert kinds == [GoOn, GoOn, GoOn, Nudge, Nudge, Nudge, Nudge, Stop]
    told, stopped = POLICY.decide(tries[:4]), POLICY.decide(tries[:8])
    assert isinstance(told, Nudge)
    assert isinstance(stopped, Stop)
    assert (told.kind, told.repeats, stopped.kind, stopped.repeats) == ("failing", 2, "failing", 6)
    assert told.content == (
        "sql failed 3 times in a row. Now fix what its last error names, or tell the user what "
        "you could not do and why."
    )
    assert stopped.content == (
        "Stopped: sql failed 7 times in a row: OperationalError: no such column 6. "
        "Results so far: tables(): users"
    )


def test_looking_up_what_is_known_does_not_end_a_streak() -> None:
    """A query that keeps failing counts, whatever else is asked for again in between."""
    schema = CallResult("schema", {}, "orders(id, total)")
    failing = [CallResult("sql", f"select {n}", "OperationalError: locked") for n in range(4)]
    calls = [each for query in failing for each in (query, schema)]
    assert isinstance(LoopPolicy().decide(calls[:5]), GoOn)
    told = LoopPolicy().decide(calls[:7])
    assert isinstance(told, Nudge)
    assert (told.kind, told.repeats) == ("failing", 2)
    news = [CallResult("schema", {}, f"orders({n})") for n in range(3)]
    calls = [each for pair in zip(failing, [*news, schema], strict=True) for each in pair]
    assert isinstance(LoopPolicy().decide(calls[:7]), GoOn)


def test_a_policy_is_no_cap() -> None:
    """What a policy stopped is marked as stopped from outside, in every framework."""
    stopped = LoopPolicy(stop_after=2).decide([A] * 2)
    assert isinstance(stopped, Stop)
    assert stopped.reason == StopReason.BLOCKED.value


def test_what_ends_a_streak() -> None:
    """Any tool that did what was asked, and a tool that had not failed before."""
    tries = [query(n) for n in range(3)]
    assert POLICY.decide([*tries[:2], A, *tries[2:]]) == GoOn(repeats=1)
    assert POLICY.decide([*tries, new(1)]) == GoOn(repeats=1)
    other = CallResult("fetch", "x", "TimeoutError: x")
    assert POLICY.decide([*tries, other]) == GoOn(repeats=1)
    assert isinstance(POLICY.decide([tries[0], other, tries[1], other, tries[2]]), Nudge)


def test_what_a_tool_says_in_words_is_a_result() -> None:
    """Who searches on after "nothing found" does not fail."""
    assert POLICY.decide([query(n, "nothing found for") for n in range(9)]) == GoOn(repeats=1)


# Handoffs


def handed(to: str, reason: str = "") -> CallResult:
    """Return a handoff with its reason."""
    return CallResult("handoff", {"to": to, "why": reason}, f"{to} takes over: {reason}", False, to)


def test_handoffs_back_and_forth() -> None:
    """Whatever the reasons, the same agents in turn go in circles, unless work is done between."""
    tossed = [handed("ann" if n % 2 else "bob", str(n)) for n in range(12)]
    kinds = [type(POLICY.decide(tossed[:n])) for n in range(1, 6)]
    assert kinds == [GoOn, GoOn, GoOn, Nudge, Nudge]
    told, stopped = POLICY.decide(tossed[:4], "Where?"), POLICY.decide([A, *tossed])
    assert isinstance(told, Nudge)
    assert isinstance(stopped, Stop)
    assert told.kind == stopped.kind == "handoff"
    assert told.content == (
        "The work went to ann 2 times without progress. "
        "Do not hand it over again. Answer from what the tools returned: Where?"
    )
    assert stopped.content == (
        "Stopped: the work went to ann 6 times without progress. "
        "Results so far: search(a, 1): nothing"
    )
    worked = [call for n in range(9) for call in (handed("bob"), new(n), handed("ann"))]
    assert POLICY.decide(worked) == GoOn(repeats=1)


# Properties

names = st.sampled_from(["search", "read"])
results = st.text(max_size=3).filter(lambda text: text.strip() == text)


@given(st.lists(st.tuples(names, json_values, results), max_size=40), st.integers(2, 4))
def test_a_run_without_repetition(made: list[tuple[str, Any, str]], warn: int) -> None:
    """Is never warned and never stopped."""
    policy = LoopPolicy(warn_after=warn, stop_after=warn)
    calls = [CallResult(name, [n, given], text) for n, (name, given, text) in enumerate(made)]
    for n in range(len(calls) + 1):
        assert policy.decide(calls[:n]) == GoOn(repeats=min(n, 1))


@given(json_values, st.lists(results, min_size=1, max_size=40), st.integers(2, 4))
def test_polling_that_sees_a_change(given_: Any, seen: list[str], warn: int) -> None:
    """Is never warned, even if what it sees was there before."""
    changing = [text for n, text in enumerate(seen) if n == 0 or text != seen[n - 1]]
    calls = [CallResult("status", given_, text) for text in changing]
    policy = LoopPolicy(warn_after=warn, stop_after=warn)
    for n in range(1, len(calls) + 1):
        assert policy.decide(calls[:n]) == GoOn(repeats=1)


@given(st.integers(1, 30), st.integers(2, 9), st.none() | st.integers(0, 9), json_values)
def test_the_warning_comes_exactly_then(n: int, warn: int, more: int | None, value: Any) -> None:
    """At `warn_after`, and the stop exactly at `stop_after`, whatever came before."""
    policy = LoopPolicy(warn, None if more is None else warn + more)
    before = [new(at) for at in range(9)]
    decision = policy.decide([*before, *[CallResult("look", value, "the same")] * n])
    if n < warn:
        assert decision == GoOn(repeats=n)
    elif more is None or n < warn + more:
        assert (type(decision), decision.repeats) == (Nudge, n)
    else:
        assert (type(decision), decision.repeats) == (Stop, n)


any_call = st.builds(
    CallResult,
    st.text(max_size=3),
    json_values,
    st.text(max_size=3) | st.just("Error: x"),
    st.booleans(),
    st.none() | st.sampled_from(["ann", "bob"]),
)


@given(st.lists(any_call, max_size=40), st.text(max_size=3))
def test_total(calls: list[CallResult], question: str) -> None:
    """Any history is decided on, and only what was repeated is called so."""
    decision = POLICY.decide(calls, question)
    if not isinstance(decision, GoOn):
        assert decision.call is calls[-1]
        assert decision.repeats <= len(calls)


@given(st.integers(1, 5), st.sampled_from(["x", "a\n", "\ud800", "Error: ", " "]), st.booleans())
def test_nothing_grows(size: int, unit: str, failed: bool) -> None:  # noqa: FBT001
    """What is told and what is kept is short, however long the texts are."""
    long = unit * 10**size
    many = [
        CallResult(f"f{long}", {"x": long, "n": n}, f"{n} {long}", failed, None) for n in range(9)
    ]
    same = CallResult(long, {"x": long}, long, failed, long if size == 5 else None)
    for decision in (
        LoopPolicy().decide([*many, same, same], long),
        LoopPolicy(2, 2).decide([*many, same, same], long),
    ):
        assert isinstance(decision, (Nudge, Stop))
        assert len(decision.content) < 3_000
    for call in (*many, same):
        kept = call.shortened()
        assert sum(map(len, (kept.name, str(kept.arguments), kept.result, str(kept.handoff)))) < 8e3


@given(any_call, any_call)
def test_what_is_kept_tells_calls_apart(one: CallResult, other: CallResult) -> None:
    """Calls that are equal, or fail, still do so after they were shortened, and no others."""
    for tail in ("", "x" * 10_000, "\nexit code 1\n" + "x" * 10_000):
        a, b = (replace(call, result=call.result + tail) for call in (one, other))
        few, fewer = a.shortened(), b.shortened()
        assert (few.call() == fewer.call()) is (a.call() == b.call())
        assert (few.outcome() == fewer.outcome()) is (a.outcome() == b.outcome())
        assert few.fails() is a.fails()
