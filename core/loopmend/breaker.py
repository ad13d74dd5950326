"""A circuit breaker that stops calls to a provider that is down, and the protocol for your own."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from threading import Lock
from typing import Final, Literal, Protocol, runtime_checkable

from loopmend._arguments import require_int

__all__ = ["Breaker", "BreakerState", "CircuitBreaker"]

# Only these very types: subclasses are somebody's own, such as the error of JSON that did not
# arrive as such.
_MISUSE: Final = frozenset(
    {AssertionError, AttributeError, KeyError, NotImplementedError, TypeError, ValueError}
)
BreakerState = Literal["closed", "open", "half_open"]
"""Which calls it lets through: all, none, or one to test the provider."""


@runtime_checkable
class Breaker(Protocol):
    """Decides before each model call whether to make it, and learns how the call went.

    `CircuitBreaker` is one. This class adapts a `pybreaker.CircuitBreaker`:

        class PyBreaker:
            def __init__(self, breaker: pybreaker.CircuitBreaker) -> None:
                self.breaker = breaker

            def is_open(self) -> bool:
                try:
                    self.breaker.call(_not_yet)
                except pybreaker.CircuitBreakerError:
                    return True
                return False

            def record_success(self) -> None:
                with contextlib.suppress(pybreaker.CircuitBreakerError):
                    self.breaker.call(lambda: None)

            def record_failure(self, error: BaseException) -> None:
                def fail() -> None:
                    raise error

                if isinstance(error, Exception):
                    with contextlib.suppress(type(error), pybreaker.CircuitBreakerError):
                        self.breaker.call(fail)

        def _not_yet():
            yield  # pybreaker lets a generator in, and counts it when it ends: this one never does

    >>> isinstance(CircuitBreaker(), Breaker), isinstance(print, Breaker)
    (True, False)
    """

    @abstractmethod
    def is_open(self) -> bool:
        """Say whether to skip the next call; ask right before making it."""

    def record_success(self) -> None:
        """Note that a call succeeded."""

    def record_failure(self, error: BaseException, /) -> None:
        """Note that a call failed, and how."""


class CircuitBreaker:
    """Opens after several failures in a row, and lets one call through again after a while.

    Keep one for each provider and share it between agents, runs and threads; a copied object shares
    its breaker. A cancelled or interrupted call says nothing about the provider and never counts.

    Args:
        threshold: How many failures in a row open the breaker.
        cooldown: How many seconds until one call may try again.
        clock: Returns the time in seconds.
        counts: Decides whether an error is the provider's failure; by default every error is,
            except Python's own exceptions for a mistake in the program or its setup, such as
            `TypeError`. Errors that do not count neither open nor close the breaker.

    >>> breaker = CircuitBreaker(threshold=2, counts=lambda error: isinstance(error, OSError))
    >>> for error in (TimeoutError(), ValueError(), TimeoutError()):
    ...     breaker.record_failure(error)
    >>> breaker.state, breaker.is_open()
    ('open', True)
    """

    def __init__(
        self,
        *,
        threshold: int = 3,
        cooldown: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        counts: Callable[[BaseException], bool] | None = None,
    ) -> None:
        require_int(threshold, "threshold")
        if threshold < 1:
            msg = f"threshold must be at least 1, not {threshold}"
            raise ValueError(msg)
        if not cooldown >= 0:
            msg = f"cooldown must be at least 0, not {cooldown}"
            raise ValueError(msg)
        self.threshold = threshold
        self.cooldown = cooldown
        self._clock = clock
        self.counts = counts
        """Says whether an error counts, or `None` for what counts by default."""
        self._lock = Lock()
        self._failures = 0
        self._opened: float | None = None
        self._tried: float | None = None

    @property
    def state(self) -> BreakerState:
        """Whether it lets calls through; unlike `is_open`, reading this changes nothing."""
        with self._lock:
            return self._state_at(self._clock())

    def is_open(self) -> bool:
        """Say whether to skip the next call; ask right before making it.

        After the cooldown one caller gets `False`, and all others get `True` until somebody records
        the outcome of that call. If nobody does, another may try after one more cooldown.

        >>> now = 0.0
        >>> breaker = CircuitBreaker(threshold=1, clock=lambda: now)
        >>> breaker.record_failure(TimeoutError())
        >>> now = 30.0
        >>> breaker.state, breaker.is_open(), breaker.is_open()
        ('half_open', False, True)
        """
        if self._opened is None:  # nearly always
            return False
        with self._lock:
            now = self._clock()
            state = self._state_at(now)
            if state != "half_open":
                return state == "open"
            if self._tried is not None and now - self._tried < self.cooldown:
                return True
            self._tried = now
            return False

    def record_success(self) -> None:
        """Close it, or forget the failures so far; while it is open, late results change nothing.

        >>> breaker = CircuitBreaker(threshold=2)
        >>> breaker.record_failure(TimeoutError())
        >>> breaker.record_success()
        >>> breaker.record_failure(TimeoutError())
        >>> breaker.state
        'closed'
        """
        if not self._failures:  # nearly always
            return
        with self._lock:
            if self._state_at(self._clock()) != "open":
                self._failures, self._opened, self._tried = 0, None, None

    def record_failure(self, error: BaseException, /) -> None:
        """Count a failure, and open if it reaches the threshold or was the test call.

        Passes on what `counts` raises.

        >>> breaker = CircuitBreaker(threshold=1)
        >>> breaker.record_failure(KeyboardInterrupt())
        >>> breaker.state
        'closed'
        """
        counted = self._is_failure(error)
        with self._lock:
            now = self._clock()
            state = self._state_at(now)
            if state == "open":
                return
            self._tried = None
            if not counted:
                return
            self._failures += 1
            if state == "half_open" or self._failures >= self.threshold:
                self._opened = now

    def __copy__(self) -> CircuitBreaker:
        return self

    def __deepcopy__(self, memo: object) -> CircuitBreaker:
        return self

    def _is_failure(self, error: BaseException) -> bool:
        # What is no `Exception` ends the caller's own work: a task's or the whole program's.
        if not isinstance(error, Exception):
            return False
        return type(error) not in _MISUSE if self.counts is None else self.counts(error)

    def _state_at(self, now: float) -> BreakerState:
        if self._opened is None:
            return "closed"
        return "open" if now - self._opened < self.cooldown else "half_open"
