"""Spans that OpenInference's own instrumentor of LangChain wrote, and what is like them.

`openinference_langchain.json` was recorded with openinference-instrumentation-langchain 0.1.80 on
langchain 1.4.7 and a scripted model. Left out are stack traces, metadata, prompts' spans, and
inputs and outputs that other attributes say again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopmend import classify_trace
from loopmend.traces import Observation, StopReason, Tokens, Trace, TraceCall, TraceError

RECORDED = json.loads(
    Path(__file__).with_name("openinference_langchain.json").read_text(encoding="utf-8")
)
R = StopReason
ANSWER = "It is in Norway."
BAD_ARGUMENTS = (
    "Error invoking tool 'search' with kwargs {'wrong': 1} with error:\n"
    " query: Field required\n Please fix the error and try again."
)


def recorded(name: str) -> Trace:
    """Return the trace of one of the recorded runs."""
    return Trace.from_spans(RECORDED[name])


@pytest.mark.parametrize(
    ("name", "steps", "answer", "reason"),
    [
        ("answered", 2, ANSWER, R.FINAL_ANSWER),
        ("blocks", 2, ANSWER, R.FINAL_ANSWER),
        ("named", 2, ANSWER, R.FINAL_ANSWER),
        ("refused_args", 3, ANSWER, R.FINAL_ANSWER),
        ("resumed", 2, "It is.", R.FINAL_ANSWER),
        ("text", 1, "In Norway.", R.FINAL_ANSWER),
        ("executor_refused", 2, "Norway", R.FINAL_ANSWER),
        ("unknown_exec", 2, "Norway", R.FINAL_ANSWER),
        ("limit", 1, "Model call limits exceeded: run limit (1/1)", R.MAX_ITERATIONS),
        ("raised", 1, None, R.TOOL_ERROR),
        ("down", 2, None, R.PROVIDER_ERROR),
        ("refused", 1, None, R.PARSE_FAIL),
        ("interrupt", 1, None, R.INTERRUPTED),
        ("ctrl_c", 1, None, R.CANCELLED),
        ("cancelled", 1, None, R.CANCELLED),
    ],
)
def test_recorded_runs(name: str, steps: int, answer: str | None, reason: StopReason) -> None:
    """Each run is read with its question, its steps, its answer, and why it stopped."""
    trace = recorded(name)
    assert (trace.question, len(trace.steps), trace.answer) == ("Where is Oslo?", steps, answer)
    assert classify_trace(trace).stop_reason is reason
    assert str(trace.id).startswith("0x")
    backwards = Trace.from_spans(reversed(RECORDED[name]))
    assert (backwards.steps, backwards.answer) == (trace.steps, answer)


def test_results_are_unwrapped() -> None:
    """Of a tool's message its text is taken, with the call that it answers."""
    first, last = recorded("answered").steps
    assert first.calls == (TraceCall("search", {"query": "Oslo"}, "call_1"),)
    assert first.observations == (Observation("about Oslo", "search", "call_1"),)
    assert (first.text, first.tokens, last.text) == ("I look.", Tokens(10, 5), ANSWER)
    assert recorded("blocks").steps[0].text == "I look. Now."
    [resumed, _] = recorded("resumed").steps
    assert resumed.observations == (Observation("yes", "ask_human", "call_1"),)


def test_results_that_tell_of_failure() -> None:
    """What the model was told counts, also of a tool that there is not and that has no span."""
    arguments, unknown, _ = recorded("refused_args").steps
    assert arguments.observations == (Observation(BAD_ARGUMENTS, "search", "call_1", True),)
    [seen] = unknown.observations
    assert (seen.tool, seen.failed) == ("nope", True)
    kinds = classify_trace(recorded("refused_args")).kinds()
    assert kinds == {"malformed_arguments", "unknown_tool"}
    first, _ = recorded("unknown_exec").steps
    assert first.calls == (TraceCall("nope"),)
    assert [(seen.tool, seen.failed) for seen in first.observations] == [("nope", True)]


def test_errors_tell_where_they_come_from() -> None:
    """An error is told by its name and its words, and by whose it is."""
    raised, down, refused = recorded("raised"), recorded("down"), recorded("refused")
    assert raised.error == TraceError("LookupError", "no such page", "tool")
    assert raised.steps[0].observations == (Observation("no such page", "broken", failed=True),)
    assert down.error == TraceError("ConnectionError", "down", "model")
    assert down.steps[1].error == down.error
    assert refused.error is not None
    assert (refused.error.kind, refused.error.origin) == ("OutputParserException", "parser")
    assert refused.steps[0].error == refused.error


def test_refused_replies() -> None:
    """A reply that a parser refused is one failure, and what the model is told of it no call."""
    trace = recorded("executor_refused")
    first, _ = trace.steps
    assert (first.calls, [seen.tool for seen in first.observations]) == ((), ["_Exception"])
    assert [finding.kind for finding in classify_trace(trace).findings] == ["parse_failure"]


@pytest.mark.parametrize("name", ["ctrl_c", "cancelled", "interrupt"])
def test_runs_that_are_stopped(name: str) -> None:
    """To be cancelled or to wait for a human is no error of anybody's."""
    trace = recorded(name)
    [step] = trace.steps
    assert (trace.error, step.error, step.observations) == (None, None, ())
    assert classify_trace(trace).kinds() <= {"no_final_answer"}


# What is like them


def span(
    kind: str, name: str = "x", id: str = "", parent: str = "", **given: Any
) -> dict[str, Any]:
    """Return a span."""
    attributes = {"openinference.span.kind": kind, **given.pop("attributes", {})}
    return {
        "name": name,
        "span_id": id or name,
        "parent_id": parent,
        "attributes": attributes,
        **given,
    }


