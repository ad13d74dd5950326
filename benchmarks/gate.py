"""`python -m benchmarks.gate`: has anything become a fifth slower than `gate.json` says?

It counts and takes no time, so that a loaded machine answers what an idle one answers: the
instructions of Python in our own code, and the signs that our patterns look at, as multiples of
the instructions of a fixed loop. What C does besides is not seen: for that there is `make bench`.
`--write` writes what it counts into `gate.json`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, cast

HOME = Path(__file__).parents[1]
OURS = tuple(str(HOME / place) for place in ("core", "integrations"))
STORED = Path(__file__).with_name("gate.json")
MOST = 1.2
ELSEWHERE = 1.6
"""For a Python other than the one in `gate.json`: it cuts lines into other instructions."""
SIGNS = 4
"""So many signs of a text cost a pattern about what one instruction costs Python."""

Call = Callable[[], Any]


class Counter:
    """Counts what our code does while it is called."""

    def __init__(self) -> None:
        self.done = 0.0

    def of(self, call: Call, mine: tuple[str, ...] = OURS) -> float:
        """Return the cost of the second call: the first one loads and caches."""

        def entered(frame: FrameType, _event: str, _arg: Any) -> Any:
            if not frame.f_code.co_filename.startswith(mine):
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            return within

        def within(_frame: FrameType, event: str, _arg: Any) -> Any:
            if event == "opcode":
                self.done += 1
            return within

        call()
        self.done = 0.0
        before, for_threads = sys.gettrace(), threading.gettrace()
        threading.settrace(entered)
        sys.settrace(entered)
        try:
            call()
        finally:
            sys.settrace(before)
            threading.settrace(cast("Any", for_threads))  # None takes it away
        return self.done


class Pattern:
    """A pattern that counts the signs it looks at."""

    def __init__(self, pattern: re.Pattern[str], counter: Counter) -> None:
        self.pattern_itself = pattern
        self.counter = counter

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.pattern_itself, name)
        return partial(self._called, name, method) if callable(method) else method

    def _called(self, name: str, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        found = method(*given, **named)
        at = 1 if name.startswith("sub") else 0
        text = given[at] if len(given) > at else named.get("string", "")
        start = given[1] if at == 0 and len(given) > 1 and name != "split" else 0
        anchored = name in ("match", "fullmatch")
        seen = start + 1 if anchored else len(text)
        if isinstance(found, re.Match):
            seen = found.end()
        self.counter.done += max(seen - start, 1) / SIGNS
        return found


def count_patterns(counter: Counter) -> None:
    """Let each pattern that our modules make from now on count; ours must not be loaded yet."""
    compiled = re.compile

    def compile_(pattern: Any, flags: int = 0) -> Any:
        made = compiled(pattern, flags)
        ours = sys._getframe(1).f_code.co_filename.startswith(OURS)  # noqa: SLF001 - there is no other way
        return Pattern(made, counter) if ours else made

    vars(re)["compile"] = compile_


def yardstick() -> None:
    """Do what never changes."""
    for at in range(1000):
        str(at)


def measured() -> dict[str, float]:
    """Return what each case costs, as a multiple of the yardstick."""
    counter = Counter()
    count_patterns(counter)
    cases: dict[str, Call] = import_module("benchmarks.gate_cases").CASES
    one = counter.of(yardstick, (str(Path(__file__)),))
    return {name: round(counter.of(call) / one, 4) for name, call in cases.items()}


def slower(found: dict[str, float], stored: dict[str, float], most: float) -> list[str]:
    """Return a line for each case that costs more than it may, or is not stored at all."""
    lines = [
        f"{name}: {cost / stored[name]:.2f} x what gate.json says"
        for name, cost in found.items()
        if name in stored and cost > stored[name] * most
    ]
    return lines + [f"{name}: not in gate.json" for name in found if name not in stored]


def main(arguments: list[str]) -> int:
    """Count, compare or write, and return 1 if anything costs more than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    python = "{}.{}".format(*sys.version_info)
    found = measured()
    if options.write:
        STORED.write_text(json.dumps({"python": python, "costs": found}, indent=1) + "\n")
        return 0
    stored = json.loads(STORED.read_text())
    most = MOST if stored["python"] == python else ELSEWHERE
    for name, cost in found.items():
        was = stored["costs"].get(name)
        print(f"{name:36} {cost:9.3f}" + (f"  {cost / was:5.2f} x gate.json" if was else ""))
    lines = slower(found, stored["costs"], most)
    print("\n".join(lines) or f"{len(found)} cases, none above {most} x what gate.json says")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
