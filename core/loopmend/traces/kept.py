"""What every recorder does with its traces, whichever framework it watches."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import ClassVar, Final

from loopmend.traces.delivery import Delivery
from loopmend.traces.files import Redact, body_of, replace_whole
from loopmend.traces.redaction import Redactor, redact_secrets
from loopmend.traces.trace import Trace

__all__ = ["KeptTraces"]

_LOG: Final = logging.getLogger(__name__)
_REDACTOR: Final = Redactor()


class KeptTraces:
    """The latest traces, in bounded memory, and complaints that are made once.

    >>> kept = KeptTraces(max_traces=2)
    >>> for answer in "abc":
    ...     kept.keep(Trace(answer=answer))
    >>> [trace.answer for trace in kept.traces], kept.last.answer
    (['b', 'c'], 'c')
    """

    _complaint: ClassVar[str] = "recording failed in %s, but the run goes on: %s"

    def __init__(
        self,
        *,
        max_traces: int = 1000,
        on_trace: Callable[[Trace], object] | None = None,
        inline: bool = False,
    ) -> None:
        super().__init__()
        if max_traces < 1:
            msg = f"max_traces must be at least 1, not {max_traces}"
            raise ValueError(msg)
        self.max_traces = max_traces
        self._on_trace = on_trace
        self._delivery = None if on_trace is None or inline else Delivery(on_trace, self._refused)
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

    @property
    def dropped(self) -> int:
        """How many traces `on_trace` never got, because it was too slow."""
        return 0 if self._delivery is None else self._delivery.dropped

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until `on_trace` has had all traces, for so many seconds at most; tell whether."""
        return self._delivery is None or self._delivery.flush(timeout)

    def to_jsonl(self, path: str | Path, *, redact: Redact | None = redact_secrets) -> None:
        """Write the finished traces to a file, one a line, in place of what it held.

        Args:
            path: The file. It is replaced at once, by one for its owner alone; a symbolic link
                is refused.
            redact: Removes secrets first; `None` keeps everything.
        """
        lines = "".join(f"{body_of(trace, redact)}\n" for trace in self.traces)
        replace_whole(Path(path), lines.encode())

    def keep(self, trace: Trace) -> None:
        """Keep a trace and pass it on; what its receiver raises is logged."""
        with self._lock:
            self._kept.append(trace)
        if self._delivery is not None:
            self._delivery.put(trace)
        elif self._on_trace is not None:
            try:
                self._on_trace(trace)
            except KeyboardInterrupt:  # this is a person's
                raise
            except BaseException as error:  # noqa: BLE001 - also an exit: it is not the host's
                self._refused(error)

    def _refused(self, error: BaseException) -> None:
        self.complain("on_trace", error)

    def complain(self, hook: str, error: BaseException) -> None:
        """Log what went wrong while watching, once for each hook: the run goes on."""
        with self._lock:
            if hook in self._complained:
                return
            self._complained.add(hook)
        _LOG.warning(self._complaint, hook, _REDACTOR.text(repr(error)))
