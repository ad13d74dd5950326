"""The run of test_variants in more spellings, each written before anybody looked at the readers."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from loopmend import classify_trace, load_traces
from tests.core.traces.readers.test_variants import (
    ANSWER,
    ASKED,
    CALLS,
    CHAT,
    FIRST,
    FOUND,
    MISSED,
    RIGHT,
    SECOND,
    J,
    told,
)

COHERE = [
    {"role": "USER", "message": ASKED},
    {"role": "CHATBOT", "message": "", "tool_calls": [{"name": "search", "parameters": FIRST}]},
    {
        "role": "TOOL",
        "tool_results": [{"call": {"name": "search", "parameters": FIRST}, "outputs": [FOUND]}],
    },
    {"role": "CHATBOT", "message": "", "tool_calls": [{"name": "lookup", "parameters": SECOND}]},
    {
        "role": "TOOL",
        "tool_results": [{"call": {"name": "lookup", "parameters": SECOND}, "outputs": [MISSED]}],
    },
    {"role": "CHATBOT", "message": ANSWER},
]


def asked_by_autogen(id: str, name: str, given: Any, seen: str) -> list[dict[str, Any]]:
    """Return a call and its result, as AutoGen's messages tell them."""
    request = {"id": id, "name": name, "arguments": J(given)}
    result = {"content": seen, "name": name, "call_id": id, "is_error": False}
    return [
        {"source": "agent", "type": "ToolCallRequestEvent", "content": [request]},
        {"source": "agent", "type": "ToolCallExecutionEvent", "content": [result]},
    ]


AUTOGEN = [
    {"source": "user", "type": "TextMessage", "content": ASKED},
    *asked_by_autogen("c1", "search", FIRST, FOUND),
    *asked_by_autogen("c2", "lookup", SECOND, MISSED),
    {"source": "agent", "type": "TextMessage", "content": ANSWER},
]
MEMORY = {
    "steps": [
        {"task": ASKED, "task_images": None},
        {"step_number": 1, "model_output": "", "tool_calls": [CALLS[0]], "observations": FOUND},
        {"step_number": 2, "model_output": "", "tool_calls": [CALLS[1]], "observations": MISSED},
        {"step_number": 3, "model_output": ANSWER, "tool_calls": None, "observations": None},
    ]
}
SESSION = [{"type": row["role"], "sessionId": "s", "message": row} for row in CHAT]


def generated(*said: dict[str, Any]) -> dict[str, Any]:
    """Return what a model's span holds by GenAI's conventions."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": J(
            [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]
        ),
        "gen_ai.output.messages": J([{"role": "assistant", "parts": said}]),
    }


def used(id: str, name: str, given: Any, seen: str) -> dict[str, Any]:
    """Return what a tool's span holds by GenAI's conventions."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": id,
        "gen_ai.tool.call.arguments": J(given),
        "gen_ai.tool.call.result": seen,
    }


HELD = [
    generated({"type": "tool_call", "id": "c1", "name": "search", "arguments": FIRST}),
    used("c1", "search", FIRST, FOUND),
    generated({"type": "tool_call", "id": "c2", "name": "lookup", "arguments": SECOND}),
    used("c2", "lookup", SECOND, MISSED),
    generated({"type": "text", "content": ANSWER}),
]
JAEGER = {
    "data": [
        {
            "traceID": "t",
            "spans": [
                {
                    "traceID": "t",
                    "spanID": f"s{at}",
                    "operationName": "chat",
                    "references": [{"refType": "CHILD_OF", "traceID": "t", "spanID": "root"}],
                    "startTime": at,
                    "tags": [{"key": k, "type": "string", "value": v} for k, v in held.items()],
                }
                for at, held in reversed([*enumerate(HELD)])
            ],
        }
    ]
}
ZIPKIN = [
    {"traceId": "t", "id": f"s{at}", "name": "chat", "timestamp": at, "tags": held}
    for at, held in enumerate(HELD)
]
TYPED = [
    {
        "traceId": "t",
        "spanId": f"s{at}",
        "startTimeUnixNano": str(at),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in held.items()],
    }
    for at, held in enumerate(HELD)
]


def sdk(at: int, **data: Any) -> dict[str, Any]:
    """Return a span of OpenAI's Agents SDK."""
    time = f"2026-03-01T10:00:{at:02d}+00:00"
    row = {"object": "trace.span", "id": f"s{at}", "trace_id": "t", "parent_id": None}
    return {**row, "started_at": time, "ended_at": time, "span_data": data, "error": None}


def replied(*items: dict[str, Any]) -> dict[str, Any]:
    """Return a response in OpenAI's format."""
    return {"object": "response", "output": list(items)}


