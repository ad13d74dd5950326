"""Replies that a provider cut off, refused or never gave, and requests that stayed open."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import Finding, Trace, classify_trace, load_traces
from loopmend.traces import Step, TraceReport
from loopmend.traces.readers.options import options_of
from loopmend.traces.trace import TraceCall, TraceError

USER = {"role": "user", "content": "Tell me about Oslo."}
SAID = {"role": "assistant", "content": "Oslo is the capital of"}


def report_of(value: Any, **options: Any) -> TraceReport:
    """Load one run and classify it."""
    [trace] = load_traces(value, **options)
    return classify_trace(trace)


def found(report: TraceReport, kind: str) -> list[Finding]:
    """Return the findings of a kind."""
    return [finding for finding in report.findings if finding.kind == kind]


def chat_row(finish: str) -> dict[str, Any]:
    """Return a request and its response."""
    choice = {"message": SAID, "finish_reason": finish}
    return {"request": {"messages": [USER]}, "response": {"choices": [choice]}}


def langsmith(finish: str) -> list[dict[str, Any]]:
    """Return a chain that returns what its model said."""
    generation = {"text": SAID["content"], "generation_info": {"finish_reason": finish}}
    return [
        {"id": "a", "trace_id": "t", "run_type": "chain", "outputs": {"output": SAID["content"]}},
        {
            "id": "b",
            "parent_run_id": "a",
            "trace_id": "t",
            "run_type": "llm",
            "inputs": {"messages": [USER]},
            "outputs": {"generations": [[generation]]},
        },
    ]


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return a batch of spans, numbered in the order of time."""
    numbered = [
        {"traceId": "t", "spanId": f"s{n}", "startTimeUnixNano": str(n), **span}
        for n, span in enumerate(spans)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": numbered}]}]}


def attributes(**given: Any) -> list[dict[str, Any]]:
    """Return attributes as OTLP writes them; a double underscore stands for a dot."""
    return [
        {
            "key": key.replace("__", "."),
            "value": {"arrayValue": {"values": [{"stringValue": each} for each in value]}}
            if isinstance(value, list)
            else {"stringValue": value},
        }
        for key, value in given.items()
    ]


def chat(finish: str, **more: Any) -> dict[str, Any]:
    """Return the span of a model."""
    told = {"gen_ai__operation__name": "chat", "gen_ai__response__finish_reasons": [finish]}
    return {"name": "chat", "attributes": attributes(**told, **more)}


def tool(id: str) -> dict[str, Any]:
    """Return the span of a tool without its content."""
    told = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "search"}
    more = attributes(**told, gen_ai__tool__call__id=id)
    return {"name": "execute_tool search", "attributes": more}


def spoken(finish: str) -> dict[str, Any]:
    """Return a batch in which a model's reply ended so."""
    return otlp(chat(finish, gen_ai__completion=str(SAID["content"])))


def responses(finish: str) -> dict[str, Any]:
    """Return a response of OpenAI's newer interface."""
    said = {"type": "message", "role": "assistant", "content": [{"text": "Oslo is the"}]}
    told = {"reason": finish} if finish != "stop" else None
    response = {"object": "response", "output": [said], "incomplete_details": told}
    return {"input": "Tell me about Oslo.", "response": response}


def inspect(finish: str) -> dict[str, Any]:
    """Return a sample of Inspect."""
    output = {"choices": [{"message": SAID, "stop_reason": finish}]}
    return {"id": 1, "epoch": 1, "input": "Oslo?", "messages": [USER, SAID], "output": output}


@pytest.mark.parametrize("make", [chat_row, langsmith, spoken, responses, inspect])
@pytest.mark.parametrize(
    ("finish", "kind", "reason"),
    [
        ("length", "truncated_reply", "max_iterations"),
        ("MAX_TOKENS", "truncated_reply", "max_iterations"),
        ("content-filter", "filtered_reply", "blocked"),
    ],
)
def test_a_cut_reply_is_no_answer(make: Any, finish: str, kind: str, reason: str) -> None:
    """A reply that its provider cut off or refused is a proven finding and no clean answer."""
    report = report_of(make(finish))
    assert report.stop_reason.value == reason
    assert finish in report.stop.evidence
    [finding] = found(report, kind)
    assert (finding.severity, finding.certainty) == ("error", "proven")


@pytest.mark.parametrize("make", [chat_row, langsmith, spoken, responses, inspect])
def test_a_whole_reply_is_an_answer(make: Any) -> None:
    """A reply that ended by itself is the answer, without a finding."""
    report = report_of(make("stop"))
    assert (report.stop_reason.value, report.findings) == ("final_answer", ())


