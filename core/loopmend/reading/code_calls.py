"""Calls in values, Python and fences: what code on its own, or in a block, asks for."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Final

from loopmend.reading.candidates import Candidate, Found
from loopmend.reading.lexicon import Role, role_of, words_of
from loopmend.reading.nodes import Kind, Node, Tree
from loopmend.reading.shapes import describe
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern
from loopmend.reading.values import Value, verified
from loopmend.reading.written_calls import Call

__all__ = ["LOOK_BACK", "RECIPIENT", "CodeCalls"]

RECIPIENT: Final = re.compile(
    r"(?:<\|start\|>(?:assistant)?|assistant|(?<!\s))\s*(?:<\|channel\|>\s*)?"
    r"(?:(?:commentary|analysis|final)\s*)?\bto=(?P<name>[\w.\-]+)(?![\w.\-])"
    r"(?:<\|[\w ]{1,30}\|>|json|code|commentary|analysis|\s)*\Z"
)
LOOK_BACK: Final = 200
_AFTER_CALL: Final = re.compile(
    r"[ \t]*(?:[;,.][ \t]*)?(?:#[^\n]*)?(?=\n|\Z|`|<|\]|,|[^\W\d][\w.]*\()"
)
_CODE_BLOCK: Final = "a code block"
_FOREIGN: Final = re.compile(r"\s*<[?!\w]")
_HOLDS_MORE: Final = "a code block that holds more than the call"
_MOST_CANDIDATES: Final = 400
_NAME_LINE: Final = re.compile(
    r"(?:^|\n|\A|>)[ \t]*(?P<name>[^\W\d][\w.\-]{0,80})[ \t]*(?:\n[ \t]*)?\Z"
)
_TOOL_CODE: Final = ("tool", "code")
_WRAPPERS: Final = (Role.FORMAT, Role.CALL, Role.SAY, Role.FILLER)


class CodeCalls(ABC):
    """Collects what values, Python calls and fences ask for."""

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

    @abstractmethod
    def sequence(self, parent: Node, shown: str | None) -> None:
        """Read what stands side by side in a node."""

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

    def _value(self, node: Node, shown: str | None) -> None:
        value = node.value
        assert value is not None
        before = self.text[max(0, node.start - LOOK_BACK) : node.start]
        recipient = RECIPIENT.search(before) if "to=" in before else None
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
        """Read what a value describes."""
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
            before = self.text[max(node.begin, start - LOOK_BACK) : call.start]
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
