"""Recorded runs and the verdicts on them, in a notebook."""

from __future__ import annotations

import re

from loopmend import Finding, Trace, TraceReport, classify_trace, read_turn
from loopmend.traces import Limits, Observation, Step, Tokens, TraceCall, TraceError
from tests.core.rendering.pages import shown

LOG = """Where is Oslo?
Thought 1: I look it up.
Action 1: Search[Oslo]
Observation 1: In Norway.
Thought 2: I know.
Action 2: Finish[Norway]"""


def test_a_run_is_shown_step_by_step() -> None:
    """Question, answer, thoughts, calls and results, in their order."""
    page = shown(Trace.from_react_log(LOG))
    text = page.text()
    wanted = ["2 steps", "Where is Oslo?", "Norway", "I look it up.", "Search", "In Norway."]
    assert sorted(wanted, key=text.index) == wanted
    assert page.text("b") == "Searchanswer "


def test_what_is_known_of_a_run() -> None:
    """Framework, limits, tokens, time, reason and error are named."""
    trace = Trace(
        [Step(text="hm", tokens=Tokens(1200, 34))],
        framework="langchain",
        limits=Limits(max_iterations=5),
        seconds=1.23456,
        reason="provider_error",
        error=TraceError("RateLimitError", "429", "model"),
    )
    page = shown(trace)
    assert page.text("span chip") == (
        "langchain1 step of at most 51,234 tokens1.23 sprovider_error"
    )
    assert page.text("span failed") == "RateLimitError: 429 (model)"
    assert page.count("span", "warn") == 1
    assert shown(Trace(reason="final_answer")).count("span", "good") == 1


def test_all_parts_of_a_step() -> None:
    """Agent, text, failure, failed results, errors and answers are shown."""
    step = Step(
        text="I will search for it.",
        agent="writer",
        turn=read_turn("I will search for it."),
        observations=[Observation("boom", failed=True), Observation("fine")],
        error=TraceError("ValueError", "x"),
        answer="4",
    )
    page = shown(Trace([step]))
    assert page.text("span chip").endswith("writernarrated")
    assert "boom" in page.text("span failed")
    assert "fine" not in page.text("span failed")
    assert page.text("div loopmend").endswith("← boom← fineValueError: x (unknown)answer 4")


def test_a_text_that_is_the_answer_is_shown_once() -> None:
    """Nothing is said twice; what was read without fault needs no remark."""
    step = Step(text="It is 4.", answer="It is 4.", turn=read_turn("It is 4."))
    assert shown(Trace([step])).text().count("It is 4.") == 1


def test_a_long_run_is_cut() -> None:
    """The first and the last steps are shown with their numbers, the others are counted."""
    page = shown(Trace([Step(text=f"step {n}") for n in range(1000)]))
    assert page.count("tr") == 21
    assert "980 steps left out" in page.text("span note")
    assert page.text("th").startswith("123456789101112993")
    assert "step 999" in page.text()


def test_a_step_with_very_many_calls_is_cut() -> None:
    """The first calls and results are shown, the others are counted."""
    page = shown(Trace([Step(calls=[TraceCall("f")] * 25, observations=[Observation("x")] * 5)]))
    assert page.text().count("→") == 10
    assert "… and 15 more" in page.text("span note")


def test_a_report() -> None:
    """Why it stopped, the three contracts, and the findings with the worst first."""
    log = "Thought 1: x\nAction 1: Search[a]\nObservation 1: Could not find a\n" * 3
    report = classify_trace(Trace.from_react_log(log, max_iterations=3))
    page = shown(report)
    assert page.text("span chip").startswith("failedmax_iterationstermination: Okgrammar: ")
    assert page.text("p").count(report.headline) == 1
    severities = re.findall("error|warning|info", page.text("td narrow", but=("b ", "div note")))
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert len(severities) == len(report.findings)
    assert page.count("tr") == 1 + len(report.findings)
    assert page.text("div note").startswith("suspected")


def test_a_clean_report() -> None:
    """Where nothing was found, that is said."""
    page = shown(classify_trace(Trace.from_react_log(LOG)))
    assert page.text("span note") == "No findings."
    assert page.text("span chip good").startswith("answeredtermination: Ok")


def test_a_report_on_what_could_not_be_read() -> None:
    """Where nothing could be read, that is the verdict, and no reason why it stopped is shown."""
    page = shown(classify_trace(Trace(unreadable="langfuse")))
    assert page.text("span chip").startswith("unreadabletermination")
    assert "langfuse" in page.text("p")


def test_what_a_run_got_over() -> None:
    """A failure that the run got over is marked, and counted in the headline."""
    failed, fine = Observation("no", "f", failed=True), Observation("yes", "f")
    steps = [
        Step(calls=[TraceCall("f", n)], observations=[o]) for n, o in enumerate((failed, fine))
    ]
    page = shown(classify_trace(Trace([*steps, Step(answer="4")], answer="4")))
    assert "It recovered from a failure." in page.text("p")
    assert page.text("div note") == "recovered"


def test_the_tint_of_a_stop() -> None:
    """A run that waits for somebody is neither well nor ill."""
    assert (
        shown(classify_trace(Trace(reason="interrupted")))
        .text("span chip warn")
        .startswith("handed_over")
    )


def test_very_many_findings_are_cut() -> None:
    """The first findings are shown, the others are counted."""
    clean = classify_trace(Trace(answer="4"))
    finding = Finding("odd", "It is odd.", "info", "proven", step=7, evidence="x")
    report = TraceReport(clean.stop, clean.termination, clean.grammar, clean.bound, (finding,) * 60)
    page = shown(report)
    assert page.count("tr") == 51
    assert page.text("span note") == "… and 10 more findings"
