"""The dialects, in the order in which they are tried: the most specific markup first."""

from __future__ import annotations

from typing import Final

from loopmend.reading.dialects import agent_xml, calls, elements, objects, react, sequences, tagged
from loopmend.reading.found import Dialect

__all__ = ["DIALECTS"]

DIALECTS: Final[tuple[Dialect, ...]] = (
    sequences,
    elements,
    tagged,
    agent_xml,
    react,
    objects,
    calls,
)
