"""What stands inside of what: one pass over a text, from its marks to a tree.

A mark is looked at once, with a bounded look around. What was decoded as a value, and what
stands in a leaf such as `<parameter=code>`, is opaque: nothing in it is markup.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Final

from loopmend._json import MAX_DEPTH
from loopmend.reading import marks
from loopmend.reading.lexicon import Polarity, Role, polarity_of, role_of, words_of
from loopmend.reading.nodes import Kind, Node, Tree
from loopmend.reading.pythonic import PythonCall, name_before, read_call, read_calls
from loopmend.reading.scalars import LenientError
from loopmend.reading.sections import (
    Header,
    header_at,
    header_places,
    inline_header,
    next_section,
    open_bracket,
)
from loopmend.reading.tools import Toolbox
from loopmend.reading.values import Value, decode_value

__all__ = ["grow"]


# Failed tries at values may cost as much as the text is long, or a third of it if it is long.
_MUCH_WORK: Final = 4000
_CHARACTERS_PER_WORK: Final = 3
_COST_OF_A_TRY: Final = 300
_COST_OF_A_CALL: Final = 1000
_MOST_CALLS_FAILED: Final = 10
# So many marks are looked at and nodes made: more than any text has that is not made of markup.
_FEW_NODES: Final = 1000
_CHARACTERS_PER_NODE: Final = 100
_FEW_MARKS: Final = 4000
_CHARACTERS_PER_MARK: Final = 6
_MARKS_PER_HEADER: Final = 6
_STRICT_TRIES: Final = 50
_TICK_REACH: Final = 2000
_LONGEST_BEFORE: Final = 64
_DEEPEST: Final = 40
_FAR: Final = 20_000
_MOST_NAMES: Final = 60
_LONGEST_TAIL: Final = 200
_MARKUP_OF_CALLS: Final = frozenset(
    {Role.CALL, Role.ARGUMENTS, Role.KEY, Role.VALUE, Role.OBSERVATION}
)
_AROUND: Final = " \t*-:;.>#"
_LINE_REST: Final = re.compile(r"[ \t*.;:]{0,8}(?=\n|\Z)")


def grow(text: str, tools: Toolbox | None) -> Tree:
    """Return the tree of a text; end-of-turn tokens at its end are not part of it."""
    tail = text[-_LONGEST_TAIL:]
    ended = marks.END_OF_TEXT.search(tail) if tail.rstrip().endswith(">") else None
    kept = len(text) - len(tail) + ended.start() if ended else len(text)
    return _Grower(text[:kept], tools).run()


class _Grower:
    def __init__(self, text: str, tools: Toolbox | None) -> None:
        self.text = text
        self.tools = tools
        self.root = Node(Kind.ROOT, 0, 0, len(text), len(text), closed=True)
        self.stack = [self.root]
        self.tree = Tree(text, self.root)
        self.work = min(len(text) + 200, _MUCH_WORK + len(text) // _CHARACTERS_PER_WORK)
        self.tries = 0
        self.left = _FEW_NODES + len(text) // _CHARACTERS_PER_NODE
        self.said_end = len(text.rstrip())
        """Where the last word ends."""
        self.has_start = "<s>" in text
        self.ends: dict[str, int] = {}
        self.known: dict[str, bool] = {}
        self.section = (0, -1, 0)
        """From where the next section was looked for, where it is, where words before it end."""
        self.inert: set[str] = set()
        """Tags that do nothing in what is open."""
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

    # -- marks

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
            self.work -= 0 if whole else cost + _COST_OF_A_TRY
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

    def _brace(self, at: int) -> int:
        if self._belongs_to_word(at):
            return at + 1
        if self.text.startswith("{}", at):
            return self._add_value(Value({}, at, at + 2))
        return self._decoded(at)

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
            self.work -= max(_COST_OF_A_CALL, len(self.text) // _MOST_CALLS_FAILED)
        if not marks.LIST_START.match(self.text, at):
            return at + 1
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
            self.work -= max(_COST_OF_A_CALL, len(self.text) // _MOST_CALLS_FAILED)
            return at + 1
        call, end = found
        self.work -= 0 if call.end_known else end - at
        return self._python(name[1], end, [call])

    def _python(self, start: int, end: int, calls: list[PythonCall]) -> int:
        node = Node(Kind.PYTHON, start, start, end, end, calls=calls, closed=True)
        self._add(node)
        return end

    # -- values

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
            self.work -= cost + _COST_OF_A_TRY
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

    # -- tags and tokens

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
        half = marks.HALF.match(self.text, at) if self._in_call() else None
        return self._half(half) if half else at + 1

    def _inert(self, start: int, end: int) -> int:
        """Pass over a tag that does nothing as long as the same elements are open."""
        self.inert.add(self.text[start:end])
        return end

    def _means_nothing(self, name: str) -> bool:
        """Tell whether a tag is one of somebody else's, such as HTML's."""
        base = name.rpartition(":")[2] or name
        return role_of(base, every=False) is None and not self._is_tool(name)

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
        if role is None or role in (Role.FILLER, Role.FORMAT) or self._is_tool(name):
            return None
        if not name.isupper() and len(words_of(name)) == 1 and name.lower() != "args":
            return None
        closes = bool(token["slash"]) or polarity_of(name) is Polarity.CLOSE
        return self._element(
            token.start(), token.end(), name, None, None, closes=closes, token=True
        )

    def _node(
        self, start: int, end: int, name: str, value: str | None, attributes: str | None
    ) -> Node:
        base = name.rpartition(":")[2] or name
        named = {
            key.lower(): double or single or bare
            for key, double, single, bare in marks.ATTRIBUTE.findall(attributes or "")
        }
        if attributes and not named and not value:
            base = f"{base} {attributes.strip()}"
        label = value.strip("\"' ") if value else None
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
        if role in marks.LEAVES and (self._in_call() or role is Role.ARGUMENTS):
            return self._argument(node, end)
        if role is Role.CALL:
            if self._is_doubled(node):
                node.kind = Kind.NOISE
                return self._single(node, end)
            self._push(node)
            return end
        if self._is_tool(name):
            return self._tool_tag(node, name, end)
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

    def _tool_tag(self, node: Node, name: str, end: int) -> int:
        """Take an element that is named like a tool as its call, if it is closed."""
        node.role, node.label = Role.CALL, name
        stop = self._close_of(node.name, end)
        close = marks.closing(node.name).match(self.text, stop) if stop != -1 else None
        if close is None:
            return self._inert(node.start, end)
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
        self.stack.pop()
        self.inert.clear()
        node.stop, node.end, node.closed = stop, end, closed

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


def _is_blank(text: str, start: int, end: int) -> bool:
    return end - start <= _LONGEST_BEFORE and not text[start:end].strip()


def _is_prose(value: Value) -> bool:
    """Tell whether brackets hold words, not values: `[temperature in Oslo]`."""
    return isinstance(value.value, list) and any(
        repair.what == "unquoted text" for repair in value.repairs
    )
