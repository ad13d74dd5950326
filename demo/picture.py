"""The table as a picture for the README, drawn by the demo itself."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from demo.screen import Results, table

__all__ = ["save_picture"]

_WIDTH = 128
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def save_picture(path: Path, results: Results) -> None:
    """Write the table to a file."""
    console = Console(width=_WIDTH, record=True, file=StringIO(), force_terminal=True)
    console.print(table(results))
    drawn = console.export_svg(title="make demo", theme=MONOKAI, unique_id="loopmend-demo")
    # The fonts would be fetched from elsewhere; any that stands on equal widths will do.
    path.write_text(_FONTS.sub("", drawn), encoding="utf-8")
