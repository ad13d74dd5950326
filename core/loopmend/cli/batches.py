"""The command for more runs than one machine takes: span rows of Parquet, on Daft or Ray."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loopmend.cli.collecting import WRONG
from loopmend.cli.tables import console, said, stop
from loopmend.rendering.html import visible

__all__ = ["batch"]


def batch(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SPANS", help="Parquet files: paths, patterns, addresses such as s3://…"
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FOLDER", help="A folder for the Parquet output.")],
    ray: Annotated[
        Optional[str], typer.Option(metavar="ADDRESS", help="A Ray cluster to run on.")  # noqa: UP045 - typer reads it
    ] = None,
    slices: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of parts to divide the runs into.")
    ] = 1,
    trace_id: Annotated[
        Optional[str], typer.Option(metavar="COLUMN", help="The column with the run id.")  # noqa: UP045
    ] = None,
) -> None:
    """Classify span rows in Parquet. If it was stopped, start it again: it goes on from there."""
    from loopmend.batch import classify_spans

    try:
        done = classify_spans(source, out, trace_id=trace_id, ray=ray, slices=slices)
    except (ImportError, OSError, ValueError) as error:
        stop(visible(str(error)), WRONG)
    before = f" {slices - done} were already finished." if done < slices else ""
    console().print(said(f"Classified {done} of {slices} slices into {visible(out)}.{before}"))
