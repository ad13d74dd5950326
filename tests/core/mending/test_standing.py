"""What a model stands by, and what is wrong where there should be code."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import Ask, Failure, FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.mending import NativeCall
from loopmend.mending.corrections import Form
from loopmend.mending.standing import standing

P = FailurePattern
JSON = '{"type": "tool_call", "name": "find", "arguments": {}}'


@pytest.mark.parametrize(
    ("reply", "pattern", "form", "stands"),
    [
        (Reply("I will look."), P.NARRATED, "native", "I will look."),
        (Reply("I will look.", (NativeCall("find", {}),)), P.UNKNOWN_TOOL, "native", ""),
        (Reply('{"na'), P.TRUNCATED, "native", ""),
        (Reply(JSON), P.UNKNOWN_TOOL, "native", ""),
        (Reply("No such tool."), P.UNKNOWN_TOOL, "native", "No such tool."),
        (Reply("Thought: in Norway"), P.NARRATED, "react", "in Norway"),
        (Reply("In Norway."), P.NARRATED, "react", "In Norway."),
        (Reply("Action: find"), P.NARRATED, "react", ""),
        (Reply("Answer: 3"), P.ACTION_AND_ANSWER, "react", ""),
    ],
)
def test_standing(reply: Reply, pattern: FailurePattern, form: Form, stands: str) -> None:
    """It is an answer unless it is what is left of a call."""
    assert standing(reply, Failure(pattern, "?", (0, 0)), form) == stands


def gave_up(reply: Reply, **options: Any) -> GaveUp:
    """Return the verdict where nobody is asked again."""
    mending = Mending(["search"], policy=RetryPolicy(0), **options)
    mending.start("Where is Oslo?")
    step = mending.reply(reply)
    assert isinstance(step, GaveUp)
    return step


def test_giving_up_says_what_stands() -> None:
    """Somebody's own parser has the last word; a call that is at fault runs into an error."""
    told = gave_up(Reply("I will search for it."))
    assert (told.stands, told.runs_into_error) == ("I will search for it.", False)
    assert told.why.startswith("Gave up after 0 retries: ")
    assert gave_up(Reply("", (NativeCall("find", {}, "1"),))).runs_into_error
    mending = Mending(["search"], policy=RetryPolicy(0))
    refused = mending.refuse(Reply("So."), Failure(P.MALFORMED, "?", (0, 3)), "Not so.")
    assert isinstance(refused, GaveUp)
    assert refused.stands == ""


@pytest.mark.parametrize(
    ("reply", "pattern"),
    [
        (Reply("", (NativeCall("search", {}),)), P.MALFORMED),
        (Reply("<execute>search("), P.TRUNCATED),
        (Reply(""), P.EMPTY),
        (Reply("I will search for it."), P.NARRATED),
        (Reply("It is in Norway."), None),
        (Reply('```json\n{"name": "find", "arguments": {}}\n```'), None),
        (Reply("", holds_more=True), None),
        (Reply(error=ValueError("tool call validation failed")), P.MALFORMED),
    ],
)
def test_where_there_should_be_code(reply: Reply, pattern: FailurePattern | None) -> None:
    """Calls in the words around code prove nothing, calls beside it cannot run."""
    mending = Mending(["search"], "code")
    mending.start("Where is Oslo?")
    step = mending.reply(reply)
    assert (mending.refused[-1].pattern if isinstance(step, Ask) else None) is pattern


@pytest.mark.parametrize("form", ["react", "code", "json"])
def test_without_tools_nobody_narrates(form: Form) -> None:
    """Who has no tools cannot be telling what will be done with them."""
    mending = Mending([], form)
    mending.start("Where is Oslo?")
    assert not isinstance(mending.reply(Reply("I will search for it.")), Ask)
