"""Runs in forms of more platforms and harnesses, expected before anybody read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.traces.view import is_failure

RUNS = {
    row["name"]: row
    for line in (Path(__file__).parent / "fresh_runs.jsonl").read_text().splitlines()
    for row in [json.loads(line)]
}


def read(*rows: Any) -> Trace:
    """Read the only run of some lines."""
    [trace] = load_traces("\n".join(map(json.dumps, rows)).encode())
    return trace


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if run["expected"]])
def test_fresh_runs(name: str) -> None:
    """A run has the steps, calls, failures and the end that a person reads in it."""
    [trace] = load_traces(RUNS[name]["text"].encode())
    failed = sum(is_failure(seen) for step in trace.steps for seen in step.observations)
    calls = sum(len(step.calls) for step in trace.steps)
    found = [len(trace.steps), calls, failed, classify_trace(trace).stop_reason.value]
    assert found == RUNS[name]["expected"]


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if not run["expected"]])
def test_forms_that_nobody_reads(name: str) -> None:
    """A form that no reader knows is skipped with a reason, and no run is made of it."""
    loaded = load_traces(RUNS[name]["text"].encode())
    assert not list(loaded)
    assert {skipped.reason for skipped in loaded.skipped} == {"has no format that loopmend knows"}


SAID = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
CUT = {"type": "turn.failed", "error": {"message": "stream disconnected"}}


def test_only_what_comes_last_ends_a_session() -> None:
    """A failed turn is no end if the session goes on; one that tells nothing is none either."""
    assert classify_trace(read(SAID, CUT)).stop_reason == "host_error"
    assert classify_trace(read(CUT, SAID)).stop_reason == "final_answer"
    assert classify_trace(read(SAID, {"type": "turn.failed"})).stop_reason == "final_answer"


def test_what_claude_code_says_at_the_end() -> None:
    """The last line of Claude Code tells the answer, or what kept it from one."""
    made = [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]
    said = {"role": "assistant", "content": made}
    reply = {"type": "assistant", "session_id": "s", "message": said}
    end = {"type": "result", "session_id": "s", "subtype": "success", "is_error": False}
    assert read(reply, {**end, "result": "Four."}).answer == "Four."
    assert read(reply, end).answer is None
    failed = read(reply, {**end, "subtype": "error_during_execution", "is_error": True})
    assert failed.error is not None
    assert failed.error.message == "error_during_execution"


def test_pieces_of_messages_are_put_together() -> None:
    """AG-UI's pieces make a message each, also if its end was not recorded."""
    start = {"type": "TEXT_MESSAGE_START", "messageId": "1", "role": "assistant"}
    more = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "1", "delta": "Hel"}
    lost = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "2", "delta": "?"}
    rest = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "1", "delta": "lo"}
    assert read(start, more, lost, rest).answer == "Hello"
    failed = read(start, more, {"type": "RUN_ERROR", "message": "boom"})
    assert classify_trace(failed).stop_reason == "host_error"


def test_what_openhands_notes_is_no_step() -> None:
    """Notes of the host, and what it did by itself, are neither calls nor results."""
    asked = {"id": 0, "source": "user", "action": "message", "args": {"content": "Go"}}
    noted = {"id": 1, "source": "agent", "action": "recall", "args": {"query": "x"}}
    state = {"id": 2, "source": "environment", "observation": "agent_state", "content": ""}
    made = {"id": 3, "source": "agent", "action": "read", "args": {"path": "a"}}
    seen = {"id": 4, "source": "agent", "observation": "error", "content": "No a.", "cause": 3}
    trace = read(asked, noted, state, made, seen)
    assert [call.name for step in trace.steps for call in step.calls] == ["read"]
    assert [(each.text, each.failed) for each in trace.steps[0].observations] == [("No a.", True)]
    assert trace.question == "Go"


def test_codex_items_without_work_are_no_calls() -> None:
    """A plan is no call; a search tells what it looked for and nothing of what it found."""
    plan = {"type": "item.completed", "item": {"type": "todo_list", "items": []}}
    search = {"type": "item.completed", "item": {"id": "1", "type": "web_search", "query": "Oslo"}}
    trace = read(plan, search, {"type": "item.completed", "item": {}}, SAID)
    assert [call.arguments for step in trace.steps for call in step.calls] == ["Oslo"]


