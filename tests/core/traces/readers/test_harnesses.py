"""Logs and trajectories of agent harnesses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.traces import Observation, Tokens, TraceCall, TraceError

ASK = "Where is Oslo?"
ANSWER = "In Norway."


def one(source: Any, **options: Any) -> Trace:
    """Return the one trace that a value holds."""
    [trace] = load_traces(source, **options)
    return trace


def stop(trace: Trace) -> str:
    """Return why a run stopped."""
    return classify_trace(trace).stop_reason.value


# Inspect

SAMPLE: dict[str, Any] = {
    "id": 7,
    "epoch": 2,
    "input": "attachment://1",
    "messages": [
        {"role": "system", "content": "Be brief.", "number": 5},
        {"role": "user", "content": "attachment://1"},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": ""}],
            "tool_calls": [{"id": "1", "function": "bash", "arguments": {"cmd": "ls"}}],
        },
        {
            "role": "tool",
            "tool_call_id": "1",
            "function": "bash",
            "content": "tc://2",
            "error": {"type": "timeout", "message": "30 s"},
        },
        {"role": "assistant", "content": ANSWER},
    ],
    "output": {
        "choices": [{"message": {}, "stop_reason": "stop"}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
    "scores": {"match": {"value": "C"}},
    "attachments": {"1": ASK, "2": "listing"},
    "total_time": 1.5,
}


def test_inspect_samples() -> None:
    """A sample is read with its attachments, its scores and what its tools returned."""
    trace = one({"version": 2, "eval": {}, "plan": {}, "samples": [SAMPLE]})
    first, last = trace.steps
    assert (trace.question, trace.answer, trace.id) == (ASK, ANSWER, "7_epoch_2")
    assert (trace.metadata, trace.seconds) == ({"scores": {"match": "C"}}, 1.5)
    assert (first.thought, first.calls) == ("hm", (TraceCall("bash", {"cmd": "ls"}, "1"),))
    assert first.observations == (Observation("listing", "bash", "1", True),)
    assert (last.tokens, stop(trace)) == (Tokens(3, 4), "final_answer")
    assert one(SAMPLE) == trace


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"limit": {"type": "message", "limit": 5}}, "max_iterations"),
        ({"limit": {"type": "token", "limit": 5}}, "max_iterations"),
        ({"limit": {"type": "time", "limit": 5}}, "timeout"),
        ({"limit": {"type": "operator"}}, "cancelled"),
        ({"limit": {"type": "custom"}}, "blocked"),
        ({"error": {"message": "RateLimitError('429')", "traceback": ""}}, "provider_error"),
        ({"output": {"error": "Connection refused by the provider"}}, "provider_error"),
        ({"output": {"choices": [{"stop_reason": "content_filter"}]}}, "blocked"),
        ({"input": [{"role": "user", "content": ASK}], "scores": None}, "final_answer"),
    ],
)
def test_how_inspect_samples_end(more: dict[str, Any], reason: str) -> None:
    """A limit or an error tells why a sample ended, before its messages do."""
    assert stop(one({**SAMPLE, **more})) == reason


# SWE-agent


def item(action: str, observation: str, **more: Any) -> dict[str, Any]:
    """Return one step of a trajectory."""
    return {
        "thought": "hm",
        "response": f"hm\n{action}",
        "action": action,
        "observation": observation,
        **more,
    }


TRAJECTORY: dict[str, Any] = {
    "environment": "x",
    "trajectory": [item("ls -a\n", "main.py", execution_time=0.5), item("submit\n", "diff --git")],
    "history": [
        {"role": "user", "content": "Not this.", "is_demo": True},
        {"role": "user", "content": ASK},
    ],
    "info": {"exit_status": "submitted", "submission": "diff"},
}


def test_swe_agent_trajectories() -> None:
    """Each action is a step and a call of its first word; demonstrations are left out."""
    trace = one(TRAJECTORY)
    first, last = trace.steps
    assert (trace.question, trace.answer, stop(trace)) == (ASK, "diff", "final_answer")
    assert (first.thought, first.seconds) == ("hm", 0.5)
    assert (first.calls, last.calls[0].name) == ((TraceCall("ls", "ls -a"),), "submit")
    assert first.observations == (Observation("main.py", "ls"),)
    assert trace.metadata == {"exit_status": "submitted"}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("submitted (exit_cost)", "max_iterations"),
        ("exit_cost", "max_iterations"),
        ("exit_context", "max_iterations"),
        ("LimitsExceeded", "max_iterations"),
        ("exit_command_timeout", "timeout"),
        ("exit_format", "parse_fail"),
        ("exit_api", "provider_error"),
        ("exit_forfeit", "stuck"),
        ("early_exit", "cancelled"),
        ("exit_environment_error", "host_error"),
        (None, "unknown"),
    ],
)
def test_how_swe_agent_ends(status: str | None, reason: str) -> None:
    """The exit status tells why a run ended, also where something was submitted at a limit."""
    info = {"exit_status": status}
    assert stop(one({**TRAJECTORY, "trajectory": [item("ls", "x")], "info": info})) == reason


def test_what_swe_agent_says_itself() -> None:
    """The harness's own words tell that a command failed."""
    seen = ["\nEXECUTION TIMED OUT", "x\n" * 900 + "EXECUTION TIMED OUT BECAUSE", "fine"]
    steps = one({**TRAJECTORY, "trajectory": [item("make", text) for text in seen]}).steps
    assert [step.observations[0].failed for step in steps] == [True, True, False]
    silent = one(
        {
            **TRAJECTORY,
            "trajectory": [item("", ""), item("", "Your output was not formatted correctly")],
        }
    )
    assert [len(step.observations) for step in silent.steps] == [0, 1]


