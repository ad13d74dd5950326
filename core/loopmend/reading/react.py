"""ReAct: headers one after the other, from a thought to an action with its input, or an answer."""

from __future__ import annotations

from typing import Final

from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.nodes import Node
from loopmend.reading.react_actions import ReactActions
from loopmend.reading.react_sections import ReactRun
from loopmend.reading.sections import Header
from loopmend.reading.tools import Toolbox

__all__ = ["ReactRun", "read_react"]

_SHORT: Final = 400


def read_react(  # noqa: PLR0913 - where to read, and what is known
    text: str, parent: Node, nodes: list[Node], at: int, tools: Toolbox | None, *, called: bool
) -> ReactRun:
    """Read headers from one on, up to the first action or answer.

    Args:
        text: The text.
        parent: The node in which the headers stand.
        nodes: The headers and what stands beside them.
        at: Which of them to start with.
        tools: The available tools.
        called: Whether a call stands before them: then what looks like its output is made up.
    """
    reader = _Reader(text, parent, nodes, tools)
    reader.called = called
    return reader.run(at)


class _Reader(ReactActions):
    """Goes from header to header."""

    def __init__(self, text: str, parent: Node, nodes: list[Node], tools: Toolbox | None) -> None:
        super().__init__(text, parent, nodes, tools)
        self.called = False
        self.answers = False
        """Whether what the assistant says would answer somebody."""
        self.first: bool | None = None
        """Whether nothing is said before the thought."""

    def run(self, at: int) -> ReactRun:
        first = at
        while at < len(self.nodes):
            header = self.nodes[at].header
            if header is None:
                at = self._inner(at)
                continue
            self.result.headers += header.strong
            self._note_speaker(header)
            if self.called and header.strong and header.role in (Role.OBSERVATION, Role.THINK):
                return self._continued(at, header)
            if header.role in (Role.CALL, Role.NAME):
                done = self._action(at)
                if done is not None:
                    self.result.next = done
                    return self.result
            elif header.role is Role.ANSWER and self._is_answer(at, first):
                self._answer(at)
                self.result.next = at + 1
                return self.result
            elif header.role is Role.THINK and self._is_thought(at):
                self._thought(at)
            elif header.role is Role.OBSERVATION and header.strong:
                at = self._observation(at)
                continue
            elif header.role in (Role.SPEAKER, Role.ASK) and self._is_other(at):
                self.result.observed = header.start
                self.result.other_turn = True
                self.result.next = len(self.nodes)
                return self._finished()
            at += 1
        self.result.next = at
        return self._finished()

    def _continued(self, at: int, header: Header) -> ReactRun:
        """Stop before what the model goes on with, as if its action had been made."""
        self.result.observed = header.start
        if header.role is Role.THINK:
            last = at
            while self._thinks_on(index := self._next_header(last)):
                last = index
            self.result.afterthought = (header.body, self._section_end(last))
        self.result.next = len(self.nodes)
        return self.result

    def _thinks_on(self, at: int) -> bool:
        return at < len(self.nodes) and self.nodes[at].role is Role.THINK

    def _finished(self) -> ReactRun:
        """Say what headers mean that led to no action and no answer."""
        calls_inside = any(node.role is Role.CALL for node, _ in self.result.inner)
        self.result.no_action = self.thinks and bool(self.first) and not calls_inside
        return self.result

    def _is_thought(self, at: int) -> bool:
        """Tell whether a header is ReAct's own, or a word of any text that leads to one."""
        header = self.nodes[at].header
        assert header is not None
        if header.strong or header.quoted:
            return not header.quoted
        index = self._next_header(at)
        following = self.nodes[index].header if index < len(self.nodes) else None
        return following is not None and following.strong

    def _thought(self, at: int) -> None:
        node = self.nodes[at]
        end = self._section_end(at)
        if self.start is None:
            self.start = node.start
        header = node.header
        assert header is not None
        self.thinks = self.thinks or (header.strong and not header.quoted)
        if self.first is None:
            self.first = self._starts(header.start)
        self.result.labels.append((node.start, node.begin))
        if self._next_is_header(at):
            self.result.thoughts.append((node.begin, end))
        else:
            end = self.nodes[at + 1].start
        self.result.thought_texts.append((node.begin, end))
        self.result.thinks = self.thinks

    def _note_speaker(self, header: Header) -> None:
        """Note who speaks: where somebody is answered, the text is a transcript."""
        if header.role is not Role.SPEAKER or role_of(header.words[-1]) is not Role.SPEAKER:
            return
        if header.words[-1:] == ("assistant",):
            self.transcript = self.transcript or self.answers
        else:
            self.answers = True
            self.transcript = self.transcript or self._starts(header.start)

    def _inner(self, at: int) -> int:
        """Leave what stands under a header in another form to others."""
        self.result.inner.append((self.nodes[at], "a transcript" if self.transcript else None))
        return at + 1

    def _observation(self, at: int) -> int:
        """Pass over what the model makes up as a tool's output."""
        first = self.nodes[at].header
        assert first is not None
        alone = self._starts(first.start) and not first.listed
        self.observed = True
        at += 1
        while at < len(self.nodes):
            header = self.nodes[at].header
            if header is not None and header.strong and header.role is not Role.OBSERVATION:
                return at
            if header is None:
                self.result.inner.append((self.nodes[at], "a tool's output"))
            at += 1
        self.result.made_up = alone
        return at

    def _is_other(self, at: int) -> bool:
        """Tell whether another speaker goes on, as if it were the next turn."""
        header = self.nodes[at].header
        assert header is not None
        if self._starts(header.start) or header.words[-1:] == ("assistant",):
            return False
        if header.role is Role.SPEAKER:
            return self.result.headers > 0
        index = self._next_header(at)
        following = self.nodes[index].header if index < len(self.nodes) else None
        return (
            following is not None and following.strong and following.role in (Role.THINK, Role.CALL)
        )

    def _is_answer(self, at: int, first: int) -> bool:
        """Tell an answer in ReAct's form from a paragraph that starts with the word."""
        header = self.nodes[at].header
        assert header is not None
        if header.listed or header.quoted:
            return False
        if len(header.words) > 1 or self.thinks or self.called:
            return True
        if header.words == ("ai",):
            return False  # who speaks, not what is answered
        if at != first or header.start - self.opening > _SHORT:
            return False
        return "\n" not in self.text[self.opening : header.start].strip()

    def _answer(self, at: int) -> None:
        node = self.nodes[at]
        begin, stop = node.begin, node.stop
        text = self.text[begin:stop]
        self._note_inline(node)
        self.result.answer = (text.strip(), (begin, stop))
