"""Whatever a model, a tool or a user wrote: no tag is shown that we did not write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopmend import (
    AskUser,
    Failure,
    FailurePattern,
    FinalAnswer,
    Finding,
    Planner,
    Repair,
    ToolCall,
    Trace,
    TraceReport,
    Turn,
    classify_trace,
    explain,
)
from loopmend.contracts import (
    ActionCandidate,
    PlannedAction,
    TaskExecutionPlan,
    TaskStateInput,
    Yield,
    detect_meta_signal,
)
from loopmend.rendering import show_turn
from loopmend.rendering.html import visible
from loopmend.rendering.page import json_text
from loopmend.rendering.runs import run_data, step_data
from loopmend.traces import Observation, Step, TraceCall, TraceError
from tests.core.rendering.pages import shown

HOSTILE = (
    *("<script>alert(1)</script>", "</style>", "</pre>", "<!--", "-->", "<![CDATA[", "<?php"),
    *('" onload="x', "' onclick='x", "&lt;b&gt;", "&", "<", ">", '"', "'", "\x00", "\x1b[31m"),
    *("\r\n", "\x85", "\ud800", "\udfff", "\u202e", "\u2028", "\ufeff", "\uffff", "</td></table>"),
    *("<svg/onload=x>", "<img src=x onerror=y>", "$x^2$", "\\(y\\)", "`", "</div>", "&#60;b&#62;"),
)
hostile = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=6).map("".join)
"""Text that would do something if it were taken for HTML."""
maybe = st.none() | hostile
places = st.tuples(st.integers(-3, 30), st.integers(-3, 30))
json_like: st.SearchStrategy[Any] = st.recursive(
    hostile | st.integers(), lambda x: st.lists(x, max_size=2) | st.dictionaries(hostile, x)
)
actions = (
    st.builds(FinalAnswer, hostile)
    | st.builds(AskUser, hostile)
    | st.builds(ToolCall, hostile, json_like)
)
failures = st.builds(
    Failure, st.sampled_from(FailurePattern), hostile, places, tool=maybe, nearest=maybe
)
signals = st.builds(lambda text: detect_meta_signal(f"<uncertain>{text}</uncertain>"), hostile)
turns = st.builds(
    Turn,
    actions=st.lists(actions, max_size=3).map(tuple),
    thought=maybe,
    signal=st.none() | signals | st.builds(Yield),
    failure=st.none() | failures,
    repairs=st.lists(st.builds(Repair, hostile, places), max_size=4).map(tuple),
    dialect=maybe,
    span=places,
)
errors = st.none() | st.builds(TraceError, hostile, hostile, hostile)
steps = st.builds(
    Step,
    text=hostile,
    thought=maybe,
    calls=st.lists(st.builds(TraceCall, hostile, json_like), max_size=2),
    observations=st.lists(st.builds(Observation, hostile, failed=st.booleans()), max_size=2),
    answer=maybe,
    turn=st.none() | turns,
    error=errors,
    agent=maybe,
)
traces = st.builds(
    Trace,
    steps=st.lists(steps, max_size=3),
    question=maybe,
    answer=maybe,
    reason=maybe,
    error=errors,
    framework=maybe,
)
findings = st.builds(
    Finding,
    hostile,
    hostile,
    st.sampled_from(["info", "warning", "error"]),
    st.sampled_from(["proven", "suspected"]),
    evidence=hostile,
)


@given(hostile, turns)
def test_turns(text: str, turn: Turn) -> None:
    """A turn, by itself and in its text."""
    shown(turn)
    shown(show_turn(text, turn))


@given(traces, st.lists(findings, max_size=3))
def test_traces_and_reports(trace: Trace, found: list[Finding]) -> None:
    """A trace, its report, and one with findings of anybody's."""
    report = classify_trace(trace)
    own = TraceReport(report.stop, report.termination, report.grammar, report.bound, tuple(found))
    for value in (trace, report, own):
        shown(value)
    data = json_text([run_data(trace, own), step_data(trace)])
    assert data.isascii()
    assert set(data).isdisjoint("<>&")
    for text in (str(own), str(report), *texts_in(json.loads(data))):
        assert visible(text) == text


def texts_in(value: Any) -> Iterator[str]:
    """Return all texts in a decoded value."""
    if isinstance(value, (list, dict)):
        inside = value.values() if isinstance(value, dict) else value
        yield from (text for each in inside for text in texts_in(each))
    elif isinstance(value, str):
        yield value


@given(st.lists(hostile, min_size=1, max_size=3), st.sampled_from(PlannedAction), hostile)
def test_plans(rationales: list[str], action: PlannedAction, name: str) -> None:
    """A plan, its explanation, and advice from rules of the user's own."""
    candidates = tuple(ActionCandidate(action, 0.5, rationale) for rationale in rationales)
    plan = TaskExecutionPlan(candidates, action, rationales[0])

    def rule(*_: object) -> ActionCandidate:
        return candidates[0]

    rule.__name__ = name.replace("\x00", "").encode(errors="replace").decode()
    advised = Planner([rule]).advise(TaskStateInput("go", provider_breaker_open=True))
    for value in (plan, explain(plan), advised, explain(advised)):
        shown(value)
