"""How hosts write down that a run ended: in events without words, in spans, and on a console."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces

ASKED = "Is it cold in Oslo?"
ANSWER = "It is 4 degrees."


def ends(*rows: Any) -> tuple[str, str]:
    """Return how the only run of some lines ended: the verdict and the stop reason."""
    [trace] = load_traces("\n".join(map(json.dumps, rows)).encode())
    report = classify_trace(trace)
    return report.verdict, report.stop_reason.value


# Google's ADK

USER = {"author": "user", "content": {"role": "user", "parts": [{"text": ASKED}]}}
SAID = {"author": "agent", "content": {"role": "model", "parts": [{"text": ANSWER}]}}
DELTA = {"author": "agent", "invocationId": "i", "actions": {"stateDelta": {"x": 1}}}
SPEAKER = {"author": "agent", "invocationId": "i"}


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([USER, DELTA, SAID], ("answered", "final_answer")),
        ([USER, SAID, DELTA], ("answered", "final_answer")),
        ([USER, {**DELTA, "content": None}, SAID], ("answered", "final_answer")),
        ([USER, {**DELTA, "content": {"role": "model"}}, SAID], ("answered", "final_answer")),
        ([USER, {**SPEAKER, "errorCode": "X", "errorMessage": "down"}], ("failed", "host_error")),
        (
            [USER, {**SPEAKER, "error_code": "429", "error_message": "APIError: slow"}, DELTA],
            ("failed", "provider_error"),
        ),
        ([USER, {**SPEAKER, "error_code": "X"}, SAID], ("answered", "final_answer")),
        ([USER, {**SPEAKER, "error_code": "SAFETY"}], ("failed", "blocked")),
        ([USER, {**SPEAKER, "error_code": "MAX_TOKENS"}], ("failed", "max_iterations")),
    ],
)
def test_events_of_adk_that_say_nothing(events: list[Any], end: tuple[str, str]) -> None:
    """An event without content is no hindrance; an error is the end if nothing follows it."""
    assert ends({"id": "s", "appName": "a", "events": events}) == end
    assert ends(*events) == end


# Langfuse


def observation(id: str, parent: str | None, **more: Any) -> dict[str, Any]:
    """Return a row of Langfuse's."""
    return {"id": id, "parentObservationId": parent, "traceId": "t", "startTime": id, **more}


REPLY = observation("2", "1", type="GENERATION", output={"role": "assistant", "content": "Hm."})
BROKEN = {"level": "ERROR", "statusMessage": "KeyError: 'x'"}


@pytest.mark.parametrize("about", [{}, {"input": "q", "output": None}])
def test_langfuse_errors_of_the_root(about: dict[str, Any]) -> None:
    """An error of the outermost observation is the run's, also if the trace has an input."""
    root = observation("1", None, type="SPAN", **BROKEN)
    assert ends({"id": "t", **about, "observations": [root, REPLY]}) == ("failed", "host_error")
    late = observation("3", None, type="TOOL", **BROKEN)
    whole = observation("1", None, type="SPAN")
    verdict, _ = ends({"id": "t", **about, "observations": [whole, REPLY, late]})
    assert verdict != "failed"


def test_langfuse_errors_before_an_answer() -> None:
    """A trace that has an output is answered, whatever failed on the way."""
    root = observation("1", None, type="SPAN", **BROKEN)
    told = {"id": "t", "input": "q", "output": ANSWER, "observations": [root, REPLY]}
    assert ends(told) == ("answered", "final_answer")


# OpenHands and Codex

ASKING = {"id": 0, "source": "user", "action": "message", "args": {"content": ASKED}}
RUNS = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
RAN = {"id": 2, "source": "agent", "observation": "run", "cause": 1, "content": "x", "extras": {}}
SEEN = {"id": 3, "source": "environment", "content": ""}
ERROR = {**SEEN, "observation": "error", "content": "AuthenticationError: no key"}


def changed(state: str, reason: str = "") -> dict[str, Any]:
    """Return the event by which OpenHands tells the agent's state."""
    extras = {"agent_state": state, "reason": reason}
    return {**SEEN, "observation": "agent_state_changed", "extras": extras}


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([changed("error", "KeyError: 'x'")], ("failed", "host_error")),
        (
            [changed("error", "RuntimeError: Agent reached maximum iteration. Current: 30")],
            ("failed", "max_iterations"),
        ),
        ([ERROR], ("failed", "provider_error")),
        ([ERROR, changed("error")], ("failed", "provider_error")),
        ([changed("error")], ("failed", "host_error")),
        ([changed("error", "KeyError: 'x'"), RUNS, RAN], ("unknown", "unknown")),
        ([changed("running")], ("unknown", "unknown")),
        ([{**ERROR, "cause": 1}], ("unknown", "unknown")),
    ],
)
def test_states_of_openhands(events: list[Any], end: tuple[str, str]) -> None:
    """An error is the end of a session if the agent did nothing after it."""
    assert ends({"history": [ASKING, RUNS, RAN, *events]}) == end


