"""Reading runs for a command: progress, Ctrl-C, what came of it, and the exit code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from loopmend.cli.gates import Gate
from loopmend.cli.outputs import Ending, Output
from loopmend.cli.pool import size_of, stream
from loopmend.cli.reading import Run, Wanted
from loopmend.cli.tables import console
from loopmend.rendering.tally import Tally
from loopmend.traces.readers.loading import Skipped
from loopmend.traces.redaction import Redactor

__all__ = ["FAILED", "INTERRUPTED", "NOTHING", "WRONG", "Collected"]

FAILED: Final = 1
"""Something that `--fail-on` names was found."""
WRONG: Final = 2
"""The command was called wrongly; typer's own code."""
NOTHING: Final = 3
"""Nothing could be read."""
INTERRUPTED: Final = 130
"""Somebody pressed Ctrl-C; what was finished by then is printed and written."""


@contextmanager
def _progress(files: list[str]) -> Iterator[Any]:
    """Show on a terminal how far it is; what is piped on stays clean."""
    shown = console(stderr=True)
    if not shown.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("reading"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task("", total=sum(map(size_of, files)) or None)
        yield lambda done: bar.advance(task, done)


class _CtrlC:
    """Ctrl-C ends the reading, but never in the middle of taking a run."""

    def __init__(self) -> None:
        self.busy = self.pressed = False

    def __enter__(self) -> _CtrlC:  # noqa: PYI034 - Python 3.10 has no Self
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before)

    def _press(self, *_: object) -> None:
        self.pressed = True
        if not self.busy:
            raise KeyboardInterrupt

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Finish what is in the block first."""
        self.busy = True
        yield
        self.busy = False
        if self.pressed:
            raise KeyboardInterrupt


class Collected:
    """What was read so far."""

    def __init__(self, outputs: list[Output], gate: Gate, odd: Iterable[str] = ()) -> None:
        self.tally = Tally()
        self.skipped = [Skipped("is not a regular file", file) for file in odd]
        self.complete = False
        self.stopped = 0
        self._outputs, self._gate = outputs, gate

    def read(self, files: list[str], wanted: Wanted, jobs: int | None) -> None:
        """Read everything, or as much as there is time for."""
        with suppress(KeyboardInterrupt), _CtrlC() as ctrl_c, _progress(files) as advance:
            for found in stream(files, wanted, jobs=jobs, advance=advance):
                with ctrl_c.taking():
                    self._add(found, wanted)
            self.complete = True
        for output in self._outputs:
            output.finish(Ending(self.tally, self.skipped, self.complete))

    def _add(self, found: Run | Skipped, wanted: Wanted) -> None:
        if isinstance(found, Skipped):
            reason = Redactor().text(found.reason) if wanted.redact else found.reason
            self.skipped.append(replace(found, reason=reason))
            return
        self.tally.add(found.data)
        self.stopped += bool(self._gate.reasons(found.data))
        for output in self._outputs:
            output.add(found)

    @property
    def code(self) -> int:
        """The exit code."""
        if not self.complete:
            return INTERRUPTED
        if not self.tally.runs:
            return NOTHING
        return FAILED if self.stopped or (self._gate.skipped and self.skipped) else 0
