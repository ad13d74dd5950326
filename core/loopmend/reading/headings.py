"""Headers as nodes of the tree, with the plain input that follows one."""

from __future__ import annotations

from dataclasses import replace

from loopmend.reading import marks
from loopmend.reading.brackets import COST_OF_A_TRY, Brackets
from loopmend.reading.inline_headers import inline_header
from loopmend.reading.lexicon import Role
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.sections import (
    Header,
    header_at,
    next_section,
    open_bracket,
)
from loopmend.reading.values import Value

__all__ = ["Headings"]


class Headings(Brackets):
    """Reads headers and takes inputs as they are."""

    section = 0, -1, 0
    """From where the next section was looked for, where it is, where words before it end."""

    def _header_at(self, at: int, *, inline: bool) -> Header | None:
        """Return the header at the start of a line, or the one that a colon in mid-line ends."""
        find = inline_header if inline else header_at
        return find(self.text, at, self.tools, self.stack[-1].above)

    def _over_lines(self, header: Header) -> Header:
        """Let an action go on to a later line if that closes its bracket and ends its section."""
        at = open_bracket(self.text, header)
        if at is None:
            return header
        first, limit, end = self.section
        if not first <= at <= limit:
            limit = next_section(self.text, at)
            end = at + len(self.text[at:limit].rstrip())
            self.section = (at, limit, end)
        closed = at < end and self.text[end - 1] == "]"
        return replace(header, resume=end) if closed else header

    def _header(self, header: Header) -> int:
        header = self._over_lines(header)
        while (top := self.stack[-1]).token and self._close_of(top.name, header.start) == -1:
            self._pop(top, header.start, header.start, closed=False)
        node = Node(Kind.HEADER, header.start, header.body, role=header.role, header=header)
        node.stop = node.end = header.resume
        self._add(node)
        self.stack[-1].above = header
        at = header.resume
        if header.role is Role.ARGUMENTS:
            return self._input(node, at)
        if header.role is Role.ANSWER:
            limit = self._limit(at) if len(self.stack) > 1 else None
            node.stop = node.end = next_section(self.text, at, limit=limit, after_answer=True)
            return node.stop
        return at

    def _input(self, node: Node, at: int) -> int:
        """Take a plain input as it is, up to what comes next."""
        first = marks.BLANK.match(self.text, at).end()  # type: ignore[union-attr]
        if self.text.startswith(("```", "~~~"), first):
            node.stop = node.end = first
            return first
        if self.text.startswith(("{", "["), first):
            value, cost = self._try(first) if self.work > 0 else (None, 0)
            whole = value is not None and not value.torn
            self.work -= 0 if whole else cost + COST_OF_A_TRY
            self.work -= value.end - first if value is not None and value.torn else 0
            if value is not None and not value.torn and not _is_prose(value):
                node.stop = node.end = first
                return self._add_value(value)
        limit = self._limit(first)
        node.leaf = True
        node.stop = node.end = next_section(self.text, at, limit=limit)
        return node.stop

    def _limit(self, at: int) -> int:
        """Return where what holds an input ends."""
        top = self.stack[-1]
        limits = [len(self.text)]
        if (ended := self._next(marks.ENDS, "", at)) != -1:
            limits.append(ended)
        mark = self.text[top.start : top.start + 3]
        if top.kind is Kind.FENCE and (fence := self._next(marks.FENCES[mark], mark, at)) != -1:
            limits.append(fence)
        if top.kind is Kind.TAG and (close := self._close_of(top.name, at)) != -1:
            limits.append(close)
        return min(limits)


def _is_prose(value: Value) -> bool:
    """Tell whether brackets hold words, not values: `[temperature in Oslo]`."""
    return isinstance(value.value, list) and any(
        repair.what == "unquoted text" for repair in value.repairs
    )
