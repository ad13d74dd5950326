"""One run in many spellings of many formats; each was written from the format's documents.

The user asks, the model searches and finds, looks up a page that is not there, and answers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.traces.view import is_failure

J = json.dumps
ASKED, ANSWER = "Where is Oslo?", "In Norway."
FIRST, SECOND = {"query": "Oslo"}, {"page": 7}
FOUND, MISSED = "Oslo is a city.", "Error: page 7 does not exist"


def call(id: str, name: str, given: Any) -> dict[str, Any]:
    """Return a call in OpenAI's format."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": J(given)}}


CALLS = call("c1", "search", FIRST), call("c2", "lookup", SECOND)
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": None, "tool_calls": [CALLS[0]]},
    {"role": "tool", "tool_call_id": "c1", "content": FOUND},
    {"role": "assistant", "content": None, "tool_calls": [CALLS[1]]},
    {"role": "tool", "tool_call_id": "c2", "content": MISSED},
    {"role": "assistant", "content": ANSWER},
]
ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
    {"type": "function_call", "call_id": "c1", "name": "search", "arguments": J(FIRST)},
    {"type": "function_call_output", "call_id": "c1", "output": FOUND},
    {"type": "function_call", "call_id": "c2", "name": "lookup", "arguments": J(SECOND)},
    {"type": "function_call_output", "call_id": "c2", "output": MISSED},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
]
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "id": "m1",
        "content": [{"type": "tool_use", "id": "c1", "name": "search", "input": FIRST}],
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": FOUND}],
    },
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c2", "name": "lookup", "input": SECOND}],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c2", "is_error": True, "content": "no page"}
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
]
PARTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": ASKED}]},
    {"role": "model", "parts": [{"functionCall": {"name": "search", "args": FIRST}}]},
    {
        "role": "user",
        "parts": [{"functionResponse": {"name": "search", "response": {"result": FOUND}}}],
    },
    {"role": "model", "parts": [{"function_call": {"name": "lookup", "args": SECOND}}]},
    {
        "role": "function",
        "parts": [{"function_response": {"name": "lookup", "response": {"error": "no page"}}}],
    },
    {"role": "model", "parts": [{"text": ANSWER}]},
]
STEP = {"type": "step-start"}
DONE = {"toolCallId": "c1", "state": "output-available", "input": FIRST, "output": FOUND}
BROKE = {"toolCallId": "c2", "state": "output-error", "input": SECOND, "errorText": "no page"}
OLD_DONE = {
    "state": "result",
    "toolCallId": "c1",
    "toolName": "search",
    "args": FIRST,
    "result": FOUND,
}
OLD_BROKE = {**OLD_DONE, "toolCallId": "c2", "toolName": "lookup", "args": SECOND, "result": MISSED}


def invoked(given: dict[str, Any]) -> dict[str, Any]:
    """Return a part of Vercel's older messages."""
    return {"type": "tool-invocation", "toolInvocation": given}


def tag(name: str, given: Any) -> str:
    """Return a call as Hermes' models write it."""
    return f"<tool_call>\n{J({'name': name, 'arguments': given})}\n</tool_call>"


