"""Values and Python calls as nodes of the tree: what brackets hold."""

from __future__ import annotations

from typing import Final

from loopmend._json import MAX_DEPTH
from loopmend.reading import marks
from loopmend.reading.decoding import decode_value
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.open_nodes import OpenNodes
from loopmend.reading.pythonic import PythonCall, name_before, read_call
from loopmend.reading.scalars import LenientError
from loopmend.reading.values import Value

__all__ = ["COST_OF_A_CALL", "COST_OF_A_TRY", "MOST_CALLS_FAILED", "Brackets"]

COST_OF_A_TRY: Final = 300
COST_OF_A_CALL: Final = 1000
MOST_CALLS_FAILED: Final = 10
_STRICT_TRIES: Final = 50


class Brackets(OpenNodes):
    """Reads what starts with a bracket, as long as failed tries do not cost too much."""

    tries = 0

    def _brace(self, at: int) -> int:
        if self._belongs_to_word(at):
            return at + 1
        if self.text.startswith("{}", at):
            return self._add_value(Value({}, at, at + 2))
        return self._decoded(at)

    def _paren(self, at: int) -> int:
        in_call = self._in_call()
        if (self.tools is None and not in_call) or self.work <= 0:
            return at + 1
        name = name_before(self.text, at)
        if name is None or not (in_call or self._is_tool(name[0])):
            return at + 1
        found = read_call(self.text, name[1])
        if found is None:
            self.work -= max(COST_OF_A_CALL, len(self.text) // MOST_CALLS_FAILED)
            return at + 1
        call, end = found
        self.work -= 0 if call.end_known else end - at
        return self._python(name[1], end, [call])

    def _python(self, start: int, end: int, calls: list[PythonCall]) -> int:
        node = Node(Kind.PYTHON, start, start, end, end, calls=calls, closed=True)
        self._add(node)
        return end

    def _belongs_to_word(self, at: int) -> bool:
        """Tell whether a brace belongs to the word before it, as in TeX or in `${…}`."""
        before = self.text[at - 1 : at]
        if not (before.isalnum() or before in ("_", "$", "%", "\\", "^", "#")) or not before:
            return False
        if self._in_call() or self.text.endswith("json", 0, at):
            return False
        word = name_before(self.text, at)
        return word is None or not self._is_tool(word[0])

    def _decoded(self, at: int) -> int:
        self.tries += 1
        value, cost = self._try(at)
        if value is None:
            self._broken(at)
            self.work -= cost + COST_OF_A_TRY
            return at + max(1, cost if cost >= MAX_DEPTH else 1)
        self.work -= 0 if not value.torn else value.end - at
        if value.torn and not self._worth_it(value):
            return at + 1
        return self._add_value(value)

    def _broken(self, at: int) -> None:
        """Note an object that names a tool on offer and cannot be read."""
        named = marks.NAMED.match(self.text, at)
        if (
            named
            and role_of(named["key"]) in (Role.NAME, Role.CALL)
            and self._is_tool(named["name"])
        ):
            self._add(Node(Kind.NOISE, at, at, at + 1, at + 1, Role.CALL, leaf=True))

    def _add_value(self, value: Value) -> int:
        node = Node(Kind.VALUE, value.start, value.start, value.end, value.end, value=value)
        node.closed = not value.torn
        self._add(node)
        return value.end

    def _try(self, at: int) -> tuple[Value | None, int]:
        value: Value | None = None
        cost = 0
        try:
            value = decode_value(self.text, at, strictly=self.tries <= _STRICT_TRIES)
            if not value.torn:
                return value, 0
        except LenientError as error:
            cost = max(error.position - at, 1)
        top = self.stack[-1]
        if top.kind is Kind.TAG and (close := self._close_of(top.name, at)) != -1:
            try:
                within = decode_value(self.text, at, close, strictly=False)
            except LenientError:
                return value, cost + close - at
            if value is None or within.torn <= value.torn:
                return within, 0
        return value, cost

    @staticmethod
    def _worth_it(value: Value) -> bool:
        """Tell whether a torn value looks like the start of a call, not like a brace in prose."""
        found = value.value
        while isinstance(found, list) and found:
            found = found[0]
        return isinstance(found, dict) and any(
            role_of(key) in (Role.CALL, Role.NAME, Role.ARGUMENTS, Role.TYPE) for key in found
        )
