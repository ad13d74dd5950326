"""Span rows on Daft: Parquet, object stores and clusters, for runs whose rows lie in any order.

Needs the extra `batch`. Daft reads, groups by trace and writes; each run is read and classified by
the same function as everywhere else.
"""

from __future__ import annotations

import atexit
import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loopmend._extras import require_extra
from loopmend._repr import without_controls
from loopmend.batch.rows import row_of
from loopmend.traces.readers.formats import format_of
from loopmend.traces.readers.loading import load_traces

if TYPE_CHECKING:
    import daft

__all__ = ["classify_spans"]

_LOG: Final = logging.getLogger(__name__)
_TRACE_IDS: Final = ("trace_id", "traceId", "context.trace_id", "traceID")
_DONE: Final = "_finished"
_MOMENT: Final = 1.0
_ATTEMPTS: Final = 3
"""How often a slice is tried on a cluster: what a lost worker held is lost to the slice."""
_AT_ONCE: Final = 256
"""How many runs are Python objects at the same time."""


def classify_spans(
    source: str | Sequence[str] | daft.DataFrame,
    out: str | Path,
    *,
    trace_id: str | None = None,
    ray: str | None = None,
    slices: int = 1,
) -> int:
    """Classify runs whose spans are Parquet rows, and write one Parquet row per run.

    It groups the rows by trace. The columns are those of any row format that `load_traces` reads:
    spans of Phoenix or OpenTelemetry, observations of Langfuse, runs of LangSmith. Columns may
    contain JSON as text.

    Args:
        source: Parquet files: a path, a pattern, an object store's address, several of them, or a
            Daft data frame.
        out: A local folder for the output, with one Parquet folder per slice.
        trace_id: The column with the trace id; by default the first with one of the usual names.
        ray: The address of a Ray cluster; without it, Daft runs on this machine.
        slices: How many parts to divide the traces into. Each slice reads the source once; a
            restarted batch skips finished slices.

    Returns:
        How many slices it classified now; it skips those of an earlier attempt.

    Raises:
        ImportError: Daft is not installed: `pip install "loopmend[batch]"`.
        ValueError: No column contains the trace id.

    >>> classify_spans("s3://exports/2026-11-17/*.parquet", "out", slices=8)  # doctest: +SKIP
    8
    """
    daft = _daft()
    # Daft's threads outlive its work by a moment, and abort a process whose Python is gone by then.
    atexit.unregister(_let_threads_end)
    atexit.register(_let_threads_end)
    if ray is not None:
        daft.set_runner_ray(address=ray, noop_if_initialized=True)
    frame: Any = daft.read_parquet(source) if isinstance(source, (str, list, tuple)) else source
    names = frame.column_names
    key = trace_id or next((name for name in _TRACE_IDS if name in names), None)
    if key is None or key not in names:
        msg = f"no column holds the trace id (columns: {', '.join(names)}); pass `trace_id`"
        raise ValueError(msg)
    done = 0
    for number in range(slices):
        folder = Path(out) / f"slice-{number:05}-of-{slices:05}"
        if (folder / _DONE).exists():
            continue
        part = frame
        if slices > 1:
            part = frame.where(daft.col(key).hash() % slices == number)
        _write_surely(part, key, folder, attempts=1 if ray is None else _ATTEMPTS)
        done += 1
    return done


def _let_threads_end() -> None:
    time.sleep(_MOMENT)


def _daft() -> Any:
    require_extra("daft", extra="batch", needed_by="classify_spans")
    import daft

    return daft


def _write_surely(frame: Any, key: str, folder: Path, attempts: int) -> None:
    """Write a slice; on a cluster, whose workers come and go, try again what failed."""
    while True:
        attempts -= 1
        try:
            return _write(frame, key, folder)
        except Exception as error:
            if not attempts:
                raise
            told = without_controls(f"{type(error).__name__}: {error}")[:200]
            _LOG.warning("%s failed, trying again: %s", folder.name, told)


def _write(frame: Any, key: str, folder: Path) -> None:
    """Group the rows of a slice by trace, classify each run, and write the result."""
    import daft
    from daft import DataType
    from daft.functions import to_struct

    names = frame.column_names
    rows = frame.select(daft.col(key), to_struct(*(daft.col(name) for name in names)).alias("row"))
    grouped = rows.groupby(key).agg(daft.col("row").list_agg())
    many = daft.func.batch(return_dtype=DataType.string(), batch_size=_AT_ONCE)
    report: Any = many(_reports)(daft.col("row"))
    told = grouped.select(daft.col(key).alias("trace"), report.alias("report"))
    told.write_parquet(str(folder), write_mode="overwrite")
    (folder / _DONE).touch()


def _reports(groups: Any) -> list[str]:
    """Classify some runs, each given as its rows: what Daft calls."""
    return [_report(rows) for rows in groups.to_pylist()]


def _report(rows: Sequence[Mapping[str, Any]]) -> str:
    # A column that a row does not have is null, which is something else to a reader.
    told = [{k: v for k, v in row.items() if v is not None} for row in rows]
    loaded = load_traces(told, format_of(told[0]))  # the rows of one table have one format
    found = next(map(row_of, loaded), None)
    skipped = {"skipped": [each.reason for each in loaded.skipped]}
    return json.dumps(skipped if found is None else found, ensure_ascii=False)