VERCEL = [{"role": "user", "parts": [{"type": "text", "text": ASKED}]}]
TALKS: dict[str, Any] = {
    "under data": {"data": {"messages": CHAT}},
    "a graph's values": {"values": {"messages": CHAT}, "next": []},
    "a checkpoint": {"channel_values": {"messages": CHAT}},
    "a request and its response": {
        "request": {"messages": CHAT[:-1]},
        "response": {"choices": [{"message": CHAT[-1]}]},
    },
    "an input and its output": {"input": CHAT[:-1], "output": CHAT[-1]},
    "inputs and outputs": {
        "inputs": {"messages": CHAT[:-1]},
        "outputs": {"choices": [{"message": CHAT[-1]}]},
    },
    "messages, and the last reply once more": {"messages": CHAT, "response": CHAT[-1]},
    "a history": {"history": CHAT},
    "a trajectory": {"trajectory": CHAT, "reward": 1},
    "runs under their names": {"first": {"messages": CHAT}},
    "a page in a page": {"data": {"items": [{"messages": CHAT}]}},
    "Responses, request and response": {
        "request": {"input": ITEMS[:-1]},
        "response": {"object": "response", "output": ITEMS[-1:]},
    },
    "Anthropic, request and response": {
        "request": {"messages": BLOCKS[:-1]},
        "response": {"type": "message", **BLOCKS[-1]},
    },
    "Gemini, contents and candidates": {
        "contents": PARTS[:-1],
        "candidates": [{"content": PARTS[-1]}],
    },
    "Gemini, request and response": {
        "request": {"contents": PARTS[:-1]},
        "response": {"candidates": [{"content": PARTS[-1]}]},
    },
    "Vercel's interface": [
        *VERCEL,
        {
            "role": "assistant",
            "parts": [
                *(STEP, {"type": "tool-search", **DONE}, STEP, {"type": "tool-lookup", **BROKE}),
                *(STEP, {"type": "text", "text": ANSWER}),
            ],
        },
    ],
    "Vercel's older interface, in parts": [
        *VERCEL,
        {
            "role": "assistant",
            "content": ANSWER,
            "parts": [
                *(STEP, invoked(OLD_DONE), STEP, invoked(OLD_BROKE)),
                *(STEP, {"type": "text", "text": ANSWER}),
            ],
        },
    ],
    "Vercel's older interface, beside the text": [
        *VERCEL,
        {"role": "assistant", "content": "", "toolInvocations": [OLD_DONE]},
        {"role": "assistant", "content": ANSWER, "toolInvocations": [OLD_BROKE]},
    ],
    "ShareGPT with Hermes' tags": {
        "conversations": [
            {"from": "human", "value": ASKED},
            {"from": "gpt", "value": tag("search", FIRST)},
            {"from": "tool", "value": f"<tool_response>\n{FOUND}\n</tool_response>"},
            {"from": "gpt", "value": tag("lookup", SECOND)},
            {"from": "tool", "value": f"<tool_response>\n{MISSED}\n</tool_response>"},
            {"from": "gpt", "value": ANSWER},
        ]
    },
    "LlamaIndex's blocks": [
        {"role": "user", "blocks": [{"block_type": "text", "text": ASKED}]},
        {"role": "assistant", "blocks": [], "additional_kwargs": {"tool_calls": [CALLS[0]]}},
        {
            "role": "tool",
            "blocks": [{"block_type": "text", "text": FOUND}],
            "additional_kwargs": {"tool_call_id": "c1"},
        },
        {
            "role": "assistant",
            "blocks": [
                {
                    "block_type": "tool_call",
                    "tool_name": "lookup",
                    "tool_kwargs": SECOND,
                    "tool_call_id": "c2",
                }
            ],
        },
        {
            "role": "tool",
            "blocks": [{"block_type": "text", "text": MISSED}],
            "additional_kwargs": {"tool_call_id": "c2"},
        },
        {"role": "assistant", "blocks": [{"block_type": "text", "text": ANSWER}]},
    ],
    "pydantic-ai's history": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "Be brief."},
                {"part_kind": "user-prompt", "content": ASKED},
            ],
        },
        {
            "kind": "response",
            "parts": [
                {
                    "part_kind": "tool-call",
                    "tool_name": "search",
                    "args": J(FIRST),
                    "tool_call_id": "c1",
                }
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "search",
                    "content": FOUND,
                    "tool_call_id": "c1",
                }
            ],
        },
        {
            "kind": "response",
            "parts": [
                {
                    "part_kind": "tool-call",
                    "tool_name": "lookup",
                    "args": SECOND,
                    "tool_call_id": "c2",
                }
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "retry-prompt",
                    "tool_name": "lookup",
                    "content": "no page",
                    "tool_call_id": "c2",
                }
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWER}]},
    ],
    "ReAct in messages": [
        CHAT[0],
        {"role": "assistant", "content": f"Thought: x\nAction: search\nAction Input: {J(FIRST)}"},
        {"role": "user", "content": f"Observation: {FOUND}"},
        {"role": "assistant", "content": f"Thought: x\nAction: lookup\nAction Input: {J(SECOND)}"},
        {"role": "user", "content": f"Observation: {MISSED}"},
        {"role": "assistant", "content": f"Thought: done\nFinal Answer: {ANSWER}"},
    ],
    "an executor in JavaScript": {
        "input": ASKED,
        "output": ANSWER,
        "intermediateSteps": [
            {"action": {"tool": "search", "toolInput": FIRST}, "observation": FOUND},
            {"action": {"tool": "lookup", "toolInput": SECOND}, "observation": MISSED},
        ],
    },
}


