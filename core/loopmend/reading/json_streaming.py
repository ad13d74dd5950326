"""Reading a value while it arrives."""

from __future__ import annotations

from typing import Any, Final

from loopmend._arguments import not_text
from loopmend.reading.excerpts import Excerpts
from loopmend.reading.growth import Growth
from loopmend.reading.json_reading import JsonReading, rank, read_json
from loopmend.reading.schema import schema_of
from loopmend.reading.turn import ReadingConfig

__all__ = ["JsonReader"]

# Where the text is not strict JSON it is read again after it has grown by a quarter, so that all
# readings together cost a small multiple of the last one, however small the chunks are.
_GROWTH: Final = 1.25
_FIRST: Final = 16


class JsonReader:
    """Reads a value chunk by chunk.

    `feed` returns what is known of the value so far, as plain data; `close` returns exactly what
    `read_json` returns for the whole text. Strict JSON is followed character by character. Anything
    else is read again each time that it has grown by a quarter, so partial values come less often.
    A stream of ordinary JSON takes linear time either way; runs of stray quotes take more.

    >>> reader = JsonReader()
    >>> for chunk in ('Sure! Here it is: {"city": "Os', 'lo", "people": 7', '17710}'):
    ...     print(reader.feed(chunk))
    {'city': 'Os'}
    {'city': 'Oslo', 'people': 7}
    {'city': 'Oslo', 'people': 717710}
    >>> reader.close().value
    {'city': 'Oslo', 'people': 717710}
    """

    def __init__(self, schema: Any = None, *, config: ReadingConfig | None = None) -> None:
        """Set the options.

        Args:
            schema: What the value has to be, as for `read_json`; it counts when the text is whole.
            config: How to read.
        """
        self._schema = schema_of(schema)
        self._config = ReadingConfig() if config is None else config
        self._chunks: list[str] = []
        self._length = 0
        self._growth = Growth()
        self._next = _FIRST
        self._partial: Any = None

    @property
    def text(self) -> str:
        """Everything that has arrived."""
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""

    def feed(self, chunk: str) -> Any:
        """Take a chunk and return what is known of the value, or `None` as long as nothing is.

        A later partial value shares its finished parts with this one, so do not change them.

        Raises:
            TypeError: `chunk` is not a `str`.
        """
        if not isinstance(chunk, str):
            raise not_text(chunk, "chunk")
        self._chunks.append(chunk)
        self._length += len(chunk)
        self._growth.feed(chunk)
        if not self._growth.lost:
            self._partial = self._growth.snapshot()
        elif self._length >= self._next:
            self._next = int(self._length * _GROWTH) + 1
            found = sorted(Excerpts(self.text).found, key=rank)
            self._partial = found[0].value.value if found else self._partial
        return self._partial

    def close(self) -> JsonReading:
        """Return the reading of the whole text."""
        return read_json(self.text, self._schema, config=self._config)
