"""What a run answers at its cap: what was found, where the framework raises or says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from loopmend.errors import LoopmendError
from loopmend.mending.call_results import CallResult, cut, found_with, useful
from loopmend.mending.loops import answer_from
from loopmend.reading.response import read_response
from loopmend.reading.tools import Tools

__all__ = [
    "CapAnswer",
    "CapError",
    "OnCap",
    "Pace",
    "answer_at_cap",
    "answer_said_at_cap",
    "ask_before_cap",
    "check_on_cap",
    "is_last_round",
    "paced",
]

_SHORTEST_ROUND: Final = 2
"""A step of the model and one of its tools."""

OnCap = Literal["answer", "raise"]
"""What to do at a cap on steps, calls or time: answer from what was found, or raise."""


@dataclass(frozen=True, slots=True)
class CapAnswer:
    """The answer that loopmend gives in the model's place at a cap.

    >>> answer_at_cap([CallResult("price", {"item": "lamp"}, "20 euros")]).reason
    'max_iterations'
    """

    content: str
    """What to tell the user."""
    found: tuple[CallResult, ...]
    """The calls that returned something, each once, oldest first."""
    reason: str = "max_iterations"
    """Why the run ended, as a `StopReason`: mark the answer with it."""


def answer_at_cap(calls: Sequence[CallResult], cap: str = "its step limit") -> CapAnswer:
    """Return an answer from the results that a run has at its cap.

    Args:
        calls: The calls of the run, oldest first.
        cap: The limit that the run reached.

    >>> print(answer_at_cap([CallResult("price", {"item": "lamp"}, "20 euros")]).content)
    Stopped: the run reached its step limit. Results so far: price(lamp): 20 euros
    """
    found = useful(calls)
    said = f"Stopped: the run reached {cap}."
    if calls and calls[-1].fails():
        said = f"{said} The last call failed: {cut(calls[-1].result).rstrip('.')}."
    return CapAnswer(f"{said} Results so far: {found_with(found) or 'none'}", tuple(found))


def ask_before_cap(question: str = "") -> str:
    """Return the message for a model that can make no more calls.

    >>> ask_before_cap("What is it?")
    'This is the last step: no more calls. Answer from what the tools returned: What is it?'
    """
    return f"This is the last step: no more calls. {answer_from(question)}"


def answer_said_at_cap(said: str, calls: Sequence[CallResult], tools: Tools = None) -> str:
    r"""Return what a model answered that was asked for it at a cap, or what was found.

    What it said may be of no use: it narrates, or wants to go on. A label before the answer goes.

    Args:
        said: What it said.
        calls: The calls of the run, oldest first.
        tools: The tools that it had before.

    >>> answer_said_at_cap("Thought: I know.\nAnswer: 20 euros", [])
    '20 euros'
    """
    if read_response(said, tools=tools).failure is not None:
        return answer_at_cap(calls).content
    before, label, after = said.rpartition("Answer:")
    return after.strip() if label and "\n" not in before.strip() else said.strip()


class Pace(TypedDict):
    """How fast a run uses up its steps.

    >>> paced(10)
    {'left': 10, 'round': 2}
    """

    left: int
    """How many steps are left, without those after the answer."""
    round: int
    """How many steps there are from one call of the model to the next, at most."""


def paced(left: int, before: Pace | None = None) -> Pace:
    """Return the pace of a run before a call of its model.

    Args:
        left: How many steps are left.
        before: The pace before its last call, if there was one.

    >>> paced(4, {"left": 8, "round": 2})
    {'left': 4, 'round': 4}
    """
    if before is None:
        return {"left": left, "round": _SHORTEST_ROUND}
    return {"left": left, "round": max(before["round"], before["left"] - left)}


def is_last_round(pace: Pace) -> bool:
    """Tell whether the run would be out of steps before the model could answer once more.

    A round is tools, what runs before the model, the model, and what runs after it. A step has to
    be left over after an answer. How a round splits up is not known here: all of it but tools and
    model may come after the model.

    >>> is_last_round({"left": 3, "round": 2}), is_last_round({"left": 2, "round": 2})
    (False, True)
    """
    return pace["left"] - pace["round"] < pace["round"] - 1


class CapError(LoopmendError):
    """A run reached its cap; raised where the framework would return a stock sentence.

    >>> CapError(answer_at_cap([]))
    CapError('Stopped: the run reached its step limit. Results so far: none')
    """

    answer: CapAnswer
    """The answer that loopmend would have given."""

    def __init__(self, answer: CapAnswer) -> None:
        super().__init__(answer.content)
        self.answer = answer

    def __reduce__(self) -> tuple[type[CapError], tuple[CapAnswer]]:
        """Rebuild from the answer."""
        return type(self), (self.answer,)


def check_on_cap(on_cap: Any) -> None:
    """Check an `on_cap` option.

    Raises:
        ValueError: It is neither `"answer"` nor `"raise"`.

    >>> check_on_cap("answer")
    """
    if on_cap not in ("answer", "raise"):
        msg = f"on_cap must be 'answer' or 'raise', not {on_cap!r}"
        raise ValueError(msg)
