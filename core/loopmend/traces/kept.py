"""What every recorder does with its traces, whichever framework it watches."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import ClassVar, Final

from loopmend.traces.trace import Trace

__all__ = ["KeptTraces"]

_LOG: Final = logging.getLogger(__name__)


class KeptTraces:
    """The latest traces, in bounded memory, and complaints that are made once.

    >>> kept = KeptTraces(max_traces=2)
    >>> for answer in "abc":
    ...     kept.keep(Trace(answer=answer))
    >>> [trace.answer for trace in kept.traces], kept.last.answer
    (['b', 'c'], 'c')
    """

    _complaint: ClassVar[str] = "recording failed in %s, but the run goes on: %r"

    def __init__(
        self, *, max_traces: int = 1000, on_trace: Callable[[Trace], object] | None = None
    ) -> None:
        super().__init__()
        if max_traces < 1:
            msg = f"max_traces must be at least 1, not {max_traces}"
            raise ValueError(msg)
        self.max_traces = max_traces
        self.on_trace = on_trace
        self._kept: deque[Trace] = deque(maxlen=max_traces)
        self._complained: set[str] = set()
        self._lock = Lock()

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The finished traces, oldest first."""
        with self._lock:
            return tuple(self._kept)

    @property
    def last(self) -> Trace | None:
        """The trace that was finished last."""
        with self._lock:
            return self._kept[-1] if self._kept else None

    def clear(self) -> None:
        """Forget the finished traces; runs that go on are still recorded."""
        with self._lock:
            self._kept.clear()

    def to_jsonl(self, path: str | Path) -> None:
        """Write the finished traces to a file, one a line, in place of what it held."""
        lines = "".join(f"{trace.to_json()}\n" for trace in self.traces)
        # Half a character, as models emit it, has no UTF-8; its escape is valid JSON.
        Path(path).write_bytes(lines.encode("utf-8", "backslashreplace"))

    def keep(self, trace: Trace) -> None:
        """Keep a trace and pass it on; what its receiver raises is for the caller to guard."""
        with self._lock:
            self._kept.append(trace)
        if self.on_trace is not None:
            self.on_trace(trace)

    def complain(self, hook: str, error: Exception) -> None:
        """Log what went wrong while watching, once for each hook: the run goes on."""
        with self._lock:
            if hook in self._complained:
                return
            self._complained.add(hook)
        _LOG.warning(self._complaint, hook, error)