def test_swe_agent_histories() -> None:
    """Where only the messages are kept, what the user says after an action is what was seen."""
    said = "I look.\n```bash\nls -a\n```"
    history = [
        *({"role": "system", "content": "x"}, {"role": "user", "content": ASK}),
        {"role": "assistant", "content": said},
        {"role": "user", "content": "main.py"},
        {"role": "assistant", "content": "no command"},
        {"role": "user", "content": "Your output was not formatted correctly"},
        {"role": "assistant", "content": "x", "action": "submit", "thought": "done"},
    ]
    trace = one({"history": history, "info": {"exit_status": "submitted"}})
    assert [[c.name for c in step.calls] for step in trace.steps] == [["ls"], [], ["submit"]]
    assert [step.thought for step in trace.steps] == ["I look.", "no command", "done"]
    assert [o.failed for o in trace.steps[1].observations] == [True]
    mini = {"trajectory_format": "mini-swe-agent-1", "messages": history, "info": {}}
    assert one(mini).steps == trace.steps
    calls = [
        {"role": "user", "content": ASK},
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [{"id": "1", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "seen", "tool_call_ids": ["1"]},
    ]
    [step] = one({"history": calls, "info": {}}).steps
    assert step.observations == (Observation("seen", "bash", "1"),)
    loaded = load_traces({"history": [{"role": "user", "content": ASK}], "info": {}})
    assert (list(loaded), loaded.skipped[0].format) == ([], "swe_agent")


# ATIF


def atif(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a trajectory in ATIF."""
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": "s",
        "agent": {"name": "a"},
        "steps": numbered,
        **more,
    }


def test_atif_trajectories() -> None:
    """Each step of the agent is one, with its calls, results, reasoning and tokens."""
    calling = {
        "source": "agent",
        "message": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [{"tool_call_id": "1", "function_name": "bash", "arguments": {"cmd": "ls"}}],
        "observation": {
            "results": [{"source_call_id": "1", "content": [{"type": "text", "text": "x"}]}]
        },
        "metrics": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    copied = {"source": "agent", "message": "earlier", "is_copied_context": True}
    agent = {"name": "a", "tool_definitions": [{"type": "function", "function": {"name": "bash"}}]}
    asked = {"source": "user", "message": [{"type": "text", "text": ASK}]}
    answered = {"source": "agent", "message": ANSWER}
    trace = one(atif(asked, copied, calling, answered, agent=agent))
    first, _ = trace.steps
    assert (trace.question, trace.answer, trace.id, trace.tools) == (ASK, ANSWER, "s", ("bash",))
    assert (first.thought, first.tokens, first.id) == ("hm", Tokens(3, 4), "3")
    assert first.calls == (TraceCall("bash", {"cmd": "ls"}, "1"),)
    assert first.observations == (Observation("x", "bash", "1"),)


def test_atif_calls_as_text() -> None:
    """A call in the text counts where its result is there, and at the end if it ends the run."""
    run = "<function=bash>\n<parameter=cmd>ls</parameter>\n</function>"
    end = "<function=finish>\n<parameter=message>Done.</parameter>\n</function>"
    seen = {"results": [{"content": "x"}, {"content": None}]}
    trace = one(
        atif(
            {"source": "agent", "message": run, "observation": seen},
            {"source": "agent", "message": end},
        )
    )
    assert [[c.name for c in step.calls] for step in trace.steps] == [["bash"], ["finish"]]
    assert (trace.answer, trace.steps[0].turn) == ("Done.", None)


def test_terminus() -> None:
    """Keystrokes in JSON are calls, and its word that the task is complete ends the run."""

    def said(*keys: str, complete: bool) -> dict[str, Any]:
        told = {
            "analysis": "ok",
            "commands": [{"keystrokes": k} for k in keys],
            "task_complete": complete,
        }
        return {
            "source": "agent",
            "message": json.dumps(told),
            "observation": {"results": [{"content": "x"}]},
        }

    trace = one(atif(said("ls\n", "pwd\n", complete=False), said(complete=True)))
    assert [[c.name for c in step.calls] for step in trace.steps] == [["bash_command"] * 2, []]
    assert (trace.answer, stop(trace)) == ("ok", "final_answer")
    assert stop(one(atif(said("ls\n", complete=False)))) == "unknown"
    loaded = load_traces(atif({"source": "user", "message": ASK}))
    assert (list(loaded), loaded.skipped[0].format) == ([], "atif")


# AgentExecutor


def test_agent_executor_results() -> None:
    """Actions come as objects, as dicts, as constructors or as lists."""
    action = {"tool": "search", "tool_input": "Oslo", "log": "Action: search"}
    steps = [
        [action, "found"],
        [{"lc": 1, "id": ["AgentAction"], "kwargs": {**action, "log": "b"}}, {"rows": 1}],
        [["search", {"q": 1}, "c"], None],
        {"action": {**action, "log": "d"}, "observation": "x"},
        [{"tool": "_Exception", "tool_input": "?", "log": "e"}, "Invalid Format"],
        [],
    ]
    trace = one({"input": ASK, "output": ANSWER, "intermediate_steps": steps})
    names = [[call.name for call in step.calls] for step in trace.steps]
    assert names == [["search"]] * 4 + [[], []]
    assert [o.text for step in trace.steps for o in step.observations] == [
        *("found", '{"rows": 1}', "x", "Invalid Format"),
    ]
    assert (trace.question, trace.answer, trace.framework) == (ASK, ANSWER, "agent_executor")


def test_agent_executor_calls_at_once() -> None:
    """Actions of one reply are one step; a cap worded as an answer is a cap."""
    at_once = [
        [{"tool": "f", "tool_input": n, "log": "same", "tool_call_id": str(n)}, str(n)]
        for n in range(2)
    ]
    capped = "Agent stopped due to max iterations."
    chat = [{"role": "user", "content": ASK}]
    trace = one({"input": chat, "output": capped, "intermediateSteps": at_once})
    assert [len(step.calls) for step in trace.steps] == [2, 0]
    assert (trace.question, stop(trace)) == (ASK, "max_iterations")
    assert stop(one({"input": ASK, "intermediate_steps": at_once})) == "unknown"


# Managed agents


def event(kind: str, **more: Any) -> list[Any]:
    """Return an event as the client's stream writes it."""
    return ["client.beta.sessions.events.stream", {"type": kind, **more}]


def text(said: str) -> list[dict[str, str]]:
    """Return a text as content."""
    return [{"type": "text", "text": said}]


EVENTS = [
    ["client.beta.sessions.create", {"type": "session", "id": "s", "agent": {}}],
    ["client.beta.sessions.events.send", ["s", {"events": []}]],
    event("user.message", content=text(ASK)),
    event("session.thread_status_running"),
    event("span.model_request_start"),
    event("agent.thinking"),
    event("agent.thinking", content=text("hm")),
    event("agent.tool_use", id="1", name="bash", input={"cmd": "ls"}),
    event("span.model_request_end", model_usage={"input_tokens": 3, "output_tokens": 4}),
    event("session.status_idle", stop_reason={"type": "requires_action"}),
    event("session.status_running"),
    event("agent.tool_result", tool_use_id="1", content=text("x"), is_error=True),
    event("span.model_request_start"),
    event("agent.message", content=text(ANSWER)),
    event("session.status_idle", stop_reason={"type": "end_turn"}),
]


def test_managed_agents() -> None:
    """Each request of the model is a step; a pause that ended is none."""
    trace = one("\n".join(map(json.dumps, EVENTS)).encode())
    first, _ = trace.steps
    assert (trace.question, trace.answer, trace.id) == (ASK, ANSWER, "s")
    assert (first.thought, first.tokens) == ("hm", Tokens(3, 4))
    assert first.calls == (TraceCall("bash", {"cmd": "ls"}, "1"),)
    assert first.observations == (Observation("x", "bash", "1", True),)
    assert one(EVENTS) == trace


def test_how_managed_agents_end() -> None:
    """A run may wait for a human, or end with an error of the platform."""
    assert stop(one(EVENTS[:10])) == "interrupted"
    failed = event("session.error", error={"type": "RateLimitError", "message": "429"})
    trace = one([*EVENTS[:8], failed])
    assert trace.error == TraceError("RateLimitError", "429", "model")
    assert stop(one([event("session.error"), EVENTS[6]])) == "provider_error"
    lost = [event("agent.mcp_tool_result", mcp_tool_use_id="9", content=text("x"))]
    assert one([*EVENTS[:8], *lost]).steps[0].observations[0].text == "x"
    assert one([*lost, EVENTS[7]]).steps[0].observations == ()
