"""Reading a value while it arrives."""

from __future__ import annotations

from string import ascii_letters, digits
from typing import Any, Final

from loopmend._arguments import not_text
from loopmend.reading.excerpts import Excerpts, starts_with_key
from loopmend.reading.growth import Growth
from loopmend.reading.json_reading import JsonReading, rank, read_json
from loopmend.reading.schema import schema_of
from loopmend.reading.turn import ReadingConfig

__all__ = ["JsonReader"]

# Where the text is not strict JSON it is read again after it has grown by a quarter, so that all
# readings together cost a small multiple of the last one, however small the chunks are.
_GROWTH: Final = 1.25
_FIRST: Final = 16
_FIRST_KEY_ENDS: Final = 100
# The end of what has arrived may be a number or a literal that is not all there.
_CUT: Final = f"{ascii_letters}{digits}+-._"


class JsonReader:
    """Reads a value chunk by chunk.

    `feed` returns the value as far as it is known, as plain data. This partial value only grows: a
    string gets longer, an object gets more members, a number appears once it is complete. `close`
    returns exactly what `read_json` returns for the whole text. The reader follows strict JSON
    character by character. It reads anything else again each time that the text has grown by a
    quarter, so partial values come less often. The whole stream takes linear time.

    >>> reader = JsonReader()
    >>> for chunk in ('Sure! Here it is: {"city": "Os', 'lo", "people": 7', '17710}'):
    ...     print(reader.feed(chunk))
    {'city': 'Os'}
    {'city': 'Oslo'}
    {'city': 'Oslo', 'people': 717710}
    >>> reader.close().value
    {'city': 'Oslo', 'people': 717710}
    """

    def __init__(self, schema: Any = None, *, config: ReadingConfig | None = None) -> None:
        """Set the options.

        Args:
            schema: The schema of the value, as for `read_json`; the reader applies it at the end.
            config: How to read.
        """
        self._schema = schema_of(schema)
        self._config = ReadingConfig() if config is None else config
        self._chunks: list[str] = []
        self._length = 0
        self._growth = Growth()
        self._next = _FIRST
        self._partial: Any = None
        self._unopened = False

    @property
    def text(self) -> str:
        """Everything that has arrived."""
        if len(self._chunks) > 1:
            self._chunks = ["".join(self._chunks)]
        return self._chunks[0] if self._chunks else ""

    def feed(self, chunk: str) -> Any:
        """Take a chunk and return the value as far as it is known, or `None` if nothing is yet.

        A later partial value shares its finished parts with this one, so do not change them.

        Raises:
            TypeError: `chunk` is not a `str`.
        """
        if not isinstance(chunk, str):
            raise not_text(chunk, "chunk")
        self._chunks.append(chunk)
        self._length += len(chunk)
        if self._length - len(chunk) < _FIRST_KEY_ENDS and starts_with_key(self.text):
            self._unopened = True
        if self._unopened:
            return None  # whether it is a member or a label, its end shows
        self._growth.feed(chunk)
        if not self._growth.lost:
            self._partial = self._growth.snapshot()
        elif self._length >= self._next:
            self._next = int(self._length * _GROWTH) + 1
            found = min(Excerpts(self.text.rstrip(_CUT)).found, key=rank, default=None)
            if found is not None and _grows(self._partial, found.value.value):
                self._partial = found.value.value
        return self._partial

    def close(self) -> JsonReading:
        """Return the reading of the whole text."""
        return read_json(self.text, self._schema, config=self._config)


def _grows(old: Any, new: Any) -> bool:
    """Tell whether a partial value says all that an earlier one said."""
    if old is None:
        return True
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and _grows(part, new[key]) for key, part in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) <= len(new) and all(map(_grows, old, new))
    if isinstance(old, str) and isinstance(new, str):
        return new.startswith(old)
    return repr(old) == repr(new)  # not `==`: no number is not itself, and 1 is not `True`
