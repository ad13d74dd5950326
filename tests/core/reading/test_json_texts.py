"""Replies of every kind, read at once and as they arrive."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from loopmend import JsonReader, read_json
from tests.core.reading.json_texts import REFUSED, TEXTS


@pytest.mark.parametrize(("text", "schema", "meant"), TEXTS, ids=range(len(TEXTS)))
def test_a_reply_is_read_as_it_is_meant_or_refused(text: str, schema: Any, meant: Any) -> None:
    """The value of a reply is the one that is meant, and there is none where nobody can know."""
    reading = read_json(text, schema)
    if meant is REFUSED:
        assert not reading.ok
        assert reading.value is None
    else:
        plain = TypeAdapter(Any).dump_python(reading.value)
        assert (plain, type(plain)) == (meant, type(meant))
        assert reading.ok


@pytest.mark.parametrize("size", [1, 3, 11])
def test_a_stream_ends_with_the_reading_of_the_whole(size: int) -> None:
    """However a reply is cut into chunks, the reading of the stream is that of the whole text."""
    for text, schema, _ in TEXTS:
        reader = JsonReader(schema)
        for at in range(0, len(text), size):
            reader.feed(text[at : at + size])
        assert repr(reader.close()) == repr(read_json(text, schema))  # not `==`: for NaN
