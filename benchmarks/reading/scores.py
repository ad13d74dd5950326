"""What one reader makes of all the texts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.reading.respelled_json import KINDS
from benchmarks.reading.safety import YARDSTICKS, Probe
from benchmarks.reading.scoring import Read, Reading, reading, verdict
from benchmarks.reading.texts import Case

Counters = defaultdict[str, "Counter[str]"]


class Failing(NamedTuple):
    """A text that was not read as it should be."""

    name: str
    text: str
    got: Reading


class Score:
    """What one reader makes of everything: counted by form, by kind and by yardstick."""

    def __init__(self, read: Read, cases: list[Case], asked: list[Probe]) -> None:
        self.read = read
        self.failing: defaultdict[str, list[Failing]] = defaultdict(list)
        self.forms: Counters = defaultdict(Counter)
        self.kinds: Counters = defaultdict(Counter)
        self.probes: Counters = defaultdict(Counter)
        right = [case for case in cases if self._reads(case, self.forms[case.form], "reading")]
        for kind, case in respelled([case for case in right if case.calls]):
            self._reads(case, self.kinds[kind], "respelled", f"{kind} / ")
        for probe in asked:
            self._passes(probe)

    def _reads(self, case: Case, counter: Counter[str], yardstick: str, kind: str = "") -> bool:
        """Count how a case is read, and tell whether it is read right."""
        got = reading(self.read, case.text, case.tools)
        result = verdict(case, got)
        counter[result] += 1
        if result != "right":
            self.failing[yardstick].append(Failing(f"{kind}{case.form}: {result}", case.text, got))
        return result == "right"

    def _passes(self, probe: Probe) -> None:
        """Count whether a probe is passed."""
        got = reading(self.read, probe.text, probe.tools)
        right = probe.right(got)
        self.probes[probe.yardstick]["right" if right else "failed"] += 1
        if not right:
            self.failing[probe.yardstick].append(Failing(probe.name, probe.text, got))

    def row(self) -> str:
        """Return the figures as one row of the table."""
        every: Counter[str] = sum(self.forms.values(), Counter())
        kept = [share(counter, "right") for counter in self.kinds.values()] or [0.0]
        shown, inside, named, values, meant = (
            share(self.probes[name], "failed") for name in YARDSTICKS
        )
        return (
            f"{share(every, 'right'):6.1f}{share(every, 'wrong call'):7.1f} |"
            f"{sum(kept) / len(kept):6.1f}{min(kept):8.1f} |"
            f"{shown:6.1f}{inside:7.1f}{named:7.1f}{values:8.1f} |{meant:7.1f}"
        )


def share(counter: Counter[str], what: str) -> float:
    """Return how many of a hundred are that."""
    return 100 * counter[what] / max(sum(counter.values()), 1)


def respelled(cases: list[Case]) -> Iterator[tuple[str, Case]]:
    """Yield each case in each kind of respelling that applies to it."""
    for kind, respell in KINDS.items():
        for case in cases:
            text = respell(case)
            if text is not None and text != case.text:
                yield kind, case._replace(text=text)
