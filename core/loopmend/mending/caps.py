"""What a run answers at its cap: what was found, where the framework raises or says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from loopmend.errors import LoopmendError
from loopmend.mending.call_results import CallResult, cut, found_with, useful
from loopmend.mending.loops import answer_from

__all__ = ["CapAnswer", "CapError", "OnCap", "answer_at_cap", "ask_before_cap", "check_on_cap"]

OnCap = Literal["answer", "raise"]
"""What to do at a cap on steps, calls or time: answer from what was found, or raise."""


@dataclass(frozen=True, slots=True)
class CapAnswer:
    """What to answer in the model's place at a cap.

    >>> answer_at_cap([CallResult("price", {"item": "lamp"}, "20 euros")]).reason
    'max_iterations'
    """

    content: str
    """What to tell the user."""
    found: tuple[CallResult, ...]
    """The calls that found something, each once, oldest first."""
    reason: str = "max_iterations"
    """Why the run ended, in a trace's terms (`StopReason`): mark the answer with it."""


def answer_at_cap(calls: Sequence[CallResult], cap: str = "its limit of steps") -> CapAnswer:
    """Return an answer from what a run found before its cap.

    Args:
        calls: The calls of the run, oldest first.
        cap: Which limit was reached.

    >>> print(answer_at_cap([CallResult("price", {"item": "lamp"}, "20 euros")]).content)
    Stopped: the run reached its limit of steps. Results so far: price(lamp): 20 euros
    """
    found = useful(calls)
    said = f"Stopped: the run reached {cap}."
    if calls and calls[-1].fails():
        said = f"{said} The last call failed: {cut(calls[-1].result).rstrip('.')}."
    return CapAnswer(f"{said} Results so far: {found_with(found) or 'none'}", tuple(found))


def ask_before_cap(question: str = "") -> str:
    """Return what to tell the model when it can make no more calls.

    >>> ask_before_cap("What is it?")
    'This is the last step: no more calls. Answer from what the tools returned: What is it?'
    """
    return f"This is the last step: no more calls. {answer_from(question)}"


class CapError(LoopmendError):
    """A run reached its cap; raised where the framework would return a stock sentence.

    >>> CapError(answer_at_cap([]))
    CapError('Stopped: the run reached its limit of steps. Results so far: none')
    """

    answer: CapAnswer
    """What would have been answered."""

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
