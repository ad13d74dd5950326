"""From the tree to what a text asks for: every call that is announced, and every answer.

Each node that announces a call becomes a candidate: its calls, or why they cannot be read. No
candidate is dropped, and a candidate knows where it stands.
"""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.candidates import Candidate, Found
from loopmend.reading.code_calls import LOOK_BACK, RECIPIENT, CodeCalls
from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.elements import Body
from loopmend.reading.lexicon import Role, polarity_of, role_of, words_of
from loopmend.reading.nodes import Kind, Node, Tree
from loopmend.reading.react import ReactRun, read_react
from loopmend.reading.tools import Toolbox

__all__ = ["collect"]


_ADDRESSED: Final = re.compile(r"(?<!\s)\s*\bto=(?P<name>[\w.\-]+)\s*\Z")
_CHANNEL: Final = re.compile(r"\s*(\w+)[^<]{0,80}")
_GOES_ON: Final = re.compile(r"<\|(?:start|channel)|<\|im_start\|>assistant|<\|start_header")
# The same speaker goes on with another call.
_CALLS_ON: Final = re.compile(
    r"(?:<\|start\|>)?\s?assistant(?:<\|channel\|>\w{1,20})? to=(?!user|self|assistant)"
    r"|(?:<\|start\|>)?<\|channel\|>\w{1,20} to=(?!user|self|assistant)"
)
_ONLY_TOKENS: Final = re.compile(r"(?:<[|/][^<>]{1,30}>\s*)+\Z")
_SPEAKER: Final = re.compile(r"[ \t]*(\w+)")


def collect(tree: Tree, tools: Toolbox | None) -> Found:
    """Return everything that a text asks for."""
    collector = _Collector(tree, tools)
    collector.sequence(tree.root, None)
    return collector.found


def _opens_a_turn(name: str) -> bool:
    """Tell whether a token's own name says that somebody else speaks: `<|user|>`, `[INST]`."""
    words = words_of(name)
    return words == ("inst",) or (
        role_of(name) is Role.SPEAKER and words[-1] != "assistant" and polarity_of(name) is None
    )