AGENTS = [
    {"object": "trace", "id": "t", "workflow_name": "Agent workflow", "group_id": None},
    sdk(0, type="agent", name="Guide", tools=["search", "lookup"]),
    sdk(1, type="generation", input=CHAT[:1], output=[CHAT[1]]),
    sdk(2, type="function", name="search", input=J(FIRST), output=FOUND),
    sdk(
        3,
        type="response",
        input=ASKED,
        response=replied(
            {"type": "function_call", "call_id": "c2", "name": "lookup", "arguments": J(SECOND)}
        ),
    ),
    sdk(4, type="function", name="lookup", input=J(SECOND), output=MISSED),
    sdk(5, type="handoff", from_agent="Guide", to_agent="Guide"),
    sdk(6, type="generation", input=[], output=[{"role": "assistant", "content": ANSWER}]),
]


def traceloop(at: int, **held: Any) -> dict[str, Any]:
    """Return a span of Traceloop."""
    attributes = {f"traceloop.{key.replace('__', '.')}": value for key, value in held.items()}
    name = f"{held['entity__name']}.tool"
    return {"traceId": "t", "spanId": f"s{at}", "name": name, "attributes": attributes} | {
        "startTime": at
    }


def named(name: str, given: Any, seen: str) -> dict[str, Any]:
    """Return what a tool's span of Traceloop holds."""
    given = J({"inputs": given})
    return {
        "span__kind": "tool",
        "entity__name": name,
        "entity__input": given,
        "entity__output": J(seen),
    }


TRACELOOP = [
    ZIPKIN[0],
    traceloop(1, **named("search", FIRST, FOUND)),
    ZIPKIN[2],
    traceloop(3, **named("lookup", SECOND, MISSED)),
    ZIPKIN[4],
]
SPELLINGS: dict[str, Any] = {
    "under a key that nobody knows": {"id": 1, "dialog": CHAT, "notes": ["a", "b"], "reward": 1},
    "two objects deep": {"id": 7, "outcome": {"episode": {"dialog": CHAT}}, "meta": {"n": 1}},
    "in a string under such a key": {"id": 7, "dialog": J(CHAT)},
    "Cohere": COHERE,
    "AutoGen": AUTOGEN,
    "a memory of smolagents": MEMORY,
    "Jaeger": JAEGER,
    "Zipkin": ZIPKIN,
    "rows with typed attributes": TYPED,
    "OpenAI's Agents SDK": AGENTS,
    "Traceloop": TRACELOOP,
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_run_in_one_more_spelling(name: str) -> None:
    """The run is read with its steps, calls, failure, question, answer and end."""
    loaded = load_traces(J(SPELLINGS[name]).encode())
    [trace] = loaded
    assert loaded.skipped == ()
    assert told(trace) == RIGHT
    assert not [f for f in classify_trace(trace).findings if f.severity == "error"]


def test_a_session_without_times() -> None:
    """A log whose lines tell a session and no time is read, line by line."""
    [trace] = load_traces("\n".join(map(J, SESSION)).encode())
    assert told(trace) == RIGHT


def test_results_in_tags_under_a_role() -> None:
    """Hermes' results are told apart and their tags left out, whoever keeps them."""
    seen = "".join(f"<tool_response>{each}</tool_response>" for each in (FOUND, MISSED))
    asked = {"role": "assistant", "content": None, "tool_calls": [*CALLS]}
    [trace] = load_traces([CHAT[0], asked, {"role": "tool", "content": seen}, CHAT[-1]])
    assert [each.text for each in trace.steps[0].observations] == [FOUND, MISSED]


def test_two_conversations_in_a_row_are_not_guessed() -> None:
    """Nobody knows which of two is the run."""
    loaded = load_traces({"chosen": CHAT, "rejected": CHAT, "score": 1})
    assert list(loaded) == []
    assert loaded.skipped[0].reason == "has no format that loopmend knows"


def zipped(entries: dict[str, bytes]) -> bytes:
    """Return an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs/", b"")
        for name, data in entries.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_an_archive_of_files() -> None:
    """Each file of an archive is read as if it stood alone; an archive in it is not."""
    inner = zipped({"a.json": J(CHAT).encode()})
    files = {
        "runs/a.json": json.dumps(CHAT, indent=2).encode(),
        "b.jsonl": "\n".join(J({"messages": CHAT}) for _ in range(2)).encode(),
        "c.zip": inner,
        "d.txt": b"words",
    }
    loaded = load_traces(zipped(files))
    assert [told(trace) for trace in loaded] == [RIGHT] * 3
    assert [each.reason for each in loaded.skipped] == [
        "c.zip is an archive in an archive",
        "d.txt is neither JSON nor a ReAct log",
    ]
