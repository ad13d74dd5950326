"""Runs that a reader would defend: whatever is found in them, nothing is proven against them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.traces import Limits, Observation, Step, Tokens, TraceCall, TraceError

GIVEN = {"city": "Oslo"}
SUNNY = "It is sunny and 20 degrees in Oslo."
LONG = "please look up how many people live in the city of"


def do(name: str = "weather", given: Any = None, seen: str | None = SUNNY, **more: Any) -> Step:
    """Return a step that calls a tool and sees something."""
    failed = more.pop("failed", False)
    call = TraceCall(name, GIVEN if given is None else given, more.pop("id", None))
    results = [] if seen is None else [Observation(seen, name, call.id, failed)]
    return Step(calls=[call], observations=results, **more)


def say(text: str = "It is sunny.", **more: Any) -> Step:
    """Return a step that answers."""
    return Step(text=text, answer=text, **more)


def call(id: str, name: str = "weather", given: Any = None) -> dict[str, Any]:
    """Return a reply in OpenAI's format that calls a tool."""
    asked = {"name": name, "arguments": json.dumps(GIVEN if given is None else given)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": asked}]}


def saw(id: str, text: str = SUNNY) -> dict[str, Any]:
    """Return what a tool returned, in OpenAI's format."""
    return {"role": "tool", "tool_call_id": id, "content": text}


def user(text: str) -> dict[str, Any]:
    """Return a message of the user."""
    return {"role": "user", "content": text}


def told(text: str) -> dict[str, Any]:
    """Return a message of the model."""
    return {"role": "assistant", "content": text}


TWICE = [user("Weather?"), call("1"), saw("1"), told("Sunny."), user("And now?"), call("2")]


def blocks(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """Return a message in Anthropic's format."""
    return {"role": role, "content": list(parts)}


def used(id: str) -> dict[str, Any]:
    """Return a call in Anthropic's format."""
    return blocks("assistant", {"type": "tool_use", "id": id, "name": "weather", "input": GIVEN})


def result(id: str) -> dict[str, Any]:
    """Return a result in Anthropic's format."""
    return {"type": "tool_result", "tool_use_id": id, "content": SUNNY}


MESSAGES: dict[str, list[Any]] = {
    "asked twice": [*TWICE, saw("2"), told("Still sunny.")],
    "asked three times": [
        *TWICE,
        saw("2"),
        told("Sunny."),
        user("?"),
        call("3"),
        saw("3"),
        told("Yes."),
    ],
    "asked again after a result that went to the user": [
        *[
            user("Weather?"),
            call("1"),
            saw("1"),
            user("Again."),
            call("2"),
            saw("2"),
            told("Sunny."),
        ]
    ],
    "Anthropic's blocks, asked twice": [
        *[user("Weather?"), used("1"), blocks("user", result("1"))],
        *[blocks("assistant", {"type": "text", "text": "Sunny."}), user("And now?")],
        *[used("2"), blocks("user", result("2")), told("Sunny.")],
    ],
    "Responses, asked twice": [
        user("Weather?"),
        {
            "type": "function_call",
            "call_id": "1",
            "name": "weather",
            "arguments": json.dumps(GIVEN),
        },
        {"type": "function_call_output", "call_id": "1", "output": SUNNY},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Sunny."}],
        },
        user("And now?"),
        {
            "type": "function_call",
            "call_id": "2",
            "name": "weather",
            "arguments": json.dumps(GIVEN),
        },
        {"type": "function_call_output", "call_id": "2", "output": SUNNY},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Sunny."}],
        },
    ],
    "the user confirms, and the model looks again before it books": [
        *[user("Book it."), call("1"), saw("1"), told("Shall I?"), user("Yes.")],
        *[call("2"), saw("2"), call("3", "book"), saw("3", "Booked."), told("Done.")],
    ],
    "a run that waits for the user's word": [*TWICE, saw("2"), told("Which city do you mean?")],
}

