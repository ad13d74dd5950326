"""Rows and spans of tracing platforms, as their documents describe them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.traces import Observation, TraceCall, TraceError

ASK = "Where is Oslo?"
ANSWER = "In Norway."
GIVEN = {"query": "Oslo"}
TRACEBACK = "Traceback (most recent call last):\n  File x"


def one(source: Any, **options: Any) -> Trace:
    """Return the one trace that a value holds."""
    [trace] = load_traces(source, **options)
    return trace


def whole(trace: Trace) -> None:
    """Check that a trace holds the question, the call, its result and the answer."""
    calling, answering = trace.steps
    [call], [seen] = calling.calls, calling.observations
    assert (trace.question, call.name, call.arguments) == (ASK, "search", GIVEN)
    assert (seen.text, seen.tool, seen.failed) == ("found", "search", False)
    assert (answering.text, trace.answer) == (ANSWER, ANSWER)


# LangSmith


def run(id: str, kind: str, at: int, **more: Any) -> dict[str, Any]:
    """Return a run of LangSmith under the root."""
    place = f"2026T00000{at}Z{id:0>36}"
    root = f"2026T000000Z{'r':0>36}"
    row = {"id": f"{id:0>36}", "run_type": kind, "name": more.pop("name", kind), **more}
    if id == "r":
        return {**row, "trace_id": f"{'r':0>36}", "dotted_order": root}
    parent = {"parent_run_id": f"{'r':0>36}", "trace_id": f"{'r':0>36}"}
    return {**row, **parent, "dotted_order": f"{root}.{place}"}


def constructed(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """Return what a model's run of LangChain returned."""
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": text, "tool_calls": list(calls)},
    }
    return {"generations": [[{"text": text, "message": message}]]}


CALL = {"name": "search", "args": GIVEN, "id": "c1"}
RUNS = [
    run("r", "chain", 0, name="LangGraph", inputs={"input": ASK}, outputs={"output": ANSWER}),
    run("a", "llm", 1, inputs={"messages": [[["user", ASK]]]}, outputs=constructed("", CALL)),
    run(
        "b",
        "tool",
        2,
        name="search",
        inputs={"input": json.dumps(GIVEN)},
        outputs={"output": {"content": "found", "type": "tool", "tool_call_id": "c1"}},
    ),
    run("c", "llm", 3, inputs={}, outputs=json.dumps(constructed(ANSWER))),
    run("d", "retriever", 4, inputs={"query": "x"}, outputs={"documents": []}),
]


def test_langsmith_rows_in_any_order() -> None:
    """Runs come one a row, unsorted; their places in the tree sort them."""
    whole(one([RUNS[at] for at in (3, 0, 4, 2, 1)]))


def test_langsmith_trees() -> None:
    """A tree of runs, each holding its children, is the same run."""
    bare = [{k: v for k, v in r.items() if k not in ("parent_run_id", "trace_id")} for r in RUNS]
    whole(one({**bare[0], "child_runs": bare[1:]}))


def test_langsmith_operations() -> None:
    """What was posted of a run and what was patched later are one run."""
    posted = [{**r, "outputs": {}} for r in RUNS]
    patched = [{k: r[k] for k in ("id", "outputs", "dotted_order", "trace_id")} for r in RUNS]
    patched[0].pop("id")
    whole(one({"post": posted, "patch": patched}))


def test_langsmith_errors() -> None:
    """A run that raised has no outputs: its models tell the steps, and the error why it ended."""
    root = run(
        "r",
        "chain",
        0,
        inputs={"input": ASK},
        error=f"GraphRecursionError('Recursion limit of 4 reached'){TRACEBACK}",
    )
    trace = one([root, *RUNS[1:3]])
    assert trace.error == TraceError("GraphRecursionError", "Recursion limit of 4 reached", "host")
    assert classify_trace(trace).stop_reason.value == "max_iterations"
    broken = run("b", "tool", 2, name="search", inputs=GIVEN, error="KeyError('x')")
    trace = one([{**root, "error": "KeyError('x')"}, RUNS[1], broken])
    assert trace.error == TraceError("KeyError", "x", "tool")
    parser = run("b", "parser", 2, error="OutputParserException: no")
    trace = one([{**root, "error": "OutputParserException: no"}, RUNS[1], parser])
    assert classify_trace(trace).stop_reason.value == "parse_fail"
    paused = run("r", "chain", 0, error="GraphInterrupt(())")
    assert classify_trace(one([paused, RUNS[1]])).stop_reason.value == "interrupted"


