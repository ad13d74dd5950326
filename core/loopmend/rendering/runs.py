"""A run in short, and step by step, as plain data: what tables, files and the page are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from loopmend._repr import written
from loopmend.reading.turn import Turn
from loopmend.rendering.html import visible
from loopmend.traces.finding import Finding
from loopmend.traces.report import TraceReport
from loopmend.traces.trace import Observation, Step, Trace

__all__ = ["SEVERITIES", "cut", "run_data", "step_data", "worst_first"]

SEVERITIES: Final = ("error", "warning", "info")
"""The worst first."""
_LONGEST: Final = 600
_FIRST: Final = 30
_LAST: Final = 20
_MOST: Final = 20


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of their severity.

    >>> info = Finding("stuck", "It says so.", "info", "suspected")
    >>> error = Finding("cap", "The run reached its cap.", "error", "proven")
    >>> [finding.kind for finding in worst_first([info, error])]
    ['cap', 'stuck']
    """
    rank = {severity: place for place, severity in enumerate(SEVERITIES)}
    return sorted(findings, key=lambda finding: rank.get(finding.severity, len(rank)))


def cut(text: str, longest: int = _LONGEST) -> str:
    r"""Return a text that is short and in which every control character can be seen.

    >>> cut("\x1b[31mabcdef", 6)
    '␛[31ma … 5 more characters'
    """
    if len(text) <= longest:
        return visible(text)
    return f"{visible(text[:longest])} … {len(text) - longest:,} more characters"


def run_data(
    trace: Trace | None, report: TraceReport, clean: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return what is known of a run, in short; texts are cleaned, and cut and shown as by `cut`.

    >>> from loopmend import classify_trace
    >>> data = run_data(trace := Trace(answer="4"), classify_trace(trace))
    >>> data["verdict"], data["stop_reason"], data["answer"], data["findings"]
    ('answered', 'final_answer', '4', [])
    """
    known = Trace() if trace is None else trace
    return {
        "id": _short(known.id, clean),
        "framework": _short(known.framework, clean),
        "question": _short(known.question, clean),
        "answer": _short(known.answer, clean),
        "verdict": report.verdict.value,
        "stop_reason": report.stop_reason.value,
        "headline": cut(clean(report.headline)),
        "steps": known.iterations,
        "tokens": known.tokens,
        "seconds": _finite(known.seconds),
        "findings": [_finding(finding, clean) for finding in worst_first(report.findings)],
    }


def _short(text: str | None, clean: Callable[[str], str] = str) -> str | None:
    return None if text is None else cut(clean(str(text)))


def _finite(seconds: float | None) -> float | None:
    """Return what JSON can hold."""
    return seconds if seconds is not None and isfinite(seconds) else None


def _finding(finding: Finding, clean: Callable[[str], str]) -> dict[str, Any]:
    return {
        "kind": cut(clean(finding.kind)),
        "severity": cut(finding.severity),
        "certainty": cut(finding.certainty),
        "step": finding.step,
        "message": cut(clean(finding.message)),
        "evidence": cut(clean(finding.evidence)),
        "recovered": finding.recovered,
    }


def step_data(trace: Trace) -> list[dict[str, Any]]:
    """Return the steps of a run as `run_data` does; of a long run its beginning and its end.

    What a step lacks is left out. A step with `skipped` stands for so many that are left out.

    >>> step_data(Trace([Step("It is 4.", answer="It is 4.")]))
    [{'number': 0, 'answer': 'It is 4.'}]
    """
    left = trace.iterations - _FIRST - _LAST
    numbered = list(enumerate(trace.steps))
    plans = _plans(trace.metadata.get("plans"))
    if left <= 0:
        return [_step(number, step, plans) for number, step in numbered]
    first = [_step(number, step, plans) for number, step in numbered[:_FIRST]]
    last = [_step(number, step, plans) for number, step in numbered[-_LAST:]]
    return [*first, {"number": _FIRST, "skipped": left}, *last]


def _plans(recorded: Any) -> dict[Any, list[dict[str, str]]]:
    """Return the plans that a recorder noted, by step; anybody may have written the metadata."""
    found: dict[Any, list[dict[str, str]]] = {}
    for plan in recorded if isinstance(recorded, list) else ():
        if isinstance(plan, Mapping) and isinstance(plan.get("step"), int):
            told = {"selected": plan.get("selected"), "why": plan.get("rationale")}
            shown = {key: cut(str(value or "")) for key, value in told.items()}
            found.setdefault(plan["step"], []).append(shown)
    return found


def _step(number: int, step: Step, plans: Mapping[Any, list[dict[str, str]]]) -> dict[str, Any]:
    told = step.text if step.text != step.answer else ""
    error = step.error
    found = {
        "agent": _short(step.agent),
        "text": cut(step.thought or told),
        "calls": [_call(call.name, call.arguments) for call in step.calls[:_MOST]],
        "results": [_result(seen) for seen in step.observations[:_MOST]],
        "more": max(0, len(step.calls) - _MOST) + max(0, len(step.observations) - _MOST),
        "answer": _short(step.answer),
        "plans": plans.get(number, [])[:_MOST],
        "error": None if error is None else cut(f"{error.kind}: {error.message}"),
        "tokens": None if step.tokens is None else step.tokens.total,
        "seconds": _finite(step.seconds),
        **_turn(step.turn),
    }
    return {"number": number, **{key: value for key, value in found.items() if value}}


def _call(name: str, arguments: Any) -> dict[str, str]:
    given = arguments if isinstance(arguments, str) else written(arguments)
    return {"name": cut(str(name)), "arguments": cut(given)}


def _result(seen: Observation) -> dict[str, Any]:
    data: Mapping[str, Any] = {"tool": _short(seen.tool), "failed": seen.failed}
    return {"text": cut(seen.text), **{key: value for key, value in data.items() if value}}


def _turn(turn: Turn | None) -> dict[str, Any]:
    if turn is None:
        return {}
    repairs = list(dict.fromkeys(_repairs(turn)))
    data: dict[str, Any] = {"form": _short(turn.dialect), "repairs": repairs[:_MOST]}
    if turn.failure is not None:
        data["failure"] = cut(f"{turn.failure.pattern.value}: {turn.failure.message}")
    return data


def _repairs(turn: Turn) -> Iterator[str]:
    return (cut(repair.what) for repair in turn.repairs)
