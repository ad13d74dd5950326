"""Base texts: calls and answers in every form, made anew from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.reading import markup
from benchmarks.reading.forms import ANSWERS, FORMS, REPLIES, Form
from benchmarks.reading.offered import OFFERED, Call, Tool, offer, some_call

__all__ = ["Case", "base_texts", "markup"]  # the last one registers its forms

MOST_CALLS = 3


class Case(NamedTuple):
    """A text, the tools on offer, and what it says: calls, or else an answer."""

    form: str
    text: str
    tools: list[Tool]
    calls: list[Call]
    answer: str | None = None


def base_texts(seed: int, each: int) -> Iterator[Case]:
    """Yield `each` texts in each form; the same seed yields the same texts."""
    for name, form in FORMS.items():
        chance = random.Random(f"{seed} {name}")
        for number in range(each):
            yield _case(name, form, chance, several=number % 3 == 2)
    for name, write in ANSWERS.items():
        chance = random.Random(f"{seed} {name}")
        for _ in range(each):
            reply = chance.choice(REPLIES)
            yield Case(name, write(reply, chance), offer([], chance), [], reply)


def _case(name: str, form: Form, chance: random.Random, *, several: bool) -> Case:
    wanted = chance.randint(2, MOST_CALLS) if several and form.several else 1
    calls: list[Call] = []
    while len(calls) < wanted:
        call = some_call(list(OFFERED), chance)
        if form.fits(call) and call not in calls:
            calls.append(call)
    tools = offer([call.name for call in calls], chance)
    return Case(name, form.write(calls, chance), tools, calls)
