"""Timing two things against each other so that noise hits both alike."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

Call = Callable[[], Any]

_BATCH_SECONDS = 0.002
_ROUNDS = 40


def ratio(subject: Call, yardstick: Call, *, rounds: int = _ROUNDS) -> float:
    """Return how many times as long as the yardstick the subject takes.

    The two are run in turns, in batches of about equal length, on this thread's CPU time;
    the shortest batch of each counts, because noise only ever adds.
    """
    pair = [(call, _batch_size(call)) for call in (subject, yardstick)]
    best = [float("inf"), float("inf")]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for index, (call, times) in enumerate(pair):
                best[index] = min(best[index], _batch(call, times) / times)
    finally:
        if enabled:
            gc.enable()
    return best[0] / best[1]


def fastest(call: Call, *, rounds: int = 7) -> float:
    """Return the seconds of the shortest of several runs.

    Without the collector, whose rounds cost what everything else in the process holds.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return min(_batch(call, 1) for _ in range(rounds))
    finally:
        if enabled:
            gc.enable()


def interleaved(
    runs: dict[str, Call], *, rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the least seconds of each, run in turns so that noise hits all alike.

    By default the process's time is taken, because LangGraph runs tools on other threads.
    """
    taken: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in runs.items():
                started = clock()
                run()
                taken[name].append(clock() - started)
    finally:
        gc.enable()
    return {name: min(times) for name, times in taken.items()}


def beyond(runs: dict[str, Call], base: str, whole: str, *, rounds: int) -> dict[str, float]:
    """Return what share of the whole each takes beyond the base: the median over all rounds.

    Each round runs all in another order, and compares what ran in it: on a busy machine that
    tells much smaller differences than the shortest times do.
    """
    taken: dict[str, list[float]] = {name: [] for name in runs}
    order, shuffled = list(runs), random.Random(0)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            shuffled.shuffle(order)
            for name in order:
                started = time.process_time()
                runs[name]()
                taken[name].append(time.process_time() - started)
    finally:
        gc.enable()
    pairs = {name: zip(times, taken[base], strict=True) for name, times in taken.items()}
    most = median(taken[whole])
    return {name: median(a - b for a, b in both) / most for name, both in pairs.items()}


def _batch(call: Call, times: int) -> float:
    started = time.thread_time()
    for _ in range(times):
        call()
    return time.thread_time() - started


def _batch_size(call: Call) -> int:
    call()  # what the first one prepares for all others says nothing about the rest
    times = 1
    while _batch(call, times) < _BATCH_SECONDS:
        times *= 2
    return times
