"""What looks like a failure or a loop and is none, beside what is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopmend import Trace, classify_trace, load_traces
from loopmend.results import failure_in
from loopmend.traces import TraceReport
from loopmend.traces.trace import Observation, Step, TraceCall

USER = {"role": "user", "content": "Where is Oslo?"}
DONE = {"role": "assistant", "content": "It is in Norway."}


def asked(*calls: tuple[str, str, str], step: int = 0) -> list[dict[str, Any]]:
    """Return one reply with its calls and their results."""
    made = [
        {"id": f"{step}-{n}", "type": "function", "function": {"name": name, "arguments": given}}
        for n, (name, given, _) in enumerate(calls)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"{step}-{n}", "content": result}
        for n, (_, _, result) in enumerate(calls)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *results]


def report_of(*messages: dict[str, Any]) -> TraceReport:
    """Classify a conversation that ends with an answer."""
    return classify_trace(Trace.from_messages([USER, *messages, DONE]))


@pytest.mark.parametrize("given", ['{"q": ', "not json", '{"query": "Oslo"}'])
@pytest.mark.parametrize(
    "result", ["1 validation error for search", "2 validation errors for SearchInput\nq\n  missing"]
)
def test_arguments_that_their_tool_refused(given: str, result: str) -> None:
    """A result in which pydantic refuses what the tool itself was given is malformed arguments."""
    report = report_of(*asked(("search", given, result)))
    assert "malformed_arguments" in report.kinds()
    assert "tool_error" not in report.kinds()


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("read_file", '{"path": "app.log"}', "1 validation error for Config\nport\n  missing"),
        ("search", '{"q": "pydantic"}', "How to mend 1 validation error for search models"),
        ("patch", "*** Begin Patch", "Done."),
        ("search", '{"q": "Os', "Oslo is in Norway."),
    ],
)
def test_arguments_that_nobody_refused(name: str, given: str, result: str) -> None:
    """A text about another model's validation, and arguments that worked, are no finding."""
    assert report_of(*asked((name, given, result))).findings == ()


def test_a_refusal_without_a_tool_is_a_text() -> None:
    """A result that tells no tool cannot name it."""
    seen = [Observation("1 validation error for search")]
    trace = Trace([Step(calls=[TraceCall("search")], observations=seen), Step("x", answer="x")])
    assert classify_trace(trace).findings == ()


def test_calls_at_once_repeat_nothing() -> None:
    """Several equal calls in one reply are no loop: none of them has seen a result."""
    assert report_of(*asked(*[("search", '{"q": "Oslo"}', "nothing here")] * 3)).findings == ()


def test_calls_one_after_the_other_repeat() -> None:
    """The same call in three replies, with the same result, is a loop."""
    call = ("search", '{"q": "Oslo"}', "nothing here")
    steps = [message for n in range(3) for message in asked(call, step=n)]
    assert {"identical_call", "no_progress_loop"} <= report_of(*steps).kinds()


def test_equal_pairs_in_several_replies_repeat() -> None:
    """Two equal calls at once count once, so that three such replies call three times."""
    pair = [("search", '{"q": "Oslo"}', "nothing here")] * 2
    steps = [message for n in range(3) for message in asked(*pair, step=n)]
    [finding] = [f for f in report_of(*steps).findings if f.kind == "identical_call"]
    assert "3 times" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "Chapter 3: Permission denied errors\nHow to handle Permission denied.",
        "Permission denied errors and how to handle them",
        "HTTP 500 Pro server rack: $500",
        "Status 404 Band tour dates",
        "Glossary: not found footage as a genre",
    ],
)
def test_a_text_that_speaks_of_errors(text: str) -> None:
    """A heading or a product that has an error's words in its name is no failure."""
    assert failure_in(text) is None
    assert report_of(*asked(("read", "{}", text))).findings == ()


@pytest.mark.parametrize(
    "text",
    [
        "Permission denied",
        "Permission denied: /etc/shadow",
        "Permission denied for user bob",
        "bash: ./run: Permission denied",
        "ssh: bob@host: Permission denied (publickey).",
        "cat: a.txt: No such file or directory\n",
        "zsh: command not found: foo",
        "sh: 1: foo: not found",
        "HTTP 500",
        "HTTP 500: Internal Server Error",
        "HTTP 404 Not Found",
        "HTTP/1.1 503 Service Unavailable",
        "HTTP error 502 Bad Gateway",
        "Status code: 429 Too Many Requests",
        "status 500 from https://a.example",
    ],
)
def test_a_text_that_tells_an_error(text: str) -> None:
    """What shells and servers write is a failure."""
    assert failure_in(text) is not None


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        (
            "CAPTCHA - Wikipedia\nA captcha tells people from robots; see access denied pages.",
            False,
        ),
        ("Access denied pages in Windows: an overview", False),
        ("Please verify you are human (captcha).", True),
        ("Complete the captcha below to go on.", True),
        ("Access Denied\nYou have no permission to see this page.", True),
        ("HTTPError: 403 Client Error: Forbidden for url https://a.example", True),
        ("Our systems have detected unusual traffic from your network.", True),
    ],
)
def test_pages_that_block(text: str, *, blocks: bool) -> None:
    """A page that speaks to a visitor whom it keeps out blocks; an article about that does not."""
    kinds = report_of(*asked(("visit_page", "{}", text))).kinds()
    assert ("blocked_page" in kinds) is blocks
    if not blocks:
        assert kinds == frozenset()


@pytest.mark.parametrize("written", [dict, json.dumps])
def test_rows_of_trail(written: Any) -> None:
    """A row that holds its spans under `trace`, as an object or as text, is one run."""
    told = {"openinference.span.kind": "LLM", "output.value": "It is in Norway."}
    span = {"trace_id": "t", "span_id": "1", "span_name": "llm", "span_attributes": told}
    row = {"trace": written({"trace_id": "t", "spans": [span]}), "labels": "{}"}
    [trace] = load_traces(row)
    assert (trace.framework, trace.id, trace.answer) == ("openinference", "t", "It is in Norway.")
