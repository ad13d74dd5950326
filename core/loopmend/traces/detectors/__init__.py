"""The detectors: small pure functions from a view of a trace to what they find."""

from __future__ import annotations

from typing import Final

from loopmend.traces.detectors import endings, errors, repetition, signals, turns
from loopmend.traces.finding import Detector

__all__ = ["DETECTORS"]

DETECTORS: Final[tuple[Detector, ...]] = (
    *endings.ENDINGS,
    *errors.ERRORS,
    *turns.TURNS,
    *repetition.REPETITION,
    *signals.SIGNALS,
)
"""All built-in detectors, in the order in which they run."""
