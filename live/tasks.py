"""The fixed set of tasks: one short question each, with the one call that answers it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Final

from live.tools import TOOLS

__all__ = ["GROUPS", "TASKS", "Example", "Group", "Task"]


@dataclass(frozen=True, slots=True)
class Example:
    """A question that is answered with a tool, shown to the model beforehand."""

    question: str
    tool: str
    input: str
    result: str
    answer: str


@dataclass(frozen=True, slots=True)
class Group:
    """Three tools that are offered together, and two examples; the third tool has none."""

    tools: tuple[str, ...]
    examples: tuple[Example, ...]


GROUPS: Final = (
    Group(
        ("calculator", "get_weather", "get_price"),
        (
            Example(
                "What is the weather in Rome?",
                "get_weather",
                "Rome",
                "31 degrees, sunny",
                "It is 31 degrees and sunny in Rome.",
            ),
            Example("What is 2 * 3?", "calculator", "2 * 3", "6", "2 * 3 is 6."),
        ),
    ),
    Group(
        ("get_phone", "get_capital", "convert"),
        (
            Example(
                "What is the phone number of Zoe?",
                "get_phone",
                "Zoe",
                "9935",
                "The phone number of Zoe is 9935.",
            ),
            Example(
                "What is the capital of Spain?",
                "get_capital",
                "Spain",
                "Madrid",
                "The capital of Spain is Madrid.",
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Task:
    """A question, and how to tell that it was answered."""

    question: str
    tool: str
    """The tool that answers it."""
    input: str
    """What to give to the tool."""
    answer: str
    """The word or number that has to stand in the final answer."""

    @property
    def group(self) -> Group:
        """The tools on offer, with what the model is shown about them."""
        return next(group for group in GROUPS if self.tool in group.tools)

    @property
    def result(self) -> str:
        """What the tool returns for the right call."""
        return TOOLS[self.tool](self.input)

    def is_right_call(self, tool: str, result: str) -> bool:
        """Tell whether a call that was carried out is the one that answers the question.

        Inputs may be written in several ways, so the result is compared.
        """
        return tool == self.tool and result == self.result

    def is_right_answer(self, text: str) -> bool:
        """Tell whether a final answer holds the word or number, standing on its own."""
        plain = re.sub(r"(?<=\d),(?=\d{3})", "", text).casefold()
        word = re.escape(self.answer.casefold())
        return re.search(rf"(?<![\w.]){word}(?!\w|\.\d)", plain) is not None


_CALCULATOR: Final = [
    Task("What is 23 * 17?", "calculator", "23 * 17", "391"),
    Task("What is 418 + 267?", "calculator", "418 + 267", "685"),
    Task("What is 902 - 345?", "calculator", "902 - 345", "557"),
    Task("What is 84 * 36?", "calculator", "84 * 36", "3024"),
]
_WEATHER: Final = [
    Task("What is the weather in Oslo?", "get_weather", "Oslo", "14"),
    Task("What is the weather in Cairo?", "get_weather", "Cairo", "37"),
    Task("What is the weather in Lima?", "get_weather", "Lima", "19"),
    Task("What is the weather in Paris?", "get_weather", "Paris", "23"),
]
_PRICES: Final = [
    Task("What is the price of the lamp?", "get_price", "lamp", "34"),
    Task("What is the price of the chair?", "get_price", "chair", "79"),
    Task("What is the price of the table?", "get_price", "table", "145"),
    Task("What is the price of the kettle?", "get_price", "kettle", "26"),
]
_PHONES: Final = [
    Task("What is the phone number of Alice?", "get_phone", "Alice", "4127"),
    Task("What is the phone number of Bob?", "get_phone", "Bob", "5390"),
    Task("What is the phone number of Carol?", "get_phone", "Carol", "6814"),
    Task("What is the phone number of David?", "get_phone", "David", "7052"),
]
_CAPITALS: Final = [
    Task("What is the capital of Norway?", "get_capital", "Norway", "Oslo"),
    Task("What is the capital of Peru?", "get_capital", "Peru", "Lima"),
    Task("What is the capital of Kenya?", "get_capital", "Kenya", "Nairobi"),
    Task("What is the capital of France?", "get_capital", "France", "Paris"),
]
_UNITS: Final = [
    Task("Convert 10 km to miles.", "convert", "10 km to miles", "6.21"),
    Task("Convert 26 miles to km.", "convert", "26 miles to km", "41.84"),
    Task("Convert 75 kg to pounds.", "convert", "75 kg to pounds", "165.35"),
    Task("Convert 180 pounds to kg.", "convert", "180 pounds to kg", "81.65"),
]

TASKS: Final = tuple(
    chain.from_iterable(
        zip(_CALCULATOR, _WEATHER, _PRICES, _PHONES, _CAPITALS, _UNITS, strict=True)
    )
)
"""One of each kind in turn, so that the first few are a fair sample."""
