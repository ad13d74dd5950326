"""Loading traces from files and from decoded values, whatever their format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any, Final, Union

from loopmend.traces.readers.files import Skip, values_in
from loopmend.traces.readers.formats import FORMATS, Piece, pieces_of, read_group
from loopmend.traces.readers.langsmith import parent_of
from loopmend.traces.readers.options import ReadOptions, options_of
from loopmend.traces.readers.sessions import is_silent
from loopmend.traces.trace import Trace

__all__ = ["LoadedTraces", "Skipped", "load_traces"]

Source = Union[str, "os.PathLike[str]", bytes, IO[bytes], Mapping[str, Any], Iterable[Any]]

_Groups = dict[tuple[str, str], tuple[int | None, list[Any]]]
_NO_FORMAT: Final = "has no format that loopmend knows"
_NOTHING: Final = "nothing could be read"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a file that is not a trace, or that loopmend could not read.

    >>> loaded = load_traces({"some": "thing"})
    >>> list(loaded), loaded.skipped[0].reason
    ([], 'has no format that loopmend knows')
    """

    reason: str
    file: str | None = None
    line: int | None = None
    """The line, or the first of several, from 1."""
    format: str | None = None
    """Its apparent format."""


class LoadedTraces:
    """Traces, read one after the other, and everything skipped so far.

    Each loop over it reads the source anew.

    >>> loaded = load_traces([{"role": "assistant", "content": "It is 4."}])
    >>> [trace.answer for trace in loaded], loaded.skipped
    (['It is 4.'], ())
    """

    def __init__(self, source: Source, format: str | None, options: ReadOptions) -> None:
        self._source = source
        self._format = format
        self._options = options
        self._skipped: list[Skipped] = []
        self._groups: _Groups = {}

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Everything that the latest loop has skipped so far, with the reason."""
        return tuple(self._skipped)

    def __iter__(self) -> Iterator[Trace]:
        self._skipped, self._groups = [], {}
        for line, value in self._values():
            if isinstance(value, Skip):
                self._skip(value.reason, line, value.format)
                continue
            for piece in self._pieces(value, line):
                if piece.format == "unknown":
                    self._skip(_NO_FORMAT, line)
                elif piece.run is not None:
                    self._keep((piece.format, piece.run), piece.value, line)
                else:
                    yield from self._read(piece.format, [piece.value], line, whole=True)
        for (format, _), (line, rows) in _joined(_placed(self._groups)).items():
            yield from self._read(format, rows, line, whole=False)

    def _keep(self, run: tuple[str, str], row: Any, line: int | None) -> None:
        """Keep a row until all rows of its run are there."""
        self._groups.setdefault(run, (line, []))[1].append(row)

    def _pieces(self, value: Any, line: int | None) -> list[Piece]:
        try:
            return list(pieces_of(value, self._format))
        except Exception as error:  # noqa: BLE001 - an odd object must not lose all others
            self._skip(f"could not be read: {error!r:.200}", line)
            return []

    def _values(self) -> Iterator[tuple[int | None, Any]]:
        source = self._source
        if isinstance(source, bytes):
            source = BytesIO(source)
        if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
            yield from values_in(source, self._format)
            return
        given: Any = source
        yield None, given if isinstance(given, (Mapping, list)) else list(given)

    def _read(
        self, format: str, rows: list[Any], line: int | None, *, whole: bool
    ) -> Iterator[Trace]:
        try:
            trace = read_group(format, rows, self._options, whole=whole)
        except Exception as error:  # noqa: BLE001 - one odd run must not lose all others
            self._skip(f"could not be read: {error!r:.200}", line, format)
            return
        if trace.unreadable is not None:
            self._skip(_NOTHING, line, trace.unreadable)
        else:
            yield trace

    def _skip(self, reason: str, line: int | None, format: str | None = None) -> None:
        source = self._source
        named = isinstance(source, (str, os.PathLike))
        file = os.fspath(source) if named else None  # type: ignore[arg-type]
        self._skipped.append(Skipped(reason, file, line, format or self._format))


def _placed(groups: _Groups) -> _Groups:
    """Leave out notes that name no session where the file tells of sessions: a host writes both."""
    _, notes = groups.get(("messages", ""), (None, []))
    others = sum(format == "messages" for format, _ in groups) > 1
    if notes and others and all(map(is_silent, notes)):
        return {key: held for key, held in groups.items() if key != ("messages", "")}
    return groups


def _joined(groups: _Groups) -> _Groups:
    """Bring together the runs that tell no trace but the run that they are part of."""
    above = {
        key: (key[0], parent_of(rows[0]))
        for key, (_, rows) in groups.items()
        if key[0] == "langsmith" and len(rows) == 1
    }
    joined: _Groups = {}
    for key, (line, rows) in groups.items():
        root, seen = key, {key}
        while (parent := above.get(root, root)) in groups and parent not in seen:
            seen.add(parent)
            root = parent
        joined.setdefault(root, (line, []))[1].extend(rows)
    return joined


def load_traces(  # noqa: PLR0913 - all but the first two by name
    source: Source,
    format: str | None = None,
    *,
    tools: Iterable[str] | None = None,
    finish: Iterable[str] = (),
    handover: Iterable[str] = (),
    max_iterations: int | None = None,
) -> LoadedTraces:
    """Load traces from a file or a decoded value, in any of the formats that loopmend reads.

    It recognises the format by the content. It groups the rows of a run, whatever their order, as
    LangSmith, Langfuse and OpenTelemetry write them; it reads whole runs one by one, so a long file
    takes little memory.

    Args:
        source: A path, an open binary file, its bytes, or what `json.loads` made of it.
        format: One of `loopmend.traces.FORMATS`, if the content does not reveal the format.
        tools: The names of the available tools, if they are known.
        finish: Calls that end a run, besides `submit`, `final_answer` and the like.
        handover: Calls that hand a run to somebody else, besides `transfer_to_…`.
        max_iterations: The limit of steps, if there was one.

    Raises:
        ValueError: There is no such format.
        TypeError: `source` is neither a path, a file, bytes nor a decoded value.
        OSError: The file cannot be opened; raised when the loop starts.

    >>> run = {"messages": [{"role": "user", "content": "2 + 2?"}, {"role": "ai", "content": "4"}]}
    >>> [trace.answer for trace in load_traces(run)]
    ['4']
    """
    if format is not None and format not in FORMATS:
        msg = f"unknown format {format!r} (known: {', '.join(FORMATS)})"
        raise ValueError(msg)
    given: Any = source
    if not (isinstance(given, (os.PathLike, Iterable)) or hasattr(given, "read")):
        msg = f"`source` must be a path, a file, bytes or a decoded value, not {type(source)!r}"
        raise TypeError(msg)
    return LoadedTraces(source, format, options_of(tools, finish, handover, max_iterations))
