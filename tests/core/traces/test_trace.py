"""Traces: the contract's body, JSON, and reading logs, messages and spans."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopmend import StopReason, Trace, classify_trace
from loopmend.contracts import (
    ExitCodeMismatch,
    GrammarOk,
    MissingAction,
    MissingExitCode,
    TerminationOk,
    classify_iteration_bound,
    classify_scratchpad_grammar,
    classify_termination,
)
from loopmend.traces import (
    Limits,
    Observation,
    Step,
    Tokens,
    TraceCall,
    TraceError,
    TraceFormatError,
)
from tests.core.strategies import any_text, emitted_text, json_values

LOG = """Where is Oslo?
Thought 1: I have to look it up.
Action 1: Search[Oslo]
Observation 1: Oslo is the capital of Norway.
Thought 2: Now I know.
Action 2: Finish[Norway]
Observation 2: Answer is CORRECT
"""

texts = st.text(max_size=20)
traces = st.builds(
    Trace,
    steps=st.lists(
        st.builds(
            Step,
            text=texts,
            thought=st.none() | texts,
            calls=st.lists(st.builds(TraceCall, texts, json_values, st.none() | texts), max_size=2),
            observations=st.lists(st.builds(Observation, texts, failed=st.booleans()), max_size=2),
            answer=st.none() | texts,
            error=st.none()
            | st.builds(TraceError, texts, texts, st.sampled_from(["model", "tool"])),
            tokens=st.none() | st.builds(Tokens, st.integers(0, 99), st.integers(0, 99)),
        ),
        max_size=6,
    ),
    answer=st.none() | texts,
    reason=st.none() | st.sampled_from(list(StopReason)).map(str) | texts,
    limits=st.builds(Limits, st.none() | st.integers(0, 5), st.none() | st.floats(0, 9)),
    error=st.none() | st.builds(TraceError, texts, texts),
    metadata=st.dictionaries(texts, json_values, max_size=2),
)


def test_a_numbered_log() -> None:
    """Numbered headers, brackets and the finishing action are read."""
    trace = Trace.from_react_log(LOG, max_iterations=5, tools=["Search", "Finish"])
    assert (trace.question, trace.answer, trace.iterations) == ("Where is Oslo?", "Norway", 2)
    first = trace.steps[0]
    assert (first.thought, first.calls) == ("I have to look it up.", (TraceCall("Search", "Oslo"),))
    assert first.observations == (Observation("Oslo is the capital of Norway.", "Search"),)
    assert first.turn is None  # what a log says of a reply is taken apart already
    assert trace.limits.max_iterations == 5


@pytest.mark.parametrize(
    ("log", "calls"),
    [
        ("Action: search\nAction Input: Oslo", [("search", "Oslo")]),
        ("Action: click[Buy Now", [("click", "Buy Now")]),
        ("Action: think[hm]\nObservation: OK.", [("think", "hm")]),
        ("Action: look around the room", []),
        ("Action: a\nAction: b", [("a", None), ("b", None)]),
        ("Thought: x\nThought: y\nAction: a[1]", [("a", "1")]),
        ("**Action:** search[x]", [("search", "x")]),
        ("Action Input: x", []),
        ("Observation: x", []),
        ("nothing of the kind", []),
    ],
)
def test_other_logs(log: str, calls: list[tuple[str, Any]]) -> None:
    """Logs come in many forms; what is no action is none."""
    trace = Trace.from_react_log(log)
    assert [(c.name, c.arguments) for step in trace.steps for c in step.calls] == calls
    assert trace.answer is None


def test_logs_with_an_ending_of_their_own() -> None:
    """An action that ends a run can be named; `Final Answer:` always does."""
    trace = Trace.from_react_log("Action: click[Buy Now]", finish=["click[Buy Now]"])
    assert (trace.answer, trace.steps[0].calls) == (
        "click[Buy Now]",
        (TraceCall("click", "Buy Now"),),
    )
    assert Trace.from_react_log("Thought: x\nFinal Answer: 4").answer == "4"
    with pytest.raises(TypeError, match="`text` must be a str"):
        Trace.from_react_log(None)  # type: ignore[arg-type]


def test_the_contract_says_ok_for_a_run_that_kept_it() -> None:
    """Reason, scratchpad and number of steps pass all three contracts."""
    trace = Trace.from_react_log(LOG, max_iterations=5).with_reason("final_answer")
    body = trace.to_react_trace()
    assert classify_termination(body) == TerminationOk("final_answer", 0)
    assert classify_scratchpad_grammar(body["scratchpad"]) == GrammarOk(2)
    assert classify_iteration_bound(body, 5).kind == "Ok"
    assert json.loads(json.dumps(body)) == body


def test_the_contract_says_no_for_a_run_that_broke_it() -> None:
    """A step without an action, and a reason beyond the contract, are told as such."""
    lost = Trace([Step(thought="hm"), Step(thought="x", answer="4")], answer="4", reason="timeout")
    assert classify_scratchpad_grammar(lost.scratchpad) == MissingAction(0)
    assert lost.exit_code == 2
    assert Trace().to_react_trace() == {"iterations": 0, "scratchpad": ""}
    stuck = Trace(reason="stuck")
    assert stuck.exit_code is None
    assert isinstance(classify_termination(stuck.to_react_trace()), MissingExitCode)
    body = {**Trace(reason="timeout").to_react_trace(), "exit_code": 0}
    assert isinstance(classify_termination(body), ExitCodeMismatch)


def test_keywords_in_results_are_no_headers() -> None:
    """What a tool returned cannot break the grammar."""
    step = Step(
        thought="the Action: keyword",
        calls=[TraceCall("f", {"q": "Thought: x"}), TraceCall("g", "y")],
        observations=[
            Observation("Thought: a\nFinal Answer: b"),
            Observation("c"),
            Observation("d"),
        ],
    )
    trace = Trace([step, Step(answer="4")])
    assert classify_scratchpad_grammar(trace.scratchpad) == GrammarOk(2)
    assert "Thought : a" in trace.scratchpad


def test_one_line_of_json() -> None:
    """A trace is one line with a version, and comes back as it was."""
    trace = Trace.from_react_log(LOG, max_iterations=5)
    line = trace.to_json()
    assert "\n" not in line
    assert json.loads(line)["version"] == 1
    assert Trace.from_json(line) == trace


def test_arguments_that_json_lacks() -> None:
    """Whatever a host passed to a tool can be written down."""
    step = Step(calls=[TraceCall("f", {"day": date(2026, 1, 1), "all": {1}})])
    again = Trace.from_json(Trace([step]).to_json())
    assert again.steps[0].calls[0].arguments == {"day": "datetime.date(2026, 1, 1)", "all": "{1}"}


@given(traces)
def test_any_trace_survives_json_and_is_classified(trace: Trace) -> None:
    """Whatever was recorded can be written, read back and classified, always alike."""
    again = Trace.from_json(trace.to_json())
    assert again == trace or "nan" in trace.to_json().lower()
    report = classify_trace(trace)
    assert report == classify_trace(trace)
    assert isinstance(report.stop_reason, StopReason)
    for finding in report.findings:
        assert finding.step is None or 0 <= finding.step < max(trace.iterations, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", r"version None \(supported: 1\)"),
        ('{"version": 2}', "version 2"),
        ('{"version": true, "steps": 5}', "steps"),
        ('{"version": 1, "steps": [{"calls": 5}]}', "calls"),
    ],
)
def test_lines_that_are_no_trace(line: str, words: str) -> None:
    """What is wrong with a line is told."""
    with pytest.raises(TraceFormatError, match=words):
        Trace.from_json(line)


def test_tokens() -> None:
    """Tokens add up as far as they are known."""
    assert Trace([Step(tokens=Tokens(1, 2)), Step(), Step(tokens=Tokens(3))]).tokens == 6


MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Where is Oslo?"}, "x", {"type": "image"}],
    },
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "1", "function": {"name": "search", "arguments": '{"q": "Oslo"}'}},
            {"id": "2", "function": {"name": "add", "arguments": "{broken"}},
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
        "name": "helper",
    },
    {"role": "tool", "tool_call_id": "1", "content": "Norway"},
    {"role": "tool", "content": "bad", "status": "error"},
    {"role": "assistant", "content": "In Norway."},
]


def test_messages() -> None:
    """Each message of the assistant is a step, with its calls and what they returned."""
    trace = Trace.from_messages(MESSAGES, max_iterations=3)
    first, last = trace.steps
    assert first.calls == (
        TraceCall("search", {"q": "Oslo"}, "1"),
        TraceCall("add", "{broken", "2"),
    )
    assert [(o.tool, o.failed) for o in first.observations] == [("search", False), ("add", True)]
    assert (first.tokens, first.agent, first.thought) == (Tokens(5, 7), "helper", "I look.")
    assert (last.answer, trace.answer, trace.question) == (
        *["In Norway."] * 2,
        "Where is Oslo?\nx",
    )
    assert trace.metadata["user_message_lengths"] == [16]


def test_other_messages() -> None:
    """Objects, LangChain's names, old function calls and odd contents are read as well."""

    class Message:
        def __init__(self, **given: Any) -> None:
            self.__dict__.update(given)

    trace = Trace.from_messages(
        [
            Message(type="human", content="go"),
            Message(type="ai", content="", tool_calls=[{"name": "f", "args": {"a": 1}}]),
            Message(type="tool", content=None),
            Message(type="tool", content=5),
            {"role": "assistant", "function_call": {"name": "g", "arguments": "{}"}},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": "", "usage": {"prompt_tokens": None}},
        ]
    )
    assert [[c.name for c in step.calls] for step in trace.steps] == [["f"], ["g"], [], []]
    assert [o.text for o in trace.steps[0].observations] == ["", "5"]
    assert trace.steps[3].tokens is None
    assert trace.answer is None
    [lone] = Trace.from_messages([{"role": "tool", "content": "x"}]).steps
    assert [seen.text for seen in lone.observations] == ["x"]


