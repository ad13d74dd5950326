"""The fixed set of tasks: one short question each, and a mechanical check of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from live.tools import NAMES, TOOLS

__all__ = ["GROUPS", "KINDS", "TASKS", "Call", "Example", "Group", "Kind", "Task"]

Kind = Literal["single call", "two steps", "parallel", "no tool needed", "impossible"]

KINDS: Final[tuple[Kind, ...]] = (
    "single call",
    "two steps",
    "parallel",
    "no tool needed",
    "impossible",
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that was carried out, or that has to be."""

    tool: str
    input: str

    @property
    def result(self) -> str:
        """What the tool returns; inputs may be written in several ways, so results are compared."""
        return TOOLS[self.tool](self.input)


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its answer, shown to the model beforehand."""

    question: str
    answer: str
    steps: tuple[tuple[Call, ...], ...] = ()
    """The calls that lead there, those that are made at once in one tuple."""


@dataclass(frozen=True, slots=True)
class Group:
    """Three tools that are offered together, and examples, which are the same for all tasks."""

    tools: tuple[str, ...]
    examples: tuple[Example, ...]


_SOFA: Final = Call("get_price", "sofa")
_ROME: Final = Call("get_weather", "Rome")
_ZOE: Final = Call("get_phone", "Zoe")
_OPPOSITE: Final = Example("What is the opposite of cold?", "It is hot.")
_NEIGHBOUR: Final = Example("How old is my neighbour?", "I cannot answer that with my tools.")

# What comes last is copied most, so that the plainest use of a tool does; and whoever is shown a
# name in an answer repeats it, so that there is none.
GROUPS: Final = (
    Group(
        ("calculator", "get_weather", "get_price"),
        (
            Example(
                "What is the price of 2 sofas?",
                "It is 900 dollars.",
                ((_SOFA,), (Call("calculator", "2 * 450"),)),
            ),
            _OPPOSITE,
            Example(
                "What is the price of the sofa, and the price of the bed?",
                "It is 450 dollars and 620 dollars.",
                ((_SOFA, Call("get_price", "bed")),),
            ),
            _NEIGHBOUR,
            Example("What is the weather in Rome?", "It is 31 degrees.", ((_ROME,),)),
        ),
    ),
    Group(
        ("get_phone", "get_capital", "get_weather"),
        (
            Example(
                "What is the weather in the capital of Italy?",
                "It is 31 degrees.",
                ((Call("get_capital", "Italy"),), (_ROME,)),
            ),
            _OPPOSITE,
            Example(
                "What is the phone number of Zoe, and the phone number of Max?",
                "It is 9935 and 2286.",
                ((_ZOE, Call("get_phone", "Max")),),
            ),
            _NEIGHBOUR,
            Example("What is the phone number of Zoe?", "It is 9935.", ((_ZOE,),)),
        ),
    ),
)

# How the end of a run that cannot succeed has to sound. Crude: a model that says "sorry" and is
# helpful all the same passes, and one that declines in other words does not.
_ADMISSION: Final = re.compile(
    r"\b(cannot|can ?not|can't|could not|couldn't|unable|not able|(do|does) not (know|have)|"
    r"don't (know|have)|no tool|not possible|not available|no information|not found|sorry)\b",
    re.IGNORECASE,
)

_CALL: Final = re.compile(r'<tool_call>|"arguments"|^Action( Input)?:', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """A question, the calls that it takes, and how to know the answer."""

    kind: Kind
    question: str
    group: Group
    calls: tuple[Call, ...] = ()
    """The calls that answer it; none for the last two kinds."""
    words: tuple[str, ...] = ()
    """What has to stand in the answer, each on its own; `4|four` is one or the other."""

    def wrong_calls(self, made: Sequence[Call]) -> int:
        """Count the calls that the task does not take, and those made more than once."""
        needed = [(call.tool, call.result) for call in self.calls]
        wrong = 0
        for call in made:
            if (call.tool, call.result) in needed:
                needed.remove((call.tool, call.result))
            else:
                wrong += 1
        return wrong

    def is_right_answer(self, text: str) -> bool:
        """Tell whether an answer holds all words, or admits that there is no way to know.

        Two figures have to come in the order in which they were asked for, or each after its
        name; and nothing may be named that was not asked for, as those do who copy an example.
        An admission has no figure in it: who names one has made it up. And a call that nobody
        made is no answer, whatever stands in it.
        """
        if _CALL.search(text):
            return False
        if self.kind == "impossible":
            return _ADMISSION.search(text) is not None and not re.search(r"\d", text)
        plain = re.sub(r"(?<=\d),(?=\d{3})", "", text).casefold()
        if not self.words or any(_places(plain, name) for name in NAMES - self._names):
            return False
        places = [_places(plain, word) for word in self.words]
        return all(places) and (len(places) == 1 or self._is_in_order(plain, places))

    @property
    def _names(self) -> set[str]:
        """What may be named: what was asked for, and what was found on the way."""
        return {name for call in self.calls for name in (_lower(call.input), _lower(call.result))}

    def _is_in_order(self, text: str, places: Sequence[Sequence[int]]) -> bool:
        owners = [_lower(call.input) for call in self.calls]
        named = sorted((at, name) for name in owners for at in _places(text, name))
        if not named:
            return any(first < second for first in places[0] for second in places[1])
        return all(
            any(_latest(named, at) == owner for at in found)
            for owner, found in zip(owners, places, strict=True)
        )


def _latest(named: Sequence[tuple[int, str]], before: int) -> str | None:
    return next((name for at, name in reversed(named) if at < before), None)


def _places(text: str, word: str) -> list[int]:
    """Return where a word stands on its own."""
    either = "|".join(re.escape(one.casefold()) for one in word.split("|"))
    return [at.start() for at in re.finditer(rf"(?<![\w.])(?:{either})(?!\w|\.\d)", text)]


def _lower(text: str) -> str:
    return text.casefold()


_SHOP, _OFFICE = GROUPS
_WEATHERS: Final = {"Oslo": "14", "Cairo": "37", "Lima": "19", "Paris": "23"}
_PRICES: Final = {"lamp": "34", "chair": "79", "table": "145", "kettle": "26"}
_PHONES: Final = {"Alice": "4127", "Bob": "5390", "Carol": "6814", "David": "7052"}


def _singles() -> list[Task]:
    made = [
        Task(
            "single call",
            f"What is the price of the {item}?",
            _SHOP,
            (Call("get_price", item),),
            (_PRICES[item],),
        )
        for item in ("lamp", "chair", "table")
    ]
    made += [_weather(_SHOP, "Lima")]
    made += [
        Task(
            "single call",
            f"What is the phone number of {name}?",
            _OFFICE,
            (Call("get_phone", name),),
            (_PHONES[name],),
        )
        for name in ("Alice", "Bob", "Carol")
    ]
    return [*made, _weather(_OFFICE, "Cairo")]


def _weather(group: Group, city: str) -> Task:
    asked = f"What is the weather in {city}?"
    return Task("single call", asked, group, (Call("get_weather", city),), (_WEATHERS[city],))


def _two_steps() -> list[Task]:
    made: list[Task] = []
    for count, item, total in ((3, "lamp", 102), (2, "chair", 158), (4, "table", 580)):
        calls = (Call("get_price", item), Call("calculator", f"{count} * {_PRICES[item]}"))
        asked = f"What is the price of {count} {item}s?"
        made.append(Task("two steps", asked, _SHOP, calls, (str(total),)))
    calls = (Call("get_price", "kettle"), Call("calculator", "5 * 26"))
    made.append(Task("two steps", "What is the price of 5 kettles?", _SHOP, calls, ("130",)))
    for country, city in (
        ("Norway", "Oslo"),
        ("Peru", "Lima"),
        ("Egypt", "Cairo"),
        ("France", "Paris"),
    ):
        calls = (Call("get_capital", country), Call("get_weather", city))
        asked = f"What is the weather in the capital of {country}?"
        made.append(Task("two steps", asked, _OFFICE, calls, (_WEATHERS[city],)))
    return made


def _parallels() -> list[Task]:
    made: list[Task] = []
    for one, other in (
        ("lamp", "chair"),
        ("table", "kettle"),
        ("chair", "table"),
        ("kettle", "lamp"),
    ):
        calls = (Call("get_price", one), Call("get_price", other))
        asked = f"What is the price of the {one}, and the price of the {other}?"
        made.append(Task("parallel", asked, _SHOP, calls, (_PRICES[one], _PRICES[other])))
    for one, other in (("Alice", "Bob"), ("Carol", "David"), ("Bob", "Carol"), ("David", "Alice")):
        calls = (Call("get_phone", one), Call("get_phone", other))
        asked = f"What is the phone number of {one}, and the phone number of {other}?"
        made.append(Task("parallel", asked, _OFFICE, calls, (_PHONES[one], _PHONES[other])))
    return made


def _without() -> list[Task]:
    asked = {
        "What is the opposite of big?": "small|little|tiny",
        "What color is the sky?": "blue",
        "How many legs does a dog have?": "4|four",
        "What is frozen water called?": "ice",
        "What is the opposite of day?": "night",
        "What color is grass?": "green",
        "What animal says meow?": "cat",
        "How many days does a week have?": "7|seven",
    }
    return [
        Task("no tool needed", question, GROUPS[at // 4], (), (word,))
        for at, (question, word) in enumerate(asked.items())
    ]


def _impossibles() -> list[Task]:
    asked = (
        "How old is my teacher?",
        "What is the name of my dog?",
        "When does my train leave?",
        "What did I eat yesterday?",
        "How tall is my brother?",
        "Who is my boss?",
        "Where did I put my keys?",
        "What is my password?",
    )
    return [Task("impossible", question, GROUPS[at // 4]) for at, question in enumerate(asked)]


def _alternating(tasks: Sequence[Task]) -> list[Task]:
    """Take from both groups in turn."""
    half = len(tasks) // 2
    return list(chain.from_iterable(zip(tasks[:half], tasks[half:], strict=True)))


TASKS: Final[tuple[Task, ...]] = tuple(
    chain.from_iterable(
        zip(
            *map(
                _alternating, (_singles(), _two_steps(), _parallels(), _without(), _impossibles())
            ),
            strict=True,
        )
    )
)
"""One of each kind in turn, so that the first few are a fair sample."""
