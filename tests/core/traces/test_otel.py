"""Traces as spans, through the real SDK and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend.traces.otel import export_spans
from loopmend.traces.trace import (
    Limits,
    Observation,
    Step,
    Tokens,
    Trace,
    TraceCall,
    TraceError,
)

Spans = list[dict[str, Any]]

MESSAGE = "llm.output_messages.0.message."
SEARCH = TraceCall("search", {"q": "Oslo"}, "c1")
RUN = Trace(
    [
        Step(
            "Let me look.",
            calls=[SEARCH, TraceCall("add", [1, 2], "c2")],
            # In the order in which they came, which is not that of the calls.
            observations=[
                Observation("3", "add", "c2", seconds=0.25),
                Observation("TimeoutError: too slow", "search", "c1", failed=True),
            ],
            tokens=Tokens(100, 20),
            seconds=1.5,
            agent="scout",
        ),
        Step("", error=TraceError("RateLimitError", "429: wait", "model"), agent="scout"),
        Step("Action: ???", error=TraceError("ParserError", "no action", "host"), agent="scout"),
        Step("It is in Norway.", tokens=Tokens(130, 5), agent="scout"),
    ],
    question="Where is Oslo?",
    answer="It is in Norway.",
    reason="final_answer",
    limits=Limits(max_iterations=5),
    framework="test",
    id="run-1",
    tools=["search", "add"],
    metadata={"user": 7},
)


def sdk() -> tuple[Any, Any]:
    """Return an exporter of the real SDK that keeps spans, and a provider that fills it."""
    traces = pytest.importorskip("opentelemetry.sdk.trace")
    export = import_module("opentelemetry.sdk.trace.export")
    exporter = import_module(f"{export.__name__}.in_memory_span_exporter").InMemorySpanExporter()
    provider = traces.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    return exporter, provider


def exported(trace: Trace, **options: Any) -> Spans:
    """Export a trace through the SDK and return its spans as the SDK writes them."""
    exporter, provider = sdk()
    export_spans(trace, provider.get_tracer("loopmend"), **options)
    provider.shutdown()
    return [json.loads(span.to_json()) for span in exporter.get_finished_spans()]


def comparable(trace: Trace) -> list[Any]:
    """Return what spans tell of the steps: without times and without how text was read."""
    return [
        (
            *(step.text, list(step.calls), step.error, step.tokens),
            [(seen.text, seen.tool, seen.failed) for seen in step.observations],
        )
        for step in trace.steps
    ]


def test_what_is_exported_can_be_read_back() -> None:
    """Steps, calls, observations, errors, tokens and the answer come back from the spans."""
    read = Trace.from_spans(exported(RUN))
    assert comparable(read) == comparable(RUN)
    assert (read.answer, read.question) == (RUN.answer, RUN.question)
    assert {step.agent for step in read.steps} == {"scout"}


def test_spans_nest_and_carry_both_conventions() -> None:
    """An agent holds chains, a chain its model and tools, under the names of both conventions."""
    spans = exported(RUN)
    by_id = {span["context"]["span_id"]: span for span in spans}
    tree = [
        (span["name"], by_id[span["parent_id"]]["name"] if span["parent_id"] else None)
        for span in sorted(spans, key=lambda span: str(span["start_time"]))
    ]
    assert tree[:5] == [
        ("scout", None),
        ("Step 1", "scout"),
        ("chat", "Step 1"),
        ("execute_tool add", "Step 1"),
        ("execute_tool search", "Step 1"),
    ]
    agent, _, model, _, tool = (
        span["attributes"] for span in sorted(spans, key=lambda span: str(span["start_time"]))[:5]
    )
    assert (
        agent.items()
        >= {
            "openinference.span.kind": "AGENT",
            "input.value": '{"input": "Where is Oslo?"}',
            "output.value": "It is in Norway.",
            "metadata": '{"user": 7}',
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "scout",
            "gen_ai.conversation.id": "run-1",
            "loopmend.stop_reason": "final_answer",
            "loopmend.max_iterations": 5,
        }.items()
    )
    assert (
        model.items()
        >= {
            "openinference.span.kind": "LLM",
            f"{MESSAGE}content": "Let me look.",
            f"{MESSAGE}tool_calls.0.tool_call.function.name": "search",
            f"{MESSAGE}tool_calls.0.tool_call.function.arguments": '{"q": "Oslo"}',
            "llm.token_count.prompt": 100,
            "llm.token_count.completion": 20,
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20,
        }.items()
    )
    assert (
        tool.items()
        >= {
            "openinference.span.kind": "TOOL",
            "tool.name": "search",
            "input.value": '{"q": "Oslo"}',
            "output.value": "TimeoutError: too slow",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.id": "c1",
            "error.type": "_OTHER",
        }.items()
    )


def test_what_failed_has_an_error_status() -> None:
    """The spans of a failed tool, model and step are errors, and no others are."""
    failed = [
        (span["name"], span["status"]["description"])
        for span in exported(RUN)
        if span["status"]["status_code"] == "ERROR"
    ]
    assert failed == [
        ("execute_tool search", "_OTHER: TimeoutError: too slow"),
        ("chat", "RateLimitError: 429: wait"),
        ("Step 3", "ParserError: no action"),
    ]


def test_what_was_raised_to_the_host() -> None:
    """A run that ended in an error is one in the spans as well."""
    error = TraceError("RuntimeError", "gave up", "host")
    read = Trace.from_spans(exported(Trace([Step("x", calls=[SEARCH])], error=error)))
    assert (read.error, read.answer) == (error, None)


def test_several_agents_have_a_span_each() -> None:
    """Where agents hand over to each other, each step comes back with its own agent."""
    agents = ["scout", "scout", "writer", None, "scout"]
    trace = Trace([Step("x", agent=agent) for agent in agents], answer="done")
    read = Trace.from_spans(exported(trace))
    assert [step.agent for step in read.steps] == [agent or "invoke_agent" for agent in agents]
    assert read.answer == "done"


@pytest.mark.parametrize("error", [None, TraceError("ValueError", "bad", "model")])
def test_what_code_printed_is_no_call(error: TraceError | None) -> None:
    """An observation of no tool comes back as one, also beside an error."""
    trace = Trace([Step("run it", observations=[Observation("42")], error=error), Step("done")])
    assert comparable(Trace.from_spans(exported(trace))) == comparable(trace)


def test_observations_without_a_name_go_to_the_next_call() -> None:
    """An observation that names nothing is that of the next call; more than calls are calls."""
    trace = Trace([Step("x", calls=[SEARCH], observations=[Observation("a"), Observation("b")])])
    (step,) = Trace.from_spans(exported(trace)).steps
    assert [call.name for call in step.calls] == ["search", "tool"]
    assert [(seen.tool, seen.text) for seen in step.observations] == [
        ("search", "a"),
        ("tool", "b"),
    ]


def test_times_are_those_of_the_trace() -> None:
    """Spans are as long as what they stand for took, and what cannot be a time is none."""
    slow = Step("x", calls=[SEARCH], observations=[Observation("a", seconds=2.0)], seconds=3.0)
    odd = Step("y", seconds=float("nan"))
    tree = {span["name"]: span for span in exported(Trace([slow, odd], seconds=-1.0))}
    seconds = {name: _end(span) - _start(span) for name, span in tree.items()}
    assert seconds["Step 1"] == pytest.approx(3, abs=0.001)
    assert seconds["execute_tool search"] == pytest.approx(2, abs=0.001)
    assert seconds["Step 2"] == pytest.approx(0, abs=0.001)
    assert seconds["invoke_agent"] == pytest.approx(3, abs=0.001)


def _start(span: dict[str, Any]) -> float:
    return _seconds(span["start_time"])


def _end(span: dict[str, Any]) -> float:
    return _seconds(span["end_time"])


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written.replace("Z", "+00:00")).timestamp()


def test_spans_are_redacted() -> None:
    """No secret leaves in a span, unless one wants that."""
    trace = Trace([Step("password=hunter2")])
    assert "hunter2" not in json.dumps(exported(trace))
    assert "hunter2" in json.dumps(exported(trace, redact=None))


def test_spans_belong_to_the_one_that_is_current() -> None:
    """A host that exports inside a span of its own finds the run below it."""
    exporter, provider = sdk()
    tracer = provider.get_tracer("host")
    with tracer.start_as_current_span("host"):
        export_spans(Trace(), tracer)
    inner, outer = exporter.get_finished_spans()
    assert (inner.name, outer.name) == ("invoke_agent", "host")
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


words = st.text(alphabet="ab: é\n{", max_size=8).map(lambda text: f"t{text}t")
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
calls = st.builds(TraceCall, st.sampled_from(["search", "add"]), values, st.none() | words)


@st.composite
def steps(draw: Any) -> Step:
    """Return a step whose calls are answered in order, as far as they are."""
    made = draw(st.lists(calls, max_size=3))
    seen = [Observation(draw(words), call.name, failed=draw(st.booleans())) for call in made]
    tokens = draw(st.none() | st.builds(Tokens, st.integers(0, 9), st.integers(0, 9)))
    error = draw(st.none() | st.builds(TraceError, st.just("E"), words, st.just("model")))
    return Step(
        draw(words),
        calls=made,
        observations=seen[: draw(st.integers(0, 3))],
        tokens=tokens,
        error=error,
    )


@given(st.lists(steps(), max_size=4), words)
def test_any_run_comes_back(made: list[Step], answer: str) -> None:
    """What was called, seen and answered is the same after the way through the spans."""
    trace = Trace(made, answer=answer)
    read = Trace.from_spans(exported(trace, redact=None))
    assert comparable(read) == comparable(trace)
    assert read.answer == answer


class Recorder:
    """A tracer and its spans, for where OpenTelemetry is not installed."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    @contextmanager
    def start_as_current_span(self, name: str, **options: Any) -> Iterator[Recorder]:
        """Note the span."""
        self.said.append((name, options["attributes"]))
        yield self

    def set_status(self, code: str, description: str) -> None:
        """Note the status."""
        self.said.append((code, description))

    def end(self, end_time: int) -> None:
        """Note the end."""
        self.said.append(end_time)


def test_the_core_does_without_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is used is what the tracer offers, and one constant where something failed."""
    api = SimpleNamespace(StatusCode=SimpleNamespace(ERROR="error"))
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", api)
    recorder = Recorder()
    printed = Step("p", observations=[Observation("42")], agent="other")
    loose = Step("l", observations=[Observation("z", "t", failed=True)], agent="scout")
    export_spans(replace(RUN, steps=[*RUN.steps, printed, loose]), recorder)
    assert ("error", "RateLimitError: 429: wait") in recorder.said
    assert ("error", "z") in recorder.said
    ends = [said for said in recorder.said if isinstance(said, int)]
    assert ends == sorted(ends)
    export_spans(Trace([Step("\ud800", calls=[TraceCall("t", 5)])]), recorder, redact=None)
    assert recorder.said[-4][1]["output.value"] == "\\ud800"
