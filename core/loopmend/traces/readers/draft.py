"""A step that is being read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from loopmend.traces.readers.said import Said
from loopmend.traces.trace import Observation, Step, Tokens, TraceCall, TraceError
from loopmend.traces.unread import UNREAD

__all__ = ["Draft", "maker"]

_WINDOW: Final = 64
"""How many steps may lie between a call and its result."""
_FEW: Final = 4
"""So many calls are looked through one by one."""


class _Index:
    """Which calls a step made and which results it has, so that many cost no more each than few."""

    __slots__ = ("ids", "named", "names", "pairs", "places", "seen_ids", "seen_names", "sizes")

    def __init__(self) -> None:
        self.sizes = (0, 0)
        self.named: dict[str, str] = {}
        self.pairs: set[tuple[str | None, str | None]] = set()
        self.ids: dict[str | None, int] = {}
        self.names: dict[str | None, int] = {}
        self.seen_ids: dict[str | None, int] = {}
        self.seen_names: dict[str | None, int] = {}
        self.places: dict[tuple[str | None, str | None], int] = {}

    def update(self, calls: list[TraceCall], seen: list[Observation]) -> None:
        for call in calls[self.sizes[0] :]:
            self.ids[call.id] = self.ids.get(call.id, 0) + 1
            self.names[call.name] = self.names.get(call.name, 0) + 1
            if call.id is not None:
                self.named[call.id] = call.name
                self.pairs.add((call.id, call.name))
        for place in range(self.sizes[1], len(seen)):
            self.note(place, seen[place])
        self.sizes = len(calls), len(seen)

    def note(self, place: int, result: Observation) -> None:
        self.seen_ids[result.call_id] = self.seen_ids.get(result.call_id, 0) + 1
        self.seen_names[result.tool] = self.seen_names.get(result.tool, 0) + 1
        self.places.setdefault((result.call_id, result.tool), place)

    def forget(self, result: Observation) -> None:
        self.seen_ids[result.call_id] -= 1
        self.seen_names[result.tool] -= 1
        self.places.pop((result.call_id, result.tool), None)


@dataclass(slots=True)
class Draft:
    """What is known of a step so far."""

    text: str = ""
    thought: str | None = None
    calls: list[TraceCall] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    answer: str | None = None
    error: TraceError | None = None
    tokens: Tokens | None = None
    agent: str | None = None
    id: str | None = None
    finish: str | None = None
    """Why the provider says the reply ended."""
    seconds: float | None = None
    request: int = 0
    """Which of the user's requests it serves."""
    executed_text: bool = False
    """Whether its calls stand in its text."""
    concludes: bool = False
    """Whether it answers after what its calls returned: the provider ran them."""
    reads: bool = True
    """Whether its text is a reply that can be read."""
    _known: _Index | None = None

    @classmethod
    def of(cls, said: Said) -> Draft:
        """Start a step with a reply."""
        draft = cls(
            *(said.text, said.thought or None, [*said.calls], []),
            tokens=said.tokens,
            agent=said.name,
            finish=said.finish,
            answer=said.answer,
            concludes=said.concludes,
        )
        for result in said.results:
            draft.observe(result)
        return draft

    def _index(self) -> _Index:
        if self._known is None:
            self._known = _Index()
        if self._known.sizes != (len(self.calls), len(self.observations)):
            self._known.update(self.calls, self.observations)
        return self._known

    def made(self, id: str | None) -> bool:
        """Tell whether it made the call with this id."""
        if len(self.calls) <= _FEW:
            return any(call.id == id for call in self.calls)
        return id in self._index().named

    def observe(self, result: Observation) -> None:
        """Take what a tool returned, once for each call."""
        if not self.observations and len(self.calls) == 1:
            [call] = self.calls
            named = result.tool if result.call_id is None or result.call_id != call.id else None
            self.observations.append(_named(result, named or call.name))
            return
        index = self._index()
        seen, id = self.observations, result.call_id
        # A host may use one id for two calls; then what the result says of itself counts.
        told = (id, result.tool) in index.pairs
        name = result.tool if told else index.named.get(id or "") or result.tool
        if name is None and len(seen) < len(self.calls):
            name = self.calls[len(seen)].name
        result = _named(result, name)
        place = len(seen)
        if id is not None and id in index.named:
            if index.seen_ids.get(id, 0) >= index.ids[id]:
                place = index.places.get((id, name), place)
            if place == len(seen) and index.seen_names.get(name, 0) >= index.names[name]:
                # A tool that raised something tells no id.
                place = index.places.get((None, name), place)
        if place < len(seen):
            index.forget(seen[place])
            seen[place] = result
            index.note(place, result)
        else:
            seen.append(result)

    def step(self) -> Step:
        """Return the step."""
        thought = self.thought
        if thought is None and self.calls and self.text and not self.executed_text:
            thought = self.text
        reads = self.reads and not self.executed_text
        return Step(
            self.text,
            thought,
            tuple(self.calls),
            tuple(self.observations),
            self.answer,
            UNREAD if reads else None,
            self.error,
            self.tokens,
            self.seconds,
            self.agent,
            self.id,
            self.request,
            self.finish,
        )


def _named(result: Observation, name: str | None) -> Observation:
    """Return a result under the name of its tool."""
    if name == result.tool:
        return result
    return Observation(result.text, name, result.call_id, result.failed, result.seconds)


def maker(drafts: Sequence[Draft], id: str | None) -> Draft | None:
    """Return the step that made a call, if it is one of the latest."""
    if id is None:
        return None
    for draft in reversed(drafts[-_WINDOW:]):
        if draft.calls and draft.made(id):
            return draft
    return None
