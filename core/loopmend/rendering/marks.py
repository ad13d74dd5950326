"""A text with places marked in it, however they overlap, and wherever they are said to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from loopmend.rendering.html import Markup, element, joined
from loopmend.rendering.pieces import note

__all__ = ["Mark", "Place", "kept_parts", "marked"]

Kind = Literal["action", "repair", "failure"]
Place = tuple[int, int]
"""Where something begins and where it ends."""

_KINDS: Final[tuple[Kind, ...]] = ("action", "repair", "failure")
_LONGEST: Final = 8000
_START: Final = 4000
_END: Final = 1500
_AROUND: Final = 500
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to be marked.

    >>> Mark("repair", (9, 4), "1").fitted(6).place
    (4, 6)
    """

    kind: Kind
    place: Place
    sign: str = ""
    """What is put before it."""
    title: str = ""
    """What the sign means."""

    def fitted(self, length: int) -> Mark:
        """Return the mark within a text of that length."""
        start, stop = sorted(min(max(at, 0), length) for at in self.place)
        return replace(self, place=(start, stop))

    def within(self, part: Place) -> Mark | None:
        """Return the mark within a part of the text, if it reaches there."""
        start, stop = self.place
        if stop < part[0] or start > part[1]:
            return None
        sign = self.sign if start >= part[0] else ""
        return replace(self, place=(max(start, part[0]), min(stop, part[1])), sign=sign)


def marked(text: str, marks: Sequence[Mark]) -> Markup:
    """Return a text as HTML with all its marks, and of a huge text the parts that count.

    >>> marked("abc", [Mark("repair", (1, 2), "1", "quotes")])
    'a<sup title="quotes">1</sup><mark class="repair">b</mark>c'
    """
    fitted = [mark.fitted(len(text)) for mark in marks]
    pieces: list[str] = []
    last = 0
    for part in kept_parts(len(text), [mark.place for mark in fitted]):
        if part[0] > last:
            pieces.append(note(f"\n… {part[0] - last:,} characters are left out …\n"))
        pieces += _part(text, part, fitted)
        last = part[1]
    return joined(pieces)


def kept_parts(length: int, places: Sequence[Place]) -> list[Place]:
    """Return which parts are shown of a text of that length: all of it, unless it is huge.

    Of a huge text they are its two ends and what lies around the first few places.

    >>> kept_parts(100, []), kept_parts(100_000, [(50_000, 50_001)])
    ([(0, 100)], [(0, 4000), (49500, 50500), (98500, 100000)])
    """
    if length <= _LONGEST:
        return [(0, length)]
    around = ((max(0, at - _AROUND), min(length, at + _AROUND)) for at, _ in places[:_FEW])
    parts: list[Place] = []
    for start, stop in sorted([(0, _START), (length - _END, length), *around]):
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(stop, parts[-1][1]))
        else:
            parts.append((start, stop))
    return parts


def _part(text: str, part: Place, marks: Sequence[Mark]) -> Iterator[str]:
    """Draw a part of a text, piece by piece from where a mark begins or ends to the next."""
    here = [cut for mark in marks if (cut := mark.within(part)) is not None]
    edges = sorted({*part, *(at for mark in here for at in mark.place)})
    starting: dict[int, list[Mark]] = {at: [] for at in edges}
    ending: dict[int, list[Mark]] = {at: [] for at in edges}
    for mark in here:
        starting[mark.place[0]].append(mark)
        ending[mark.place[1]].append(mark)
    over: Counter[Kind] = Counter()
    for at, following in zip(edges, [*edges[1:], part[1]], strict=True):
        yield from _signs(starting[at])
        over.update(mark.kind for mark in starting[at])
        over.subtract(mark.kind for mark in ending[at])
        yield _piece(text[at:following], [kind for kind in _KINDS if over[kind] > 0])


def _signs(starting: Sequence[Mark]) -> Iterator[Markup]:
    """Draw the signs of what begins at one place, each once, and a bar for what has no width."""
    titles = {mark.sign: mark.title for mark in starting if mark.sign}
    for sign, title in titles.items():
        yield element("sup", sign, title=title)
    points = {mark.kind for mark in starting if mark.place[0] == mark.place[1]}
    for kind in sorted(points - {"action"}):
        yield element("mark", css=f"{kind} point")


def _piece(text: str, kinds: Sequence[Kind]) -> str:
    if not kinds or not text:
        return text
    return element("span" if kinds == ["action"] else "mark", text, css=" ".join(kinds))
