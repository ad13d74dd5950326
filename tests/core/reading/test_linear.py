"""Reading costs time in proportion to the text, whatever mark is repeated."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from loopmend import ReadingConfig, TurnReader, read_response, read_turn
from loopmend.reading.tools import Toolbox
from tests.core.reading.pumps import AROUND, PUMPS

TOOLS = Toolbox(
    [
        "a",
        "f",
        {
            "name": "search",
            "parameters": {
                "properties": {"q": {"type": "string"}, "n": {"type": "number"}},
                "required": ["q"],
            },
        },
    ]
)
NATIVE = ReadingConfig(native=True)


def _stream(text: str) -> Any:
    reader = TurnReader(tools=TOOLS)
    step = max(1, len(text) // 64)
    for at in range(0, len(text), step):
        list(reader.feed(text[at : at + step]))
    return reader.finish()


READERS: dict[str, Callable[[str], Any]] = {
    "with tools": partial(read_turn, tools=TOOLS),
    "without tools": read_turn,
    "native": partial(read_turn, tools=TOOLS, config=NATIVE),
    "response": partial(read_response, tools=TOOLS),
    "any call": partial(read_turn, tools=TOOLS, config=ReadingConfig(calls="any")),
    "stream": _stream,
}
PLACES = 3
"""In so many places each pump is tried beside alone, in turn."""


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """Keep the collector of garbage, and whoever counts lines, from counting against the reader."""
    tracer = sys.gettrace()
    sys.settrace(None)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    sys.settrace(tracer)


def _cost(read: Callable[[str], Any], text: str) -> float:
    started = time.thread_time()
    read(text)
    return time.thread_time() - started


def _is_linear(read: Callable[[str], Any], piece: str, around: tuple[str, str] = ("", "")) -> bool:
    """Tell whether twice the text costs about twice as much, measured up to four times."""
    before, after = around
    for size in (3_000, 6_000, 20_000, 20_000):
        half = _cost(read, before + piece * (size // len(piece)) + after)
        whole = _cost(read, before + piece * (2 * size // len(piece)) + after)
        if whole < 2.4 * half + 0.004:
            return True
    return False


@pytest.mark.parametrize("reader", list(READERS))
def test_pumps_are_linear(reader: str) -> None:
    """Any mark, quote, bracket, header, token, call or phrase, repeated, is read in linear time."""
    read = READERS[reader]
    some = PUMPS if reader == "with tools" else PUMPS[:: len(READERS)]
    assert [piece for piece in some if not _is_linear(read, piece)] == []


@pytest.mark.parametrize("nth", range(PLACES))
def test_pumps_are_linear_within_others(nth: int) -> None:
    """So it is wherever they stand: in an input, an argument, a string, before or after a call."""
    places = list(AROUND)
    chosen = [(piece, places[(n + 5 * nth) % len(places)]) for n, piece in enumerate(PUMPS)]
    read = READERS["with tools"]
    slow = [(p, place) for p, place in chosen if not _is_linear(read, p, AROUND[place])]
    assert slow == []


GROWING: dict[str, Callable[[int], str]] = {
    "blanks behind a call": lambda n: "f(a=1)" + " " * n + "x",
    "blanks behind a header's word": lambda n: "Action" + " " * n + "x",
    "brackets that weak headers open": lambda n: "Tool: a[\n" * (n // 9) + "]",
    "blanks before headers": lambda n: " " * n + "\nAction: f\nx\n" * (n // 13),
    "tags in a sentence": lambda n: "x <tool_call> y " * (n // 16),
    "arguments of many names": lambda n: (
        "<function=f>" + "".join(f"<arg{i}>" for i in range(n // 8))
    ),
    "blanks in a tag": lambda n: ("<a" + " " * 2000 + ">") * (n // 2000),
    "blanks before a recipient": lambda n: (
        ("\n" * 90 + "to=a" + "\n" * 90 + 'x{"a":1}') * (n // 200)
    ),
    "a number in digits": lambda n: f'{{"name": "search", "arguments": {{"n": "{"1" * n}x"}}}}',
    "a slot that is none": lambda n: f'{{"name": "search", "arguments": {{"q": "<A{"-" * n}"}}}}',
    "blanks in an input": lambda n: f'Thought: t\nAction: search\nAction Input: q = "{" " * n}x y',
    "backticks before a word": lambda n: "`" * n + "x",
    "words joined": lambda n: "action" * (n // 6) + ' {"name": "a", "arguments": {}}',
    "a call that is explained": lambda n: '{"name": "a", "arguments": {}}\nthe tool' + " tool" * n,
    "fences of nothing": lambda n: "x" + "```\n" * (n // 4),
    "a plan of many plans": lambda n: "I will look, " * (n // 13) + 'I will: {"name": "a"}',
}


@pytest.mark.parametrize("case", list(GROWING))
def test_growth(case: str) -> None:
    """What once took all ways, or went over the rest at each place, takes one way."""
    make = GROWING[case]

    def read(text: str) -> None:
        READERS["with tools"](text)
        READERS["native"](text)

    assert all(_cost(read, make(size)) < 0.1 for size in (24, 100))  # first: it may never end
    for _ in range(3):
        half, whole = _cost(read, make(8_000)), _cost(read, make(16_000))
        if whole < 2.4 * half + 0.004:
            return
    pytest.fail(f"{half:.3f} s, then {whole:.3f} s")


@pytest.mark.parametrize(
    "piece",
    [
        *("{", '"', "<", "`", "<function=a>", "Action: a\n", "f(a=", "plain words. "),
        *("<|channel|>", '{"name":"a","arguments":{}}\n', "[", "I will ", "\r\n"),
        *('<{"a":', "<\uff5c{a:", '{"a":<\uff5c', '<function={"a":'),
    ],
)
def test_a_megabyte(piece: str) -> None:
    """A megabyte of anything is read in about a second, or in a few on a machine that is busy."""
    assert _cost(READERS["with tools"], piece * (1_000_000 // len(piece))) < 6


PAIRS = (
    *(
        ("{", "}"),
        ("[", "]"),
        ("(", ")"),
        ("<a>", "</a>"),
        ("<tool_call>", "</tool_call>"),
        ("f(", ")"),
    ),
    *(
        ('{"a":', "}"),
        ("```\n", "\n```\n"),
        ("<think>", "</think>"),
        ('"', '"'),
        ("<|x|>", "<|/x|>"),
    ),
)


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_deep_nesting_is_linear(opener: str, closer: str) -> None:
    """However deep marks nest, and whether they are closed or not, time grows with length alone."""

    def cost(depth: int) -> float:
        text = opener * depth + closer * depth
        return _cost(READERS["with tools"], text) + _cost(read_turn, text + opener * depth)

    assert any(cost(2 * depth) < 2.4 * cost(depth) + 0.004 for depth in (1500, 2500, 2500))