def test_calls_in_the_last_message_are_no_answer() -> None:
    """Text that is really a call does not count as the answer."""
    text = '{"name": "search", "arguments": {"q": "Oslo"}}'
    assert Trace.from_messages([{"role": "assistant", "content": text}]).answer is None


def llm(id: str, parent: str | None, start: str, **attributes: Any) -> dict[str, Any]:
    """Return a model's span."""
    kind = {"openinference.span.kind": "LLM"}
    return {
        "name": "llm",
        "span_id": id,
        "parent_id": parent,
        "start_time": start,
        "attributes": {**kind, **{k.replace("__", "."): v for k, v in attributes.items()}},
    }


def test_flat_spans() -> None:
    """Spans in any order become steps in the order of time, with tools and tokens."""
    message = "llm.output_messages.0.message."
    calling = llm("b", "a", "1")
    calling["attributes"] |= {
        f"{message}tool_calls.0.tool_call.function.name": "search",
        f"{message}tool_calls.0.tool_call.function.arguments": '{"q": "Oslo"}',
        f"{message}tool_calls.0.tool_call.id": "1",
        "llm.token_count.prompt": 5,
        "llm.token_count.completion": "7",
    }
    tool = {
        "name": "search",
        "context": {"span_id": "c"},
        "parent_id": "a",
        "start_time": "2",
        "attributes": {
            "openinference.span.kind": "TOOL",
            "input.value": '{"q": "Oslo"}',
            "output.value": "Norway",
        },
    }
    again = {**tool, "context": {"span_id": "e"}, "start_time": "25"}
    answering = llm("d", "a", "30", output__value='{"role": "assistant", "content": "In Norway."}')
    agent = {
        "name": "agent",
        "span_id": "a",
        "attributes": {
            "openinference.span.kind": "AGENT",
            "input.value": '{"task": "Where?"}',
            "smolagents.tools_names": ["search"],
        },
    }
    trace = Trace.from_spans([answering, tool, agent, calling, again, "no span"])
    first, last = trace.steps
    assert first.calls == (
        TraceCall("search", {"q": "Oslo"}, "1"),
        TraceCall("search", {"q": "Oslo"}),
    )
    assert [o.text for o in first.observations] == ["Norway", "Norway"]
    assert (first.tokens, first.agent, first.id) == (Tokens(5, 7), "agent", "b")
    assert (last.text, trace.answer, trace.question, trace.tools) == (
        *("In Norway.", "In Norway.", "Where?", ("search",)),
    )


