"""The options and arguments that several commands take."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from loopmend.traces.readers.formats import FORMATS

__all__ = [
    "FailOn",
    "Finish",
    "Format",
    "FormatOption",
    "Handover",
    "Jobs",
    "MostSteps",
    "NoRedact",
    "Paths",
    "Tools",
    "file_option",
]

if TYPE_CHECKING:

    class Format(str, Enum):
        """One of the formats that are known."""
else:
    Format = Enum("Format", {name: name for name in FORMATS}, type=str)

Paths = Annotated[
    list[str],
    typer.Argument(metavar="PATH", help="Files, folders, patterns, or - for standard input."),
]
FormatOption = Annotated[
    Optional[Format],  # noqa: UP045 - typer reads it at run time, on Python 3.10 too
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"The format, if the content does not reveal it: {', '.join(FORMATS)}.",
    ),
]
Tools = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--tool", metavar="NAME", help="An available tool's name; repeat the option for more."
    ),
]
Finish = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="CALL", help="A call that ends a run with an answer, such as 'click[Buy Now]'."
    ),
]
Handover = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(metavar="CALL", help="A call that hands the run to somebody else."),
]
MostSteps = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--max-iterations",
        min=0,
        metavar="N",
        help="The limit of steps, if the record has none.",
    ),
]
Jobs = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, metavar="N", help="Number of processes (default: one per core)."),
]
FailOn = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        metavar="WHAT",
        help="Exit with 1 if a run has this: a severity (error, warning, info) or worse, a verdict "
        "such as failed, a stop reason, or 'skipped' for unreadable parts. Repeat it for more.",
    ),
]


NoRedact = Annotated[bool, typer.Option("--no-redact", help="Do not redact keys and passwords.")]


def file_option(what: str, where: str = "a file, or - for standard output") -> Any:
    """Return the option for a file that a command writes.

    >>> file_option("findings").metavar
    'FILE'
    """
    return typer.Option(metavar="FILE", help=f"Write {what} to {where}.")