def test_langsmith_roots_alone() -> None:
    """Of a run whose models are not in the export, the messages tell the steps."""
    messages = [
        {"type": "human", "content": ASK},
        {"type": "ai", "content": "", "tool_calls": [CALL]},
        {"type": "tool", "content": "found", "tool_call_id": "c1", "name": "search"},
        {"type": "ai", "content": ANSWER},
    ]
    whole(one(run("r", "chain", 0, outputs={"messages": messages}, tags=["x"])))


def test_langsmith_rows_without_anything() -> None:
    """A run that asked no model, answered nothing and did not fail cannot be read."""
    loaded = load_traces([run("r", "chain", 0)])
    assert (list(loaded), loaded.skipped[0].format) == ([], "langsmith")


# Langfuse


def observation(id: str, kind: str, at: int, **more: Any) -> dict[str, Any]:
    """Return an observation of Langfuse."""
    return {"id": id, "traceId": "t", "type": kind, "startTime": f"2026-01-01T00:0{at}Z", **more}


OBSERVATIONS = [
    observation("1", "SPAN", 0, name="run"),
    observation(
        "2",
        "GENERATION",
        1,
        name="chat",
        parentObservationId="1",
        input=json.dumps([{"role": "user", "content": ASK}]),
        output=json.dumps({"role": "assistant", "content": "", "tool_calls": [CALL]}),
        usageDetails={"input": 3, "output": 4, "total": 7},
    ),
    observation(
        "3",
        "SPAN",
        2,
        name="search",
        parentObservationId="1",
        input=json.dumps(GIVEN),
        output="found",
    ),
    observation(
        "4", "GENERATION", 3, name="chat", parentObservationId="1", input="x", output=f'"{ANSWER}"'
    ),
    observation("5", "EVENT", 4, name="log", input="x"),
]


def test_langfuse_rows() -> None:
    """Observations come one a row, unsorted; a span named like the call is the tool's work."""
    trace = one(list(reversed(OBSERVATIONS)))
    whole(trace)
    assert one(OBSERVATIONS) == trace
    assert (trace.id, trace.tokens) == ("t", 7)


def test_langfuse_traces() -> None:
    """A trace with its observations inside also tells question, answer and scores."""
    about = {"id": "t", "input": json.dumps({"question": ASK}), "output": ANSWER}
    scored = {**about, "scores": [{"name": "good", "value": 1}], "observations": OBSERVATIONS}
    trace = one(scored)
    whole(trace)
    assert trace.metadata == {"scores": {"good": 1}}
    whole(one({"trace": about, "observations": OBSERVATIONS}))
    pages = list(load_traces({"data": [scored, {**scored, "id": "u"}], "meta": {}}))
    assert [trace.id for trace in pages] == ["t", "u"]


def test_langfuse_errors() -> None:
    """An observation of level ERROR failed, with its message."""
    tool = {**OBSERVATIONS[2], "type": "TOOL", "level": "ERROR", "statusMessage": "KeyError: x"}
    [step, _] = one([*OBSERVATIONS[:2], {**tool, "output": None}, OBSERVATIONS[3]]).steps
    assert step.observations == (Observation("x", "search", failed=True),)
    down = {**OBSERVATIONS[3], "output": None, "level": "ERROR", "statusMessage": "429 Too Many"}
    trace = one([{**OBSERVATIONS[0], "level": "ERROR", "statusMessage": "429 Too Many"}, down])
    assert classify_trace(trace).stop_reason.value == "provider_error"


def test_langfuse_twins() -> None:
    """A model's call that two instrumentations tell of is one step; of several it is an agent."""
    inner = observation("5", "GENERATION", 2, name="openai", parentObservationId="2", output="None")
    trace = one([*OBSERVATIONS[:2], inner, *OBSERVATIONS[2:4]])
    whole(trace)
    empty = {**OBSERVATIONS[1], "output": None}
    full = {**OBSERVATIONS[1], "id": "6", "parentObservationId": "2"}
    whole(one([OBSERVATIONS[0], empty, full, *OBSERVATIONS[2:4]]))
    outer = observation("0", "GENERATION", 0, name="generateText", input=ASK, output=ANSWER)
    inside = [{**row, "parentObservationId": "0"} for row in OBSERVATIONS[1:4]]
    whole(one([outer, *inside]))


