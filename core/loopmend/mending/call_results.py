"""The calls of a run with their results, and what was found with them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from loopmend._repr import written
from loopmend.results import failure_in

__all__ = ["CallResult", "cut", "found_with", "in_brief", "short", "useful"]

_LONGEST_NAME: Final = 60
_LONGEST_RESULT: Final = 300
_MOST_FOUND: Final = 5
_LONGEST_KEPT: Final = 600


@dataclass(frozen=True, slots=True)
class CallResult:
    """A call and its result.

    >>> CallResult("search", {"q": "rust"}, "nothing found").name
    'search'
    """

    name: str
    arguments: Any
    """The tool's arguments; any values that JSON or `repr` can distinguish."""
    result: str
    """The tool's result, as the model saw it."""
    failed: bool = False
    """Whether the host marks the result as an error."""
    handoff: str | None = None
    """The agent that takes over, if the call hands the work over; the reason may vary."""

    def call(self) -> tuple[str, str]:
        """Return a key that is equal for equal calls, whatever came of them."""
        if self.handoff is not None:
            return "", self.handoff
        return self.name, written(self.arguments, in_order=True)

    def outcome(self) -> str:
        """Return what came of the call, as far as it tells one outcome from another."""
        return "" if self.handoff is not None else self.result.strip()

    def fails(self) -> bool:
        """Tell whether the call failed: the host marks it, or the result has the form of an error.

        >>> CallResult("sql", "select", "OperationalError: no such column").fails()
        True
        """
        return self.failed or failure_in(self.result) is not None

    def shortened(self) -> CallResult:
        """Return the call with texts short enough to keep; what was equal or failing stays so.

        >>> len(CallResult("read", "a.txt", "x" * 10_000).shortened().result)
        634
        """
        arguments = written(self.arguments, in_order=True)
        result = self.result.strip()
        # What is cut may lose the words of its error; the rest can be asked when it counts.
        failed = self.failed or (len(result) > _LONGEST_KEPT and self.fails())
        return CallResult(
            short(self.name),
            self.arguments if len(arguments) <= _LONGEST_KEPT else short(arguments),
            short(result),
            failed,
            None if self.handoff is None else short(self.handoff),
        )


def short(text: str) -> str:
    """Return a text, or the beginning of a long one and a digest that tells it from others."""
    if len(text) <= _LONGEST_KEPT:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    # On a line of its own, so that what stood in the middle does not become the end.
    return f"{text[:_LONGEST_KEPT]}\n…{digest.hexdigest()}"


def cut(text: str, longest: int = _LONGEST_RESULT) -> str:
    """Return a text on one line, and no longer than that."""
    line = " ".join(text[: 2 * longest].split())
    return line if len(line) <= longest else f"{line[:longest].rstrip()}…"


def useful(calls: Iterable[CallResult]) -> list[CallResult]:
    """Return the calls that found something, each once, oldest first."""
    told = (c for c in calls if c.handoff is None and c.result.strip() and not c.fails())
    return list({(*call.call(), call.outcome()): call for call in told}.values())


def found_with(calls: Iterable[CallResult]) -> str:
    """Return what the latest useful calls found, on one line."""
    return "; ".join(map(_found, list(calls)[-_MOST_FOUND:]))


def in_brief(name: str) -> str:
    """Return a name that is short enough for a sentence."""
    return cut(name, _LONGEST_NAME)


def _found(call: CallResult) -> str:
    given = call.arguments
    values = given.values() if isinstance(given, dict) else [given]
    asked = in_brief(
        ", ".join(value if isinstance(value, str) else written(value) for value in values)
    )
    return f"{in_brief(call.name)}({asked}): {cut(call.result)}"