def test_a_run_gets_over_a_cut_reply() -> None:
    """A cut reply that a later one completes is recovered, and the run is answered."""
    again = {"role": "user", "content": "Go on."}
    whole = {"role": "assistant", "content": "Norway."}
    report = report_of([USER, {**SAID, "finish_reason": "length"}, again, whole])
    [finding] = found(report, "truncated_reply")
    assert (finding.severity, finding.recovered) == ("info", True)
    assert report.stop_reason.value == "final_answer"


def test_a_host_may_have_another_answer() -> None:
    """A host that returns something else than the cut reply has its answer, with a warning."""
    steps = [Step("Oslo is the", finish="length")]
    report = classify_trace(Trace(steps, answer="Oslo is in Norway."))
    assert report.stop_reason.value == "final_answer"
    assert [each.severity for each in found(report, "truncated_reply")] == ["warning"]


def test_a_host_that_says_why_is_believed() -> None:
    """A host's own reason counts more than how the last reply ended."""
    trace = Trace([Step("Oslo is", finish="length")], reason="cancelled")
    assert classify_trace(trace).stop_reason.value == "cancelled"


def test_a_refusal_is_what_the_model_said() -> None:
    """OpenAI's `refusal` stands for the content, and content is not replaced by it."""
    [refused] = load_traces([USER, {"role": "assistant", "content": None, "refusal": "I cannot."}])
    [said] = load_traces([USER, {"role": "assistant", "content": "Yes.", "refusal": None}])
    assert (refused.steps[0].text, refused.answer, said.answer) == (
        "I cannot.",
        "I cannot.",
        "Yes.",
    )


def retried(*after: dict[str, Any]) -> TraceReport:
    """Return the report on a run whose model failed, and what it did then."""
    shared = {"trace_id": "t", "parent_run_id": "a", "run_type": "llm"}
    error = {"id": "b", **shared, "start_time": "1", "error": "RateLimitError('429')"}
    root = {"id": "a", "trace_id": "t", "run_type": "chain", "start_time": "0"}
    done = {"outputs": {"output": "In Norway."}} if after else {"error": "RateLimitError('429')"}
    return report_of([{**root, **done}, error, *({**shared, **each} for each in after)])


def test_a_retried_model_error_is_recovered() -> None:
    """A provider's error after which the model replied and the run answered is information."""
    said = {"generations": [[{"text": "It is in Norway."}]]}
    report = retried({"id": "c", "start_time": "2", "outputs": said})
    [finding] = found(report, "provider_error")
    assert (finding.severity, finding.recovered) == ("info", True)


def test_a_model_error_that_ends_the_run_is_an_error() -> None:
    """A provider's error after which nothing came stays an error."""
    assert {each.severity for each in found(retried(), "provider_error")} == {"error"}


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Rate limit reached", "type": "rate_limit_error", "code": 429},
        "RateLimitError: Rate limit reached",
        {"code": 429},
    ],
)
def test_a_providers_error_in_a_chat_record(error: Any) -> None:
    """An error in place of a response is the provider's."""
    report = report_of({"request": {"messages": [USER]}, "response": {"error": error}})
    assert report.stop_reason.value == "provider_error"
    [finding] = found(report, "provider_error")
    assert "rate_limit" in finding.message


def test_no_error_beside_a_reply() -> None:
    """A response whose error is empty is a response."""
    row = chat_row("stop")
    row["response"]["error"] = None
    assert report_of(row).findings == ()


def test_messages_and_choices_in_one_object() -> None:
    """A row that keeps a request's messages and the response's choices side by side has both."""
    choice = {"message": {"role": "assistant", "content": "In Norway."}, "finish_reason": "stop"}
    [trace] = load_traces({"messages": [USER], "choices": [choice]})
    assert (trace.question, len(trace.steps), trace.answer) == (USER["content"], 1, "In Norway.")


FAILED = {"code": 2}
RAISED = {
    "name": "exception",
    "attributes": attributes(exception__type="openai.RateLimitError", exception__message="429"),
}


@pytest.mark.parametrize("message", [None, "RateLimitError in chat"])
def test_a_root_that_failed_by_its_model(message: str | None) -> None:
    """A run that only says that it failed, or repeats its model's error, failed by the provider."""
    status = FAILED if message is None else {**FAILED, "message": message}
    root: dict[str, Any] = {"name": "agent", "status": status}
    root["attributes"] = attributes(gen_ai__operation__name="invoke_agent")
    model = {**chat("error"), "parentSpanId": "s0", "status": FAILED, "events": [RAISED]}
    report = report_of(otlp(root, model))
    assert report.stop_reason.value == "provider_error"
    assert found(report, "provider_error")


