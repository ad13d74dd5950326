"""Handing traces to a receiver off the path of the run that they are about."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Final
from weakref import WeakSet

from loopmend.traces.trace import Trace

__all__ = ["Delivery"]

_LINGER: Final = 1.0
"""How many seconds the thread waits for more before it ends."""
_AT_EXIT: Final = 2.0
"""How many seconds the end of the process waits for receivers, all together."""


class Delivery:
    """A bounded queue of traces and a thread that hands them over, in order.

    A receiver that is slow, fails or never returns costs the run nothing: what does not fit into
    the queue is dropped and counted. The thread starts with the first trace, and ends when there
    are none for a second.

    Args:
        receive: Called with each trace, in a copy of the context it was put in.
        failed: Called with what the receiver raised.
        most: How many traces may wait.

    >>> seen = []
    >>> delivery = Delivery(seen.append, print)
    >>> delivery.put(Trace(answer="4"))
    >>> delivery.flush(), [trace.answer for trace in seen], delivery.dropped
    (True, ['4'], 0)
    """

    def __init__(
        self,
        receive: Callable[[Trace], object],
        failed: Callable[[BaseException], object],
        *,
        most: int = 1000,
    ) -> None:
        self._receive = receive
        self._failed = failed
        self._most = most
        self.dropped = 0
        """How many traces found the queue full."""
        self._begin()
        _DELIVERIES.add(self)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting: deque[tuple[Context, Trace]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False

    def put(self, trace: Trace) -> None:
        """Queue a trace; never waits for the receiver."""
        if self._process != os.getpid():
            self._begin()  # after a fork, the parent hands over what was waiting
        with self._changed:
            if len(self._waiting) >= self._most:
                self.dropped += 1
                return
            self._waiting.append((copy_context(), trace))
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="loopmend-traces", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # the interpreter is ending, or out of threads
                    self._waiting.pop()
                    self.dropped += 1
                    self._failed(error)
                    return
                self._thread = thread
            self._changed.notify_all()

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all is handed over, for so many seconds at most; tell whether it is."""
        if self._process != os.getpid():
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)

    def _work(self) -> None:
        changed = self._changed  # what a new process begins with is another one
        while True:
            with changed:
                if not changed.wait_for(lambda: self._waiting, _LINGER):
                    self._thread = None
                    return
                context, trace = self._waiting.popleft()
                self._busy = True
            self._hand_over(context, trace)
            with changed:
                self._busy = False
                changed.notify_all()

    def _hand_over(self, context: Context, trace: Trace) -> None:
        try:
            context.run(self._receive, trace)
        except BaseException as error:  # noqa: BLE001 - also an exit: it is not the host's
            self._failed(error)


_DELIVERIES: Final[WeakSet[Delivery]] = WeakSet()


def _flush_all() -> None:
    deadline = time.monotonic() + _AT_EXIT
    for delivery in list(_DELIVERIES):
        delivery.flush(max(0.0, deadline - time.monotonic()))


atexit.register(_flush_all)
