"""Reading a turn while it arrives."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import FailurePattern, ReadingConfig, TurnReader, read_turn
from tests.core.strategies import emitted_text


@given(emitted_text, st.integers(1, 20))
def test_the_end_is_what_read_turn_says(text: str, size: int) -> None:
    """However a text is cut into chunks, the final turn is that of the whole."""
    reader = TurnReader(tools=["search"])
    for start in range(0, len(text), size):
        for partial in reader.feed(text[start : start + size]):
            assert partial.failure is None
    assert reader.text == text
    assert reader.finish() == read_turn(text, tools=["search"])


def test_partial_turns_grow() -> None:
    """What can be said is said before the end."""
    reader = TurnReader(config=ReadingConfig())
    seen = [
        p
        for word in ["The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog.", ""] * 9
        for p in reader.feed(word + " ")
    ]
    assert len(seen) > 3
    lengths = [len(turn.actions[0].content) for turn in seen]  # type: ignore[union-attr]
    assert lengths == sorted(lengths)


def test_what_does_not_change_is_not_repeated() -> None:
    """A partial turn is yielded once."""
    reader = TurnReader()
    assert len(list(reader.feed("The quick brown fox jumps over the lazy dog."))) == 1
    assert list(reader.feed(" " * 40)) == []


def test_an_unparseable_stream_says_so() -> None:
    """A stream that ends in the middle of a call ends in a failure, not in silence."""
    reader = TurnReader()
    seen = [p for c in '<tool_call>{"name": "search", "argu' for p in reader.feed(c)]
    assert all(turn.actions == () for turn in seen)
    failure = reader.finish().failure
    assert failure is not None
    assert failure.pattern in (FailurePattern.TRUNCATED, FailurePattern.MALFORMED)
    assert TurnReader().finish().failure is not None


def test_cost_is_linear() -> None:
    """A stream of small chunks costs a small multiple of reading the whole at once."""
    text = "Thought: it goes on and on\n" * 8000
    started = time.thread_time()
    read_turn(text)
    once = time.thread_time() - started
    reader = TurnReader()
    started = time.thread_time()
    for start in range(0, len(text), 20):
        list(reader.feed(text[start : start + 20]))
    assert time.thread_time() - started < 40 * once + 1


def test_chunks_are_text() -> None:
    """Bytes are not."""
    with pytest.raises(TypeError, match="`chunk` must be a str"):
        TurnReader().feed(b"x")  # type: ignore[arg-type]
