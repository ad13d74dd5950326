"""What stands inside of what: one pass over a text, from its marks to a tree.

A mark is looked at once, with a bounded look around. What was decoded as a value, and what
stands in a leaf such as `<parameter=code>`, is opaque: nothing in it is markup.
"""

from __future__ import annotations

import re
import sys
from typing import Final

from loopmend.reading import marks
from loopmend.reading.brackets import COST_OF_A_CALL, MOST_CALLS_FAILED
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.markup import Markup
from loopmend.reading.nodes import Kind, Node, Tree
from loopmend.reading.pythonic import name_before, read_calls
from loopmend.reading.sections import header_places
from loopmend.reading.tools import Toolbox

__all__ = ["grow"]


# So many marks are looked at: more than any text has that is not made of markup.
_FEW_MARKS: Final = 4000
_CHARACTERS_PER_MARK: Final = 6
_MARKS_PER_HEADER: Final = 9
_TICK_REACH: Final = 2000
_LONGEST_BEFORE: Final = 64
_LONGEST_TAIL: Final = 200
_AROUND: Final = " \t*-:;.>#"
_LINE_REST: Final = re.compile(r"[ \t*.;:]{0,8}(?=\n|\Z)")


def grow(text: str, tools: Toolbox | None) -> Tree:
    """Return the tree of a text; end-of-turn tokens at its end are not part of it."""
    tail = text[-_LONGEST_TAIL:]
    ended = marks.END_OF_TEXT.search(tail) if tail.rstrip().endswith((">", "|]")) else None
    kept = len(text) - len(tail) + ended.start() if ended else len(text)
    return _Grower(text[:kept], tools).run()


class _Grower(Markup):
    """Goes from mark to mark; fences and inline code are nodes of its own."""

    def __init__(self, text: str, tools: Toolbox | None) -> None:
        super().__init__(text, tools)
        self._marked = {
            "fence": self._fence,
            "waves": self._fence,
            "tick": self._tick,
            "noise": self._noise,
            "tag": self._tag,
            "square": self._square,
            "brace": self._brace,
            "paren": self._paren,
        }

    def run(self) -> Tree:
        places = header_places(self.text)
        never = (sys.maxsize, False)
        place, inline = next(places, never)
        at = 0
        mark = marks.MARK.search(self.text)
        budget = _FEW_MARKS + len(self.text) // _CHARACTERS_PER_MARK
        while self.left > 0 and budget > 0:
            if mark is not None and mark.start() < at:
                search = marks.MARK.search if self.work > 0 else marks.MARK_OF_NO_VALUE.search
                mark = search(self.text, at)
            end = mark.start() if mark else len(self.text)
            while place < at:
                place, inline = next(places, never)
            if place <= end:
                budget -= _MARKS_PER_HEADER
                header = self._header_at(place, inline=inline)
                at = place if header is None else self._header(header)
                place, inline = next(places, never)
            elif mark is None:
                break
            else:
                budget -= 1
                at = self._marked[mark.lastgroup or ""](mark.start())
        self.tree.whole = self.left > 0 and budget > 0
        for node in self.stack[1:]:
            node.stop = node.end = len(self.text)
            node.closed = False
        return self.tree

    def _fence(self, at: int) -> int:
        run = self.text[at]
        end = at + 3
        while self.text.startswith(run, end):
            end += 1
        top = next((n for n in reversed(self.stack) if n.kind is Kind.FENCE), None)
        if top is not None and self.text[top.start] != run:
            return end
        info = marks.INFO.match(self.text, end)
        assert info is not None  # it may be empty
        label = info[1]
        if top is not None:
            self._pop(top, at, end, closed=True)
            if not label:
                return end
        node = Node(Kind.FENCE, at, end, name=label)
        line_end = self.text[info.end() : info.end() + 1] in ("\n", "")
        if label and (line_end or role_of(label) is not None):
            node.begin = info.end()
        else:
            node.name = ""
        self._push(node)
        return node.begin

    def _tick(self, at: int) -> int:
        """Take inline code as opaque, unless it is all that its line holds."""
        run = "``" if self.text.startswith("``", at) else "`"
        top = self.stack[-1]
        if top.kind is Kind.CODE and top.name == run:
            self._pop(top, at, at + len(run), closed=True)
            return at + len(run)
        end = self.text.find(run, at + len(run), at + _TICK_REACH)
        if end == -1 or "\n\n" in self.text[at:end]:
            return at + len(run)
        node = Node(Kind.CODE, at, at + len(run), end, end + len(run), closed=True, name=run)
        if self._fills_line(node) and top.kind is not Kind.CODE:
            self._push(node)
            return node.begin
        node.leaf = True
        top.children.append(node)
        return node.end

    def _fills_line(self, node: Node) -> bool:
        if _LINE_REST.match(self.text, node.end) is None:
            return False
        before = self.text[max(0, node.start - _LONGEST_BEFORE) : node.start]
        return not before.rpartition("\n")[2].strip(_AROUND)

    def _noise(self, at: int) -> int:
        end = self.text.index("[>[", at) + 3
        self._add(Node(Kind.NOISE, at, at, end, end, Role.NOISE))
        return end

    def _square(self, at: int) -> int:
        token = marks.SQUARE.match(self.text, at)
        if token and (end := self._square_token(token)):
            return end
        if marks.LIST_OF_CALLS.match(self.text, at) and self.work > 0:
            found = read_calls(self.text, at)
            if found is not None:
                calls, end = found
                return self._python(at, end, calls)
            first = name_before(self.text, self.text.index("(", at))
            if first is not None and self._is_tool(first[0]):
                self._add(Node(Kind.NOISE, at, at, at + 1, at + 1, Role.CALL, leaf=True))
            self.work -= max(COST_OF_A_CALL, len(self.text) // MOST_CALLS_FAILED)
        if not marks.LIST_START.match(self.text, at):
            return at + 1
        return self._decoded(at)