def test_events_of_langchain() -> None:
    """A tool that raised something failed; a question may be plain text."""
    ids = {"run_id": "1", "parent_ids": []}
    asked = {"event": "on_chain_start", "data": {"input": "Where?"}, **ids}
    inner = {**asked, "parent_ids": ["1"]}
    chunk = {"event": "on_chat_model_stream", "data": {"chunk": "x"}, **ids}
    reply = {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "c"}]}
    made = {"event": "on_chat_model_end", "data": {"output": reply}, **ids}
    raised = {"event": "on_tool_error", "name": "f", "data": {"error": "ValueError('x')"}, **ids}
    trace = read(asked, inner, chunk, made, raised)
    assert trace.question == "Where?"
    assert [seen.failed for step in trace.steps for seen in step.observations] == [True]


def test_a_browser_step_without_an_action() -> None:
    """A step whose reply could not be used has failed; without an error it only says something."""
    used = {"model_output": {"action": [{"wait": {}}]}, "result": [{"extracted_content": "ok"}]}
    failed = {"model_output": None, "result": [{"error": "no JSON"}]}
    empty = {"model_output": {"thinking": "hm", "action": []}, "result": []}
    trace = read({"history": [used, failed, empty]})
    assert [len(step.observations) for step in trace.steps] == [1, 1, 0]
    assert trace.steps[1].observations[0].failed


def test_a_trajectory_that_breaks_off() -> None:
    """A call of DSPy's without a result is a call all the same."""
    kept = {"thought_0": "t", "tool_name_0": "f", "tool_args_0": {"a": 1}}
    trace = read({"trajectory": kept})
    assert trace.steps[0].calls[0].arguments == {"a": 1}
    assert not trace.steps[0].observations


ROW: dict[str, Any] = {"id": "1", "trace_id": "T", "parent_span_id": None, "input": "x"}


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"type": "tool", "error_info": {"message": "bad"}}, ("Error", "bad")),
        ({"type": "tool", "error_info": {"exception_type": "a.B", "message": "c"}}, ("B", "c")),
        ({"type": "tool", "error_info": {}, "status": "error"}, ("Error", "")),
        ({"type": "tool", "error_info": None}, None),
    ],
)
def test_errors_of_rows(row: dict[str, Any], error: tuple[str, str] | None) -> None:
    """A row tells its error as text, in fields, or only that there was one."""
    reply = {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}
    model = {**ROW, "id": "0", "type": "llm", "start_time": "1", "output": reply}
    trace = read(model, {**ROW, "name": "f", "start_time": "2", **row})
    [seen] = trace.steps[0].observations if error else [None]
    assert (seen is not None and seen.failed) == (error is not None)
    if error is not None and error[1]:
        assert seen is not None
        assert seen.text == error[1]


def test_what_is_no_row_of_a_platform() -> None:
    """A row without a place, or of a kind that no platform has, is no span."""
    rows = ({**ROW, "type": "recipe"}, {"type": "llm", "input": "x"}, {**ROW, "meta": {"a": 1}})
    for row in rows:
        assert not [t for t in load_traces(row) if t.framework == "platform_rows"]


def test_a_wait_for_a_human() -> None:
    """A thread of LangGraph that was interrupted waits; it did not fail."""
    said = [{"type": "human", "content": "Go"}]
    thread = {"values": {"messages": said, "__interrupt__": [{"value": "ok?"}]}, "next": ["tools"]}
    assert classify_trace(read(thread)).stop_reason == "interrupted"


def test_results_within_calls() -> None:
    """A call beside a message's content may hold its result, as text or in parts."""
    made = {"id": "1", "name": "f", "args": {}, "result": "found"}
    trace = read([{"role": "user", "content": "Go"}, {"role": "assistant", "toolCalls": [made]}])
    assert trace.steps[0].observations[0].text == "found"


def test_a_tag_that_tells_its_tool() -> None:
    """A result in a tag may be an object with the tool's name."""
    tagged = '<tool_response>{"name": "f", "content": "found"}</tool_response>'
    asked = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    trace = read(
        {"conversations": [{"from": "gpt", "value": asked}, {"from": "tool", "value": tagged}]}
    )
    assert [(each.tool, each.text) for each in trace.steps[0].observations] == [("f", "found")]
