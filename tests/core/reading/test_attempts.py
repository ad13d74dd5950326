"""Asking again: what is done next, sync and async alike."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from loopmend import Failure, FailurePattern
from loopmend.reading.attempts import (
    Ask,
    Exhausted,
    Parse,
    Tell,
    adrive,
    attempts,
    drive,
    words_about,
)

both = pytest.mark.parametrize("asynchronous", [False, True])


class Odd(ValueError):
    """An error that says in loopmend's terms what is wrong."""

    failure = Failure(FailurePattern.EMPTY, "Nothing was said.", (0, 0))


def number(step: Parse) -> int:
    """Parse a number, or say in one of three ways that there is none."""
    if not step.reply:
        raise Odd
    if step.reply == "?":
        raise KeyError(step.reply)
    return int(step.reply)


def run(
    replies: Sequence[str], *, asynchronous: bool, told: list[Tell] | None = None, **options: Any
) -> tuple[Any, list[Ask]]:
    """Get a number; return what came of it and what was asked."""
    lines, asked = iter(replies), list[Ask]()
    refusals = options.pop("refusals", (ValueError,))
    steps = attempts(
        2, correct=lambda e, n: f"{n}: {e}", asked=lambda r, w: f"{r} - {w}", **options
    )

    def ask(step: Ask) -> str:
        asked.append(step)
        return next(lines)

    if not asynchronous:
        tell = None if told is None else told.append
        return drive(steps, ask, number, tell, refusals=refusals), asked

    async def aask(step: Ask) -> str:
        return ask(step)

    async def aparse(step: Parse) -> int:
        return number(step)

    async def atell(step: Tell) -> None:
        if told is not None:
            told.append(step)

    listener = None if told is None else atell
    return asyncio.run(adrive(steps, aask, aparse, listener, refusals=refusals)), asked


@both
def test_until_it_can_be_parsed(*, asynchronous: bool) -> None:
    """Each bad reply leads to another question with its correction."""
    found, asked = run(["", "3"], asynchronous=asynchronous, first="2 + 1?")
    assert (found, asked) == (3, [Ask("2 + 1?", 0), Ask(" - 0: ", 1)])
    found, asked = run(["3"], asynchronous=asynchronous, reply="")
    assert (found, asked) == (3, [Ask(" - 0: ", 1)])


@both
def test_never_more_than_allowed(*, asynchronous: bool) -> None:
    """After the last retry the reply and its error are what is left."""
    found, asked = run(["", "", ""], asynchronous=asynchronous, first="2 + 1?")
    assert isinstance(found, Exhausted)
    assert isinstance(found.error, Odd)
    assert (found.reply, found.retries, len(asked)) == ("", 2, 3)


@both
def test_who_listens_is_told(*, asynchronous: bool) -> None:
    """Each retry is told with what is wrong, in loopmend's terms if there are any."""
    told: list[Tell] = []
    run(["three", "3"], asynchronous=asynchronous, told=told, reply="", said_by=lambda _: "y" * 600)
    first, second = (tell.data() for tell in told)
    assert first == {
        "attempt": 1,
        "pattern": "empty",
        "message": "Nothing was said.",
        "correction": "0: ",
    }
    assert (second["pattern"], second["message"]) == (None, "y" * 500 + " …")


@both
def test_which_errors_mean_a_bad_reply(*, asynchronous: bool) -> None:
    """Errors of other kinds are bugs, and raised."""
    with pytest.raises(KeyError):
        run([], asynchronous=asynchronous, reply="?")
    found, _ = run(["3"], asynchronous=asynchronous, reply="?", refusals=(ValueError, KeyError))
    assert found == 3


def test_words_for_parsers_without() -> None:
    """They say what the parser says, cut, and the form to keep to."""
    assert words_about("No.") == "Your last reply cannot be used. No."
    assert words_about("No.", "A number.").endswith("No.\n\nA number.")
    assert len(words_about("x" * 10_000)) < 600
