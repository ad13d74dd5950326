"""ReAct transcripts as they are logged: numbered headers, `Search[x]`, `Finish[y]`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from loopmend._arguments import not_text
from loopmend.reading.reader import read_turn
from loopmend.reading.turn import ReadingConfig
from loopmend.traces.trace import Limits, Observation, Step, Trace, TraceCall

__all__ = ["read_react_log"]

_HEADER: Final = re.compile(
    r"^[ \t>*]*(?P<kind>Thought|Action Input|Action|Observation|Final Answer)"
    r"(?:[ \t]*(?P<number>\d{1,4}))?[ \t*]*:[*]*",
    re.MULTILINE,
)
_BRACKETS: Final = re.compile(
    r"\s*(?P<name>[A-Za-z_][\w \-]{0,60}?)\s*\[(?P<given>.*)\]?\s*\Z", re.DOTALL
)
_NAME: Final = re.compile(r"\s*(?P<name>[\w.\-]{1,80})\s*\Z")
_FINISH: Final = ("finish", "final_answer", "submit")
_ASIDE: Final = ("think", "thought")
_QUIET: Final = ReadingConfig(detect_signals=True)


@dataclass
class _Draft:
    """A step that is being read."""

    start: int
    thought: list[str] = field(default_factory=list)
    calls: list[TraceCall] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    answer: str | None = None
    end: int = 0

    @property
    def acted(self) -> bool:
        return bool(self.calls) or self.answer is not None


def read_react_log(
    text: str,
    *,
    max_iterations: int | None = None,
    tools: Iterable[str] | None = None,
    finish: Iterable[str] = (),
) -> Trace:
    r"""Read a ReAct transcript into a trace.

    A step is one action with the thought before it and the observation after it.

    Args:
        text: The transcript; what stands before the first header is the question.
        max_iterations: The cap on steps, if there was one.
        tools: The names of the tools on offer, if they are known.
        finish: Actions that end a run besides `Finish[…]`, written as in the log.

    Raises:
        TypeError: `text` is not a `str`.

    >>> trace = read_react_log("Thought 1: x\nAction 1: Search[Oslo]\nObservation 1: a city")
    >>> trace.steps[0].calls[0].arguments, trace.steps[0].observations[0].text
    ('Oslo', 'a city')
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    marks = list(_HEADER.finditer(text))
    ends = {"finish": frozenset(_FINISH), "exact": frozenset(finish)}
    drafts: list[_Draft] = []
    for at, mark in enumerate(marks):
        stop = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        _take(drafts, mark, text[mark.end() : stop].strip(), stop, ends)
    steps = [_step(text, draft) for draft in drafts]
    answers = [step.answer for step in steps if step.answer is not None]
    before = text[: marks[0].start()].strip() if marks else text.strip()
    return Trace(
        steps,
        question=before or None,
        answer=answers[-1] if answers else None,
        limits=Limits(max_iterations=max_iterations),
        framework="react_log",
        tools=None if tools is None else tuple(tools),
    )


def _take(
    drafts: list[_Draft], mark: re.Match[str], body: str, stop: int, ends: dict[str, Any]
) -> None:
    """Add one section to the step that it belongs to."""
    kind = mark["kind"]
    if kind == "Thought":
        if not drafts or drafts[-1].acted or drafts[-1].observations:
            drafts.append(_Draft(mark.start()))
        drafts[-1].thought.append(body)
    elif kind == "Observation":
        if not drafts:
            drafts.append(_Draft(mark.start()))
        tool = drafts[-1].calls[-1].name if drafts[-1].calls else None
        drafts[-1].observations.append(Observation(body, tool))
        return
    elif kind == "Action Input":
        if drafts and drafts[-1].calls and drafts[-1].calls[-1].arguments is None:
            drafts[-1].calls[-1] = TraceCall(drafts[-1].calls[-1].name, body)
    else:
        if not drafts or drafts[-1].acted or drafts[-1].observations:
            drafts.append(_Draft(mark.start()))
        _act(drafts[-1], kind, body, ends)
    if drafts:
        drafts[-1].end = stop


def _act(draft: _Draft, kind: str, body: str, ends: dict[str, Any]) -> None:
    if kind == "Final Answer":
        draft.answer = body
        return
    call = _call(body)
    if call is None:
        return
    if call.name.lower() in ends["finish"]:
        draft.answer = str(call.arguments or "")
    elif body in ends["exact"]:
        draft.calls.append(call)
        draft.answer = body
    else:
        if call.name.lower() in _ASIDE:
            draft.thought.append(str(call.arguments or ""))
        draft.calls.append(call)


def _call(body: str) -> TraceCall | None:
    """Read `Search[x]`, `Search[x` or a name alone, whose input follows."""
    match = _BRACKETS.match(body)
    if match is not None:
        given = match["given"].removesuffix("]")
        return TraceCall(match["name"], given)
    first = body.partition("\n")[0]
    name = _NAME.match(first)
    return TraceCall(name["name"]) if name is not None else None


def _step(text: str, draft: _Draft) -> Step:
    emitted = text[draft.start : draft.end].strip() if draft.end > draft.start else ""
    return Step(
        text=emitted,
        thought="\n".join(part for part in draft.thought if part) or None,
        calls=draft.calls,
        observations=draft.observations,
        answer=draft.answer,
        turn=read_turn(emitted, config=_QUIET) if emitted else None,
    )