class _Collector(CodeCalls):
    """Goes through the tree; tags, tokens and headers are its own."""

    def sequence(self, parent: Node, shown: str | None) -> None:
        """Read what stands side by side in a node."""
        nodes = parent.children
        at = 0
        while at < len(nodes) and not self.found.too_many:
            node = nodes[at]
            if node.start < self.tree.visible:
                at += 1
            elif node.kind is Kind.HEADER:
                at = self._react(parent, nodes, at, shown)
            else:
                at = self._one(nodes, at, shown)

    def _one(self, nodes: list[Node], at: int, shown: str | None) -> int:
        node = nodes[at]
        if node.kind is Kind.VALUE:
            self._value(node, shown)
        elif node.kind is Kind.PYTHON:
            self._python(node, shown)
        elif node.kind is Kind.FENCE:
            self._fence(node, shown)
        elif node.kind is Kind.CODE:
            self._code(node, shown)
        elif node.kind is Kind.NOISE:
            self._noise(node)
        else:
            return self._tag(nodes, at, shown)
        return at + 1

    def _tag(self, nodes: list[Node], at: int, shown: str | None) -> int:  # noqa: C901 - by role
        node = nodes[at]
        role = node.role
        if role is Role.CALL:
            return self._call_tag(nodes, at, shown)
        if role is Role.THINK:
            if node.leaf:
                self.found.thoughts.append((node.start, node.end))
                self.found.thought_texts.append((node.begin, node.stop))
            else:
                self._open_think(node, shown)
        elif role is Role.CHANNEL:
            return self._channel(nodes, at)
        elif (role in (Role.ANSWER, Role.SAY) and node.leaf) or (
            role is Role.ANSWER and node.end == len(self.text) and not node.token
        ):
            self._answer_tag(node, shown)
        elif role is Role.OBSERVATION:
            if len(words_of(node.name)) > 1 or words_of(node.name) == ("observation",):
                self._observe(node)
        elif node.leaf and role in (Role.ARGUMENTS, Role.KEY, Role.VALUE):
            if node.label is not None or role is Role.KEY:
                self.found.leftovers.append((node.start, node.end))
        elif role is Role.END:
            return self._end(nodes, at)
        else:
            self._token(node)
        return at + 1

    def _token(self, node: Node) -> None:
        name = node.name.lower()
        end = node.end
        if name in ("im_start", "start_of_turn", "start", "start_header_id"):
            speaker = _SPEAKER.match(self.text, node.end)
            if speaker and speaker[1].lower() not in ("assistant", "model", "ai"):
                self._cut(node.start)
            elif speaker:
                end = speaker.end()
        elif not node.closed and _opens_a_turn(node.name):
            self._cut(node.start)
            self.found.other_turn = True
        start = node.start
        if name == "message":
            before = self.text[max(0, start - LOOK_BACK) : start]
            if before.endswith("analysis") and not before.removesuffix("analysis").strip():
                end = self._next("<|end|>", node.end)
                self.found.thoughts.append((0, end))
                self.found.thought_texts.append((node.end, end))
            if to := _ADDRESSED.search(before):
                start -= len(before) - to.start()
                if to["name"] == "self":
                    end = self._next("<|eom|>", node.end)
                    self.found.thoughts.append((start, end))
                    self.found.thought_texts.append((node.end, end))
        self.found.noise.append((start, end))

    def _next(self, mark: str, at: int) -> int:
        """Return where a mark stands next, searched for once, or where the text ends."""
        known = self.places.get(mark)
        if known is None or -1 < known < at:
            known = self.places[mark] = self.text.find(mark, at)
        return len(self.text) if known == -1 else known

    def _cut(self, at: int) -> None:
        if self.found.observed is None or at < self.found.observed:
            self.found.observed = at

    def _observe(self, node: Node) -> None:
        self._cut(node.start)

    def _end(self, nodes: list[Node], at: int) -> int:
        """End the message at an end-of-turn token, unless the same speaker goes on."""
        node = nodes[at]
        self.found.noise.append((node.start, node.end))
        rest = self.text[node.end : node.end + LOOK_BACK].lstrip()
        # Whatever follows a call cannot know its result.
        called = any(c.calls for c in self.found.candidates)
        if _CALLS_ON.match(rest):
            return at + 1
        if rest and (
            called
            or not (node.name.lower() == "end" or _GOES_ON.match(rest) or _ONLY_TOKENS.match(rest))
        ):
            self._cut(node.end)
        return at + 1

    def _channel(self, nodes: list[Node], at: int) -> int:
        """Read `<|channel|>analysis<|message|>…`: thinking; other channels say or call."""
        node = nodes[at]
        name = _CHANNEL.match(self.text, node.end)
        if name is None or not self.text.startswith("<|", name.end()):
            return at + 1  # talked of
        self.found.noise.append((node.start, name.end()))
        if name[1] not in ("analysis", "thought"):
            return at + 1
        end = len(self.text)
        for index in range(at + 1, len(nodes)):
            ended = nodes[index].role is Role.END or nodes[index].role is Role.CHANNEL
            if ended or nodes[index].name.lower() == "start":
                end = nodes[index].start
                break
        else:
            index = len(nodes)
        before = self.text[max(0, node.start - LOOK_BACK) : node.end + len(name[0])]
        to = RECIPIENT.search(before)
        if to and to["name"] not in ("assistant", "self", "user"):
            return at + 1
        self.found.thoughts.append((node.start, end))
        message = self.text.find("<|message|>", node.end, end)
        self.found.thought_texts.append((message + 11 if message != -1 else name.end(), end))
        return index

    def _open_think(self, node: Node, shown: str | None) -> None:
        """Note where thinking starts that never ends; a call in it is only thought of."""
        if self.found.open_thought is None:
            self.found.open_thought = node.start
        self.found.noise.append((node.start, node.begin))
        self.sequence(node, shown or "thinking")

    def _answer_tag(self, node: Node, shown: str | None) -> None:
        inside = self.text[node.begin : node.stop].strip()
        token = self.text.startswith("<|", node.start)
        if token or (node.name.lower() != "answer" and self._is_all(node)):
            self.found.noise.append((node.start, node.begin))
            if node.end > node.stop:
                self.found.noise.append((node.stop, node.end))
        if shown is None and inside.startswith(("{", "[")):
            candidate = self._call_in(node.begin, node.stop)
            if candidate is not None:
                candidate.span = (node.start, node.end)
                self._add(candidate)
                return
        if shown is None and node.role is Role.ANSWER and "final" in node.name.lower():
            self.found.answer = (inside, (node.begin, node.stop))

    def _call_tag(self, nodes: list[Node], at: int, shown: str | None) -> int:
        node = nodes[at]
        if self._is_mentioned(node):
            self.sequence(node, shown)
            return at + 1
        body = Body(self, node)
        sibling = nodes[at + 1] if at + 1 < len(nodes) else None
        if (
            sibling is not None
            and sibling.kind is Kind.TAG
            and sibling.role is Role.ARGUMENTS
            and sibling.leaf
            and not self.text[node.end : sibling.start].strip()
        ):
            self._add(body.with_sibling(sibling, shown))
            return at + 2
        for candidate in body.read():
            candidate.shown = candidate.shown or shown
            self._add(candidate)
        return at + 1

    def _is_mentioned(self, node: Node) -> bool:
        """Tell whether a tag that nothing closes is only a word of a sentence."""
        if node.closed or node.token or any(c.kind is not Kind.CODE for c in node.children):
            return False
        before = self.text[max(0, node.start - LOOK_BACK) : node.start].rpartition("\n")[2]
        after = self.text[node.begin : node.begin + LOOK_BACK].partition("\n")[0]
        return bool(before.strip()) and bool(after.strip())

    def _react(self, parent: Node, nodes: list[Node], at: int, shown: str | None) -> int:
        called = bool(self.found.candidates)
        run: ReactRun = read_react(self.text, parent, nodes, at, self.tools, called=called)
        self.found.headers += run.headers
        self.found.thoughts += run.thoughts
        self.found.thought_texts += run.thought_texts
        self.found.no_action = self.found.no_action or run.no_action
        self.found.noise += run.labels
        self.found.repairs += run.repairs
        self.found.made_up = self.found.made_up or run.made_up
        if run.observed is not None:
            self._cut(run.observed)
            self.found.other_turn = run.other_turn
            self.found.afterthought = run.afterthought
        for why in dict.fromkeys(why for _, why in run.inner):
            inside = [node for node, reason in run.inner if reason == why]
            first, index = len(self.found.candidates), 0
            while index < len(inside):
                index = self._one(inside, index, shown or why)
            for candidate in self.found.candidates[first:]:
                candidate.thought = run.thinks
        if run.candidate is not None:
            made = run.candidate
            candidate = Candidate(made.span, made.calls, made.answer, made.failure, "react")
            candidate.shown = shown or made.shown
            candidate.thought = made.thought
            if made.value is not None:
                described = self.described(made.value, marked=True)
                if described is not None:
                    described.span, described.shown = made.span, candidate.shown
                    described.thought = made.thought
                    described.form = "react"
                    candidate = described
            self._add(candidate)
        if run.answer is not None:
            text, span = run.answer
            if shown is None:
                self.found.answer = (text, span)
                self._within_answer(span)
        return run.next

    def _within_answer(self, span: tuple[int, int]) -> None:
        """Read an answer that is itself a call in another form: then that is what was meant."""
        candidate = self._call_in(*span)
        if candidate is not None and candidate.answer:
            self.found.answer = (candidate.answer.text, span)

    def _call_in(self, begin: int, stop: int) -> Candidate | None:
        """Return what a value describes that is all there is between two places."""
        text = self.text[begin:stop].strip()
        if not text.startswith(("{", "[")):
            return None
        try:
            value = decode_value(self.text, self.text.index(text[0], begin), stop)
        except LenientError:
            return None
        return None if self.text[value.end : stop].strip() else self.described(value, marked=False)