def test_a_root_with_an_error_of_its_own() -> None:
    """A run that names its own error did not fail by its model."""
    root: dict[str, Any] = {"name": "agent", "status": {**FAILED, "message": "KeyError: page"}}
    root["attributes"] = attributes(gen_ai__operation__name="invoke_agent")
    model = {**chat("error"), "parentSpanId": "s0", "status": FAILED, "events": [RAISED]}
    assert report_of(otlp(root, model)).stop_reason.value == "host_error"
    vague = {**root, "status": {**FAILED, "message": "it broke"}}
    assert report_of(otlp(vague, model)).stop_reason.value == "host_error"


def test_an_open_request_is_not_answered() -> None:
    """A conversation that ends with the user's words is neither answered nor failed."""
    report = report_of([USER, {"role": "assistant", "content": "a"}, {**USER, "content": "and?"}])
    assert (report.verdict.value, report.stop.evidence) == (
        "unknown",
        "The record ends before a reply to the last request.",
    )


def test_a_question_of_the_model_that_was_answered() -> None:
    """A model that asked the user, and got an answer, no longer waits for the user."""
    asked = {"role": "assistant", "content": "Which city do you mean?"}
    assert report_of([USER, asked, {**USER, "content": "Oslo."}]).verdict.value == "unknown"


def called(name: str, result: str, given: str = "{}") -> list[dict[str, Any]]:
    """Return a conversation that ends with a call and its result."""
    made = {"id": "1", "type": "function", "function": {"name": name, "arguments": given}}
    return [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "1", "content": result},
    ]


@pytest.mark.parametrize(
    ("result", "verdict"), [("Error: field name missing", "unknown"), ("ok", "answered")]
)
def test_a_submission_that_was_refused(result: str, verdict: str) -> None:
    """A call that submits the answer ends the run unless its result says that it failed."""
    given = '{"answer": "Oslo"}'
    assert report_of(called("submit", result, given)).verdict.value == verdict


def test_words_after_a_handover_change_nothing() -> None:
    """A run that handed over, or submitted, did so whatever the user says afterwards."""
    bye = {"role": "user", "content": "Thanks."}
    handed = report_of([*called("transfer_to_human_agents", "ok"), bye])
    submitted = report_of([*called("submit", "ok", '{"answer": "Oslo"}'), bye])
    assert (handed.verdict.value, submitted.verdict.value) == ("handed_over", "answered")


@pytest.mark.parametrize(
    ("name", "hands"),
    [
        ("transfer_to_savings", False),
        ("transfer_to_agent_account", False),
        ("transfer_to_human_agents", True),
        ("transfer_to_hotel_assistant", True),
        ("transfer_to_billing", True),
        ("transfer_back_to_supervisor", True),
        ("escalate_to_tier_2", True),
        ("handoff_to_writer", True),
        ("call_boss", True),
        ("search", False),
    ],
)
def test_who_a_run_is_handed_to(name: str, *, hands: bool) -> None:
    """A transfer hands over to a person, to an agent by its form or its name, or as told."""
    options = options_of(handover=["call_boss"])
    assert options.hands_over(TraceCall(name), ["Billing", None]) is hands


def test_spans_without_content() -> None:
    """Spans that leave contents out tell the calls and that the last reply ended by itself."""
    spans = [chat("tool_calls"), tool("c1"), chat("tool_calls"), tool("c2"), chat("stop")]
    [trace] = load_traces(otlp(*spans))
    report = classify_trace(trace)
    calls = [[call.id for call in step.calls] for step in trace.steps]
    assert calls == [["c1"], ["c2"], []]
    assert (report.stop_reason.value, report.findings) == ("final_answer", ())
    assert "omits its text" in report.stop.evidence


def test_spans_without_content_that_end_with_a_call() -> None:
    """Spans that end with a tool's work do not tell whether the run went on."""
    assert report_of(otlp(chat("tool_calls"), tool("c1"))).stop_reason.value == "unknown"


def test_a_reply_that_is_known_to_be_empty() -> None:
    """A reply whose content was recorded and is empty is an empty turn, whatever its reason."""
    row = chat_row("stop")
    row["response"]["choices"][0]["message"] = {"role": "assistant", "content": ""}
    assert "empty_turn" in report_of(row).kinds()


def test_an_error_of_the_row_itself() -> None:
    """A row's own error is of unknown origin; one of the last step keeps its origin."""
    [trace] = load_traces({"messages": [USER], "error": {"type": "KeyError", "message": "page"}})
    assert trace.error == TraceError("KeyError", "page", "unknown")
