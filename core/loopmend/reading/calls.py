"""From the tree to what a text asks for: every call that is announced, and every answer.

Each node that announces a call becomes a candidate: its calls, or why they cannot be read. No
candidate is dropped, and a candidate knows where it stands.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from loopmend.reading.candidates import Candidate, Found
from loopmend.reading.elements import Body
from loopmend.reading.fitting import Call
from loopmend.reading.lexicon import Role, role_of, words_of
from loopmend.reading.nodes import Kind, Node, Tree
from loopmend.reading.react import ReactRun, read_react
from loopmend.reading.shapes import describe
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern
from loopmend.reading.values import LenientError, Value, decode_value, verified

__all__ = ["collect"]


_RECIPIENT: Final = re.compile(
    r"(?:<\|start\|>(?:assistant)?|assistant|(?<!\s))\s*(?:<\|channel\|>\s*)?"
    r"(?:(?:commentary|analysis|final)\s*)?\bto=(?P<name>[\w.\-]+)(?![\w.\-])"
    r"(?:<\|[\w ]{1,30}\|>|json|code|commentary|analysis|\s)*\Z"
)
_ADDRESSED: Final = re.compile(r"(?<!\s)\s*\bto=(?P<name>[\w.\-]+)\s*\Z")
_NAME_LINE: Final = re.compile(
    r"(?:^|\n|\A|>)[ \t]*(?P<name>[^\W\d][\w.\-]{0,80})[ \t]*(?:\n[ \t]*)?\Z"
)
_AFTER_CALL: Final = re.compile(
    r"[ \t]*(?:[;,.][ \t]*)?(?:#[^\n]*)?(?=\n|\Z|`|<|\]|,|[^\W\d][\w.]*\()"
)
_GOES_ON: Final = re.compile(r"<\|(?:start|channel)|<\|im_start\|>assistant|<\|start_header")
_ONLY_TOKENS: Final = re.compile(r"(?:<[|/][^<>]{1,30}>\s*)+\Z")
_SPEAKER: Final = re.compile(r"[ \t]*(\w+)")
_CHANNEL: Final = re.compile(r"\s*(\w+)[^<]{0,80}")
_WRAPPERS: Final = (Role.FORMAT, Role.CALL, Role.SAY, Role.FILLER)
_HOLDS_MORE: Final = "a code block that holds more than the call"
_TOOL_CODE: Final = ("tool", "code")
_CODE_BLOCK: Final = "a code block"
_FOREIGN: Final = re.compile(r"\s*<[?!\w]")
_LOOK_BACK: Final = 200
_MOST_CANDIDATES: Final = 400


def collect(tree: Tree, tools: Toolbox | None) -> Found:
    """Return everything that a text asks for."""
    collector = _Collector(tree, tools)
    collector.sequence(tree.root, None)
    return collector.found


class _Collector:
    def __init__(self, tree: Tree, tools: Toolbox | None) -> None:
        self.tree = tree
        self.text = tree.text
        self.tools = tools
        self.found = Found()
        self.last = len(tree.text.rstrip())
        """Where the last word ends."""
        self.last_sign = len(tree.text.rstrip(" \t\n`"))
        self.reach, self.seen = 0, (0, 0)
        self.judged: tuple[tuple[int, int, tuple[int, int]], bool] = ((-1, -1, (0, 0)), False)
        self.places: dict[str, int] = {}
        if tree.visible:
            self.found.thoughts.append((0, tree.visible))
            self.found.thought_texts.append((0, tree.thought_end))

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

    def _add(self, candidate: Candidate) -> None:
        if len(self.found.candidates) < _MOST_CANDIDATES:
            self.found.candidates.append(candidate)
        else:
            self.found.too_many = True

    def _noise(self, node: Node) -> None:
        self.found.noise.append((node.start, node.end))
        if node.role is Role.OBSERVATION:
            self.found.made_up = True
        if node.role in (Role.CALL, Role.ARGUMENTS, Role.KEY, Role.VALUE):
            self.found.leftovers.append((node.start, node.end))

    # -- values and Python

    def _value(self, node: Node, shown: str | None) -> None:
        value = node.value
        assert value is not None
        before = self.text[max(0, node.start - _LOOK_BACK) : node.start]
        recipient = _RECIPIENT.search(before) if "to=" in before else None
        if recipient and isinstance(value.value, dict) and recipient["name"] != "user":
            start = node.start - len(before) + recipient.start()
            name = recipient["name"].removeprefix("functions.")
            value = verified(self.text, value)
            call = Call.of_value(name, value.value, (start, node.end), value)
            self._add(Candidate((start, node.end), [call], form="tags", shown=shown))
            return
        candidate = self.described(value, marked=False)
        if candidate is None:
            candidate = self._named_value(node, value, before)
        if candidate is not None:
            candidate.shown = shown
            self._add(candidate)

    def _named_value(self, node: Node, value: Value, before: str) -> Candidate | None:
        """Read a tool's name on its own, right before its arguments."""
        if not isinstance(value.value, dict) or self.tools is None:
            return None
        if not before.rstrip()[-1:].isalnum():
            return None
        name = _NAME_LINE.search(before)
        if name is None:
            return None
        if self.tools.find(name["name"]) is None:
            return None
        start = node.start - len(before) + name.start("name")
        value = verified(self.text, value)
        form = "json"
        if before == f">>>{name['name']}\n" and start == len(">>>") and node.end >= self.last:
            start, form = 0, "tags"  # Functionary's form
        call = Call.of_value(name["name"], value.value, (start, node.end), value)
        return Candidate((start, node.end), [call], form=form)

    def described(self, value: Value, *, marked: bool) -> Candidate | None:
        described = describe(value, self.tools, marked=marked)
        span = (value.start, value.end)
        form = "contract" if described.contract else "json"
        if described.answer is not None and value.torn:
            message = "The answer is cut off."
            return Candidate(span, failure=Failure(FailurePattern.TRUNCATED, message, span))
        if described.answer is not None:
            return Candidate(span, answer=described.answer, form=form)
        if described.calls:
            value = verified(self.text, value)
            calls = [
                replace(call, torn=value.torn, twice=value.twice or call.twice)
                for call in described.calls
            ]
            calls[0] = replace(calls[0], repairs=(*value.repairs, *calls[0].repairs))
            return Candidate(span, calls, form=form)
        if described.announced:
            message = "Something next to the call makes it unclear whether it is meant."
            return Candidate(span, failure=Failure(FailurePattern.MALFORMED, message, span))
        return None

    def _python(self, node: Node, shown: str | None) -> None:
        calls = [Call.of_python(call) for call in node.calls]
        listed = self.text.startswith("[", node.start)
        if not listed and not _AFTER_CALL.match(self.text, node.end):
            return  # words of a sentence follow
        if any(call.bare for call in node.calls) and not listed:
            message = f"`{calls[0].name[:80]}` is called with a variable instead of a value."
            failure = Failure(FailurePattern.BAD_ARGUMENTS, message, calls[0].span, calls[0].name)
            loose = Candidate((node.start, node.end), failure=failure, form="python", loose=True)
            loose.shown = shown
            self._add(loose)
            return
        self._add(
            Candidate((node.start, node.end), calls, form="python", shown=shown, loose=not listed)
        )

    # -- fences and code

    def _fence(self, node: Node, shown: str | None) -> None:
        info = node.name if node.kind is Kind.FENCE else ""
        role = role_of(info) if info else Role.FORMAT
        if words_of(info) == _TOOL_CODE:
            self._unprint(node)
        if role in _WRAPPERS and self._is_all(node):
            self._wrapper(node, shown)
            return
        first, leftovers = len(self.found.candidates), len(self.found.leftovers)
        if role is Role.SHOWN:
            shown = "an example"
        elif role not in _WRAPPERS:
            shown = shown or _CODE_BLOCK
        self.sequence(node, shown)
        if shown == _CODE_BLOCK or self._is_foreign(node):
            del self.found.leftovers[leftovers:]  # part of an answer
        self._place(node, self.found.candidates[first:])

    def _place(self, node: Node, inside: list[Candidate]) -> None:
        """Note of calls in a block whether it holds more; else its marks are theirs."""
        words = self._beside(node, inside) if inside else ""
        for candidate in inside:
            if words and candidate.shown is None:
                candidate.shown = _HOLDS_MORE
            if not node.closed and candidate.span[1] < self.last:
                candidate.shown = candidate.shown or _CODE_BLOCK
        if inside and not words:
            inside[0].span = (node.start, inside[0].span[1])
            inside[-1].span = (inside[-1].span[0], node.end)

    def _is_foreign(self, node: Node) -> bool:
        """Tell whether a block starts with markup of another language, such as `<bean>`."""
        first = node.children[0].start if node.children else node.begin
        return _FOREIGN.match(self.text, node.begin, first) is not None

    def _wrapper(self, node: Node, shown: str | None) -> None:
        """Read a block that holds all that is said: its marks say nothing if calls stand in it."""
        first, headers = len(self.found.candidates), self.found.headers
        self.sequence(node, shown)
        inside = self.found.candidates[first:]
        if inside and all(c.loose for c in inside) and self._beside(node, inside):
            for candidate in inside:  # a program that calls what it defines
                candidate.shown = candidate.shown or _HOLDS_MORE
                candidate.loose = words_of(node.name) != _TOOL_CODE
            return
        if inside or headers != self.found.headers:
            self.found.noise += [(node.start, node.begin), (node.stop, node.end)]

    def _beside(self, node: Node, inside: list[Candidate]) -> str:
        """Return what a block holds beside its calls."""
        covered = [*(c.span for c in inside), *self.found.noise]
        return _outside(self.text, (node.begin, node.stop), covered).strip(" \t\n,;`")

    def _unprint(self, node: Node) -> None:
        """Take the calls that Gemma prints, `print(f(a=1))`, as the calls they are."""
        for call in node.children:
            start = call.start - len("print(")
            before = self.text[max(node.begin, start - _LOOK_BACK) : call.start]
            alone = before.rpartition("\n")[2].strip() == "print("
            if call.kind is Kind.PYTHON and alone and self.text.startswith(")", call.end):
                call.start, call.end = start, call.end + 1

    def _is_all(self, node: Node) -> bool:
        """Tell whether a node holds all that is said: then it is a wrapper, not a quotation."""
        # Something is said behind it that nothing hides: no need to put the rest together.
        if node.end < self.last_sign and self._hidden_to() <= node.end:
            return False
        # Behind the last sign one node is like another: judged once for what is hidden so far.
        own = (node.start, node.end) if node.start < self.last_sign else (0, 0)
        known = (len(self.found.thoughts), len(self.found.noise), own)
        if known != self.judged[0]:
            hidden = [*self.found.thoughts, *self.found.noise, own]
            said = _outside(self.text, (0, self.last_sign), hidden).strip(" \t\n`")
            self.judged = (known, not said)
        return self.judged[1]

    def _hidden_to(self) -> int:
        """Return how far reaches what is hidden so far."""
        noise, thoughts = self.found.noise, self.found.thoughts
        new = [end for _, end in (*noise[self.seen[0] :], *thoughts[self.seen[1] :])]
        self.seen = (len(noise), len(thoughts))
        self.reach = max(self.reach, *new, 0)
        return self.reach

    def _code(self, node: Node, shown: str | None) -> None:
        """Read inline code that is all there is on its line; else it is part of a sentence."""
        if node.leaf:
            return
        line = self.text[self.text.rfind("\n", 0, node.start) + 1 : node.start]
        self._fence(node, shown or ("a quotation" if ">" in line else None))

    # -- tags and tokens

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
        start = node.start
        if name == "message":
            before = self.text[max(0, start - _LOOK_BACK) : start]
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
        rest = self.text[node.end : node.end + _LOOK_BACK].lstrip()
        # Whatever follows a call cannot know its result.
        called = any(c.calls for c in self.found.candidates)
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
        before = self.text[max(0, node.start - _LOOK_BACK) : node.end + len(name[0])]
        to = _RECIPIENT.search(before)
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
        before = self.text[max(0, node.start - _LOOK_BACK) : node.start].rpartition("\n")[2]
        after = self.text[node.begin : node.begin + _LOOK_BACK].partition("\n")[0]
        return bool(before.strip()) and bool(after.strip())

    # -- ReAct

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


def _outside(text: str, span: tuple[int, int], covered: list[tuple[int, int]]) -> str:
    """Return the text of a span without some spans in it."""
    pieces = []
    at = span[0]
    for start, end in sorted(covered):
        if end <= at or start >= span[1]:
            continue
        pieces.append(text[at : max(at, start)])
        at = max(at, end)
    pieces.append(text[at : span[1]])
    return "".join(pieces)
