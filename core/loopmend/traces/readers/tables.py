"""Rows in tables: lines of CSV, and data frames that were written down column by column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from loopmend.traces.readers.values import as_list, as_map

__all__ = ["csv_rows", "rows_in"]

_END: Final = re.compile(r"[,\r\n]")


def rows_in(value: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a data frame in one of pandas' forms, or none if it is no data frame.

    >>> rows_in({"id": {"0": "a", "1": "b"}, "text": {"0": "Hi.", "1": "Ho."}})
    [{'id': 'a', 'text': 'Hi.'}, {'id': 'b', 'text': 'Ho.'}]
    """
    told = as_map(value)
    columns, data = as_list(told.get("columns")), as_list(told.get("data"))
    if columns and data and told.keys() <= {"columns", "data", "index"}:
        return [dict(zip(map(str, columns), as_list(row), strict=False)) for row in data]
    if not told or not all(isinstance(held, Mapping) and held for held in told.values()):
        return None
    index = next(iter(told.values())).keys()
    if not all(str(key).isdecimal() for key in index):
        return None
    if any(held.keys() != index for held in told.values()):
        return None
    return [{name: held[key] for name, held in told.items()} for key in index]


def csv_rows(text: str) -> Iterator[tuple[int, dict[str, str] | None]]:
    r"""Yield the rows of a text in CSV, each with its line; nothing if its first line names none.

    Where a row is torn, none is yielded in its place, and it is the last one.

    >>> list(csv_rows('id,input\n1,"Hi, ""you""."\n'))
    [(2, {'id': '1', 'input': 'Hi, "you".'})]
    """
    rows = _rows(text)
    _, names = next(rows, (0, []))
    if len(names) > 1 and all(map(_is_name, names)):
        for line, row in rows:
            held = {name: cell for name, cell in zip(names, row, strict=False) if cell}
            yield line, held or None


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows up to the first that is torn; a cell may go over several lines."""
    at, line, started, row = 0, 1, 1, list[str]()
    while at < len(text):
        cell, end = _cell(text, at)
        if cell is None:
            yield started, []
            return
        row.append(cell)
        line += text.count("\n", at, end)
        at = end + 1
        if text[end : end + 1] != ",":
            at += text.startswith("\r\n", end)
            line += "\n" in text[end:at]
            if row != [""]:
                yield started, row
            row, started = [], line


def _cell(text: str, at: int) -> tuple[str | None, int]:
    """Return a cell and where it ends, or none if its quotes are not closed."""
    if not text.startswith('"', at):
        end = _END.search(text, at)
        stop = len(text) if end is None else end.start()
        return text[at:stop], stop
    start = at = at + 1
    while (at := text.find('"', at)) != -1:
        if not text.startswith('"', at + 1):
            closed = at + 1 == len(text) or text[at + 1] in ",\r\n"
            return (text[start:at].replace('""', '"') if closed else None), at + 1
        at += 2
    return None, at


def _is_name(name: str) -> bool:
    """Tell whether a column's name is one: a word, maybe of several parts."""
    return name.replace(".", "_").replace(" ", "_").isidentifier()
