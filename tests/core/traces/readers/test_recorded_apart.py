"""Runs whose pieces stand apart: results in the next request, contents in events and in logs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.results import failure_in

ASKED, FOUND, ANSWER = "How warm is it in Oslo?", "4 C, rain", "It is 4 degrees."
USER = {"role": "user", "parts": [{"type": "text", "content": ASKED}]}
CALL = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}}],
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": FOUND}]}
SAID = {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
DETAILS = "gen_ai.client.inference.operation.details"


def chat(id: str, start: int, events: Any = (), **attributes: Any) -> dict[str, Any]:
    """Return a model's span, as OTLP JSON writes it."""
    return {
        "traceId": "t",
        "spanId": id,
        "name": "chat",
        "startTimeUnixNano": str(start),
        "attributes": {"gen_ai.operation.name": "chat", **attributes},
        "events": list(events),
    }


def batch(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return a batch of spans."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def record(span: str, name: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a record of a log, as OTLP JSON writes it."""
    values = [
        {"key": k, "value": v if isinstance(v, dict) else {"stringValue": v}}
        for k, v in body.items()
    ]
    return {
        "traceId": "t",
        "spanId": span,
        "timeUnixNano": "1",
        "eventName": name,
        "body": {"kvlistValue": {"values": values}},
        **more,
    }


def choice(content: str) -> dict[str, Any]:
    """Return what the event of a reply holds."""
    said = [
        {"key": "role", "value": {"stringValue": "assistant"}},
        {"key": "content", "value": {"stringValue": content}},
    ]
    return {"message": {"kvlistValue": {"values": said}}}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    """Return a batch of records."""
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def test_results_are_taken_from_the_next_request() -> None:
    """Where tools have no spans, what they returned stands in what the model is told next."""
    asked = {INPUT: json.dumps([USER, CALL, RESULT]), OUTPUT: json.dumps([SAID])}
    [trace] = load_traces(
        batch(chat("1", 1, **{OUTPUT: json.dumps([CALL])}), chat("2", 2, **asked))
    )
    assert [[seen.text for seen in step.observations] for step in trace.steps] == [[FOUND], []]
    assert trace.answer == ANSWER


def test_results_of_earlier_calls_are_not_taken_twice() -> None:
    """A request repeats the whole conversation: only what the last call still lacks is taken."""
    again = {"role": "assistant", "parts": [{**CALL["parts"][0], "id": "c2"}]}  # type: ignore[dict-item]
    spans = [
        chat("1", 1, **{OUTPUT: json.dumps([CALL])}),
        chat("2", 2, **{INPUT: json.dumps([USER, CALL, RESULT]), OUTPUT: json.dumps([again])}),
        chat(
            "3", 3, **{INPUT: json.dumps([USER, CALL, RESULT, again]), OUTPUT: json.dumps([SAID])}
        ),
    ]
    [trace] = load_traces(batch(*spans))
    assert [len(step.observations) for step in trace.steps] == [1, 0, 0]


def test_an_event_may_hold_all_messages() -> None:
    """GenAI's newest event keeps what was asked and said in its attributes."""
    event = {"name": DETAILS, "attributes": {INPUT: [USER], OUTPUT: json.dumps([SAID])}}
    [trace] = load_traces(batch(chat("1", 1, [event])))
    assert (trace.question, trace.answer) == (ASKED, ANSWER)


@pytest.mark.parametrize("first", ["spans", "logs"])
def test_events_in_logs_belong_to_their_spans(first: str) -> None:
    """What an exporter writes into a log, before or after the spans, is what the span said."""
    told = logs(
        record("1", "gen_ai.user.message", {"content": ASKED}),
        record("1", "", choice(ANSWER), attributes={"event.name": "gen_ai.choice"}),
    )
    spans = batch(chat("1", 1, **{"gen_ai.response.finish_reasons": ["stop"]}))
    [trace] = load_traces([spans, told] if first == "spans" else [told, spans])
    assert (trace.question, trace.answer, trace.iterations) == (ASKED, ANSWER, 1)


def test_logs_without_spans_are_runs() -> None:
    """Logs alone hold a step for each span that they name; other records are passed over."""
    other = record("9", "exception", {"content": "x"})
    [trace] = load_traces(logs(record("1", "gen_ai.choice", choice(ANSWER)), other))
    assert (trace.answer, trace.iterations) == (ANSWER, 1)


def test_events_of_adk_are_messages() -> None:
    """A session of Google's ADK keeps a message in each of its events."""
    events = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": ASKED}]}},
        {
            "author": "agent",
            "content": {
                "role": "model",
                "parts": [{"functionCall": {"id": "1", "name": "weather", "args": {}}}],
            },
        },
        {
            "author": "agent",
            "content": {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "1", "name": "weather", "response": {"t": 4}}}
                ],
            },
        },
        {"author": "agent", "content": {"role": "model", "parts": [{"text": ANSWER}]}},
    ]
    [trace] = load_traces({"id": "s", "appName": "a", "events": events})
    assert (trace.question, trace.answer, trace.iterations) == (ASKED, ANSWER, 2)
    assert trace.steps[0].observations[0].tool == "weather"


def test_items_of_semantic_kernel_are_parts() -> None:
    """Semantic Kernel keeps the parts of a message as its items."""
    messages = [
        {"role": "user", "items": [{"content_type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "items": [{"content_type": "function_call", "id": "1", "name": "w", "arguments": "{}"}],
        },
        {
            "role": "tool",
            "items": [{"content_type": "function_result", "id": "1", "name": "w", "result": FOUND}],
        },
        {"role": "assistant", "items": [{"content_type": "text", "text": ANSWER}]},
    ]
    trace = Trace.from_messages(messages)
    assert [seen.text for seen in trace.steps[0].observations] == [FOUND]
    assert trace.answer == ANSWER


def test_colours_tell_what_a_tool_returned() -> None:
    """LangChain's terminal writes a result right behind the call, and only its colour differs."""
    green, blue, off = "\x1b[32;1m\x1b[1;3m", "\x1b[36;1m\x1b[1;3m", "\x1b[0m"
    said = f"Thought: I know.\nFinal Answer: {ANSWER}"
    log = f"{green}I look.\nAction: weather\nAction Input: Oslo{off}{blue}{FOUND}{off}{green}{said}"
    trace = Trace.from_react_log(f"{log}{off}\n")
    [first, last] = trace.steps
    assert (first.calls[0].arguments, first.observations[0].text) == ("Oslo", FOUND)
    assert (last.thought, trace.answer) == ("I know.", ANSWER)


def test_a_shell_says_how_a_program_ended_above_its_output() -> None:
    """The lines above `Output:` are the host's; those below it may say anything."""
    head = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {}\nOutput:\n"
    assert failure_in(head.format(2) + "make: done\nbye") == "Process exited with code 2"
    assert failure_in(head.format(0) + "Process exited with code 2\nbye") is None


def test_a_run_that_failed_once_and_answered_is_answered() -> None:
    """A result from the next request counts as any other."""
    down = {**RESULT, "parts": [{**RESULT["parts"][0], "response": '{"error": "down"}'}]}  # type: ignore[dict-item]
    asked = {INPUT: json.dumps([USER, CALL, down]), OUTPUT: json.dumps([SAID])}
    [trace] = load_traces(
        batch(chat("1", 1, **{OUTPUT: json.dumps([CALL])}), chat("2", 2, **asked))
    )
    report = classify_trace(trace)
    assert report.verdict == "answered"
    assert [(each.kind, each.severity) for each in report.findings] == [("tool_error", "warning")]
