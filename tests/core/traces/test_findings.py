"""Why runs stop, and what is found in them: each stop reason and each finding by an example."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.timing import fastest
from loopmend import (
    Finding,
    StopReason,
    Trace,
    Turn,
    classify_trace,
    read_response,
    read_turn,
)
from loopmend.contracts import Stuck
from loopmend.traces import Limits, Observation, Step, Tokens, TraceCall, TraceError
from loopmend.traces.view import View, words

R = StopReason


def step(call: str | None = None, given: Any = None, seen: str | None = None, **more: Any) -> Step:
    """Return a step with a call and what came of it."""
    calls = [] if call is None else [TraceCall(call, given, more.pop("id", None))]
    observations = (
        [] if seen is None else [Observation(seen, call, failed=more.pop("failed", False))]
    )
    return Step(calls=calls, observations=observations, **more)


def said(text: str, **more: Any) -> Step:
    """Return a step that only says something."""
    return Step(text=text, turn=read_turn(text), **more)


def found(trace: Trace, kind: str) -> Finding:
    """Return the one finding of a kind."""
    [finding] = [each for each in classify_trace(trace).findings if each.kind == kind]
    return finding


def kinds(*steps: Step, **more: Any) -> set[str]:
    """Return what is found in a run of these steps."""
    return set(classify_trace(Trace(steps, **more)).kinds())


STOPS: list[tuple[Trace, StopReason]] = [
    (Trace([Step(answer="4")], answer="4"), R.FINAL_ANSWER),
    (Trace(answer="4"), R.FINAL_ANSWER),
    (Trace([step("f", 1, "x")], answer="4"), R.FINAL_ANSWER),
    (Trace([step("f", 1, "x")], limits=Limits(max_iterations=1)), R.MAX_ITERATIONS),
    (Trace(answer="Agent stopped due to iteration limit or time limit."), R.MAX_ITERATIONS),
    (Trace(answer="Agent stopped due to max iterations."), R.MAX_ITERATIONS),
    (Trace(answer="Sorry, need more steps to process this request."), R.MAX_ITERATIONS),
    (Trace(answer="Model call limits exceeded: run limit (2/2)"), R.MAX_ITERATIONS),
    (Trace(answer="'search' tool call limit reached: run limit exceeded"), R.MAX_ITERATIONS),
    (Trace(answer="Reached max steps."), R.MAX_ITERATIONS),
    (Trace(error=TraceError("GraphRecursionError", "Recursion limit of 5")), R.MAX_ITERATIONS),
    (
        Trace(
            answer="Agent stopped due to iteration limit or time limit.",
            limits=Limits(max_iterations=9, max_seconds=5),
            seconds=6,
        ),
        R.TIMEOUT,
    ),
    (Trace(error=TraceError("TimeoutError", "Timed out")), R.TIMEOUT),
    (Trace([step("f", 1, "x")], limits=Limits(max_seconds=5), seconds=6), R.TIMEOUT),
    (Trace(error=TraceError("KeyError", "x", "tool")), R.TOOL_ERROR),
    (Trace(error=TraceError("OutputParserException", "no")), R.PARSE_FAIL),
    (Trace(error=TraceError("Odd", "x", "parser")), R.PARSE_FAIL),
    (Trace([said("Thought: hm"), said("Thought: hm")]), R.PARSE_FAIL),
    (Trace(error=TraceError("RateLimitError", "429")), R.PROVIDER_ERROR),
    (Trace(error=TraceError("Odd", "x", "model")), R.PROVIDER_ERROR),
    (Trace([Step(error=TraceError("APIError", "500", "model"))]), R.PROVIDER_ERROR),
    (Trace(error=TraceError("GraphInterrupt", "ok?")), R.INTERRUPTED),
    (Trace(error=TraceError("CancelledError")), R.CANCELLED),
    (Trace([said("<stuck><attempt>x</attempt></stuck>")]), R.STUCK),
    (Trace([said("<yield>an expert</yield>")]), R.YIELDED),
    (Trace([said('{"type": "ask_user", "question": "Which?"}')]), R.ASKED_USER),
    (Trace(reason="blocked"), R.BLOCKED),
    (Trace(answer="Stopped: no tokens.", reason="blocked"), R.BLOCKED),
    (Trace(answer="I stopped: it is 4.", reason="final_answer"), R.FINAL_ANSWER),
    (Trace(answer="I stopped: it is 4."), R.FINAL_ANSWER),
    (Trace(answer="I could not go on: it was dark."), R.FINAL_ANSWER),
    (Trace(error=TraceError("KeyboardInterrupt", "")), R.CANCELLED),
    (Trace(reason="final_answer"), R.UNKNOWN),
    (Trace(reason="of its own"), R.UNKNOWN),
    (Trace(error=TraceError("Odd", "x")), R.HOST_ERROR),
    (Trace([Step(error=TraceError("Odd", "x"))]), R.UNKNOWN),
    (Trace(), R.UNKNOWN),
    (Trace(limits=Limits(max_iterations=0)), R.MAX_ITERATIONS),
]


@pytest.mark.parametrize(("trace", "reason"), STOPS, ids=lambda each: str(each)[:40])
def test_stop_reasons(trace: Trace, reason: StopReason) -> None:
    """What is in a trace tells why it stopped, and a cap is a cap however it is worded."""
    report = classify_trace(trace)
    assert (report.stop_reason, bool(report.stop.evidence)) == (reason, True)
    assert reason.exit_code is None or report.termination.kind in (
        "Ok",
        "FinalAnswerWithoutAnswerField",
    )


def test_reasons_beyond_the_contract_borrow_no_exit_code() -> None:
    """The contract is told that it does not know them."""
    report = classify_trace(Trace(error=TraceError("RateLimitError", "429")))
    assert report.termination.kind == "MissingExitCode"
    assert {r for r in StopReason if r.exit_code is not None} == {
        *(R.FINAL_ANSWER, R.MAX_ITERATIONS, R.TIMEOUT, R.TOOL_ERROR, R.PARSE_FAIL)
    }


def test_a_good_run_has_no_findings() -> None:
    """Nothing is made up about a run that went well."""
    steps = [step("search", f"page {n}", f"text {n}", thought=f"look at {n}") for n in range(4)]
    assert kinds(*steps, Step(answer="4", thought="done"), answer="4") == set()


@pytest.mark.parametrize(
    ("expected", "steps", "more"),
    [
        ("no_final_answer", [step("f", 1, "x")], {}),
        ("cap", [step("f", 1, "x")], {"limits": Limits(max_iterations=1)}),
        ("timeout", [], {"error": TraceError("TimeoutError")}),
        ("parse_failure", [], {"error": TraceError("OutputParserException", "no")}),
        ("parse_failure", [Step(error=TraceError("AgentParsingError", "no code"))], {}),
        ("parse_failure", [step("f", 1, "Error: Could not parse LLM output")], {}),
        ("parse_failure", [said("<tool_call>oops, what now</tool_call>")], {}),
        ("unknown_tool", [step("f", 1, "Error: f is not a valid tool, try one of [g].")], {}),
        ("unknown_tool", [step("f", 1, "x")], {"tools": ["g"]}),
        ("malformed_arguments", [step("f", 1, "Error: 1 validation error for f")], {}),
        ("malformed_arguments", [step("f", '{"a": ', id="1")], {}),
        ("malformed_arguments", [said("<tool_call>oops")], {}),
        ("tool_error", [step("f", 1, "boom", failed=True)], {}),
        ("tool_error", [step("f", 1, "Could not find it.")], {}),
        ("tool_error", [Step(error=TraceError("KeyError", "x", "tool"))], {}),
        ("error_storm", [step("f", n, "Error: no") for n in range(3)], {}),
        ("identical_call", [step("f", 1, "a")] * 3, {"answer": "4"}),
        ("no_progress_loop", [step("f", 1, "same")] * 2, {}),
        ("no_progress_loop", [step("f", 1, "same")] * 2, {"answer": "4"}),
        (
            "near_identical_loop",
            [
                step("f", {"q": "how many people live in the city of Oslo"}, "a"),
                step("f", {"q": "how many people live in the town of Oslo"}, "b"),
            ],
            {"answer": "4"},
        ),
        ("cycle", [step("f", 1, "a"), step("g", 2, "b")] * 2, {"answer": "4"}),
        (
            "repeated_thought",
            [step("f", n, str(n), thought="I should look it up now") for n in range(2)],
            {},
        ),
        (
            "restart",
            [
                step("f", 1, "a"),
                step("g", 2, "b"),
                step("h", 3, "c"),
                step("f", 1, "a"),
                step("g", 2, "b"),
            ],
            {"answer": "4"},
        ),
        (
            "fruitless_loop",
            [
                step("find", "songs by Arun Date", "Error: nope"),
                step("find", "famous songs by Arun Date", "Error: no"),
                step("find", "songs by Arun Date in India", "Error: no"),
            ],
            {},
        ),
        ("action_after_final", [Step(answer="4"), step("f", 1, "x")], {"answer": "4"}),
        ("hallucinated_observation", [said("Action: f\nAction Input: 1\nObservation: 5")], {}),
        ("hallucinated_observation", [said("<tool_response>5</tool_response>")], {}),
        ("narrated_call", [said("Let me search for that.")], {}),
        ("empty_turn", [said("")], {}),
        ("claim_without_action", [said("I have searched the web. It is 4.")], {"answer": "4"}),
        ("provider_error", [], {"error": TraceError("RateLimitError", "429")}),
        ("provider_error", [Step(error=TraceError("APIError", "502", "model"))], {}),
        (
            "blocked_page",
            [step("visit", "x", "Please verify you are human (captcha).")],
            {"answer": "4"},
        ),
        ("budget", [step("f", n, str(n)) for n in range(3)], {"limits": Limits(max_iterations=2)}),
        ("token_budget", [Step(tokens=Tokens(9))], {"limits": Limits(max_tokens=5)}),
        (
            "token_explosion",
            [Step(tokens=Tokens(n), answer="4") for n in (10, 20, 50_000)],
            {"answer": "4"},
        ),
        ("stuck", [said("I'm stuck.")], {}),
        ("uncertain", [said("It's unclear to me whether that is right.")], {"answer": "x"}),
        (
            "declining_engagement",
            [],
            {"answer": "4", "metadata": {"user_message_lengths": [90, 40, 5]}},
        ),
    ],
)
def test_findings(expected: str, steps: list[Step], more: dict[str, Any]) -> None:
    """Each finding is made of the run that shows it, with a sentence and where that is."""
    report = classify_trace(Trace(steps, **more))
    finding = next(each for each in report.findings if each.kind == expected)
    assert finding.message.endswith(".")
    assert finding.certainty in ("proven", "suspected")
    assert len(finding.evidence) <= 200


@pytest.mark.parametrize(
    ("absent", "steps", "more"),
    [
        ("identical_call", [step("f", 1, "x")] * 2, {}),
        ("no_progress_loop", [step("f", 1, "a"), step("g", 1, "b"), step("f", 1, "a")], {}),
        ("no_progress_loop", [step("f", n, "Error: no") for n in range(2)], {}),
        (
            "near_identical_loop",
            [
                step("f", {"q": "how many people live in the city of Oslo"}, "Error: no"),
                step("f", {"q": "how many people live in the town of Oslo"}, "b"),
            ],
            {},
        ),
        ("near_identical_loop", [step("f", "Oslo", "a"), step("f", "Oslo city", "b")], {}),
        (
            "near_identical_loop",
            [step("f", "a a a a a a a", "a"), step("f", "a a a a a a a", "b")],
            {},
        ),
        (
            "near_identical_loop",
            [
                step("f", "one two three four five six seven", "a"),
                step("g", "one two three four five six seven", "b"),
                step("f", "what a very different and new thing this one is, so long as well", "c"),
            ],
            {},
        ),
        (
            "fruitless_loop",
            [
                step("find", "songs by Arun Date", "Error: nope"),
                step("find", "famous songs by Arun Date", "Error: no"),
                step("find", "a river in Norway", "Error: no"),
            ],
            {},
        ),
        (
            "fruitless_loop",
            [
                step("find", "songs by Arun Date", "Error: nope"),
                step("find", "famous songs by Arun Date", "one"),
                step("find", "songs by Arun Date in India", "Error: no"),
                step("find", "songs by Arun Date in Asia", "Error: no"),
            ],
            {},
        ),
        ("cycle", [step("f", 1, str(n)) for n in range(6)], {}),
        ("restart", [step("f", 1, "a")] * 4, {}),
        ("restart", [step("f", n, "a") for n in range(5)], {}),
        (
            "error_storm",
            [step("f", 1, "Error: a"), step("g", 2, "b"), step("f", 3, "Error: c")],
            {},
        ),
        ("action_after_final", [Step(answer="4", agent="a"), step("f", 1, "x", agent="b")], {}),
        ("action_after_final", [Step(answer="4"), Step(answer="5")], {}),
        (
            "narrated_call",
            [Step(text="Let me search.", turn=read_turn("Let me search."), calls=[TraceCall("f")])],
            {},
        ),
        ("claim_without_action", [step("f", 1, "x"), said("I have searched the web.")], {}),
        ("unknown_tool", [step("Search", 1, "x")], {"tools": ["search"]}),
        ("token_explosion", [Step(tokens=Tokens(5))] * 3, {}),
        ("repeated_thought", [step("f", 1, thought="short")] * 2 + [step("g", 1)], {}),
        ("provider_error", [], {"error": TraceError("KeyError", "x", "tool")}),
        ("declining_engagement", [], {"metadata": {"user_message_lengths": "x"}}),
        ("empty_turn", [Step(turn=Turn())], {}),
        ("hallucinated_observation", [said("Action: f\nAction Input: {'a': 1,}")], {}),
        ("hallucinated_observation", [said("Action: f\nAction Input: {'observation': 1,}")], {}),
        ("blocked_page", [step("lookup", "x", "A captcha tells people from robots.")], {}),
        ("narrated_call", [said("Thought: hm")], {}),
    ],
)
def test_what_is_not_found(absent: str, steps: list[Step], more: dict[str, Any]) -> None:
    """What only looks alike is left alone."""
    assert absent not in kinds(*steps, **more)


def test_asides_are_no_calls() -> None:
    """Thinking aloud as an action is not repeated work."""
    assert "identical_call" not in kinds(*[step("think", "hm", "OK.")] * 4, answer="4")
    both = Step(
        calls=[TraceCall("think", "hm"), TraceCall("f", 1)],
        observations=[Observation("OK.", "think"), Observation("x", "f")],
    )
    assert [made.call.name for made in View(Trace([both])).made] == ["f"]


@given(st.text(st.sampled_from("aB_9 \t\n.-\x00\x1f\x7fé\u0130ßж"), max_size=30))
def test_words(text: str) -> None:
    """The quick way to take a text apart finds the words that the slow way finds."""
    assert words(text) == set(re.findall(r"\w+", text.lower()))


def test_arguments_of_any_kind() -> None:
    """Arguments that JSON cannot tell are told apart by their repr."""
    endless: list[Any] = []
    endless.append(endless)
    assert "identical_call" in kinds(*[step("f", endless, "x")] * 3)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "identical_call" in kinds(*[step("f", deep, "x")] * 3)
    assert "identical_call" in kinds(*[step("f", {1: 2, "a": 3}, "x")] * 3)


def test_detectors_of_your_own() -> None:
    """Who looks at a trace can be chosen, and anybody can look."""

    def polite(view: Any) -> list[Finding]:  # noqa: ARG001 - looks at nothing
        return [Finding("apology", "It says sorry.", "info", "proven")]

    report = classify_trace(Trace(answer="sorry"), detectors=[polite])
    assert report.kinds() == {"apology"}
    with pytest.raises(TypeError, match="`trace` must be a Trace"):
        classify_trace({})  # type: ignore[arg-type]


def test_classes_of_provider_errors() -> None:
    """Which kind of failure it was is told."""
    for message, which in (
        ("429 Too Many Requests", "rate_limit"),
        ("maximum context length is 4096", "context_overflow"),
        ("401 Unauthorized", "authentication"),
        ("503 Service Unavailable", "server"),
        ("request timed out", "timeout"),
    ):
        trace = Trace([Step(error=TraceError("APIError", message, "model"))])
        assert which in found(trace, "provider_error").message
    trace = Trace([Step(error=TraceError("Odd", "x", "model"))])
    assert found(trace, "provider_error").message == "The model's provider failed."


def test_signals_come_from_turns() -> None:
    """A signal that was read is told, with the step."""
    turn = Turn((), signal=Stuck())
    trace = Trace([Step(text="x", turn=turn)])
    assert found(trace, "stuck").step == 0


def test_long_traces_cost_linear_time() -> None:
    """Twice the steps take about twice the time."""

    def seconds(length: int) -> float:
        steps = [
            step(
                "search",
                f"question number {n} about a long and winding road",
                f"text {n}",
                thought=f"I have to look at page {n} of the very long book",
            )
            for n in range(length)
        ]
        trace = Trace(steps)
        started = time.thread_time()
        classify_trace(trace)
        return time.thread_time() - started

    assert any(seconds(5000) < 3 * seconds(2500) for _ in range(3))


@pytest.mark.parametrize("one", [Step(answer="x"), Step(error=TraceError("E", "x"))])
def test_many_steps_are_classified_in_linear_time(one: Step) -> None:
    """Twice the steps cost about twice the time, if all answer or all fail."""
    costs = []
    for count in (3000, 6000):
        trace = Trace([one] * count)
        costs.append(fastest(lambda trace=trace: classify_trace(trace), rounds=3))  # type: ignore[misc]
    assert costs[1] < 3 * costs[0]


NARRATION = "Let me search for that."


@pytest.mark.parametrize(
    "more", [{"answer": NARRATION}, {"answer": NARRATION, "reason": "final_answer"}]
)
def test_a_described_call_is_no_answer(more: dict[str, Any]) -> None:
    """A host that takes a described call for the answer has none."""
    report = classify_trace(Trace([said(NARRATION)], **more))
    assert (report.verdict.value, report.stop.step) == ("unknown", 0)
    assert (
        report.headline == "Unknown: The last reply describes a call that the model did not make."
    )


@pytest.mark.parametrize(
    ("steps", "answer"),
    [
        ([said(NARRATION)], "4"),  # the host got its answer elsewhere
        ([Step(text=NARRATION, answer="4")], "4"),
        ([Step(text=NARRATION, observations=[Observation("4")])], NARRATION),
        ([Step(text=NARRATION)], NARRATION),  # lines of a log, which nobody reads as a reply
        ([said("It is 4.")], "It is 4."),
        ([], NARRATION),
    ],
)
def test_what_is_an_answer_all_the_same(steps: list[Step], answer: str) -> None:
    """A run is only said to lack an answer if its words are all that it has."""
    assert classify_trace(Trace(steps, answer=answer)).verdict.value == "answered"


def test_a_described_call_that_is_made_later() -> None:
    """A run that makes the call after all got over it; one that only describes it again did not."""
    mended = [said(NARRATION), step("search", "Oslo", "Norway"), Step(answer="Norway")]
    [finding] = classify_trace(Trace(mended, answer="Norway")).findings
    assert (finding.kind, finding.severity, finding.recovered) == ("narrated_call", "info", True)
    again = [said(NARRATION), Step(NARRATION, answer=NARRATION, turn=read_turn(NARRATION))]
    found = classify_trace(Trace(again, answer=NARRATION)).findings
    told = [each for each in found if each.kind == "narrated_call"]
    assert [(each.severity, each.recovered) for each in told] == [("warning", False)] * 2


def test_a_fruitless_loop_that_ends_well() -> None:
    """A run that gets its result in the end got over the attempts before."""
    tried = [step("find", f"the songs by Arun Date {n}", "Error: nope") for n in range(3)]
    found = classify_trace(Trace([*tried, step("find", "Arun", "here")], answer="4")).findings
    [loop] = [each for each in found if each.kind == "fruitless_loop"]
    assert (loop.severity, loop.recovered, loop.step) == ("info", True, 2)


WRITTEN = '{"name": "City", "arguments": {"name": "Oslo"}}'


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        (WRITTEN, '{"name":"Oslo"}', False),
        (WRITTEN, '{"name":"Bergen"}', True),
        (WRITTEN, '{"name":', True),
        (WRITTEN, "Oslo", True),
        (WRITTEN, None, True),
        ("Let me search for {it}.", '{"name":"Oslo"}', True),
    ],
)
def test_a_written_answer_that_was_used(text: str, answer: str | None, found: bool) -> None:  # noqa: FBT001
    """Whose arguments are the run's answer did what was asked; any other written call did not."""
    turn = read_turn(text, tools=["City", "search"])
    if turn.failure is None and turn.calls:
        turn = read_response(text, tools=["City", "search"], protocol="native")
    trace = Trace([Step(text, turn=turn)], answer=answer)
    kinds = [finding.kind for finding in classify_trace(trace).findings]
    assert any(kind in ("parse_failure", "narrated_call") for kind in kinds) is found
