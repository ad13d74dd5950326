"""Classifying more runs than one process can take: files on all cores, span rows on Daft."""

from typing import TYPE_CHECKING

from loopmend._late import late

if TYPE_CHECKING:
    from loopmend.batch.files import BatchResult, classify_files
    from loopmend.batch.rows import read_rows, row_of
    from loopmend.batch.spans import classify_spans

_LATE = {
    "BatchResult": "loopmend.batch.files",
    "classify_files": "loopmend.batch.files",
    "classify_spans": "loopmend.batch.spans",
    "read_rows": "loopmend.batch.rows",
    "row_of": "loopmend.batch.rows",
}

__all__ = ["BatchResult", "classify_files", "classify_spans", "read_rows", "row_of"]

__getattr__, __dir__ = late(__name__, _LATE, __all__)