def failed(description: str) -> dict[str, Any]:
    """Return the status of a span that failed."""
    return {"status": {"status_code": "ERROR", "description": description}}


TRACEBACK = "Traceback (most recent call last):\n  File x"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (failed(f"ConnectionError('down'){TRACEBACK}"), ("ConnectionError", "down")),
        (failed(f"1 validation error for f{TRACEBACK}"), ("Error", "1 validation error for f")),
        ({**failed("x"), "events": [{"name": "log"}, 5]}, ("Error", "x")),
        (
            {**failed("x"), "events": [{"attributes": {"exception.type": "a.b.Odd"}}]},
            ("Odd", ""),
        ),
        ({**failed("x"), "events": "none"}, ("Error", "x")),
        ({"events": [{"attributes": {"exception.type": "ValueError"}}]}, None),
    ],
)
def test_how_errors_are_told(given: dict[str, Any], error: tuple[str, str] | None) -> None:
    """An exception's event tells most; without one the description does, without its traceback."""
    found = Trace.from_spans([span("CHAIN", **given)]).error
    assert (found and (found.kind, found.message)) == error


def called(*ids: str) -> dict[str, Any]:
    """Return what a model's span says of calls."""
    told: dict[str, Any] = {}
    for number, id in enumerate(ids):
        at = f"llm.output_messages.0.message.tool_calls.{number}.tool_call."
        told |= {f"{at}function.name": "f", f"{at}id": id}
    return told


def returned(*ids: str, **more: Any) -> str:
    """Return what a node says of results."""
    return json.dumps({"messages": [{"tool_call_id": i, "content": i, **more} for i in ids]})


def test_results_of_calls_at_once() -> None:
    """A result takes the place of what is known of the same call, and of no other."""
    trace = Trace.from_spans(
        [
            span("LLM", "m", attributes=called("1", "2", "3"), start_time="1"),
            span("TOOL", "f", "a", **failed("no"), start_time="2"),
            span("TOOL", "f", "b", attributes={"output.value": returned("2")}, start_time="3"),
            span(
                "CHAIN",
                "tools",
                attributes={"output.value": returned("2", "1", "3", "9", status="error")},
                start_time="4",
            ),
        ]
    )
    [step] = trace.steps
    assert sorted((seen.call_id, seen.text) for seen in step.observations) == [
        *(("1", "1"), ("2", "2"), ("3", "3")),
    ]
    assert all(seen.failed for seen in step.observations)


def test_runs_within_other_spans() -> None:
    """A run that a server's span holds has its answer and its error, as if it were alone."""
    last = json.dumps({"messages": [{"type": "ai", "data": {"type": "ai", "content": "Yes."}}]})
    server = {"name": "POST /", "span_id": "s", "span_kind": "SERVER"}
    asked = {"input.value": "Sure?", "output.value": last}
    good = Trace.from_spans([server, span("CHAIN", "graph", parent="s", attributes=asked)])
    assert (good.question, good.answer) == ("Sure?", "Yes.")
    bad = span("CHAIN", "graph", parent="s", **failed("KeyError: x"))
    assert Trace.from_spans([server, bad]).error == TraceError("KeyError", "x", "host")


@pytest.mark.parametrize(
    "messages",
    [[], [5], [{"type": "human", "content": "x"}], [{"type": "ai", "tool_calls": [1]}]],
)
def test_last_words_that_are_no_answer(messages: list[Any]) -> None:
    """A run that ends with a question or a call has no answer."""
    said = {"output.value": json.dumps({"messages": messages})}
    assert Trace.from_spans([span("CHAIN", attributes=said)]).answer is None


def test_a_pause_is_no_answer() -> None:
    """What was said before a run waits for a human is not its answer, until the run goes on."""
    paused: Any = {
        "events": [{"attributes": {"exception.type": "langgraph.errors.GraphInterrupt"}}]
    }
    said = json.dumps({"messages": [{"type": "ai", "content": "A draft."}]})
    run = span("CHAIN", "graph", attributes={"output.value": said})
    review = span("CHAIN", "review", parent="graph", start_time="1", **paused)
    waits = Trace.from_spans([run, review])
    assert (waits.reason, waits.answer) == ("interrupted", None)
    later = span("LLM", "m", parent="graph", start_time="2", attributes={"output.value": "Done."})
    assert Trace.from_spans([run, review, later]).answer == "A draft."


def test_odd_spans_of_langchain() -> None:
    """What is missing is left out, and a jump to another graph is nothing that ends a run."""
    jumped: Any = {"events": [{"attributes": {"exception.type": "langgraph.errors.ParentCommand"}}]}
    trace = Trace.from_spans([span("TOOL", "hand_over", **jumped)])
    assert (trace.reason, trace.error, trace.steps[0].observations) == (None, None, ())
    assert trace.steps[0].calls == (TraceCall("hand_over", None),)
    alone = Trace.from_spans([span("CHAIN", "JsonOutputParser", **failed("OutputParserError: x"))])
    assert (alone.steps, alone.error) == (
        (),
        TraceError("OutputParserError", "x", "parser"),
    )
    unknown = Trace.from_spans([span("TOOL", "invalid_tool", attributes={"input.value": "x"})])
    assert unknown.steps[0].calls == (TraceCall("invalid_tool", "x"),)
    asked = {"llm.input_messages.0.message.role": "system", "llm.prompts": ("Where?",)}
    none = Trace.from_spans(
        [span("LLM", attributes={**asked, "output.value": '{"generations": []}'})]
    )
    assert (none.question, none.answer, none.steps[0].text) == ("Where?", None, "")