def test_langfuse_attributes() -> None:
    """What OpenTelemetry's attributes tell of an observation counts as well."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    told = {"metadata": json.dumps({"attributes": {**attributes, "gen_ai.tool.call.id": "c1"}})}
    tool = {**OBSERVATIONS[2], "name": "work", "input": None, **told}
    trace = one([*OBSERVATIONS[:2], tool, OBSERVATIONS[3]])
    assert trace.steps[0].observations == (Observation("found", "search", "c1"),)


def test_events_of_one_call() -> None:
    """Several spans that tell of one call are one call, with one result."""

    def event(id: str, at: int, **more: Any) -> dict[str, Any]:
        attributes = {"tool.name": "search", "tool.parameters": json.dumps(GIVEN)}
        metadata = json.dumps({"attributes": {"openinference.span.kind": "AGENT", **attributes}})
        return observation(id, "AGENT", at, name=f"update-{id}", metadata=metadata, **more)

    silent = {**OBSERVATIONS[1], "output": None}
    rows = [silent, event("a", 2), event("b", 3, output="found"), event("c", 4, output="found")]
    started = observation("d", "TOOL", 2, name="tool.search.start-1", input="{}")
    finished = observation("e", "TOOL", 3, name="tool.search.finish-1")
    whole(one([*rows, started, finished, {**OBSERVATIONS[3], "startTime": "2026-01-01T00:09Z"}]))


# OpenTelemetry


def typed(value: Any) -> dict[str, Any]:
    """Return one of OTLP's typed values."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(each) for each in value]}}
    if isinstance(value, dict):
        return {
            "kvlistValue": {"values": [{"key": k, "value": typed(v)} for k, v in value.items()]}
        }
    return {"stringValue": value}


def span(id: str, at: int, **attributes: Any) -> dict[str, Any]:
    """Return a span of OTLP."""
    return {
        "traceId": attributes.pop("trace", "t"),
        "spanId": id,
        "parentSpanId": "" if id == "r" else "r",
        "name": attributes.pop("name", id),
        "startTimeUnixNano": str(at),
        "status": attributes.pop("status", {}),
        "events": attributes.pop("events", []),
        "attributes": [{"key": k, "value": typed(v)} for k, v in attributes.items()],
    }


