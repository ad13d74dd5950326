"""The sections of ReAct: where each header's text ends, and what came of them so far."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from loopmend.reading.answers import Answered
from loopmend.reading.lexicon import Role
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.phrases import SPEAKERS
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.values import Value
from loopmend.reading.written_calls import Call

__all__ = ["ReactCandidate", "ReactRun", "ReactSections"]

_NAMED: Final = re.compile(rf"\s*(?:(?:{'|'.join(sorted(SPEAKERS))})(?=\s*(?:\n|<)))?\s*")
_SAID: Final = re.compile(r"\S")


@dataclass(slots=True)
class ReactCandidate:
    """A call, an answer or a failure in ReAct's form."""

    span: tuple[int, int]
    calls: list[Call] = field(default_factory=list)
    answer: Answered | None = None
    failure: Failure | None = None
    shown: str | None = None
    thought: bool = False
    value: Value | None = None
    """A value under `Action:` that describes the call."""


@dataclass(slots=True)
class ReactRun:
    """What a run of headers asks for."""

    next: int = 0
    """The node to go on with."""
    candidate: ReactCandidate | None = None
    answer: tuple[str, tuple[int, int]] | None = None
    thoughts: list[tuple[int, int]] = field(default_factory=list)
    thought_texts: list[tuple[int, int]] = field(default_factory=list)
    thinks: bool = False
    labels: list[tuple[int, int]] = field(default_factory=list)
    inner: list[tuple[Node, str | None]] = field(default_factory=list)
    """Nodes in other forms under a header, and what they stand in."""
    observed: int | None = None
    afterthought: tuple[int, int] | None = None
    headers: int = 0
    no_action: bool = False
    other_turn: bool = False
    made_up: bool = False
    """Whether a tool's output is all there is."""
    repairs: list[Repair] = field(default_factory=list)


class ReactSections:
    """Headers side by side, and what is known of them."""

    def __init__(self, text: str, parent: Node, nodes: list[Node], tools: Toolbox | None) -> None:
        self.text = text
        self.parent = parent
        self.nodes = nodes
        self.tools = tools
        self.result = ReactRun()
        if parent.opening == -1:
            said = _SAID.search(text, self._opening(parent.begin))
            parent.opening = said.start() if said else len(text)
        self.opening = parent.opening
        """Where the first word in the parent stands."""
        self.start: int | None = None
        """Where the thought starts that leads to the action."""
        self.thinks = False
        self.observed = False
        self.transcript = False
        """Whether somebody else speaks first, or is answered."""

    def _opening(self, at: int) -> int:
        """Return where the template's tokens, the speaker's name and thinking in tags are over."""
        index = 0
        while self._is_silent(node := self.nodes[index]) and self._named(at) >= node.start:
            at = node.end
            index += 1
        return self._named(at)

    @staticmethod
    def _is_silent(node: Node) -> bool:
        thinks = node.role is Role.THINK and node.kind is Kind.TAG and node.closed
        return node.token or thinks

    def _named(self, at: int) -> int:
        """Return where blanks and the name of a model end."""
        return _NAMED.match(self.text, at).end()  # type: ignore[union-attr]

    def _candidate(self, candidate: ReactCandidate, at: int) -> None:
        header = self.nodes[at].header
        assert header is not None
        if self.observed:
            message = "The action relies on a tool's output that the model made up."
            failed = Failure(FailurePattern.FABRICATED_OUTPUT, message, candidate.span)
            candidate = ReactCandidate(candidate.span, failure=failed)
        candidate.thought = self.thinks
        self._note_inline(self.nodes[at])
        if header.quoted:
            candidate.shown = "a quotation"
        elif self.transcript:
            candidate.shown = "a transcript"
        self.result.candidate = candidate

    def _note_inline(self, node: Node) -> None:
        if node.header is not None and node.header.inline and not self.thinks:
            self.result.repairs.append(Repair("header in mid-line", (node.start, node.begin)))

    def _next_is_header(self, at: int) -> bool:
        return at + 1 >= len(self.nodes) or self.nodes[at + 1].header is not None

    def _section_end(self, at: int) -> int:
        index = self._next_header(at)
        if index < len(self.nodes):
            return self.nodes[index].start
        stop = self.parent.stop
        return len(self.text) if stop == -1 else stop

    def _next_header(self, at: int) -> int:
        """Return the index of the next header, or one behind the last node."""
        at += 1
        while at < len(self.nodes) and self.nodes[at].header is None:
            at += 1
        return at

    def _after(self, at: int, end: int) -> int:
        """Return the first node behind a place."""
        at += 1
        while at < len(self.nodes) and self.nodes[at].start < end:
            at += 1
        return at

    def _starts(self, at: int) -> bool:
        """Tell whether nothing is said before a place."""
        return self.opening >= at
