"""Which specialists a message is addressed to, told by where their names stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from loopmend._arguments import not_text

__all__ = ["RosterMatch", "match_specialists"]

_READ: Final = 8_000  # characters; who addresses somebody does so early
_LONGEST_NAME: Final = 100
# What is shown or quoted addresses nobody, so that reading ends there.
_SHOWN: Final = re.compile(r"`|\"|[“„«「]|^[ \t]*>", re.MULTILINE)
_STARTS: Final = re.compile(r"(?:\A|\n|[.!?;][ \t]|[\u3002\uff01\uff1f])\s*")
_BETWEEN: Final = re.compile(r"[\s,;&+/]*(?=@)")
_WORD: Final = re.compile(r"\w")
# A name goes on in a mail address, a host or a possessive; a question mark asks about it.
_GOES_ON: Final = r"\w|[@.'\u2019/-]\w|\s{0,3}[?\uff1f\u061f]"
_MORE: Final = re.compile(_GOES_ON)
_SOMEBODY: Final = re.compile(rf"@\w[\w-]{{0,98}}(?!{_GOES_ON})")
_AFTER_NAME: Final = re.compile(r"\s{0,3}[,:\uff0c\uff1a]")
# An ordinary word has no such joints: "report_writer", "math-bot", "ResearchAgent", "agent2".
_JOINT: Final = re.compile(r"\w[_\-]\w|[a-z][A-Z0-9]|[A-Z]{2}[a-z]")


@dataclass(frozen=True, slots=True)
class RosterMatch:
    """The specialists that a message addresses.

    >>> RosterMatch(explicit=True, names=("writer",)).names
    ('writer',)
    """

    explicit: bool = False
    """Whether the message addresses a specialist, on the roster or not."""
    names: tuple[str, ...] = ()
    """The addressed specialists on the roster, in the order of the message."""

    def before(self, name: str) -> RosterMatch:
        """Return who is to act before somebody: what comes after a name is for after its work.

        >>> RosterMatch(True, ("writer", "clerk", "critic")).before("clerk").names
        ('writer',)
        """
        if name not in self.names:
            return self
        first = self.names[: self.names.index(name)]
        return RosterMatch(self.explicit, first) if first else RosterMatch()


def match_specialists(text: str, roster: Mapping[str, str]) -> RosterMatch:
    """Find the specialists that a message addresses: it starts with `@name`.

    A name that cannot be an ordinary word, such as `ResearchAgent` or `report_writer`, also counts
    if the message starts with that name and a comma or a colon. Later sentences and lines may
    address others. Elsewhere a name may be part of a condition, a denial or a question, or other
    work may come first; there the model decides.

    Args:
        text: The user's message.
        roster: A description of each specialist, by name.

    Raises:
        TypeError: `text` is not a `str`.

    >>> roster = {"ResearchAgent": "Looks things up.", "writer": "Writes poems and reports."}
    >>> match_specialists("@researchagent find a paper. @writer sum it up.", roster)
    RosterMatch(explicit=True, names=('ResearchAgent', 'writer'))
    >>> match_specialists("If it rains, ask @writer for a poem.", roster)
    RosterMatch(explicit=False, names=())
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    if "@" not in text and not any(map(_JOINT.search, roster)):
        return RosterMatch()  # nobody can be addressed
    read = text[:_READ]
    shown = _SHOWN.search(read)
    read = read[: shown.start()] if shown else read
    known = _Names(roster)
    found: dict[str, None] = {}
    end = -1
    for start in _STARTS.finditer(read):
        if start.end() <= end:
            continue
        here, end = known.addressed(read, start.end())
        if not here and not found:
            return RosterMatch()  # the agent's own work comes first
        found.update(dict.fromkeys(here))
    return RosterMatch(explicit=True, names=tuple(name for name in found if name in roster))


class _Names:
    """The names of a roster, ready to be looked up."""

    def __init__(self, roster: Mapping[str, str]) -> None:
        named = [name for name in roster if _WORD.search(name) and len(name) <= _LONGEST_NAME]
        self._names = {name.lower(): name for name in reversed(named)}
        # The longest first: "data" is not "data_agent".
        self._lengths = sorted({len(name) for name in self._names}, reverse=True)

    def addressed(self, text: str, at: int) -> tuple[list[str], int]:
        """Return who is addressed at a place, and where that ends.

        Somebody who is not on the roster goes by what they are called there.
        """
        name = self._named(text, at)
        after = at + len(name)
        if name and text.startswith(name, at) and _JOINT.search(name):
            return ([name], after) if _AFTER_NAME.match(text, after) else ([], after)
        found: list[str] = []
        while text.startswith("@", at):
            somebody = _SOMEBODY.match(text, at)
            if known := self._named(text, at + 1):
                found.append(known)
                at += 1 + len(known)
            elif somebody is not None:
                found.append(somebody[0])
                at = somebody.end()
            else:
                break
            following = _BETWEEN.match(text, at)
            at = following.end() if following else at
        return found, at

    def _named(self, text: str, at: int) -> str:
        """Return the longest name that stands at a place and ends there."""
        for length in self._lengths:
            name = self._names.get(text[at : at + length].lower())
            if name is not None and not _MORE.match(text, at + length):
                return name
        return ""
