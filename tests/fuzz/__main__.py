"""`python -m tests.fuzz [N]`: read N mutated texts; any exception or slow reading is reported."""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loopmend import ToolCall, Turn, read_turn
from loopmend.contracts import from_json, to_json
from loopmend.mending import Form, correction
from loopmend.reading import Toolbox
from tests.core.reading.test_forms import EVERYTHING, WEATHER
from tests.core.strategies import PIECES

SHARED = Path(__file__).parents[3] / "shared" / "corpus" / "outputs"
SLOW = 1.0
"""Seconds that no text of a few kilobytes may take."""
TOOLS: tuple[Any, ...] = (None, None, [WEATHER], ["search", "calculator", "f"])


_FORMS: tuple[Form, ...] = ("react", "json", "native", "code")


def main(arguments: list[str]) -> int:
    """Fuzz and return 1 if anything went wrong."""
    count = int(arguments[0]) if arguments else 200_000
    chance = random.Random(int(arguments[1]) if len(arguments) > 1 else 1)
    seeds = list(_seeds())
    wrong = 0
    for number in range(1, count + 1):
        wrong += not _try(_mutated(chance, seeds), chance.choice(TOOLS), number)
        if number % 20_000 == 0:
            print(f"{number:,} texts, {wrong} wrong")
    print(f"{count - wrong} passed, {wrong} failed")
    return int(wrong > 0)


def _seeds() -> Iterator[str]:
    """Yield the tests' own texts and, where it is there, the shared corpus."""
    for cases in EVERYTHING.values():
        yield from (text for text, _ in cases)
    for path in sorted(SHARED.glob("*.jsonl.gz")) if SHARED.is_dir() else ():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from (json.loads(line)["input"][:3000] for line in lines)


def _mutated(chance: random.Random, seeds: list[str]) -> str:
    text = chance.choice(seeds)
    for _ in range(chance.randint(0, 4)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.randint(1, 40))
        other = chance.choice(seeds)
        start = chance.randint(0, len(other))
        text = chance.choice(
            (
                text[:at] + chance.choice(PIECES) + text[at:],
                text[:at] + text[end:],
                text[:at],
                text[at:],
                text[:at] + other[start : start + 200] + text[at:],
                text[:end] + text[at:end] + text[end:],
            )
        )
    return text


def _try(text: str, tools: Any, number: int) -> bool:
    started = time.thread_time()
    try:
        turn = read_turn(text, tools=tools)
        _check(turn, text, tools, number)
    except Exception:  # noqa: BLE001 - finding any is the purpose
        print(f"FAILED on {text!r} with tools {tools!r}\n{traceback.format_exc(limit=-3)}")
        return False
    if time.thread_time() - started > SLOW:
        print(f"SLOW on {text!r}")
        return False
    return True


def _check(turn: Turn, text: str, tools: Any, number: int) -> None:
    if not (turn.actions or turn.failure or turn.signal) or (turn.actions and turn.failure):
        msg = f"neither or both: {turn}"
        raise AssertionError(msg)
    spans = [r.span for r in turn.repairs] + ([turn.failure.span] if turn.failure else [])
    if not all(0 <= start <= end <= len(text) for start, end in spans):
        msg = f"a place outside the text: {turn}"
        raise AssertionError(msg)
    if number % 10 == 0 and repr(from_json(Turn, to_json(turn))) != repr(turn):
        if not any(word in repr(turn) for word in ("inf", "nan")):
            msg = f"does not survive JSON: {turn}"
            raise AssertionError(msg)
    if turn.failure is not None:
        form = _FORMS[number % len(_FORMS)]
        said = correction(turn.failure, form, None if tools is None else Toolbox(tools))
        again = read_turn(said, tools=tools)
        if any(isinstance(action, ToolCall) for action in again.actions):
            msg = f"a correction that reads as a call: {said}"
            raise AssertionError(msg)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
