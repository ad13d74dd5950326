"""How values look in a notebook; what draws them is loaded when one is first shown."""

from __future__ import annotations

from importlib import import_module

__all__ = ["html_of"]


def html_of(kind: str, value: object) -> str:
    """Return a value as HTML, drawn by the module of `loopmend.rendering` that knows its kind.

    The module is looked up by name: drawing stands on all values, so no value may import it.
    """
    return str(import_module(f"loopmend.rendering.{kind}").html(value))
