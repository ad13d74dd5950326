"""What the cards are made of: chips, notes, rows, tables, calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from loopmend._repr import written
from loopmend.rendering.html import Markup, clipped, element, joined

__all__ = ["LONGEST", "call", "chip", "code", "note", "row", "short", "table"]

LONGEST: Final = 600
"""Texts in cells are cut after so many characters."""
_SHORT: Final = 80


def short(text: str) -> str:
    """Return the beginning of a text, for places where there is little room."""
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def chip(text: str, tint: str = "") -> Markup:
    """Return a few words on a tinted ground: `good`, `warn`, `bad` or plain.

    >>> chip("exact", "good")
    '<span class="chip good">exact</span>'
    """
    return element("span", short(text), css=f"chip {tint}".rstrip())


def note(text: str) -> Markup:
    """Return a remark on what is shown, as against what is shown."""
    return element("span", text, css="note")


def code(text: str) -> Markup:
    """Return a text as it is written, cut where it is long."""
    return element("code", clipped(text, LONGEST))


def call(name: str, arguments: Any) -> Markup:
    """Return a call: the tool's name, and what it is given as JSON.

    >>> call("search", {"q": 1})
    '<b>search</b> <code>{&quot;q&quot;: 1}</code>'
    """
    given = arguments if isinstance(arguments, str) else written(arguments)
    return joined([element("b", clipped(name, LONGEST)), " ", code(given)])


def row(name: str, content: str) -> Markup:
    """Return a row of a table: what it is, and the thing itself."""
    return element("tr", element("th", name), element("td", content))


def table(rows: Iterable[Markup], header: Iterable[str] = ()) -> Markup:
    """Return a table of rows that are made already; nothing where there are none.

    >>> table([row("n", "1")])
    '<table><tr><th>n</th><td>1</td></tr></table>'
    """
    body = joined(rows)
    head = joined(element("th", name) for name in header)
    top = element("tr", head) if head else Markup()
    return element("table", top, body) if body else Markup()