STARTED = {"type": "turn.started"}
DONE = {"type": "item.completed", "item": {"type": "agent_message", "text": ANSWER}}
LOST = {"type": "error", "message": "stream disconnected"}


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([STARTED, LOST], ("failed", "host_error")),
        ([STARTED, DONE, LOST], ("failed", "host_error")),
        ([STARTED, LOST, DONE], ("answered", "final_answer")),
        ([STARTED, DONE, LOST, {"type": "turn.completed"}], ("answered", "final_answer")),
    ],
)
def test_errors_of_codex(events: list[Any], end: tuple[str, str]) -> None:
    """An error is the end of a session if nothing follows it."""
    assert ends(*events) == end


def test_errors_alone_are_no_run() -> None:
    """A log of errors, of whatever program, is no agent's run."""
    loaded = load_traces([LOST, LOST])
    assert (list(loaded), loaded.skipped[0].reason) == ([], "nothing could be read")


# What is no agent's run

EMBEDDED = {"id": "1", "name": "e", "start_time": "1", "inputs": {"x": "y"}, "outputs": {"v": [1]}}
SPAN = {"name": "e", "span_id": "1", "trace_id": "t"}


@pytest.mark.parametrize(
    "row",
    [
        {**EMBEDDED, "run_type": "embedding"},
        {**EMBEDDED, "run_type": "retriever", "error": "KeyError('x')"},
        {**SPAN, "attributes": {"openinference.span.kind": "EMBEDDING", "input.value": "x"}},
        {
            **SPAN,
            "attributes": {"gen_ai.operation.name": "embeddings"},
            "status": {"status_code": "ERROR"},
        },
    ],
)
def test_an_embedding_by_itself(row: dict[str, Any]) -> None:
    """An embedding or a search that no agent asked for is no run."""
    loaded = load_traces(row)
    assert (list(loaded), loaded.skipped[0].reason) == ([], "nothing could be read")


# Providers

BLOCKED = {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 4}}
REQUEST = {"contents": [{"role": "user", "parts": [{"text": ASKED}]}]}


@pytest.mark.parametrize(
    "row",
    [
        {"request": REQUEST, "response": BLOCKED},
        {**REQUEST, **BLOCKED},
        BLOCKED,
        {**SPAN, "attributes": {"openinference.span.kind": "LLM", "output.value": BLOCKED}},
    ],
)
def test_a_prompt_that_gemini_blocks(row: dict[str, Any]) -> None:
    """A prompt that was blocked has no reply, and that ends the run."""
    assert ends(row) == ("failed", "blocked")


# LangChain's console

ENTERING = "\n\n\x1b[1m> Entering new AgentExecutor chain...\x1b[0m\n"
FINISHED = "\n\n\x1b[1m> Finished chain.\x1b[0m\n"
GREEN, BLUE, OFF = "\x1b[32;1m\x1b[1;3m", "\x1b[36;1m\x1b[1;3m", "\x1b[0m"
LOOKS = f"{GREEN}I look.\nAction: weather\nAction Input: Oslo{OFF}{BLUE}4 degrees{OFF}"
FINAL = f"{GREEN}Thought: I know.\nFinal Answer: {ANSWER}{OFF}"
LIMIT = "Agent stopped due to iteration limit or time limit."


@pytest.mark.parametrize(
    ("log", "question", "answer", "reason"),
    [
        (ENTERING + LOOKS + FINAL + FINISHED, None, ANSWER, "final_answer"),
        (ENTERING + LOOKS + FINAL + FINISHED + "{'output': 'x'}\n", None, ANSWER, "final_answer"),
        (ASKED + ENTERING + LOOKS + FINAL + FINISHED, ASKED, ANSWER, "final_answer"),
        ("Thought: " + LOOKS + FINAL + FINISHED + FINISHED, None, ANSWER, "final_answer"),
        (ENTERING + LOOKS + f"{GREEN}{LIMIT}{OFF}" + FINISHED, None, LIMIT, "max_iterations"),
        (ENTERING + LOOKS + f"\nThought:\n{LIMIT}\n", None, LIMIT, "max_iterations"),
    ],
)
def test_what_an_executor_prints(log: str, question: str | None, answer: str, reason: str) -> None:
    """The banners and what is printed after the run are neither question nor answer."""
    trace = Trace.from_react_log(log)
    assert (trace.question, trace.answer) == (question, answer)
    assert classify_trace(trace).stop_reason.value == reason
    assert trace.steps[0].calls[0].name == "weather"


def test_an_executor_within_another() -> None:
    """A chain that a tool runs ends before the run does, and a second run begins after it."""
    inner = "\n> Entering new LLMMathChain chain...\n2+2\n> Finished chain.\n"
    acts = "Thought: x\nAction: weather\nAction Input: Oslo\n"
    log = f"> Entering new AgentExecutor chain...\n{acts}{inner}Observation: 4\n"
    again = f"{log}Final Answer: {ANSWER}\n> Finished chain.\nbye\n{log}Final Answer: No.\n"
    trace = Trace.from_react_log(again)
    assert [step.answer for step in trace.steps] == [None, ANSWER, None, "No."]
    assert trace.steps[0].observations[0].text == "4"
