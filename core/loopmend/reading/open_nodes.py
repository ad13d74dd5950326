"""The nodes that are open at a place of a text, and what was already looked for behind it."""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading import marks
from loopmend.reading.lexicon import Role
from loopmend.reading.nodes import Kind, Node, Tree
from loopmend.reading.tools import Toolbox

__all__ = ["OpenNodes"]

# Failed tries at values may cost as much as the text is long, or a third of it if it is long.
_MUCH_WORK: Final = 4000
_CHARACTERS_PER_WORK: Final = 3
# So many nodes are made: more than any text has that is not made of markup.
_FEW_NODES: Final = 1000
_CHARACTERS_PER_NODE: Final = 100
_DEEPEST: Final = 40
_MOST_NAMES: Final = 60


class OpenNodes:
    """A tree that grows at its last open node."""

    def __init__(self, text: str, tools: Toolbox | None) -> None:
        self.text = text
        self.tools = tools
        self.root = Node(Kind.ROOT, 0, 0, len(text), len(text), closed=True)
        self.stack = [self.root]
        self.tree = Tree(text, self.root)
        self.work = min(len(text) + 2000, _MUCH_WORK + len(text) // _CHARACTERS_PER_WORK)
        """How much failed tries at values may still cost."""
        self.left = _FEW_NODES + len(text) // _CHARACTERS_PER_NODE
        """How many nodes may still be made."""
        self.ends: dict[str, int] = {}
        self.known: dict[str, bool] = {}
        self.inert: set[str] = set()
        """Tags that do nothing in what is open."""

    def _add(self, node: Node) -> None:
        self.stack[-1].children.append(node)
        self.left -= 1

    def _push(self, node: Node) -> None:
        self._add(node)
        self.inert.clear()
        if len(self.stack) < _DEEPEST:
            self.stack.append(node)
        else:
            node.stop = node.end = node.begin

    def _pop(self, node: Node, stop: int, end: int, *, closed: bool) -> None:
        while self.stack[-1] is not node:
            inner = self.stack.pop()
            inner.stop = inner.end = stop
            inner.guessed = True
        self.stack.pop()
        self.inert.clear()
        node.stop, node.end, node.closed, node.guessed = stop, end, closed, not closed

    def _close_of(self, name: str, at: int) -> int:
        """Return where an element's end tag stands, searched for once."""
        if name not in self.ends and len(self.ends) > _MOST_NAMES:
            return -1
        return self._next(marks.closing(name), name, at)

    def _next(self, pattern: re.Pattern[str], name: str, at: int) -> int:
        """Return where a pattern stands next, searched for once."""
        known = self.ends.get(name)
        if known is None or -1 < known < at:
            found = pattern.search(self.text, at)
            known = self.ends[name] = found.start() if found else -1
        return known

    def _in_call(self) -> bool:
        return any(node.role is Role.CALL for node in self.stack)

    def _is_tool(self, name: str) -> bool:
        if self.tools is None:
            return False
        known = self.known.get(name)
        if known is None:
            known = self.known[name] = self.tools.find(name) is not None
        return known
