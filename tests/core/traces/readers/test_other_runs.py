"""Runs in more forms, written after what public tools export: one claim for each line of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.traces.view import is_failure

LINES = (Path(__file__).parent / "other_runs.jsonl").read_text(encoding="utf-8").splitlines()
RUNS: dict[str, dict[str, Any]] = {run["name"]: run for run in map(json.loads, LINES)}


@pytest.mark.parametrize("name", RUNS)
def test_other_runs(name: str) -> None:
    """A run has the steps, calls, failures and the end that a person reads in it."""
    traces = list(load_traces(RUNS[name]["text"].encode()))
    found = [
        [
            len(trace.steps),
            sum(len(step.calls) for step in trace.steps),
            sum(is_failure(seen) for step in trace.steps for seen in step.observations),
            classify_trace(trace).stop_reason.value,
        ]
        for trace in traces
    ]
    assert found == RUNS[name]["expected"]
    for trace, about in zip(traces, RUNS[name].get("about", ()), strict=False):
        for key, value in (about or {}).items():
            assert getattr(trace, key) == value


def read(*rows: Any) -> Trace:
    """Read the only run of some lines."""
    [trace] = load_traces("\n".join(map(json.dumps, rows)).encode())
    return trace


def stop(*rows: Any) -> str:
    """Return why the only run of some lines stopped."""
    return classify_trace(read(*rows)).stop_reason.value


TALK = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
SAID = {"kind": "MessageEvent", "id": "1", "source": "agent", "llm_message": TALK[1]}
STATE = {"kind": "ConversationStateUpdateEvent", "id": "2", "source": "environment"}
FAILED = {"kind": "ConversationErrorEvent", "id": "3", "source": "environment"}
RUN = {"object": "thread.run", "id": "r", "created_at": 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**STATE, "key": "execution_status", "value": "stuck"}, "stuck"),
        ({**STATE, "key": "execution_status", "value": "finished"}, "final_answer"),
        ({**FAILED, "code": "RateLimitError", "detail": "429"}, "provider_error"),
        ({"__interrupt__": [{"value": "ok?"}]}, "interrupted"),
        ({**RUN, "status": "incomplete", "incomplete_details": {"reason": "x"}}, "max_iterations"),
        ({**RUN, "status": "cancelled"}, "cancelled"),
        ({**RUN, "status": "completed"}, "final_answer"),
    ],
)
def test_how_hosts_say_that_a_session_ended(row: dict[str, Any], reason: str) -> None:
    """A host's event tells the end of a session."""
    assert stop(SAID, row) == reason


def test_what_openhands_did() -> None:
    """An action without a call is a call of its tool; a note of the host is no result of it."""
    made: dict[str, Any] = {"kind": "ActionEvent", "id": "1", "source": "agent"}
    made |= {
        "tool_name": "finish",
        "action": {"message": "4"},
        "thought": [],
        "llm_response_id": "r",
    }
    note = {"kind": "AgentErrorEvent", "id": "2", "source": "agent", "error": "late"}
    trace = read(made, note)
    assert [call.name for call in trace.steps[0].calls] == ["finish"]
    assert (trace.steps[0].observations, trace.answer) == ((), "4")


def test_a_step_of_an_assistant_that_goes_on() -> None:
    """A call without a result is a call all the same; code has its kind as its name."""
    code = {"id": "c", "type": "code_interpreter", "code_interpreter": {"input": "1+1"}}
    details = {"type": "tool_calls", "tool_calls": [code]}
    [step] = read({"object": "thread.run.step", "created_at": 1, "step_details": details}).steps
    assert [(call.name, call.arguments) for call in step.calls] == [("code_interpreter", "1+1")]
    assert not step.observations


def test_a_session_of_notes_alone() -> None:
    """Notes beside a session tell of no run, and are said to be unreadable."""
    loaded = load_traces({"type": "summary", "summary": "A chat.", "leafUuid": "1"})
    assert (list(loaded), loaded.skipped[0].format) == ([], "messages")


def test_tasks_and_thoughts_that_tell_less() -> None:
    """A task may tell its result alone, and a thought a call without what came of it."""
    task = {"description": "Where?", "raw": "In Norway.", "agent": "guide"}
    trace = read({"tasks_output": [task, {"raw": "Oslo."}]})
    assert (trace.question, [step.agent for step in trace.steps]) == ("Where?", ["guide", None])
    made = {"position": "1", "tool": "f", "tool_input": "{}", "observation": ""}
    [step] = read({"query": "Where?", "answer": "", "agent_thoughts": [made]}).steps
    assert (len(step.calls), step.observations) == (1, ())
    odd = {"role": "user", "content": [5]}
    assert (
        read({"tasks_output": [{"messages": [odd, {"role": "ai", "content": "x"}]}]}).answer == "x"
    )


