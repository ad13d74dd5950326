"""Telling the user which extra to install."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["require_extra"]


def require_extra(module: str, *, extra: str, needed_by: str) -> None:
    """Raise `ImportError` that names the command to run unless `module` is installed.

    The module is looked up, not imported: frameworks take seconds to import.

    >>> require_extra("json", extra="core", needed_by="my_adapter")
    """
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        found = False
    if not found:
        msg = (
            f"`{needed_by}` needs `{module}`, which is not installed. It comes with the extra "
            f'`{extra}`: pip install "loopmend[{extra}]", or ".[{extra}]" in a clone'
        )
        raise ImportError(msg, name=module)
