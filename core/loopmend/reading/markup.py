"""Tags and tokens as nodes of the tree: what they open, close and hold."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from loopmend.reading import marks
from loopmend.reading.headings import Headings
from loopmend.reading.lexicon import Polarity, Role, polarity_of, role_of, words_of
from loopmend.reading.nodes import Kind, Node

__all__ = ["Markup"]

_LONGEST_BEFORE: Final = 64
_FAR: Final = 20_000
_MARKUP_OF_CALLS: Final = frozenset(
    {Role.CALL, Role.ARGUMENTS, Role.KEY, Role.VALUE, Role.OBSERVATION}
)

_VOID: Final = frozenset({"input", "param"})


class Markup(Headings):
    """Reads elements and tokens by the roles of their names."""

    @cached_property
    def said_end(self) -> int:
        """Where the last word ends."""
        return len(self.text.rstrip())

    @cached_property
    def has_start(self) -> bool:
        """Whether the text has a token that looks like the start of struck text."""
        return "<s>" in self.text

    def _tag(self, at: int) -> int:
        if self.text.startswith("<|", at) and (spread := marks.SPREAD.match(self.text, at)):
            closes = spread["pole"] == "close"
            return self._element(
                at,
                spread.end(),
                spread["name"],
                None,
                spread["attributes"],
                closes=closes,
                token=closes,
            )
        end = self.text.find(">", at, at + _LONGEST_BEFORE) + 1
        if self.text[at:end] in self.inert:
            return end
        tag = marks.TAG.match(self.text, at)
        if not tag:
            return self._no_tag(at)
        name = tag["name"].replace("\u2581", "_").replace("\\", "")
        if not tag["bar"] and not tag["bar2"] and self._means_nothing(name):
            return self._inert(at, tag.end())
        bars = bool(tag["bar"] or tag["bar2"]) and len(tag["bar"] or "|") == 1
        pole = polarity_of(name)
        closes = bool(tag["slash"] or tag["slash2"]) or (not tag["bar"] and bool(tag["bar2"]))
        closes = closes or pole is Polarity.CLOSE
        token = bars or pole is not None
        if tag["void"]:
            return self._void(tag, name)
        return self._element(
            at, tag.end(), name, tag["value"], tag["attributes"], closes=closes, token=token
        )

    def _no_tag(self, at: int) -> int:
        if self.text.startswith("<!--", at):
            end = marks.COMMENT.match(self.text, at).end()  # type: ignore[union-attr]
            self._add(Node(Kind.CODE, at, at, end, end, leaf=True))
            return end
        bent = marks.BENT.match(self.text, at)
        if bent and self._is_tool(label := bent["open"] or bent["called"]):
            return self._element(at, bent.end(), bent["name"], label, None, closes=False)
        half = marks.HALF.match(self.text, at) if self._in_call() else None
        return self._half(half) if half else at + 1

    def _inert(self, start: int, end: int) -> int:
        """Pass over a tag that does nothing as long as the same elements are open."""
        self.inert.add(self.text[start:end])
        return end

    def _means_nothing(self, name: str) -> bool:
        """Tell whether a tag is one of somebody else's, such as HTML's."""
        return role_of(_base(name), every=False) is None and not self._is_tool(name)

    def _half(self, half: re.Match[str]) -> int:
        """Read `<parameter=key=value</parameter>`, whose start tag is not closed."""
        node = Node(Kind.TAG, half.start(), half.start("value"), half.end("value"), half.end())
        node.role, node.name, node.label = Role.ARGUMENTS, half["name"], half["key"]
        node.leaf = node.closed = node.guessed = True
        self._add(node)
        return half.end()

    def _void(self, tag: re.Match[str], name: str) -> int:
        node = self._node(tag.start(), tag.end(), name, tag["value"], tag["attributes"])
        if node.role is Role.CALL or self._is_tool(name):
            node.label = node.label or (name if self._is_tool(name) else None)
            node.role = Role.CALL
            node.stop = node.end = tag.end()
            node.closed = True
            self._add(node)
        return tag.end()

    def _square_token(self, token: re.Match[str]) -> int | None:
        name = token["name"]
        role = role_of(name)
        if role in (None, Role.FILLER, Role.FORMAT, Role.SHOWN) or self._is_tool(name):
            return None
        if not name.isupper() and len(words_of(name)) == 1 and name.lower() != "args":
            return None
        if self._is_mentioned(token.start(), token.end()):
            return None
        closes = bool(token["slash"]) or polarity_of(name) is Polarity.CLOSE
        return self._element(
            token.start(), token.end(), name, None, None, closes=closes, token=True
        )

    def _node(
        self, start: int, end: int, name: str, value: str | None, attributes: str | None
    ) -> Node:
        base = _base(name)
        named = {
            key.lower(): double or single or bare
            for key, double, single, bare in marks.ATTRIBUTE.findall(attributes or "")
        }
        if attributes and not named and not value:
            base = f"{base} {attributes.strip()}"
        label = value.strip("\"'\u201c\u201d ") if value else None
        if label is None:
            label = next((named[k] for k in named if role_of(k) in (Role.NAME, Role.KEY)), None)
        if label is None and (role := role_of(base, every=False)) is Role.CALL:
            label = next((named[k] for k in named if role_of(k) is role), None)
        node = Node(Kind.TAG, start, end, role=role_of(base, every=False), name=base)
        node.label = label
        node.valued = bool(value)
        node.attributes = named
        return node

    def _element(  # noqa: C901, PLR0912, PLR0913 - one way for each role
        self,
        start: int,
        end: int,
        name: str,
        value: str | None,
        attributes: str | None,
        *,
        closes: bool,
        token: bool = False,
    ) -> int:
        node = self._node(start, end, name, value, attributes)
        node.token = token
        if marks.ENDS.fullmatch(self.text, start, end):
            if self._is_mentioned(start, end) or (name == "s" and self.has_start):
                return end
            node.role = Role.END
            return self._single(node, end)
        if closes:
            return self._closed(node, start, end)
        role = node.role
        if role is Role.CHANNEL and marks.THOUGHT_CHANNEL.match(self.text, end):
            node.role = Role.THINK
            return self._leaf(node, marks.THINK_END, end)
        if role in (Role.CHANNEL, Role.SEPARATOR) or (token and role in marks.LEAVES):
            return self._single(node, end)
        if role is Role.THINK:
            if self._is_mentioned(start, end):
                return end
            return self._leaf(node, marks.THINK_END, end)
        if token and role not in (Role.CALL, Role.OBSERVATION):
            return self._single(node, end)
        if not (value or node.label or token) and self._is_tool(name) and self._is_whole(node, end):
            return self._tool_tag(node, name, end)
        if role in marks.LEAVES and (self._in_call() or role is Role.ARGUMENTS):
            if self._is_html(node, end):
                return self._inert(start, end)
            return self._argument(node, end)
        if role is Role.CALL:
            if self._is_last(node) or self._is_doubled(node):
                node.kind = Kind.NOISE
                return self._single(node, end)
            self._push(node)
            return end
        close = self._close_of(node.name, end)
        if close == -1:
            if role is Role.ANSWER:
                node.stop = node.end = len(self.text)
                self._add(node)
                return len(self.text)
            return self._single(node, end) if role is Role.NOISE else self._inert(start, end)
        if role in marks.OPAQUE:
            return self._leaf(node, marks.closing(node.name), end)
        return self._inert(start, end)

    def _is_html(self, node: Node, end: int) -> bool:
        """Tell whether `<input type="text">` is HTML's: in no call, and nothing closes it."""
        void = node.name.lower() in _VOID and any(key != "name" for key in node.attributes)
        return void and not self._in_call() and self._close_of(node.name, end) == -1

    def _is_mentioned(self, start: int, end: int) -> bool:
        """Tell whether a token is a word of a sentence that goes on."""
        before, after = self.text[max(0, start - 2) : start], self.text[end : end + 2]
        return before[-1:] == " " and after[:1] == " " and after[1:].islower()

    def _single(self, node: Node, end: int) -> int:
        node.stop = node.end = end
        self._add(node)
        return end

    def _leaf(self, node: Node, closing: re.Pattern[str], end: int) -> int:
        """Take everything up to an end tag; without one, the text goes on inside."""
        node.leaf = True
        close = closing.search(self.text, end) if self.ends.get(closing.pattern, end) >= 0 else None
        if close is None:
            self.ends[closing.pattern] = -1
            node.leaf = False
            self._push(node)
            return end
        node.stop, node.end, node.closed = close.start(), close.end(), True
        self._add(node)
        return self._resumed(node.end)

    def _resumed(self, at: int) -> int:
        """Look for a header right behind thinking or a token, as at the start of a line."""
        start = marks.BLANK.match(self.text, at).end()  # type: ignore[union-attr]
        header = self._header_at(start, inline=False)
        return at if header is None else self._header(header)

    def _argument(self, node: Node, end: int) -> int:
        """Take an argument up to its end tag, to the next argument or to the call's end."""
        node.leaf = True
        own = self._close_of(node.name, end)
        following = self._next_argument(node, end)
        parent = self._parent_close(end)
        stops = [at for at in (own, following) if at != -1]
        node.stop = min(stops) if stops else parent
        if node.stop == following and own != following and parent != -1 and parent < following:
            node.stop = parent
        if node.stop == -1:
            node.stop = node.end = len(self.text)
        else:
            node.closed = True
            close = marks.closing(node.name).match(self.text, node.stop)
            node.end = close.end() if close else node.stop
            node.guessed = close is None
        self._add(node)
        return node.end

    def _next_argument(self, node: Node, at: int) -> int:
        """Return where the next argument of this call starts, if it is one that the tool takes."""
        found = self._next_start(node, at)
        if found == -1 or self.tools is None:
            return found
        call = next((n for n in reversed(self.stack) if n.role is Role.CALL and n.label), None)
        spec = self.tools.find(call.label) if call is not None and call.label else None
        tag = marks.TAG.match(self.text, found)
        if spec is None or not spec.known or tag is None:
            return found
        following = self._node(found, tag.end(), tag["name"], tag["value"], tag["attributes"])
        return found if following.label is None or following.label in spec.parameters else -1

    def _next_start(self, node: Node, at: int) -> int:
        found = marks.argument_start(node.name).search(self.text, at, at + _FAR)
        return found.start() if found else -1

    def _parent_close(self, at: int) -> int:
        for node in reversed(self.stack):
            if node.role is Role.CALL and (close := self._close_of(node.name, at)) != -1:
                return close
        return -1

    def _is_whole(self, node: Node, end: int) -> bool:
        return self._close_of(node.name, end) != -1

    def _tool_tag(self, node: Node, name: str, end: int) -> int:
        """Take an element that is named like a tool as its call."""
        node.role, node.label = Role.CALL, name
        stop = self._close_of(node.name, end)
        close = marks.closing(node.name).match(self.text, stop)
        assert close is not None
        node.leaf = True
        node.stop, node.end, node.closed = close.start(), close.end(), True
        self._add(node)
        return node.end

    def _closed(self, node: Node, start: int, end: int) -> int:
        words = tuple(w for w in words_of(node.name) if polarity_of(w) is None)
        for opened in reversed(self.stack[1:]):
            theirs = tuple(w for w in words_of(opened.name) if polarity_of(w) is None)
            if opened.kind is Kind.TAG and (
                theirs == words or (opened.role is node.role is Role.THINK)
            ):
                self._pop(opened, start, end, closed=True)
                return end
        if node.role is Role.THINK or (node.role is Role.CHANNEL):
            if node.role is Role.CHANNEL and end >= self.said_end:
                node.kind = Kind.NOISE
                return self._single(node, end)
            self.left -= 1
            if len(self.stack) == 1:
                self.tree.visible, self.tree.thought_end = end, start
            return self._resumed(end)
        if not node.token and node.role not in _MARKUP_OF_CALLS:
            return self._inert(start, end)  # somebody else's end tag
        node.closed = True
        node.kind = Kind.NOISE
        return self._single(node, end)

    def _is_last(self, node: Node) -> bool:
        """Tell whether `<function>` behind the value of `<function=f>` is its end tag, mistyped."""
        if node.label or node.attributes or len(self.stack) == 1:
            return False
        opened = self.stack[-1]
        named = opened.valued and opened.name == node.name and not opened.token
        last = opened.children[-1] if named and opened.children else None
        if last is None or last.kind is not Kind.VALUE or not last.closed:
            return False
        if not _is_blank(self.text, last.end, node.start) or node.begin < self.said_end:
            return False
        self._pop(opened, node.start, node.start, closed=False)
        return True

    def _is_doubled(self, node: Node) -> bool:
        """Tell whether a start tag is written twice; else end an open element of its name.

        Calls do not nest in calls of their own kind.
        """
        for opened in reversed(self.stack[1:]):
            if opened.kind is Kind.TAG and words_of(opened.name) == words_of(node.name):
                if opened.label == node.label and _is_blank(self.text, opened.begin, node.start):
                    return True
                self._pop(opened, node.start, node.start, closed=False)
                return False
        return False


def _base(name: str) -> str:
    """Return a tag's name without its namespace, wherever that stands."""
    first, colon, last = name.rpartition(":")
    return last if colon and (not first or role_of(last, every=False)) else first or last


def _is_blank(text: str, start: int, end: int) -> bool:
    return end - start <= _LONGEST_BEFORE and not text[start:end].strip()