def batch(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return a batch of spans."""
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def parts(role: str, *held: dict[str, Any]) -> str:
    """Return messages of the GenAI conventions."""
    return json.dumps([{"role": role, "parts": list(held)}])


GENAI = [
    span("r", 1, **{"gen_ai.operation.name": "invoke_agent"}),
    span(
        "a",
        2,
        **{
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": parts("user", {"type": "text", "content": ASK}),
            "gen_ai.output.messages": parts(
                "assistant",
                {"type": "tool_call", "id": "c1", "name": "search", "arguments": GIVEN},
            ),
            "gen_ai.usage.input_tokens": 3,
            "gen_ai.usage.output_tokens": 4,
            "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "search"}]),
        },
    ),
    span(
        "b",
        10,
        **{
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.id": "c1",
            "gen_ai.tool.call.arguments": json.dumps(GIVEN),
            "gen_ai.tool.call.result": "found",
        },
    ),
    span(
        "c",
        11,
        **{
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": parts("assistant", {"type": "text", "content": ANSWER}),
        },
    ),
]


def test_otlp_over_several_lines() -> None:
    """Batches mix traces, and a trace spans batches; numbers sort as numbers."""
    other = span(
        "x", 3, **{"trace": "u", "gen_ai.operation.name": "chat", "gen_ai.completion": "Hi."}
    )
    lines = [batch(GENAI[3], other), batch(GENAI[1]), batch(GENAI[2], GENAI[0])]
    first, second = load_traces("\n".join(map(json.dumps, lines)).encode())
    whole(first)
    assert (first.framework, first.id, first.tokens, first.tools) == ("otlp", "t", 7, ("search",))
    assert (second.answer, second.id) == ("Hi.", "u")


def test_otlp_errors() -> None:
    """A span's status and its exception's event tell what failed."""
    failed = {"code": 2, "message": "slow down"}
    attributes = {"gen_ai.operation.name": "chat", "error.type": "openai.RateLimitError"}
    down = span("a", 2, status=failed, **attributes)
    root = span("r", 1, status=failed, **{"gen_ai.operation.name": "invoke_agent"})
    trace = one(batch(root, down))
    assert trace.steps[0].error == TraceError("RateLimitError", "slow down", "model")
    raised = {
        "name": "exception",
        "attributes": [{"key": "exception.type", "value": typed("KeyError")}],
    }
    tool = span("b", 2, status={"code": "STATUS_CODE_ERROR"}, events=[raised], **{"tool.name": "f"})
    assert one(batch(tool)).steps[0].observations == (Observation("", "f", failed=True),)


def test_otlp_values() -> None:
    """Every kind of value is read, and what is none is left out."""
    message = {"message": {"role": "assistant", "content": ANSWER, "odd": True, "n": 5}}
    held: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.output_messages": [message]}
    assert one(batch(span("a", 1, **held))).answer == ANSWER
    odd = batch({**span("a", 1), "attributes": [{"key": "output.value", "value": {}}, 5]})
    assert list(load_traces(odd)) == []
    plain = batch({**span("a", 1), "attributes": {"gen_ai.completion": ANSWER}})
    assert one(plain).answer == ANSWER
    assert list(load_traces({"resourceSpans": [5, {"scopeSpans": [{"spans": [5]}]}]})) == []


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        (
            {
                "gen_ai.completion.0.content": ANSWER,
                "gen_ai.prompt.0.content": ASK,
                "gen_ai.prompt.0.role": "user",
            },
            [],
        ),
        (
            {
                "gen_ai.completion": json.dumps({"text": ANSWER}),
                "gen_ai.prompt": json.dumps([{"role": "user", "content": ASK}]),
            },
            [],
        ),
        (
            {
                "traceloop.span.kind": "workflow",
                "traceloop.entity.output": ANSWER,
                "traceloop.entity.input": ASK,
            },
            [],
        ),
        (
            {"gen_ai.operation.name": "chat"},
            [
                {"name": "gen_ai.user.message", "attributes": {"content": ASK}},
                {
                    "name": "gen_ai.choice",
                    "attributes": {"message": json.dumps({"content": ANSWER})},
                },
            ],
        ),
        (
            {"gen_ai.operation.name": "chat"},
            [
                {
                    "name": "gen_ai.content.prompt",
                    "attributes": {"gen_ai.prompt": json.dumps([{"role": "user", "content": ASK}])},
                },
                {"name": "gen_ai.content.completion", "attributes": {"gen_ai.completion": ANSWER}},
            ],
        ),
        (
            {
                "ai.operationId": "ai.generateText",
                "ai.response.text": ANSWER,
                "ai.prompt": json.dumps({"prompt": ASK}),
            },
            [],
        ),
        ({"openinference.span.kind": "LLM", "llm.prompts": [ASK], "output.value": ANSWER}, []),
        (
            {
                "openinference.span.kind": "LLM",
                "llm": {
                    "output_messages": [{"message": {"content": ANSWER}}],
                    "input_messages": [{"message": {"role": "user", "content": ASK}}],
                },
            },
            [],
        ),
    ],
)
def test_conventions(attributes: dict[str, Any], events: list[Any]) -> None:
    """What was asked and answered stands under many names."""
    row = {"name": "x", "context": {"span_id": "1"}, "attributes": attributes, "events": events}
    trace = one(row)
    assert (trace.question, trace.answer) == (ASK, ANSWER)


def test_old_function_calls() -> None:
    """A call may stand under keys of its own; what else there is under such keys is left out."""
    at = "llm.output_messages.0.message."
    row = {
        "openinference.span.kind": "LLM",
        f"{at}function_call_name": "search",
        f"{at}function_call_arguments_json": json.dumps(GIVEN),
        f"{at}contents.0.message_content.type": "image",
        f"{at}odd.key": 1,
    }
    assert one(row).steps[0].calls == (TraceCall("search", GIVEN),)


def test_tools_that_tell_nothing() -> None:
    """A tool's span without what it got or returned is still a call."""
    bare = {"span_id": "1", "name": "f", "attributes": {"openinference.span.kind": "TOOL"}}
    [step] = Trace.from_spans([bare]).steps
    assert (step.calls, step.observations) == ((TraceCall("f"),), ())


def test_data_frames() -> None:
    """A data frame keeps attributes in columns of their own."""
    row = {
        "context.span_id": "1",
        "context.trace_id": "t",
        "span_kind": "LLM",
        "attributes.llm.output_messages": [
            {
                "message.role": "assistant",
                "message.tool_calls": [
                    {"tool_call.function.name": "search", "tool_call.function.arguments": "{}"}
                ],
            }
        ],
    }
    trace = one([row])
    assert trace.steps[0].calls == (TraceCall("search", {}),)
    assert trace.id == "t"


def test_vercel_spans() -> None:
    """Vercel's spans hold each other; the outer one of several is the agent."""

    def vercel(id: str, at: int, **attributes: Any) -> dict[str, Any]:
        context = {"spanContext": {"traceId": "t", "spanId": id}, "startTime": [at, 0]}
        above = {} if id == "r" else {"parentSpanContext": {"spanId": "r"}}
        return {"name": id, **context, **above, "attributes": attributes, "status": {"code": 0}}

    spans = [
        vercel(
            "r",
            1,
            **{
                "ai.operationId": "ai.generateText",
                "ai.prompt": json.dumps({"prompt": ASK}),
                "ai.response.text": ANSWER,
            },
        ),
        vercel(
            "a",
            2,
            **{
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.response.toolCalls": json.dumps(
                    [{"toolCallId": "c1", "toolName": "search", "input": json.dumps(GIVEN)}]
                ),
            },
        ),
        vercel(
            "b",
            3,
            **{
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "search",
                "ai.toolCall.id": "c1",
                "ai.toolCall.args": json.dumps(GIVEN),
                "ai.toolCall.result": "found",
            },
        ),
        vercel(
            "c", 10, **{"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": ANSWER}
        ),
        vercel("e", 11, **{"ai.operationId": "ai.embed"}),
    ]
    whole(one(list(reversed(spans))))
    whole(Trace.from_spans(spans))


