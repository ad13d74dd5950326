"""What the model says about itself, and how the user takes it: information, no verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loopmend.contracts.signal_detection import (
    STUCK_PHRASES,
    UNCERTAINTY_PHRASES,
    detect_meta_signal,
)
from loopmend.contracts.signals import Stuck, Uncertain
from loopmend.contracts.synthesis import is_declining
from loopmend.traces.finding import Detector, Finding
from loopmend.traces.unread import as_read
from loopmend.traces.view import View, holds

__all__ = ["SIGNALS"]

_TOLD: Final = ("<stuck>", "<uncertain>", *STUCK_PHRASES, *UNCERTAINTY_PHRASES)


def signals(view: View) -> Iterator[Finding]:
    """Find steps in which the model says that it is stuck or unsure."""
    told = holds(view.said, _TOLD)
    for at, step in enumerate(view.trace.steps):
        turn = as_read(step)
        if not step.text or (turn is None and not told):
            continue
        signal = turn.signal if turn is not None else detect_meta_signal(step.text)
        if isinstance(signal, Stuck):
            message = "The model says it is stuck."
            yield Finding("stuck", message, "info", "suspected", at, step.text[:200])
        elif isinstance(signal, Uncertain):
            message = "The model says it is unsure."
            yield Finding("uncertain", message, "info", "suspected", at, step.text[:200])


def engagement(view: View) -> Iterator[Finding]:
    """Find users who write less and less."""
    lengths = view.trace.metadata.get("user_message_lengths")
    if isinstance(lengths, (list, tuple)) and is_declining([n for n in lengths if type(n) is int]):
        message = "The user's messages are getting shorter."
        yield Finding("declining_engagement", message, "info", "suspected")


SIGNALS: Final[tuple[Detector, ...]] = (signals, engagement)