def logged(*messages: dict[str, Any]) -> str:
    """Return a session's log: a message a line, each in a wrapper."""
    about = {"sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}
    return "\n".join(J({"type": m["role"], **about, "message": m}) for m in messages)


def rolled(*items: dict[str, Any]) -> str:
    """Return a session's log of another agent."""
    about = {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item"}
    return "\n".join(J({**about, "payload": item}) for item in items)


HALVES = [{"type": "text", "text": "I search."}], BLOCKS[1]["content"]
GREEN, END = "\x1b[32;1m\x1b[1;3m", "\x1b[0m"
TEXTS: dict[str, str] = {
    "a session's log": logged(
        BLOCKS[0], *({**BLOCKS[1], "content": half} for half in HALVES), *BLOCKS[2:]
    ),
    "another session's log": rolled(*ITEMS),
    "values over several lines": json.dumps({"messages": CHAT}, indent=2) + "\n",
    "a log": f"Question: {ASKED}\nThought: x\nAction: search\nAction Input: {J(FIRST)}\n"
    f"Observation: {FOUND}\nThought: x\nAction: lookup\nAction Input: {J(SECOND)}\n"
    f"Observation: {MISSED}\nThought: I know\nFinal Answer: {ANSWER}",
    "a log in colours": f"{GREEN}Question: {ASKED}{END}\n{GREEN}Thought: x\nAction: search\n"
    f"Action Input: {J(FIRST)}{END}\nObservation: {FOUND}\n{GREEN}Action: lookup\n"
    f"Action Input: {J(SECOND)}{END}\nObservation: {MISSED}\nFinal Answer: {ANSWER}{END}",
    "a log with actions in JSON": f"Question: {ASKED}\nAction:\n```\n"
    f"{J({'action': 'search', 'action_input': FIRST})}\n```\nObservation: {FOUND}\n"
    f"Action:\n```json\n"
    f"{J({'action': 'lookup', 'action_input': SECOND})}\n```\nObservation: {MISSED}\nAction:\n```\n"
    f"{J({'action': 'Final Answer', 'action_input': ANSWER})}\n```",
    "LlamaIndex's log": f"Question: {ASKED}\nThought: x\nAction: search\nAction Input: {J(FIRST)}\n"
    f"Observation: {FOUND}\nAnswer: 3\nThought: x\nAction: lookup\nAction Input: {J(SECOND)}\n"
    f"Observation: {MISSED}\nQuestion: of the page\nThought: I can answer.\nAnswer: {ANSWER}",
}


def span(id: str, at: int, attributes: Any, **more: Any) -> dict[str, Any]:
    """Return a span of the run."""
    about = {"span_id": id, "trace_id": "t", "parent_id": "r" if id != "r" else None, "name": id}
    return {**about, "start_time": f"2026-01-01T00:00:0{at}Z", "attributes": attributes, **more}


def spans(model: Any, tool: Any, root: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Return the spans of the run, with attributes by a convention."""
    failed = {"status_code": "ERROR", "status_message": "ValueError: no page"}
    return [
        span("r", 0, root, **more),
        span("l1", 1, model(CHAT[:1], CHAT[1]), **more),
        span("search", 2, tool("search", "c1", FIRST, FOUND), **more),
        span("l2", 3, model(CHAT[:3], CHAT[3]), **more),
        span("lookup", 4, tool("lookup", "c2", SECOND, None), **{**more, **failed}),
        span("l3", 5, model(CHAT[:5], CHAT[5]), **more),
    ]


def oi_message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as OpenInference nests it."""
    calls = [{"tool_call": each} for each in message.get("tool_calls", [])]
    return {
        "message": {"role": message["role"], "content": message["content"], "tool_calls": calls}
    }


def oi_model(asked: list[Any], said: dict[str, Any]) -> dict[str, Any]:
    """Return a model's attributes by OpenInference, with messages as JSON text."""
    told = {"llm.input_messages": J([*map(oi_message, asked)])}
    return {"openinference.span.kind": "LLM", "llm.output_messages": J([oi_message(said)]), **told}


def oi_tool(name: str, id: str, given: Any, seen: str | None) -> dict[str, Any]:
    """Return a tool's attributes by OpenInference."""
    told = {"tool.name": name, "tool_call.id": id, "input.value": J(given), "output.value": seen}
    return {"openinference.span.kind": "TOOL", **told}


OI_ROOT = {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWER}
OI = spans(oi_model, oi_tool, OI_ROOT)


def azure(asked: list[Any], said: dict[str, Any]) -> dict[str, Any]:
    """Return a model's attributes; its messages are events."""
    return {"gen_ai.operation.name": "chat", "asked": asked, "said": said}


def with_events(row: dict[str, Any], wrap: Any) -> dict[str, Any]:
    """Move messages from attributes to events."""
    held = dict(row["attributes"])
    asked, said = held.pop("asked", []), held.pop("said", None)
    events = [(f"gen_ai.{each['role']}.message", each) for each in asked]
    events += [] if said is None else [("gen_ai.choice", {"message": said})]
    return {**row, **wrap(held, events)}


def as_content(held: dict[str, Any], events: list[Any]) -> dict[str, Any]:
    """Write events as Azure does."""
    told = [{"name": n, "attributes": {"gen_ai.event.content": J(body)}} for n, body in events]
    return {"attributes": held, "events": told}


def as_attribute(held: dict[str, Any], events: list[Any]) -> dict[str, Any]:
    """Write events as pydantic-ai does."""
    listed = [{"event.name": name, **body} for name, body in events]
    return {"attributes": {**held, **({"events": J(listed)} if listed else {})}}


def genai_tool(name: str, id: str, given: Any, seen: str | None) -> dict[str, Any]:
    """Return a tool's attributes by GenAI's conventions."""
    told = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": id}
    return {**told, "gen_ai.tool.call.arguments": J(given), "gen_ai.tool.call.result": seen}


GENAI = spans(azure, genai_tool, {"gen_ai.operation.name": "invoke_agent"})


def mlflow(kind: str, given: Any, said: Any) -> dict[str, Any]:
    """Return attributes as MLflow writes them."""
    told = {"mlflow.spanType": J(kind), "mlflow.spanInputs": J(given)}
    return {**told, **({} if said is None else {"mlflow.spanOutputs": J(said)})}


MLFLOW = spans(
    lambda asked, said: mlflow("CHAT_MODEL", {"messages": asked}, {"choices": [{"message": said}]}),
    lambda name, id, given, seen: mlflow("TOOL", given, seen),  # noqa: ARG005 - one of several
    mlflow("AGENT", {"question": ASKED}, ANSWER),
)


def otlp(rows: list[dict[str, Any]], code: Any = 2) -> list[dict[str, Any]]:
    """Return spans as OTLP's JSON writes them."""
    return [
        {
            "traceId": "t",
            "spanId": row["span_id"],
            "parentSpanId": row["parent_id"] or "",
            "name": row["name"],
            "startTimeUnixNano": str(at),
            "attributes": [
                {"key": key, "value": {"stringValue": value}}
                for key, value in row["attributes"].items()
                if value is not None
            ],
            "status": {"code": code, "message": "ValueError: no page"}
            if "status_code" in row
            else {},
        }
        for at, row in enumerate(rows)
    ]


RUN = {"trace_id": "t", "extra": {}}


def run(id: str, kind: str, at: int, given: Any, said: Any, **more: Any) -> dict[str, Any]:
    """Return a run of LangSmith that tells the run that it is part of, but no trace."""
    parent = None if id == "root" else "root"
    told = {"id": id, "run_type": kind, "parent_run_id": parent, "start_time": f"0{at}", "name": id}
    return {**told, "inputs": given, "outputs": said, **more}


RUNS = [
    run("l3", "llm", 5, {"messages": CHAT[:5]}, {"choices": [{"message": CHAT[5]}]}),
    run("lookup", "tool", 4, SECOND, None, error="ValueError('no page')\n\nTraceback …"),
    run("l2", "llm", 3, {"messages": CHAT[:3]}, {"choices": [{"message": CHAT[3]}]}),
    run("search", "tool", 2, FIRST, {"output": FOUND}),
    run("l1", "llm", 1, {"messages": CHAT[:1]}, {"choices": [{"message": CHAT[1]}]}),
    run("root", "chain", 0, {"input": ASKED}, {"output": ANSWER}),
]
CAMEL = {"run_type": "runType", "parent_run_id": "parentRunId", "start_time": "startTime"}
PLATFORMS: dict[str, Any] = {
    "columns of JSON": [
        {
            **{k: v for k, v in row.items() if k != "attributes"},
            **{f"attributes.{k}": v for k, v in row["attributes"].items()},
        }
        for row in OI
    ],
    "attributes as JSON": [{**row, "attributes": J(row["attributes"])} for row in OI],
    "spans of each trace in a list": [OI],
    "edges and nodes": {"data": {"edges": [{"node": row} for row in OI]}},
    "a trace whose root is missing": OI[1:],
    "spans of a console in JavaScript": [
        {
            "traceId": "t",
            "id": row["span_id"],
            "timestamp": at,
            "attributes": row["attributes"],
            "parentSpanContext": {"spanId": row["parent_id"]} if row["parent_id"] else None,
            "status": {"code": 2 if "status_code" in row else 0, "message": "no page"},
        }
        for at, row in enumerate(OI)
    ],
    "Tempo's batches": {"batches": [{"scopeSpans": [{"spans": otlp(OI)}]}]},
    "a trace of Tempo": {"trace": {"resourceSpans": [{"scopeSpans": [{"spans": otlp(OI)}]}]}},
    "spans of one resource": {"resource": {}, "scopeSpans": [{"spans": otlp(OI)}]},
    "a status in words": {
        "resourceSpans": [{"scopeSpans": [{"spans": otlp(OI, "STATUS_CODE_ERROR")}]}]
    },
    "events with their content": [with_events(row, as_content) for row in GENAI],
    "events in an attribute": [with_events(row, as_attribute) for row in GENAI],
    "MLflow": {"info": {"request_id": "t"}, "data": {"spans": MLFLOW}},
    "runs that tell no trace": RUNS,
    "runs in a page": {"data": {"runs": RUNS}},
    "runs in camel case": [{CAMEL.get(k, k): v for k, v in row.items()} for row in RUNS],
}


def told(trace: Trace) -> tuple[Any, ...]:
    """Return what a reader of the record would say of the run."""
    calls = [(each.name, each.arguments) for step in trace.steps for each in step.calls]
    seen = [[is_failure(each) for each in step.observations] for step in trace.steps]
    return calls, seen, trace.question, trace.answer, classify_trace(trace).stop_reason.value


RIGHT = (
    [("search", FIRST), ("lookup", SECOND)],
    [[False], [True], []],
    ASKED,
    ANSWER,
    "final_answer",
)


@pytest.mark.parametrize("name", [*TALKS, *TEXTS, *PLATFORMS])
def test_a_run_in_another_spelling(name: str) -> None:
    """The run is read with its steps, calls, failure, question, answer and end."""
    held = {**TALKS, **TEXTS, **PLATFORMS}[name]
    loaded = load_traces((held if isinstance(held, str) else J(held)).encode())
    [trace] = loaded
    assert loaded.skipped == ()
    assert told(trace) == RIGHT
    report = classify_trace(trace)
    assert not [f for f in report.findings if f.severity == "error"]


def test_a_list_that_is_torn() -> None:
    """What stands before the tear is read, and the tear is told."""
    loaded = load_traces(J([{"messages": CHAT}, {"messages": CHAT}])[:-20].encode())
    assert [trace.answer for trace in loaded] == [ANSWER]
    assert [each.reason for each in loaded.skipped] == ["is not JSON: torn, or nested too deep"]


def test_spans_that_a_console_prints() -> None:
    """Values over several lines that follow each other are read one by one."""
    loaded = load_traces("\n".join(json.dumps(row, indent=4) for row in OI).encode())
    assert [told(trace) for trace in loaded] == [RIGHT]


def test_several_results_in_tags() -> None:
    """Results that stand in one message, each in its tags, are told apart."""
    both = f"{tag('search', FIRST)}\n{tag('lookup', SECOND)}"
    seen = f"<tool_response>{FOUND}</tool_response>\n<tool_response>{MISSED}</tool_response>"
    said = [("human", ASKED), ("gpt", both), ("tool", seen), ("gpt", ANSWER)]
    trace = Trace.from_messages({"from": whose, "value": text} for whose, text in said)
    assert [each.text for each in trace.steps[0].observations] == [FOUND, MISSED]


def test_a_run_that_its_row_says_failed() -> None:
    """The error that a row tells beside its messages ended the run, unless that answered."""
    [failed] = load_traces({"messages": CHAT[:3], "error": "BadRequestError: 400"})
    assert classify_trace(failed).stop_reason.value == "provider_error"
    [answered] = load_traces({"messages": CHAT, "error": "odd"})
    assert classify_trace(answered).stop_reason.value == "final_answer"


def test_requests_in_other_formats() -> None:
    """What the user asks again is another request in trajectories and sessions as well."""
    agent = {"source": "agent", "message": "x"}
    steps = [{"source": "user", "message": "a"}, agent, {"source": "user", "message": "b"}, agent]
    [trace] = load_traces({"schema_version": "ATIF-v1.6", "steps": steps})
    assert [step.request for step in trace.steps] == [0, 1]
    said = {"type": "agent.message", "content": [{"type": "text", "text": "x"}]}
    asked = {"type": "user.message", "content": [{"type": "text", "text": "a"}]}
    [trace] = load_traces("\n".join(map(J, [asked, said, asked, said])).encode())
    assert [step.request for step in trace.steps] == [0, 1]


def test_an_aside_is_a_run_of_its_own() -> None:
    """What a session's helper says is kept apart."""
    main, aside = J({"messages": []}), logged(*BLOCKS)
    rows = [json.loads(line) for line in logged(*BLOCKS).splitlines()]
    text = "\n".join([main, aside, *(J({**row, "isSidechain": True}) for row in rows)])
    assert [told(trace) for trace in load_traces(text.encode())] == [RIGHT, RIGHT]


def test_an_error_that_is_all_traceback() -> None:
    """The last line of a traceback tells the error."""
    raised = 'Traceback (most recent call last):\n  File "x"\nKeyError: page'
    [trace] = load_traces([run("root", "chain", 0, {"input": ASKED}, None, error=raised)])
    assert trace.error is not None
    assert (trace.error.kind, trace.error.message) == ("KeyError", "page")


def test_a_question_with_choices_is_no_run() -> None:
    """A row of a data set that has fields of the same names is not taken for a conversation."""
    for row in ({"question": "2 + 2?", "choices": ["3", "4"]}, {"output": {"output": "4"}}):
        loaded = load_traces(row)
        assert list(loaded) == []
        assert loaded.skipped[0].reason == "has no format that loopmend knows"
