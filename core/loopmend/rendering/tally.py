"""Many runs in a few figures: verdicts, stop reasons and findings, each with an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loopmend.rendering.runs import SEVERITIES

__all__ = ["Count", "Tally", "counted", "most"]


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(slots=True)
class Count:
    """In how many runs something is, and where it was first seen.

    >>> Count().runs
    0
    """

    runs: int = 0
    severities: dict[str, int] = field(default_factory=dict)
    """Of a finding: in how many runs it is an error, a warning or information, at its worst."""
    proven: int = 0
    """In how many runs the record proves it."""
    recovered: int = 0
    """In how many runs the run got over each of them."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """The first run, as `run_data` gives it, with `file` and `run`."""
    said: str = ""
    """What is said of it in that run."""


@dataclass(slots=True)
class Tally:
    """Counts runs as they come; holds one example of each thing and no more.

    >>> tally = Tally()
    >>> tally.add({"verdict": "answered", "stop_reason": "final_answer", "findings": []})
    >>> tally.lead()
    '1 run: 1 answered.'
    """

    runs: int = 0
    verdicts: dict[str, Count] = field(default_factory=dict)
    stops: dict[str, Count] = field(default_factory=dict)
    findings: dict[str, Count] = field(default_factory=dict)

    def add(self, run: Mapping[str, Any]) -> None:
        """Count a run, as `run_data` gives it."""
        self.runs += 1
        said = str(run.get("headline", ""))
        _note(self.verdicts, run["verdict"], run, said)
        _note(self.stops, run["stop_reason"], run, said)
        by_kind: dict[str, list[Mapping[str, Any]]] = {}
        for found in run["findings"]:
            by_kind.setdefault(found["kind"], []).append(found)
        for kind, found in by_kind.items():
            count = _note(self.findings, kind, run, found[0]["message"])
            worst = _worst({each["severity"] for each in found})
            count.severities[worst] = count.severities.get(worst, 0) + 1
            count.proven += any(each["certainty"] == "proven" for each in found)
            count.recovered += all(each["recovered"] for each in found)

    def lead(self) -> str:
        """Return the verdict on all runs in a sentence or two."""
        parts = [f"{count.runs:,} {name.replace('_', ' ')}" for name, count in most(self.verdicts)]
        lead = f"{counted(self.runs, 'run')}: {', '.join(parts) or 'nothing to tell'}."
        errors = {kind: count.severities.get("error", 0) for kind, count in self.findings.items()}
        kind = max(errors, key=errors.__getitem__, default="")
        if errors.get(kind):
            lead += f" The most frequent error is {kind}, in {counted(errors[kind], 'run')}."
        return lead

    def data(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "runs": self.runs,
            "verdicts": {name: count.runs for name, count in most(self.verdicts)},
            "stop_reasons": {name: count.runs for name, count in most(self.stops)},
            "findings": {
                kind: {
                    "runs": count.runs,
                    "severities": count.severities,
                    "proven": count.proven,
                    "recovered": count.recovered,
                }
                for kind, count in most(self.findings)
            },
        }


def most(counts: Mapping[str, Count]) -> list[tuple[str, Count]]:
    """Return counts with the most frequent first.

    >>> [name for name, _ in most({"a": Count(1), "b": Count(2)})]
    ['b', 'a']
    """
    return sorted(counts.items(), key=lambda pair: -pair[1].runs)


def _note(counts: dict[str, Count], name: str, run: Mapping[str, Any], said: str) -> Count:
    count = counts.setdefault(name, Count(example=run, said=said))
    count.runs += 1
    return count


def _worst(severities: set[str]) -> str:
    return next((each for each in SEVERITIES if each in severities), "info")