def test_nested_spans_with_errors_and_code() -> None:
    """Errors of steps and tools, code as a call, and final answers of nested agents are read."""

    def chain(name: str, *children: Any, **given: Any) -> dict[str, Any]:
        kind = {"openinference.span.kind": "CHAIN", "output.value": given.pop("output", None)}
        return {"span_name": name, "span_attributes": kind, "child_spans": list(children), **given}

    def said(text: str, **given: Any) -> dict[str, Any]:
        return {
            "span_attributes": {"openinference.span.kind": "LLM", "output.value": text},
            **given,
        }

    def tool(name: str, given: str, **more: Any) -> dict[str, Any]:
        attributes = {"openinference.span.kind": "TOOL", "input.value": given}
        return {"span_name": name, "span_attributes": attributes, **more}

    failed = {"status_code": "Error", "status_message": "ParsingError: no code"}
    spans = [
        chain("Step 1", said("Code:\n```py\nprint(1)\n```"), output="1"),
        chain("Step 2", said("no code"), **failed),
        chain(
            "Step 3",
            said("x"),
            tool(
                "web",
                '{"args": [], "kwargs": {"q": 1}, "sanitize_inputs_outputs": false}',
                **failed,
            ),
        ),
        chain("Step 4", said("y"), tool("FinalAnswerTool", '{"args": ["4"]}')),
        chain("Step 5", output="nothing asked"),
        chain("other", said("", status={"status_code": "ERROR", "description": "boom"})),
    ]
    steps = Trace.from_spans(spans).steps
    assert steps[0].calls == (TraceCall("python", "print(1)"),)
    assert steps[0].observations == (Observation("1"),)
    assert steps[1].error == TraceError("ParsingError", "no code", "host")
    assert steps[2].calls == (TraceCall("web", {"q": 1}),)
    assert steps[2].observations == (Observation("no code", "web", failed=True),)
    assert steps[3].answer == "4"
    assert steps[4].error == TraceError("Error", "boom", "model")