def test_a_tool_in_an_export_of_chatgpt() -> None:
    """What is said to a tool is a call of it; a branch that is not shown is left out."""

    def node(role: str, text: str, parent: str | None, to: str = "all") -> dict[str, Any]:
        content = {"content_type": "code", "text": text}
        return {
            "message": {"author": {"role": role}, "content": content, "recipient": to},
            "parent": parent,
        }

    nodes = {
        "a": {"message": None, "parent": None},
        "b": node("user", "2+2?", "a"),
        "x": node("assistant", "5", "b"),
        "c": node("assistant", "2+2", "b", "python"),
        "d": node("tool", "4", "c"),
        "e": node("assistant", "Four.", "d"),
    }
    trace = read({"mapping": nodes, "current_node": "e"})
    assert [call.name for step in trace.steps for call in step.calls] == ["python"]
    assert (trace.question, trace.answer) == ("2+2?", "Four.")


def test_several_calls_that_one_span_ran() -> None:
    """Haystack runs all calls of a step in one: each result goes to its call."""
    made = [{"id": str(n), "type": "function", "function": {"name": "f"}} for n in (1, 2)]
    seen = [{"result": str(n), "origin": {"id": str(n), "tool_name": "f"}} for n in (2, 1)]
    row = {"traceId": "t", "startTime": "1", "type": "GENERATION", "id": "g"}
    ran = {**row, "startTime": "2", "type": "TOOL", "id": "x", "name": "tool_invoker"}
    said = {"output": json.dumps({"role": "assistant", "tool_calls": made})}
    trace = read({**row, **said}, {**ran, "output": json.dumps({"tool_messages": seen})})
    assert [each.text for each in trace.steps[0].observations] == ["2", "1"]
    assert [each.call_id for each in trace.steps[0].observations] == ["2", "1"]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ('{"output": "x", "metadata": {"exit_code": 1}}', True),
        ('{"output": "x", "metadata": {"exit_code": 0}}', False),
        ('{"output": "x", "rows": 1}', False),
    ],
)
def test_what_a_command_printed(output: str, *, failed: bool) -> None:
    """The exit code beside what a command printed tells whether it failed."""
    made = {"role": "assistant", "tool_calls": [{"id": "1", "name": "shell", "args": {}}]}
    seen = {"role": "tool", "tool_call_id": "1", "content": output}
    [observation] = read({"messages": [made, seen]}).steps[0].observations
    assert (observation.failed, observation.text == "x") == (failed, "rows" not in output)


SPLIT = {"columns": ["id", "messages"], "index": [0], "data": [["a", TALK]]}


@pytest.mark.parametrize(
    "table",
    [
        SPLIT,
        {"id": {"0": "a"}, "messages": {"0": TALK}},
        f'id,messages\r\na,"{json.dumps(TALK).replace(chr(34), 2 * chr(34))}"\r\n\r\n',
        f'id,messages\na,"{json.dumps(TALK).replace(chr(34), 2 * chr(34))}"',
    ],
)
def test_rows_in_a_table(table: Any) -> None:
    """A run in a row of a data frame or of CSV is read, whichever form the table has."""
    source = table.encode() if isinstance(table, str) else table
    [trace] = load_traces(source)
    assert (trace.id, trace.answer) == ("a", "4")


@pytest.mark.parametrize(
    "table",
    [
        {"a": {"0": 1}, "b": {"1": 2}},
        {"a": {"x": 1}, "b": {"x": 1}},
        "name\nx\n",
        "two words!,x\n1,2\n",
    ],
)
def test_what_is_no_table(table: Any) -> None:
    """Columns of different lengths, a column alone and a sentence are no table."""
    source = table.encode() if isinstance(table, str) else table
    assert not list(load_traces(source))


def test_a_torn_table() -> None:
    """Rows before the torn one are read, and what is torn is told with its line."""
    whole = json.dumps(TALK).replace('"', '""')
    loaded = load_traces(f'id,messages\na,"{whole}"\nb,"[\n'.encode())
    assert [trace.answer for trace in loaded] == ["4"]
    assert [(each.line, each.reason) for each in loaded.skipped] == [(3, "is not CSV: torn")]


def test_agents_in_roles_of_their_own() -> None:
    """Where nobody speaks as the model, agents in roles of their own do, after a user."""
    said = [{"role": "user", "content": "Go."}, {"role": "Critic", "content": "No."}]
    assert read({"messages": said}).steps[0].agent == "Critic"
    assert read({"messages": [*said, TALK[1]]}).steps[0].text == "4"
