"""The values in a file: JSON, lines of JSON, text, and the archives that hold them.

Everything is bounded: a line, an entry of an archive and what a compressed file holds may not be
longer than what a machine can take.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from loopmend.errors import TraceFormatError
from loopmend.traces.readers.react_log import is_react_log
from loopmend.traces.readers.tables import csv_rows

__all__ = ["Skip", "values_in"]

LONGEST: Final = 256 * 1024 * 1024
"""The longest line, text or entry that is read, in bytes."""
_MOST: Final = 8 * 1024 * 1024 * 1024
"""The most that an archive may hold."""
_ZIP: Final = b"PK\x03\x04"
_GZIP: Final = b"\x1f\x8b"
_HEADER: Final = "header.json"
"""What Inspect tells about a log, beside its samples."""
_SQLITE: Final = b"SQLite format 3\x00"
_PARQUET: Final = b"PAR1"
_GAP: Final = re.compile(r"[\s,]*")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Skip:
    """A part of a file that holds nothing to read, and why."""

    reason: str
    format: str | None = None


Found = tuple[int | None, Any]


def values_in(source: Any, format: str | None = None) -> Iterator[Found]:
    """Yield the values of a file with their lines, and a `Skip` for what is none.

    Raises:
        OSError: The file cannot be read.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield from _values(_buffered(source), None, format)
        return
    with Path(source).open("rb") as file:
        yield from _values(file, Path(source), format)


def _buffered(file: Any) -> Any:
    return file if hasattr(file, "peek") else io.BufferedReader(_Raw(file))


class _Raw(io.RawIOBase):
    """A file that can only be read, as one that can be buffered."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        buffer[: len(data)] = data
        return len(data)


def _values(file: Any, path: Path | None, format: str | None) -> Iterator[Found]:
    start = file.peek(16)[:16]
    if start.startswith(_ZIP):
        yield from _zipped(file, path, format)
    elif start.startswith(_GZIP):
        with gzip.open(file) as inner:
            yield from _guarded(_values(io.BufferedReader(inner), None, format))
    elif start.startswith(_SQLITE):
        yield from _stored(path)
    elif start.startswith(_PARQUET):
        yield None, Skip("is Parquet; convert it to JSON lines", "parquet")
    elif format == "react_log":
        yield None, _text(file.read(LONGEST))
    else:
        yield from _written(file)


def _guarded(values: Iterator[Found]) -> Iterator[Found]:
    """Yield values until the compressed data turns out to be broken."""
    try:
        yield from values
    except (OSError, EOFError, zlib.error) as error:
        yield None, Skip(f"is broken: {error}")


def _written(file: Any) -> Iterator[Found]:
    """Yield what a text file holds: one value, a value a line, or text."""
    line, number = b"", 0
    while not line.strip():
        line, number = file.readline(LONGEST), number + 1
        if not line:
            return
    line = line.removeprefix(_BOM)
    ok, value = _decoded(line)
    if ok and (isinstance(value, (dict, list)) or file.peek(1)):
        yield number, value
        yield from _lines(file, number)
        return
    whole = line + file.read(LONGEST - len(line))
    ok, value = _decoded(whole)
    if ok:
        yield number, value
    elif len(whole) >= LONGEST:
        yield number, Skip(f"is longer than {LONGEST} bytes")
    else:
        yield from _other(whole, number)


def _other(whole: bytes, number: int) -> Iterator[Found]:
    """Yield what a text holds that is no JSON: a log, or lines of which the first is torn."""
    text = _text(whole)
    if not text.lstrip().startswith(("{", "[")):
        if is_react_log(text):
            yield number, text
            return
        if rows := list(csv_rows(text)):
            for line, row in rows:
                yield line, Skip("is not CSV: torn") if row is None else row
            return
    elif (several := list(_one_by_one(text.lstrip().removeprefix("[")))) and not isinstance(
        several[0][1], Skip
    ):
        yield from several
        return
    lines = io.BytesIO(whole)
    found = list(_lines(lines, number - 1))
    if any(not isinstance(value, Skip) for _, value in found):
        yield from found
    else:
        yield number, Skip("is neither JSON nor a ReAct log")


def _one_by_one(text: str) -> Iterator[Found]:
    """Yield values that follow each other over several lines, or those of a list that is torn."""
    decoder, at, line = json.JSONDecoder(), 0, 1
    while (start := _GAP.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", at, start)
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            yield line, Skip("is not JSON: torn, or nested too deep")
            return
        yield line, value
        line += text.count("\n", start, at)


def _lines(file: IO[bytes], number: int) -> Iterator[Found]:
    """Yield a value a line."""
    while line := file.readline(LONGEST):
        number += 1
        if len(line) >= LONGEST:
            yield number, Skip(f"is longer than {LONGEST} bytes")
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST)
        elif line.strip():
            ok, value = _decoded(line)
            yield number, value if ok else Skip("is not JSON: torn, or nested too deep")


def _decoded(data: bytes) -> tuple[bool, Any]:
    try:
        return True, json.loads(data)
    except (ValueError, RecursionError):
        return False, None


def _text(data: bytes) -> str:
    return data.removeprefix(_BOM).decode("utf-8", "replace")


def _zipped(file: Any, path: Path | None, format: str | None) -> Iterator[Found]:
    """Yield the samples of an archive, as Inspect writes them, or what the files in it hold."""
    held = file if path is not None else io.BytesIO(file.read(LONGEST))
    try:
        with zipfile.ZipFile(held) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            samples = [entry for entry in entries if _is_sample(entry.filename)]
            told = samples or not any(entry.filename == _HEADER for entry in entries)
            entries = samples or entries
            if not told:
                yield None, Skip("contains no Inspect samples", "inspect")
            elif sum(entry.file_size for entry in entries) > _MOST:
                yield None, Skip(f"holds more than {_MOST} bytes")
            else:
                for entry in entries:
                    yield from _entry(archive, entry, format)
    except (zipfile.BadZipFile, EOFError) as error:
        yield None, Skip(f"is a broken archive: {error}")


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, format: str | None) -> Iterator[Found]:
    name = entry.filename[:100]
    if entry.file_size > LONGEST:
        yield None, Skip(f"{name} is longer than {LONGEST} bytes")
        return
    try:
        with archive.open(entry) as file:
            # What the directory says of an entry's length need not be true.
            data = file.read(LONGEST + 1)
    except (NotImplementedError, RuntimeError) as error:  # Zstandard, or encrypted
        yield None, Skip(f"{name} cannot be unpacked: {error}")
        return
    except (zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
        yield None, Skip(f"{name} is broken: {error}")
        return
    if data.startswith(_ZIP):
        yield None, Skip(f"{name} is an archive in an archive")
        return
    for _, value in _values(io.BufferedReader(io.BytesIO(data)), None, format):
        torn = isinstance(value, Skip)
        yield None, Skip(f"{name} {value.reason}", value.format) if torn else value


def _stored(path: Path | None) -> Iterator[Found]:
    """Yield the traces of a store, without writing to it."""
    if path is None:
        yield None, Skip("is a database; pass its path", "loopmend")
        return
    # Imported here: few files are stores.
    from loopmend.traces.store import check_database

    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            check_database(connection, path)
            for number, body in connection.execute("SELECT id, body FROM traces ORDER BY id"):
                ok, value = _decoded(body.encode() if isinstance(body, str) else b"")
                yield number, value if ok else Skip("is not JSON", "loopmend")
        finally:
            connection.close()
    except TraceFormatError as error:
        yield None, Skip(str(error), "loopmend")
    except sqlite3.Error as error:
        yield None, Skip(f"is not a trace store: {error}", "loopmend")
