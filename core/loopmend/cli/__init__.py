"""The command `loopmend`: why did my runs fail?"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; without the extra `cli`, say in one sentence what to install.

    >>> import loopmend.cli
    >>> loopmend.cli.main.__name__
    'main'
    """
    try:
        from loopmend.cli.app import app
    except ImportError as error:
        sys.exit(str(error))
    app(prog_name="loopmend")