def test_what_came_before_the_first_span() -> None:
    """Calls since the user spoke last belong to the run, though their models have no spans."""
    history = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]
    row = {
        "openinference.span.kind": "LLM",
        "input.value": json.dumps({"messages": history}),
        "output.value": ANSWER,
    }
    whole(one(row))


def test_spans_that_hold_each_other() -> None:
    """Spans in a circle are read, each once, and the reader comes to an end."""
    spans = [
        {"span_id": id, "parent_id": parent, "attributes": {"gen_ai.completion": id}}
        for id, parent in (("a", "b"), ("b", "a"), ("c", "a"))
    ]
    assert len(Trace.from_spans(spans).steps) <= 3


def test_agents_that_answer_in_fields() -> None:
    """What an agent returned is its answer, in a field that is named like one."""

    def agent(said: Any, given: Any = None) -> Trace:
        told = {"openinference.span.kind": "AGENT", "output.value": said, "input.value": given}
        return Trace.from_spans([{"span_id": "1", "attributes": told}])

    assert agent(json.dumps({"raw": ANSWER})).answer == ANSWER
    assert agent(json.dumps({"joke": {"a": 1}})).answer == '{"a": 1}'
    assert agent(json.dumps({"content": ANSWER})).answer == ANSWER
    assert agent(json.dumps([{"toolCallId": "1", "toolName": "f", "input": "{}"}])).answer is None
    assert agent("None").unreadable == "openinference"
    assert (
        agent(ANSWER, json.dumps({"new_message": {"role": "user", "content": ASK}})).question == ASK
    )
    assert agent(ANSWER, json.dumps({"a": 1})).question is None
    assert agent(ANSWER, json.dumps({"task": ""})).question is None


@pytest.mark.parametrize(
    ("attributes", "answer"),
    [
        ({"gen_ai.operation.name": "guess", "llm.output_messages.0.message.content": "4"}, "4"),
        ({"gen_ai.operation.name": "guess"}, None),
        ({f"llm.output_messages.{n}.message.content": f"{n}" for n in (10, 2)}, "2\n10"),
        ({"llm.output_messages.².message.content": "4"}, None),
    ],
    ids=["unknown operation", "nothing else", "in the order of numbers", "no number"],
)
def test_what_says_that_a_span_is_a_model(attributes: dict[str, Any], answer: str | None) -> None:
    """A model's span is known by its reply if its kind has a name that nobody knows."""
    assert Trace.from_spans([{"span_id": "1", "attributes": attributes}]).answer == answer
