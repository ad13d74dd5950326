"""The parts of a call's element: words, names, values, and what is no part of a call."""

from __future__ import annotations

import re
from typing import Final, Protocol

from loopmend.reading.candidates import Candidate, Found
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern
from loopmend.reading.values import Value

__all__ = ["CALL_PREFIX", "Collector", "ElementParts", "is_label"]

_AROUND_NAME: Final = re.compile(r"(?:functions\.|call:)?\s*(?::\d{1,4})?[:,]?")
CALL_PREFIX: Final = re.compile(r"\Acall:\s*", re.IGNORECASE)
_NAME: Final = re.compile(r"[^\W\d][\w.\-:]{0,80}")
_NUMBERED: Final = re.compile(r"(?:functions\.)?([^\W\d][\w.\-]*):\d{1,4}")


class Collector(Protocol):
    """Who reads what an element does not read itself."""

    text: str
    tools: Toolbox | None
    found: Found

    def sequence(self, parent: Node, shown: str | None) -> None:
        """Read what stands side by side in a node."""

    def described(self, value: Value, *, marked: bool) -> Candidate | None:
        """Read what a value describes."""


class ElementParts:
    """Tells the parts of an element apart."""

    def __init__(self, collector: Collector, node: Node) -> None:
        self.collector = collector
        self.node = node
        self.text = collector.text
        if node.token and not node.closed:
            self._end_at_last_value()
        self.span = (node.start, node.end)

    def _end_at_last_value(self) -> None:
        """End a token that nothing closes behind its last value: prose behind it is prose."""
        parts = (Kind.VALUE, Kind.PYTHON, Kind.FENCE)
        last = [
            i
            for i, c in enumerate(self.node.children)
            if c.kind in parts or (c.leaf and c.kind is Kind.TAG)
        ]
        if last:
            self.node.children = self.node.children[: last[-1] + 1]
            self.node.stop = self.node.end = self.node.children[-1].end

    def _is_token(self, node: Node) -> bool:
        plain = node.token and node.role in (Role.END, Role.NOISE, Role.SAY, None, Role.FILLER)
        if plain:
            self.collector.found.noise.append((node.start, node.end))
        return plain

    def _failed(
        self, message: str, pattern: FailurePattern = FailurePattern.MALFORMED
    ) -> Candidate:
        end = self.node.end if self.node.closed else len(self.text)
        failure = Failure(pattern, message, (self.node.start, end))
        return Candidate((self.node.start, end), failure=failure, form="tags")

    def _pieces(self, known: list[Node] | None = None) -> list[tuple[str, Role | None]]:
        """Return the pieces of text, each with the role of the token before it.

        What stands behind all nodes that are known to be parts of the call does not count if
        nothing closes the element: it may have ended there.
        """
        node = self.node
        until = node.stop if node.closed or not known else max(each.end for each in known)
        found: list[tuple[str, Role | None]] = []
        at, role = node.begin, None
        for child in [*node.children, None]:
            piece = _piece(self.text[at : child.start if child else node.stop])
            if piece and at < until:
                found.append((piece, role))
            if child is not None:
                at = child.end
                role = child.role if child.token or child.kind is Kind.TAG else None
        return found

    def _is_name(self, text: str) -> bool:
        known = self.collector.tools
        return _NAME.fullmatch(text) is not None if known is None else known.find(text) is not None

    def _prefix(self, pieces: list[tuple[str, Role | None]], children: list[Node]) -> str | None:
        """Return the name that stands before the arguments."""
        if self.text[self.node.begin : self._first(children)].strip() == "":
            sep = [
                c for c in self.node.children if c.role in (Role.SEPARATOR, Role.NAME) and c.token
            ]
            if not sep:
                return None
        names = [text for text, role in pieces if role is not Role.ID]
        if not names:
            return None
        name = names[0]
        if len(names) > 1 and role_of(name) in (Role.CALL, Role.TYPE):
            name = names[1]
        name = CALL_PREFIX.sub("", name.split("\n")[0].strip()).rstrip(":").strip()
        if self.node.token and (numbered := _NUMBERED.fullmatch(name)):
            name = numbered[1]
        if name.endswith(")") and "(" in name:
            return None
        known = self.collector.tools
        if known is not None and known.find(name) is not None:
            return name
        alone = self.node.token and name.isdecimal()  # an id without a name
        return name if alone or _NAME.fullmatch(name) else None

    def _first(self, children: list[Node]) -> int:
        return children[0].start if children else self.node.stop

    def _child_name(self, children: list[Node]) -> str | None:
        for child in children:
            if child.role is Role.NAME and child.leaf:
                return self.text[child.begin : child.stop].strip()
        return None

    @staticmethod
    def _only_names(name: str, pieces: list[tuple[str, Role | None]]) -> bool:
        """Tell whether the text beside the arguments is the name, an id or a label."""
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        rest = [text for text, role in pieces if role is not Role.ID and not word.search(text)]
        named = [
            word.sub("", CALL_PREFIX.sub("", text), count=1).strip()
            for text, _ in pieces
            if word.search(text)
        ]
        return all(is_label(text) for text in rest) and all(
            is_label(text) or _AROUND_NAME.fullmatch(text) for text in named
        )

    def _holds_more(self, children: list[Node], known: list[Node]) -> bool:
        """Tell whether a comment, code or a header that is no part of the call stands in it."""
        last = max(node.end for node in known)
        parts = {id(node) for node in known}
        for child in children:
            if not self.node.closed and child.start >= last:
                break  # nobody knows whether that still belongs to it
            if child.kind is Kind.FENCE:
                if any(not is_label(text) for text in self._gaps(child)):
                    return True
            elif child.kind is Kind.HEADER:
                if child.leaf or child.role is not Role.ARGUMENTS:
                    return True
            elif child.kind is Kind.TAG:
                if not (child.leaf or child.token or child.role is Role.SEPARATOR):
                    return True
            elif id(child) not in parts:
                return True
        return False

    def _gaps(self, node: Node) -> list[str]:
        """Return the text between the children of a node."""
        ends = [node.begin, *(child.end for child in node.children)]
        starts = [*(child.start for child in node.children), node.stop]
        return [self.text[a:b] for a, b in zip(ends, starts, strict=True)]

    def _holds_text(self, node: Node) -> bool:
        return bool(self.text[node.begin : node.stop].strip())


def is_label(text: str) -> bool:
    """Tell whether text beside a call only names or separates it."""
    plain = text.strip("`~,;:.]})> \n").removeprefix("json").strip()
    return not plain or role_of(plain) in (Role.CALL, Role.FORMAT, Role.TYPE, Role.ARGUMENTS)


def _piece(text: str) -> str:
    """Return a piece of text without blanks, also those that are written out."""
    plain = text.strip()
    while plain.startswith("\\n") or plain.endswith("\\n"):
        plain = plain.removeprefix("\\n").removesuffix("\\n").strip()
    return plain
