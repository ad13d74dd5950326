"""Turns, traces, reports and plans as text and as HTML."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.rendering.page import write_page
    from loopmend.rendering.turn import show_turn

_HELD = {
    "loopmend.rendering.page": "write_page",
    "loopmend.rendering.turn": "show_turn",
}
_LATE = {name: module for module, names in _HELD.items() for name in names.split()}

__all__ = [
    "show_turn",
    "write_page",
]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
