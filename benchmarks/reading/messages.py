"""Messages without a call: good ones must stand, told plans must be noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.reading.good import GOOD
from benchmarks.reading.offered import OFFERED, string_tool, tool
from benchmarks.reading.plans import PLANS
from loopmend import ReadingConfig, ToolCall, Turn, read_response, read_turn

TOOLS = [
    *(tool(name, parameters) for name, parameters in OFFERED.items()),
    string_tool("close_account", "customer"),
]
_TEXT = ReadingConfig(native=False)

MODES: dict[str, Callable[[str], Turn]] = {
    "text": lambda text: read_turn(text, tools=TOOLS, config=_TEXT),
    "native": lambda text: read_response(text, tools=TOOLS, protocol="native"),
}
"""How calls were asked for: in the text, or through the provider's interface."""


class Counted(NamedTuple):
    """The messages that a mode got wrong, out of how many."""

    mode: str
    refused: list[str]
    """Good messages that do not stand."""
    overlooked: list[str]
    """Told plans that nobody noticed."""
    good: int = len(GOOD)
    plans: int = len(PLANS)


def stands(turn: Turn) -> bool:
    """Tell whether a message is left as it is: neither refused nor taken for a call."""
    return turn.failure is None and not any(isinstance(a, ToolCall) for a in turn.actions)


def count() -> list[Counted]:
    """Read all messages in both modes."""
    return [
        Counted(
            mode,
            [text for text in GOOD if not stands(read(text))],
            [text for text in PLANS if read(text).failure is None],
        )
        for mode, read in MODES.items()
    ]
