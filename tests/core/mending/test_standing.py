"""What a model stands by, and what is wrong where there should be code."""

from __future__ import annotations

from typing import Any

import pytest

from loopmend import Ask, Done, Failure, FailurePattern, GaveUp, Mending, Reply, RetryPolicy
from loopmend.mending import NativeCall
from loopmend.mending.corrections import Form
from loopmend.mending.standing import insisted, standing

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


NARRATED = "Let me search for that."
ECHOES = {
    "whole": lambda told: told,
    "first sentence": lambda told: told.partition(". ")[0],
    "after an introduction": lambda told: f"Understood!\n\n{told}",
    "instruction": lambda told: told.split("\n")[1],
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_a_correction_that_comes_back_is_no_answer(echo: Any) -> None:
    """The user would read what only the model should know; it is told so, and bounded."""
    mending = Mending(["search"])
    mending.start("Where is Oslo?")
    first = mending.reply(Reply(NARRATED))
    assert isinstance(first, Ask)
    again = mending.reply(Reply(echo(first.messages[0].content)))
    assert isinstance(again, Ask)
    (told,) = again.messages
    assert told.content.startswith("You repeated the correction instead of following it.\nYou desc")
    assert mending.refused[-1].pattern is P.TEMPLATE_ECHO
    end = mending.reply(Reply(echo(told.content)))
    assert isinstance(end, GaveUp)
    assert (end.answer.partition(":")[0], end.stands) == ("Gave up after 2 retries", "")


def test_an_echo_with_a_call_is_a_call() -> None:
    """Who copies the correction and does what it says is done with it."""
    mending = Mending([{"name": "search", "parameters": {"properties": {"query": {}}}}])
    mending.start("Where is Oslo?")
    first = mending.reply(Reply(NARRATED))
    assert isinstance(first, Ask)
    call = NativeCall("search", {"query": "Oslo"}, "1")
    assert isinstance(mending.reply(Reply(first.messages[0].content, (call,))), Done)


def test_echoes_that_nobody_wants_mended() -> None:
    """Like any failure, this one can be left alone."""
    mending = Mending(["search"], policy=RetryPolicy(patterns=[P.NARRATED]))
    mending.start("Where is Oslo?")
    first = mending.reply(Reply(NARRATED))
    assert isinstance(first, Ask)
    assert isinstance(mending.reply(Reply(first.messages[0].content)), Done)


def test_words_that_anybody_may_say_are_no_echo() -> None:
    """Of a correction that begins with a short sentence, the whole line has to come back."""
    mending = Mending(["search"])
    mending.start("Which tools do you have?")
    assert isinstance(mending.reply(Reply("", (NativeCall("x", {}, "1"),))), Ask)
    answered = mending.reply(Reply("It said: Unknown tool. So I cannot do that, sorry."))
    assert isinstance(answered, Done)
    mending.refuse(Reply("x"), Failure(P.MALFORMED, "?", (0, 1)), "Try again.")
    assert mending.echo(Reply("Try again. Later.")) is None


@pytest.mark.parametrize("nothing", ["", "```json\n```", "[]", "{}"])
def test_giving_up_on_nothing_says_why(nothing: str) -> None:
    """An empty fence as the answer tells the user nothing."""
    assert gave_up(Reply(nothing)).answer == "Gave up after 0 retries: The reply is empty."


@pytest.mark.parametrize(
    "given",
    [
        {"names": "<your names here>"},
        {"names": ["<your names here>"]},
        {"names": ("<your names here>", 1)},
        {"query": {"text": "<your names here>"}},
        '{"names": "<your names here>"}',
        '{"names": "\\u003cyour names here>"}',
        "<your names here>",
    ],
)
def test_what_comes_again_word_for_word_is_meant(given: Any) -> None:
    """Values that were taken for slots are found wherever they stand in arguments of any kind."""
    reply = Reply("", (NativeCall("find", given, "1"),))
    told = Failure(P.TEMPLATE_ECHO, "?", (0, 0))
    assert insisted(reply, told) == ["<your names here>"]
    assert insisted(reply, Failure(P.EMPTY, "?", (0, 0))) == []


def test_a_slot_in_text_that_comes_again_is_called() -> None:
    """Arguments that the client left as text are no reason to fail."""
    mending = Mending([{"name": "find", "parameters": {"properties": {"name": {}}}}])
    mending.start("Who is it?")
    reply = Reply("", (NativeCall("find", '{"name": "<your name here>"}', "1"),))
    assert isinstance(mending.reply(reply), Ask)
    done = mending.reply(reply)
    assert isinstance(done, Done)
    assert done.turn.calls[0].arguments == {"name": "<your name here>"}