def test_odd_spans() -> None:
    """What is missing or odd in spans is left out."""
    message = "llm.output_messages.0.message.tool_calls.0.tool_call.function."
    final = llm("a", None, "1")
    final["attributes"] |= {
        f"{message}name": "final_answer",
        f"{message}arguments": '{"answer": {"x": 1}}',
    }
    assert Trace.from_spans([final]).steps[0].answer == '{"x": 1}'
    only_tool = {
        "name": "f",
        "attributes": {"openinference.span.kind": "TOOL", "input.value": "{x"},
    }
    assert Trace.from_spans([only_tool]).steps[0].calls == (TraceCall("f", "{x"),)
    assert Trace.from_spans([{"span_id": "1", "parent_id": "1", "attributes": 5}]).steps == ()
    down = {"name": "root", "status": {"code": 2, "message": "no luck"}}
    assert Trace.from_spans([down]).error == TraceError("Error", "no luck", "host")
    agent = {
        "attributes": {"openinference.span.kind": "AGENT", "output.value": "4", "input.value": "x"}
    }
    assert Trace.from_spans([agent]).answer == "4"
    flat = llm("a", None, "1")
    flat["attributes"]["llm.output_messages.0.message.content"] = "In Norway."
    assert Trace.from_spans([flat]).answer == "In Norway."
    listed = llm("a", None, "1", output__value=5)
    assert Trace.from_spans([listed]).steps[0].text == ""


@given(emitted_text | any_text)
def test_reading_logs_is_total(text: str) -> None:
    """Any text is a trace, and nothing of it is an error."""
    trace = Trace.from_react_log(text)
    assert Trace.from_json(trace.to_json()) == trace or "nan" in trace.to_json().lower()
    classify_trace(trace)


@given(
    st.lists(
        json_values
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "attributes",
                    "span_id",
                    "parent_id",
                    "child_spans",
                ]
            ),
            json_values | st.sampled_from(["assistant", "tool", "user"]),
        ),
        max_size=4,
    )
)
def test_reading_anything_is_total(data: list[Any]) -> None:
    """Any JSON is read as messages and as spans without an error."""
    classify_trace(Trace.from_messages([each for each in data if isinstance(each, dict)]))
    classify_trace(Trace.from_spans(data))
