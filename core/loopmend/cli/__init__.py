"""The command `loopmend`: why did my runs fail?"""

from __future__ import annotations

import sys

from loopmend._extras import require_extra

__all__ = ["main"]


def main() -> None:
    """Run the command; without the extra `cli`, say in one sentence what to install.

    >>> import loopmend.cli
    >>> loopmend.cli.main.__name__
    'main'
    """
    try:
        for module in ("typer", "rich"):
            require_extra(module, extra="cli", needed_by="loopmend")
    except ImportError as error:
        sys.exit(str(error))
    from loopmend.cli.app import app

    app(prog_name="loopmend")
