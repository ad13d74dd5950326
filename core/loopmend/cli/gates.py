"""When a run makes the command fail: what `--fail-on` names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from loopmend.rendering.runs import SEVERITIES
from loopmend.traces.report import Verdict
from loopmend.traces.stop import StopReason

__all__ = ["SKIPPED", "Gate", "UnknownGate"]

SKIPPED: Final = "skipped"
"""Names what could not be read, as a thing to fail on."""
_VERDICTS: Final = tuple(verdict.value for verdict in Verdict)
_STOPS: Final = tuple(reason.value for reason in StopReason)


class UnknownGate(ValueError):
    """A name that is no severity, verdict or stop reason."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What a run must not have.

    >>> Gate.of(["warning", "failed"]).severities
    ('error', 'warning')
    """

    severities: tuple[str, ...] = ()
    verdicts: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()
    skipped: bool = False

    @classmethod
    def of(cls, names: Iterable[str]) -> Gate:
        """Return the gate that names stand for; a severity includes all that are worse.

        Raises:
            UnknownGate: A name is none of these.
        """
        # A name may be pasted as the page shows it, or several at once.
        words = (word for name in names for word in name.split(","))
        given = {"_".join(word.lower().split()) for word in words}
        for name in sorted(given):
            if name not in (*SEVERITIES, *_VERDICTS, *_STOPS, SKIPPED):
                known = ", ".join(dict.fromkeys((*SEVERITIES, *_VERDICTS, *_STOPS, SKIPPED)))
                msg = f"{name!r} is not a --fail-on value (known: {known})"
                raise UnknownGate(msg)
        worst = max((SEVERITIES.index(name) + 1 for name in given & set(SEVERITIES)), default=0)
        return cls(
            SEVERITIES[:worst],
            frozenset(given & set(_VERDICTS)),
            frozenset(given & set(_STOPS)),
            SKIPPED in given,
        )

    def reasons(self, run: Mapping[str, Any]) -> list[str]:
        """Return why a run does not pass; recovered findings are information already."""
        found = [each["kind"] for each in run["findings"] if each["severity"] in self.severities]
        told = [run["verdict"]] if run["verdict"] in self.verdicts else []
        told += [run["stop_reason"]] if run["stop_reason"] in self.stops else []
        return [*told, *found]
