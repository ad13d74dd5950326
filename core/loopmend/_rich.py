"""How values show themselves; what draws them is loaded when one is first shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["html_of", "rendering"]


def rendering(kind: str) -> Any:
    """Return the module of `loopmend.rendering` that knows how to draw a kind of value.

    The module is looked up by name: drawing stands on all values, so no value may import it.
    """
    return import_module(f"loopmend.rendering.{kind}")


def html_of(kind: str, value: object) -> str:
    """Return a value as HTML, as it is shown in a notebook."""
    return str(rendering(kind).html(value))
