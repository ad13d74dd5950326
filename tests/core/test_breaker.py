"""The circuit breaker: open after failures in a row, one trial after the cooldown."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent
from threading import Barrier
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from loopmend.breaker import Breaker, CircuitBreaker

DOWN = ConnectionError("down")
COOLDOWN = 30.0


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def opened(clock: Callable[[], float], **options: Any) -> CircuitBreaker:
    """Return a breaker that has just opened."""
    breaker = CircuitBreaker(threshold=1, cooldown=COOLDOWN, clock=clock, **options)
    breaker.record_failure(DOWN)
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    """The third failure in a row opens it, and a success in between starts the count again."""
    breaker = CircuitBreaker()
    for _ in range(2):
        breaker.record_failure(DOWN)
    breaker.record_success()
    for _ in range(2):
        breaker.record_failure(DOWN)
    assert (breaker.state, breaker.is_open()) == ("closed", False)
    breaker.record_failure(DOWN)
    assert (breaker.state, breaker.is_open()) == ("open", True)


def test_one_trial_after_the_cooldown() -> None:
    """Once the cooldown is over one call is let through, and looking takes nothing from it."""
    clock = Clock()
    breaker = opened(clock)
    clock.now += COOLDOWN - 1
    assert breaker.is_open()
    clock.now += 1
    assert [breaker.state, breaker.state] == ["half_open", "half_open"]
    assert [breaker.is_open() for _ in range(3)] == [False, True, True]


def test_the_trial_decides() -> None:
    """A trial that goes well closes it, and one that fails opens it for another cooldown."""
    clock = Clock()
    breaker = opened(clock)
    clock.now += COOLDOWN
    assert not breaker.is_open()
    breaker.record_failure(DOWN)
    assert breaker.state == "open"
    clock.now += COOLDOWN
    assert not breaker.is_open()
    breaker.record_success()
    assert (breaker.state, breaker.is_open()) == ("closed", False)


def test_a_trial_that_is_never_reported() -> None:
    """A caller that asks and then does not call does not keep it open for ever."""
    clock = Clock()
    breaker = opened(clock)
    clock.now += COOLDOWN
    assert not breaker.is_open()
    clock.now += COOLDOWN - 1
    assert breaker.is_open()
    clock.now += 1
    assert [breaker.is_open() for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(), GeneratorExit(), ValueError()],
)
def test_what_does_not_count(error: BaseException) -> None:
    """Interruptions and what is said not to count leave it as it is, and another may try."""
    clock = Clock()
    breaker = opened(clock, counts=lambda error: not isinstance(error, ValueError))
    clock.now += COOLDOWN
    assert not breaker.is_open()
    breaker.record_failure(error)
    assert (breaker.state, breaker.is_open()) == ("half_open", False)
    breaker.record_success()
    breaker.record_failure(error)
    assert breaker.state == "closed"


def test_late_news() -> None:
    """What calls from before it opened report neither closes it nor keeps it open longer."""
    clock = Clock()
    breaker = opened(clock)
    clock.now += COOLDOWN - 1
    breaker.record_success()
    breaker.record_failure(DOWN)
    breaker.record_failure(KeyboardInterrupt())
    states = [breaker.state]
    clock.now += 1
    assert [*states, breaker.state] == ["open", "half_open"]


def test_it_may_stay_open() -> None:
    """Without end of the cooldown it stays open, and without cooldown every call may try."""
    clock = Clock()
    forever = CircuitBreaker(threshold=1, cooldown=math.inf, clock=clock)
    never = CircuitBreaker(threshold=1, cooldown=0, clock=clock)
    for breaker in (forever, never):
        breaker.record_failure(DOWN)
    clock.now += 1e9
    assert [forever.is_open() for _ in range(2)] == [True, True]
    assert [never.is_open() for _ in range(2)] == [False, False]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"threshold": 0}, ValueError),
        ({"threshold": True}, TypeError),
        ({"threshold": 1.5}, TypeError),
        ({"cooldown": -1}, ValueError),
        ({"cooldown": math.nan}, ValueError),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception]) -> None:
    """Options that make no sense are refused by name."""
    with pytest.raises(error, match=next(iter(options))):
        CircuitBreaker(**options)


def test_what_counts_raises() -> None:
    """A faulty judge of errors is not hidden, and blocks nobody."""
    breaker = CircuitBreaker(counts=lambda _: bool(1 / 0))
    with pytest.raises(ZeroDivisionError):
        breaker.record_failure(DOWN)
    assert not breaker.is_open()


def test_copies_are_the_same_breaker() -> None:
    """A copy of what holds a breaker shares it."""
    held = {"breaker": CircuitBreaker(threshold=1)}
    deep, flat = copy.deepcopy(held)["breaker"], copy.copy(held["breaker"])
    deep.record_failure(DOWN)
    assert held["breaker"].is_open()
    assert flat.is_open()


def together(threads: int, do: Callable[[], Any]) -> list[Any]:
    """Do the same in many threads at once."""
    start = Barrier(threads)

    def one() -> Any:
        start.wait()
        return do()

    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(one) for _ in range(threads)]]


def test_threads() -> None:
    """Of many threads exactly one is let through to try, and no failure is lost."""
    clock = Clock()
    breaker = CircuitBreaker(threshold=8 * 50, cooldown=COOLDOWN, clock=clock)

    def fail() -> None:
        for _ in range(50):
            assert breaker.state == "closed"
            breaker.record_failure(DOWN)

    together(8, fail)
    assert breaker.state == "open"
    clock.now += COOLDOWN
    assert sorted(together(8, breaker.is_open)) == [False] + [True] * 7


class Model(RuleBasedStateMachine):
    """The breaker beside the simplest description of it that there is."""

    @initialize(threshold=st.integers(1, 3), cooldown=st.integers(0, 3))
    def start(self, threshold: int, cooldown: int) -> None:
        """Begin closed."""
        self.clock = Clock()
        self.threshold, self.cooldown = threshold, cooldown
        self.breaker = CircuitBreaker(threshold=threshold, cooldown=cooldown, clock=self.clock)
        self.streak = 0
        self.left: float | None = None
        self.trial_left = 0.0

    def expected(self) -> str:
        """Return the state that the breaker should be in."""
        if self.left is None:
            return "closed"
        return "open" if self.left > 0 else "half_open"

    @rule(seconds=st.integers(1, 4))
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.clock.now += seconds
        self.trial_left -= seconds
        if self.left is not None:
            self.left -= seconds

    @rule()
    def ask(self) -> None:
        """Ask whether to call: the first to ask while half open may."""
        expected = {"closed": False, "open": True, "half_open": self.trial_left > 0}
        state = self.expected()
        answer = self.breaker.is_open()
        assert answer is expected[state]
        if state == "half_open" and not answer:
            self.trial_left = self.cooldown

    @rule()
    def succeed(self) -> None:
        """Report a success."""
        self.breaker.record_success()
        if self.expected() != "open":
            self.streak, self.left, self.trial_left = 0, None, 0

    @rule()
    def fail(self) -> None:
        """Report a failure."""
        self.breaker.record_failure(DOWN)
        state = self.expected()
        if state == "open":
            return
        self.streak += 1
        self.trial_left = 0
        if state == "half_open" or self.streak >= self.threshold:
            self.left = self.cooldown

    @rule()
    def cancel(self) -> None:
        """Report a cancelled call."""
        self.breaker.record_failure(asyncio.CancelledError())
        if self.expected() != "open":
            self.trial_left = 0

    @invariant()
    def agree(self) -> None:
        """Both are in the same state."""
        assert self.breaker.state == self.expected()


TestModel = Model.TestCase


def test_the_documented_adapter_for_pybreaker() -> None:
    """The adapter in the docstring makes a breaker of one of pybreaker's."""
    pybreaker = pytest.importorskip("pybreaker")
    text = (Breaker.__doc__ or "").partition("pybreaker.CircuitBreaker`:\n")[2].partition(">>>")[0]
    names: dict[str, Any] = {"contextlib": contextlib, "pybreaker": pybreaker}
    exec(dedent(text), names)  # noqa: S102 - the package's own docstring
    theirs = pybreaker.CircuitBreaker(fail_max=2, reset_timeout=60)
    breaker = names["PyBreaker"](theirs)
    assert isinstance(breaker, Breaker)
    for _ in range(2):
        assert not breaker.is_open()
        breaker.record_failure(asyncio.CancelledError())
        breaker.record_failure(DOWN)
    assert breaker.is_open()
    breaker.record_success()
    breaker.record_failure(DOWN)
    assert breaker.is_open()
    theirs.reset_timeout = 0
    assert not breaker.is_open()
    assert theirs.current_state == "half-open"
    breaker.record_success()
    assert theirs.current_state == "closed"


def test_a_mistake_in_the_program_is_not_the_providers() -> None:
    """Errors of Python's own types do not count by default; those of somebody's own do."""
    breaker = CircuitBreaker(threshold=1)
    breaker.record_failure(TypeError("no such argument"))
    assert not breaker.is_open()
    breaker.record_failure(UnicodeError("not what was asked for"))
    assert breaker.is_open()