RUNS: dict[str, Trace] = {
    # waiting, and calls whose effect is not in their result
    "polling with changing results": Trace(
        [*(do("status", {}, f"{n} % done, still running, come back") for n in (10, 50)), say()]
    ),
    "polling until it is done": Trace(
        [
            *[do("status", {}, "The job is still running, ask again.")] * 4,
            do("status", {}, "Done."),
            say(),
        ]
    ),
    "polling that the model gives up politely": Trace(
        [*[do("status", {}, "The job is still running, ask again.")] * 4, say("It still runs.")]
    ),
    "a key pressed three times": Trace([*[do("press", {"key": "Down"}, "OK")] * 3, say()]),
    "scrolling": Trace([*[do("scroll", {}, "scrolled")] * 5, say()]),
    "two of the same in a basket": Trace([*[do("add", {"item": "apple"}, "added")] * 2, say()]),
    "dice thrown at once": Trace(
        [
            Step(
                calls=[TraceCall("roll", {}, str(n)) for n in range(3)],
                observations=[
                    Observation("4", "roll", "0"),
                    Observation("4", "roll", "1"),
                    Observation("4", "roll", "2"),
                ],
            ),
            say(),
        ]
    ),
    "pictures that the record does not hold": Trace([*[do("screenshot", {}, "")] * 4, say()]),
    "pages of one search": Trace(
        [
            *(do("search", {"query": f"{LONG} Oslo", "page": n}, f"page {n}") for n in (1, 2, 3)),
            say(),
        ]
    ),
    "tests run after each edit": Trace(
        [
            step
            for n in range(3)
            for step in (do("edit", {"line": n}, "ok"), do("test", {}, f"{3 - n} failed"))
        ]
        + [say()]
    ),
    "the same question to two agents": Trace([do(agent="a"), do(agent="b"), say(agent="a")]),
    # corrections
    "a retry that works": Trace([do(seen="Error: timed out"), do(), say()]),
    "a retry that does not help": Trace(
        [do(seen="Error: 503"), do(seen="Error: 503"), say("It is down.")]
    ),
    "a correction after a failure": Trace(
        [
            do("ask", {"q": f"{LONG} Osloo"}, "Error: no such city"),
            do("ask", {"q": f"{LONG} Oslo"}, "700,000"),
            say(),
        ]
    ),
    "one of two parallel calls fails in each step": Trace(
        [
            *(
                Step(
                    calls=[TraceCall("a", n, f"a{n}"), TraceCall("b", n, f"b{n}")],
                    observations=[
                        Observation("x", "a", f"a{n}"),
                        Observation("no", "b", f"b{n}", failed=True),
                    ],
                )
                for n in range(3)
            ),
            say(),
        ]
    ),
    "a failure in each of three requests": Trace(
        [do(seen="no", failed=True, request=n) for n in range(3)] + [say(request=2)]
    ),
    # answers
    "an answer about limits": Trace(answer="Your API call limit exceeded the plan; upgrade it."),
    "an answer about a solver": Trace(
        answer="Max iterations reached: the solver did not converge. Use 200."
    ),
    "an answer about steps": Trace(
        answer="Reached max steps of the pyramid in 1889, as the plaque says."
    ),
    "an answer although the last step failed": Trace(
        [do(), Step(error=TraceError("TimeoutError", "model timed out", "model"))],
        answer="It is sunny.",
    ),
    "an answer, then another question": Trace([say(), do(request=1), say(request=1)]),
    "an answer of another agent before": Trace(
        [say(agent="helper"), do(agent="boss"), say(agent="boss")]
    ),
    "a text about how agents write": Trace.from_messages(
        [
            user("How do agents write?"),
            told("Action: search\nAction Input: Oslo\nObservation: a city"),
        ]
    ),
    "a report with observations": Trace.from_messages(
        [user("Report?"), told("Observation: the patient sleeps.\nAction: none needed.")]
    ),
    # limits
    "a cap for each request": Trace(
        [do(request=n) for n in range(4)] + [say(request=3)], limits=Limits(max_iterations=2)
    ),
    "many requests, none of them over the cap": Trace(
        [do(given=n, request=n // 2) for n in range(6)], limits=Limits(max_iterations=3)
    ),
    "as many tokens as allowed": Trace(
        [Step(tokens=Tokens(5), answer="x")], limits=Limits(max_tokens=5)
    ),
    "as many steps as allowed": Trace([do(), say()], limits=Limits(max_iterations=2)),
    # tools and arguments
    "a tool that the list lacks": Trace([do("search"), say()], tools=["weather"]),
    "a tool that the list lacks, without a result": Trace(
        [do("search", seen=None), say()], tools=["weather"]
    ),
    "a tool that the list lacks, and that fails": Trace(
        [do("search", seen="no", failed=True), say()], tools=["weather"]
    ),
    "an answer by a tool that is on no list": Trace(
        [Step(calls=[TraceCall("done")], answer="4")], tools=["f"]
    ),
    "arguments that the platform cut": Trace([do(given='{"city": "Os', id="1"), say()]),
    "code that begins with a brace": Trace([do("run", "{ echo hi; }", "hi", id="1"), say()]),
    "a shop that has no such tool": Trace(
        [do("shop_search", {"q": "hammer"}, "Tool 'hammer' not found in the shop."), say()]
    ),
    "a validator that says what it found": Trace(
        [do("validate", {}, "validation error in line 3 of your form", failed=True), say()]
    ),
    "a tool that could not parse its own data": Trace(
        [
            Step(
                calls=[TraceCall("f")],
                error=TraceError("ValueError", "could not parse date", "tool"),
            ),
            say(),
        ]
    ),
    "a tool whose own code is wrong": Trace(
        [do(seen="TypeError: g() got an unexpected keyword argument 'x'", failed=True), say()]
    ),
    "a thought that comes back": Trace(
        [do(given=n, seen=str(n), thought="I look it up once more.") for n in (1, 2)] + [say()]
    ),
    "a first look once more, to check": Trace(
        [
            do("ls", {}, "a"),
            do("cat", {}, "x"),
            do("edit", {}, "ok"),
            do("ls", {}, "a b"),
            do("cat", {}, "y"),
            say(),
        ]
    ),
    "two tools in turn, with something new each time": Trace(
        [
            step
            for n in range(3)
            for step in (do("next", {}, f"page {n}"), do("read", {}, f"text {n}"))
        ]
        + [say()]
    ),
    "a record that ends after a tool": Trace([do()]),
    "a record that ends after a call": Trace([do(seen=None)]),
    "two questions in one log": Trace.from_react_log(
        "Question: a?\nThought: x\nAction: f\nAction Input: 1\nObservation: same\nFinal Answer: y\n"
        "Question: a?\nThought: x\nAction: f\nAction Input: 1\nObservation: same\nFinal Answer: y"
    ),
}
SPAN = {"openinference.span.kind": "LLM", "output.value": "It is sunny."}
RECORDS: dict[str, Any] = {
    "pieces of a run whose whole was not recorded": [
        {"span_id": "1", "trace_id": "t", "parent_id": "r", "start_time": "1",
         "status_code": "ERROR",
         "attributes": {"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "1"}},
        {"span_id": "2", "trace_id": "t", "parent_id": "r", "start_time": "2", "attributes": SPAN},
    ],
    "two runs in one trace": [
        row
        for n in range(2)
        for row in (
            {"span_id": f"r{n}", "trace_id": "t", "start_time": f"{n}0",
             "attributes": {"openinference.span.kind": "AGENT"}},
            {"span_id": f"l{n}", "trace_id": "t", "parent_id": f"r{n}", "start_time": f"{n}1",
             "attributes": {"openinference.span.kind": "LLM", "output.value": "I look."}},
            {"span_id": f"t{n}", "trace_id": "t", "parent_id": f"r{n}", "start_time": f"{n}2",
             "attributes": {"openinference.span.kind": "TOOL", "tool.name": "f", "input.value": "1",
                            "output.value": SUNNY}},
            {"span_id": f"a{n}", "trace_id": "t", "parent_id": f"r{n}", "start_time": f"{n}3",
             "attributes": SPAN},
        )
    ],
    "agents with tools of their own": [
        {"span_id": "1", "trace_id": "t", "start_time": "1", "attributes": {
            **SPAN, "gen_ai.tool.definitions": json.dumps([{"name": "ask_helper"}])}},
        {"span_id": "2", "trace_id": "t", "start_time": "2", "attributes": {
            "openinference.span.kind": "LLM",
            "gen_ai.tool.definitions": json.dumps([{"name": "search"}]),
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search"}},
        {"span_id": "3", "trace_id": "t", "start_time": "3", "attributes": SPAN},
    ],
}  # fmt: skip
for name, messages in MESSAGES.items():
    RUNS[name] = Trace.from_messages(messages)
for name, record in RECORDS.items():
    [RUNS[name]] = load_traces(record)

FACTS = ("tool_error", "provider_error")
"""What the host itself says: that a tool or a model failed is proven if it says so."""


@pytest.mark.parametrize("name", RUNS, ids=str)
def test_nothing_is_proven_against_it(name: str) -> None:
    """A run that can be defended has no proven finding but what its host says itself."""
    report = classify_trace(RUNS[name])
    proven = [f.kind for f in report.findings if f.certainty == "proven" and f.kind not in FACTS]
    assert proven == []


LOOPS = {"identical_call", "no_progress_loop", "near_identical_loop", "cycle", "restart"}


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in MESSAGES),
        *("polling with changing results", "polling until it is done", "pages of one search"),
        *("a correction after a failure", "the same question to two agents"),
        *("pictures that the record does not hold", "tests run after each edit"),
        *("two questions in one log", "two runs in one trace"),
        *("a first look once more, to check", "two tools in turn, with something new each time"),
    ],
)
def test_it_is_no_loop(name: str) -> None:
    """To ask again, to wait for a change, to correct and to turn pages is no loop."""
    assert not classify_trace(RUNS[name]).kinds() & LOOPS


def test_the_same_calls_in_one_request_are_a_loop() -> None:
    """What is forgiven across requests is found within one."""
    messages = [user("Weather?"), *(m for n in "123" for m in (call(n), saw(n))), told("Sunny.")]
    assert {"identical_call", "no_progress_loop"} <= classify_trace(
        Trace.from_messages(messages)
    ).kinds()


def test_a_loop_that_somebody_cut_is_a_loop() -> None:
    """A last call that failed or has no result is no change that the model waited for."""
    for end in (do(seen=None), do(seen="Error: called too often")):
        kinds = classify_trace(Trace([*[do()] * 3, end])).kinds()
        assert {"identical_call", "no_progress_loop"} <= kinds


def test_a_note_beside_a_result_is_no_request() -> None:
    """A host's note in the message that returns a result does not start a new request."""
    note = {"type": "text", "text": "Remember the rules."}
    messages = [user("Weather?"), used("1"), blocks("user", result("1"), note), used("2")]
    trace = Trace.from_messages([*messages, blocks("user", result("2")), told("Sunny.")])
    assert [step.request for step in trace.steps] == [0, 0, 0]
    assert "no_progress_loop" in classify_trace(trace).kinds()


def test_an_unknown_tool_is_proven_by_list_and_result() -> None:
    """The list of tools and a result that names the tool prove together that there is none."""
    seen = "Error: search is not a valid tool, try one of [weather]."
    trace = Trace([do("search", seen=seen, failed=True)], tools=["weather"])
    proven = {f.kind for f in classify_trace(trace).findings if f.certainty == "proven"}
    assert proven == {"unknown_tool"}


def test_words_are_no_broken_object() -> None:
    """Arguments in words are not broken JSON, whatever came of them."""
    trace = Trace([do("ask", "where is Oslo", None, id="1")])
    assert "malformed_arguments" not in classify_trace(trace).kinds()


@pytest.mark.parametrize(
    ("kind", "message", "stop"),
    [
        ("QuotaError", "quota of the search tool", "host_error"),
        ("ValueError", "timeout must be positive", "host_error"),
        ("ValueError", "Could not parse date '2024-13-01'", "host_error"),
        ("AssertionError", "expected 500 rows", "host_error"),
        ("PoolError", "Reached maximum connections", "host_error"),
        ("RateLimitExceeded", "slow down", "provider_error"),
        ("HTTPStatusError", "HTTP 503", "provider_error"),
        ("UsageLimitExceeded", "request_limit of 50", "max_iterations"),
        ("MaxTurnsExceeded", "Max turns (3) exceeded", "max_iterations"),
        ("ReadTimeout", "", "timeout"),
        ("Error", "the run timed out after 60 s", "timeout"),
    ],
)
def test_what_an_exception_is_called_tells_why(kind: str, message: str, stop: str) -> None:
    """The name of an exception tells why a run stopped; a word in its message does not."""
    report = classify_trace(Trace(error=TraceError(kind, message)))
    assert report.stop_reason.value == stop
