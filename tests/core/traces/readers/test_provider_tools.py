"""Tools that a provider runs itself: their calls and results stand in the reply that uses them."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import StopReason, Trace, classify_trace, load_traces

ANSWER = "It is 4 degrees."
ASKED = {"role": "user", "content": "How warm is it in Oslo?"}
TEXT = {"type": "text", "text": ANSWER}
WORDS = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": ANSWER}],
}
FOUND = "4 C, rain"


def said(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a conversation whose one reply has these parts."""
    return [ASKED, {"role": "assistant", "content": list(parts)}]


def response(*items: dict[str, Any]) -> dict[str, Any]:
    """Return a response of OpenAI's Responses with these items."""
    return {"object": "response", "status": "completed", "output": [*items, WORDS]}


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return a reply of Gemini."""
    content = {"role": "model", "parts": [*parts, {"text": ANSWER}]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "Oslo"}}
RUN = {"type": "code_interpreter_call", "id": "ci", "status": "completed", "code": "print(4)"}
CODE = {"executableCode": {"language": "PYTHON", "code": "print(4)"}}
RAN = {"outcome": "OUTCOME_OK", "output": FOUND}
NAMED = {"id": "s1", "name": "web_search"}

USED: dict[str, tuple[Any, str, str]] = {
    "anthropic": (
        said(
            {"type": "text", "text": "I search."},
            SEARCH,
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [{"type": "text", "text": FOUND}],
            },
            TEXT,
        ),
        "web_search",
        FOUND,
    ),
    "langchain": (
        said(
            {"type": "server_tool_call", **NAMED, "args": {"query": "Oslo"}},
            {"type": "server_tool_result", "tool_call_id": "s1", "output": FOUND},
            TEXT,
        ),
        "web_search",
        FOUND,
    ),
    "genai": (
        [
            ASKED,
            {
                "role": "assistant",
                "parts": [
                    {
                        "type": "server_tool_call",
                        **NAMED,
                        "server_tool_call": {"type": "web_search", "queries": ["Oslo"]},
                    },
                    {
                        "type": "server_tool_call_response",
                        "id": "s1",
                        "server_tool_call_response": {"type": "web_search", "outputs": FOUND},
                    },
                    {"type": "text", "content": ANSWER},
                ],
            },
        ],
        "web_search",
        FOUND,
    ),
    "inspect": (
        said(
            {"type": "tool_use", **NAMED, "arguments": '{"query": "Oslo"}', "result": FOUND}, TEXT
        ),
        "web_search",
        FOUND,
    ),
    "responses, search": (
        response({"type": "web_search_call", "id": "ws", "action": {"query": "Oslo"}}),
        "web_search",
        "",
    ),
    "responses, code": (
        response({**RUN, "outputs": [{"type": "logs", "logs": FOUND}]}),
        "code_interpreter",
        FOUND,
    ),
    "responses, MCP": (
        response(
            {"type": "mcp_call", "id": "m", "name": "look", "arguments": "{}", "output": FOUND}
        ),
        "look",
        FOUND,
    ),
    "gemini": (gemini(CODE, {"codeExecutionResult": RAN}), "code_execution", FOUND),
}


@pytest.mark.parametrize("name", USED)
def test_one_reply_calls_sees_and_answers(name: str) -> None:
    """What a provider ran belongs to the one reply that it ran it for, and what follows answers."""
    value, tool, seen = USED[name]
    [trace] = load_traces(value)
    [step] = trace.steps
    assert [call.name for call in step.calls] == [tool]
    assert [seen in result.text for result in step.observations] == [True]
    assert ANSWER in (trace.answer or "")
    assert classify_trace(trace).stop_reason is StopReason.FINAL_ANSWER


FAILED: dict[str, Any] = {
    "anthropic": said(
        SEARCH,
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        },
        TEXT,
    ),
    "responses, MCP": response(
        {"type": "mcp_call", "id": "m", "name": "look", "arguments": "{}", "error": "HTTP 500"}
    ),
    "responses, code": response({**RUN, "status": "failed"}),
    "gemini": gemini(CODE, {"codeExecutionResult": {"outcome": "OUTCOME_DEADLINE_EXCEEDED"}}),
    "vercel": [
        ASKED,
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "dynamic-tool",
                    "toolName": "look",
                    "toolCallId": "c1",
                    "state": "output-error",
                    "errorText": "no such place",
                },
                {"type": "step-start"},
                TEXT,
            ],
        },
    ],
    "vercel, denied": [
        ASKED,
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "rm", "input": {}}],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "rm",
                    "output": {"type": "execution-denied", "reason": "no"},
                }
            ],
        },
        {"role": "assistant", "content": ANSWER},
    ],
}


@pytest.mark.parametrize("name", FAILED)
def test_what_failed_there_failed(name: str) -> None:
    """Each provider's word for a failure counts, and is no failure of the run that answered."""
    [trace] = load_traces(FAILED[name])
    assert [seen.failed for step in trace.steps for seen in step.observations] == [True]
    report = classify_trace(trace)
    assert report.stop_reason is StopReason.FINAL_ANSWER
    assert not [each for each in report.findings if each.severity == "error"]


def test_a_call_after_the_words_waits() -> None:
    """A reply that asks its host for more after what the provider ran has not answered."""
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    asks = {"type": "tool_use", "id": "t1", "name": "save", "input": {}}
    trace = Trace.from_messages(said(SEARCH, found, TEXT, asks))
    assert trace.answer is None
    assert classify_trace(trace).stop_reason is StopReason.UNKNOWN


def test_words_beside_an_open_call_are_no_answer() -> None:
    """Where a host owes a result, what the model says of another one does not end the run."""
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    asks = {"type": "tool_use", "id": "t1", "name": "save", "input": {}}
    assert Trace.from_messages(said(asks, SEARCH, found, TEXT)).answer is None


def test_items_of_a_reply_are_one_reply() -> None:
    """What OpenAI lists one by one is one step, until the host returns something."""
    search = {"type": "web_search_call", "id": "ws", "action": {"query": "Oslo"}}
    asks = {"type": "custom_tool_call", "id": "x", "call_id": "c1", "name": "run", "input": "ls"}
    returned = {"type": "custom_tool_call_output", "call_id": "c1", "output": FOUND}
    trace = Trace.from_messages([ASKED, search, WORDS, asks, returned, WORDS])
    assert [[call.name for call in step.calls] for step in trace.steps] == [
        ["web_search", "run"],
        [],
    ]
    assert [seen.text for seen in trace.steps[0].observations] == ["", FOUND]
    assert trace.answer == ANSWER


def test_results_find_their_call_by_the_id_that_both_tell() -> None:
    """An item has an id of its own; what its output names is the id of the call."""
    calls = [
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": n, "arguments": "{}"}
        for n in "ab"
    ]
    outputs = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": f"of {n}"} for n in "ba"
    ]
    [first, _] = Trace.from_messages([ASKED, *calls, *outputs, WORDS]).steps
    assert {seen.tool: seen.text for seen in first.observations} == {"a": "of a", "b": "of b"}
