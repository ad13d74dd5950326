"""ReAct: headers one after the other, from a thought to an action with its input, or an answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, Final

from loopmend.reading.fitting import Call
from loopmend.reading.inputs import unquoted
from loopmend.reading.lexicon import Role, role_of
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.pythonic import read_call
from loopmend.reading.scalars import Tear
from loopmend.reading.sections import Header
from loopmend.reading.shapes import Answered
from loopmend.reading.speech import is_remark, refuses, sentences
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.values import LenientError, Value, decode_value, verified

__all__ = ["ReactCandidate", "ReactRun", "read_react"]


@dataclass(slots=True)
class ReactCandidate:
    """A call, an answer or a failure in ReAct's form."""

    span: tuple[int, int]
    calls: list[Call] = field(default_factory=list)
    answer: Answered | None = None
    failure: Failure | None = None
    shown: str | None = None
    thought: bool = False
    value: Value | None = None
    """A value under `Action:` that describes the call."""


@dataclass(slots=True)
class ReactRun:
    """What a run of headers asks for."""

    next: int = 0
    """The node to go on with."""
    candidate: ReactCandidate | None = None
    answer: tuple[str, tuple[int, int]] | None = None
    thoughts: list[tuple[int, int]] = field(default_factory=list)
    thought_texts: list[tuple[int, int]] = field(default_factory=list)
    thinks: bool = False
    labels: list[tuple[int, int]] = field(default_factory=list)
    inner: list[tuple[Node, str | None]] = field(default_factory=list)
    """Nodes in other forms under a header, and what they stand in."""
    observed: int | None = None
    headers: int = 0
    no_action: bool = False
    other_turn: bool = False
    made_up: bool = False
    """Whether a tool's output is all there is."""
    repairs: list[Repair] = field(default_factory=list)


_MARKED_LINE: Final = re.compile(
    r"^[ \t]{0,20}(?:<\|?(?P<tag>[^\W\d][\w\-]{0,40})"
    r"|\{\s{0,20}\"\w{1,40}\"\s{0,20}:\s{0,20}\"(?P<name>[^\"\n]{1,80})\")",
    re.MULTILINE,
)
_SAID: Final = re.compile(r"\S")
_SHORT: Final = 400
_FAR: Final = 4000
"""Words that take an input back stand this near to its start or to its end."""
_FINAL: Final = frozenset({"finish", "final answer", "final", "respond", "answer", "final_answer"})
_NO_TOOL: Final = frozenset(
    {"none", "null", "n/a", "na", "no action", "no tool", "no tool needed", "nothing", "-"}
)
_BRACKETED: Final = re.compile(
    r"\s*(?P<name>[^\W\d][\w .\-]{0,80}?)\s*\[(?P<input>.*)\]\s*\Z", re.DOTALL
)
_SECOND: Final = re.compile(r"\][\s,;]*([^\W\d]\w*)\[")
_BRACKET_TORN: Final = re.compile(r"\s*[^\W\d][\w .\-]{0,80}?\s*\[")
_HEADER_IN_NAME: Final = re.compile(r"\bFinal Answer\s*:|\n", re.IGNORECASE)
_BREAK: Final = re.compile(r"<br\s*/?>\s*\Z|</\w{1,6}>\s*\Z", re.IGNORECASE)
_DECORATION: Final = " \t\n*`\"'\u201c\u201d\u2018\u2019\u00ab\u00bb"


def read_react(  # noqa: PLR0913 - where to read, and what is known
    text: str, parent: Node, nodes: list[Node], at: int, tools: Toolbox | None, *, called: bool
) -> ReactRun:
    """Read headers from one on, up to the first action or answer.

    Args:
        text: The text.
        parent: The node in which the headers stand.
        nodes: The headers and what stands beside them.
        at: Which of them to start with.
        tools: The available tools.
        called: Whether a call stands before them: then what looks like its output is made up.
    """
    reader = _Reader(text, parent, nodes, tools)
    reader.called = called
    return reader.run(at)


class _Reader:
    def __init__(self, text: str, parent: Node, nodes: list[Node], tools: Toolbox | None) -> None:
        self.text = text
        self.parent = parent
        self.nodes = nodes
        self.tools = tools
        self.result = ReactRun()
        if parent.opening == -1:
            said = _SAID.search(text, parent.begin)
            parent.opening = said.start() if said else len(text)
        self.opening = parent.opening
        """Where the first word in the parent stands."""
        self.start: int | None = None
        self.thinks = False
        self.called = False
        self.observed = False
        self.transcript = False
        """Whether somebody else speaks first, or is answered."""
        self.answers = False
        """Whether what the assistant says would answer somebody."""
        self.first: bool | None = None
        """Whether nothing is said before the thought."""

    def run(self, at: int) -> ReactRun:
        first = at
        while at < len(self.nodes):
            header = self.nodes[at].header
            if header is None:
                at = self._inner(at)
                continue
            self.result.headers += header.strong
            self._note_speaker(header)
            if self.called and header.strong and header.role in (Role.OBSERVATION, Role.THINK):
                self.result.observed = header.start
                self.result.next = len(self.nodes)
                return self.result
            if header.role in (Role.CALL, Role.NAME):
                done = self._action(at)
                if done is not None:
                    self.result.next = done
                    return self.result
            elif header.role is Role.ANSWER and self._is_answer(at, first):
                self._answer(at)
                self.result.next = at + 1
                return self.result
            elif header.role is Role.THINK and self._is_thought(at):
                self._thought(at)
            elif header.role is Role.OBSERVATION and header.strong:
                at = self._observation(at)
                continue
            elif header.role in (Role.SPEAKER, Role.ASK) and self._is_other(at):
                self.result.observed = header.start
                self.result.other_turn = True
                self.result.next = len(self.nodes)
                return self._finished()
            at += 1
        self.result.next = at
        return self._finished()

    def _finished(self) -> ReactRun:
        """Say what headers mean that led to no action and no answer."""
        calls_inside = any(node.role is Role.CALL for node, _ in self.result.inner)
        self.result.no_action = self.thinks and bool(self.first) and not calls_inside
        return self.result

    def _is_thought(self, at: int) -> bool:
        """Tell whether a header is ReAct's own, or a word of any text that leads to one."""
        header = self.nodes[at].header
        assert header is not None
        if header.strong or header.quoted:
            return not header.quoted
        index = self._next_header(at)
        following = self.nodes[index].header if index < len(self.nodes) else None
        return following is not None and following.strong

    # -- what is no action

    def _thought(self, at: int) -> None:
        node = self.nodes[at]
        end = self._section_end(at)
        if self.start is None:
            self.start = node.start
        header = node.header
        assert header is not None
        self.thinks = self.thinks or (header.strong and not header.quoted)
        if self.first is None:
            self.first = self._starts(header.start)
        self.result.labels.append((node.start, node.begin))
        if self._next_is_header(at):
            self.result.thoughts.append((node.begin, end))
        else:
            end = self.nodes[at + 1].start
        self.result.thought_texts.append((node.begin, end))
        self.result.thinks = self.thinks

    def _note_speaker(self, header: Header) -> None:
        """Note who speaks: where somebody is answered, the text is a transcript."""
        if header.role is not Role.SPEAKER:
            return
        if header.words[-1:] == ("assistant",):
            self.transcript = self.transcript or self.answers
        else:
            self.answers = True
            self.transcript = self.transcript or self._starts(header.start)

    def _inner(self, at: int) -> int:
        """Leave what stands under a header in another form to others."""
        self.result.inner.append((self.nodes[at], "a transcript" if self.transcript else None))
        return at + 1

    def _observation(self, at: int) -> int:
        """Pass over what the model makes up as a tool's output."""
        first = self.nodes[at].header
        assert first is not None
        alone = self._starts(first.start) and not first.listed
        self.observed = True
        at += 1
        while at < len(self.nodes):
            header = self.nodes[at].header
            if header is not None and header.strong and header.role is not Role.OBSERVATION:
                return at
            if header is None:
                self.result.inner.append((self.nodes[at], "a tool's output"))
            at += 1
        self.result.made_up = alone
        return at

    def _is_other(self, at: int) -> bool:
        """Tell whether another speaker goes on, as if it were the next turn."""
        header = self.nodes[at].header
        assert header is not None
        if self._starts(header.start) or header.words[-1:] == ("assistant",):
            return False
        if header.role is Role.SPEAKER:
            return self.result.headers > 0
        index = self._next_header(at)
        following = self.nodes[index].header if index < len(self.nodes) else None
        return (
            following is not None and following.strong and following.role in (Role.THINK, Role.CALL)
        )

    def _is_answer(self, at: int, first: int) -> bool:
        """Tell an answer in ReAct's form from a paragraph that starts with the word."""
        header = self.nodes[at].header
        assert header is not None
        if header.listed or header.quoted:
            return False
        if len(header.words) > 1 or self.thinks or self.called:
            return True
        if at != first or header.start - self.opening > _SHORT:
            return False
        return "\n" not in self.text[self.opening : header.start].strip()

    def _answer(self, at: int) -> None:
        node = self.nodes[at]
        begin, stop = node.begin, node.stop
        text = self.text[begin:stop]
        self._note_inline(node)
        self.result.answer = (text.strip(), (begin, stop))

    # -- actions

    def _action(self, at: int) -> int | None:
        """Read an action; return the next node, or `None` if it is prose."""
        node = self.nodes[at]
        header = node.header
        assert header is not None
        line = self.text[header.body : header.resume]
        given = self._input_after(at)
        name = _BREAK.sub("", line).strip(_DECORATION).rstrip(".,;:").rstrip(_DECORATION)
        start = self.start if self.start is not None and self.thinks else header.start
        if not name:
            return self._under(at, start, given)
        if name.lower() in _NO_TOOL:
            self.result.no_action = True
            return at + 1 if given is None else given + 1
        bracketed = _BRACKETED.match(line) if "[" in line else None
        if bracketed and given is None and not self._holds_another(bracketed["input"]):
            end = header.resume
            return self._made(
                at, bracketed["name"], bracketed["input"].strip(), (start, end), at + 1
            )
        if self._is_prose(name, header, given):
            return None
        called = self._called(at, line, start, given)
        if called is not None:
            return called
        if _HEADER_IN_NAME.search(line.strip()):
            failed = Failure(
                FailurePattern.MALFORMED,
                "The action's name cannot be parsed.",
                (start, header.resume),
            )
            self._candidate(ReactCandidate((start, header.resume), failure=failed), at)
            return at + 1 if given is None else given + 1
        if given is not None:
            return self._with_input(at, name, start, given)
        return self._without_input(at, name, line, start)

    def _holds_another(self, given: str) -> bool:
        """Tell whether brackets hold the end of one call and the start of another."""
        second = _SECOND.search(given)
        return (
            second is not None and self.tools is not None and self.tools.find(second[1]) is not None
        )

    def _without_input(self, at: int, name: str, line: str, start: int) -> int:
        header = self.nodes[at].header
        assert header is not None
        following = self.nodes[at + 1] if at + 1 < len(self.nodes) else None
        if (
            following is not None
            and following.value is not None
            and not self.text[header.resume : following.start].strip(_DECORATION + ":,")
        ):
            value = verified(self.text, following.value)
            call = Call.of_value(name, value.value, (start, following.end), value)
            self._candidate(ReactCandidate((start, following.end), [call]), at)
            return at + 2
        if self.text.startswith("{", header.resume):
            span = (start, self._section_end(at))
            message = f"The input of `{name[:80]}` is truncated or malformed."
            failed = Failure(FailurePattern.TRUNCATED, message, span, name)
            self._candidate(ReactCandidate(span, failure=failed), at)
            return self._after(at, span[1])
        if _BRACKET_TORN.match(line):
            message = "The action is not closed, or extra text follows it."
            span = (start, header.resume)
            failed = Failure(FailurePattern.MALFORMED, message, span)
            self._candidate(ReactCandidate(span, failure=failed), at)
            return at + 1
        call = Call(name, {}, (start, header.resume), missing=True)
        self._candidate(ReactCandidate((start, header.resume), [call]), at)
        return at + 1

    def _is_prose(self, name: str, header: Header, given: int | None) -> bool:
        listed = header.listed
        known = self.tools is not None and self.tools.find(name) is not None
        if known:
            return False
        if given is not None:
            return listed and self.tools is not None
        return listed or not header.strong or (not self.thinks and len(name.split()) > 1)

    def _called(self, at: int, line: str, start: int, given: int | None) -> int | None:
        """Read `Action: f(a=1)`, `Action: f ({…})` and a name with its description."""
        header = self.nodes[at].header
        assert header is not None
        if not self.text.startswith("(", header.resume):
            return None
        name = line.strip(_DECORATION)
        called = read_call(self.text, self.text.index(name, header.body))
        line_end = self.text.find("\n", header.resume)
        line_end = len(self.text) if line_end == -1 else line_end
        if called is not None and given is None:
            written, end = called
            if not self.text[end:line_end].strip(_DECORATION + ";."):
                made = replace(Call.of_python(written), span=(start, end))
                self._candidate(ReactCandidate((start, end), [made]), at)
                return self._after(at, end)
        inner = self.text[header.resume + 1 : line_end].strip()
        if given is None and inner.startswith("{"):
            return self._parenthesised(at, name, start)
        note = self.text[header.resume : line_end].rstrip(_DECORATION)
        if given is not None and is_remark(note):
            note = ""
        if given is not None:
            return self._with_input(at, name + note, start, given)
        call = Call(name + note, {}, (start, line_end), missing=True)
        self._candidate(ReactCandidate((start, line_end), [call]), at)
        return self._after(at, line_end)

    def _parenthesised(self, at: int, name: str, start: int) -> int:
        header = self.nodes[at].header
        assert header is not None
        begin = self.text.index("{", header.resume)
        try:
            value = decode_value(self.text, begin)
        except LenientError:
            message = f"The input of `{name[:80]}` cannot be parsed."
            span = (start, self._section_end(at))
            failed = Failure(FailurePattern.MALFORMED, message, span, name)
            self._candidate(ReactCandidate(span, failure=failed), at)
            return self._after(at, span[1])
        value = verified(self.text, value)
        end = value.end + (self.text.startswith(")", value.end))
        call = Call.of_value(name, value.value, (start, end), value)
        self._candidate(ReactCandidate((start, end), [call]), at)
        return self._after(at, end)

    def _after(self, at: int, end: int) -> int:
        """Return the first node behind a place."""
        at += 1
        while at < len(self.nodes) and self.nodes[at].start < end:
            at += 1
        return at

    def _under(self, at: int, start: int, given: int | None) -> int | None:
        """Read what stands under `Action:` in another form, if anything does."""
        header = self.nodes[at].header
        assert header is not None
        following = self.nodes[at + 1] if at + 1 < len(self.nodes) else None
        if following is None or following.header is not None:
            if following is not None and self._names_action(following.header):
                self.result.labels.append((header.start, header.body))
                return None  # a label, such as `Next action:` over the action itself
            if given is not None or (header.strong and not header.listed):
                span = (start, header.resume)
                failed = Failure(FailurePattern.EMPTY, "The action has no name.", span)
                self._candidate(ReactCandidate(span, failure=failed), at)
                return at + 1 if given is None else given + 1
            return None
        value = following.value
        inside = [n for n in following.children if n.value is not None or n.header is not None]
        if value is None and len(inside) == 1 and following.kind.value in ("fence", "code"):
            value = inside[0].value
        if value is None:
            self.result.labels.append((header.start, header.body))
            return None
        span = (start, following.end)
        message = "The action cannot be parsed."
        failed = Failure(FailurePattern.MALFORMED, message, span)
        self._candidate(ReactCandidate(span, failure=failed, value=value), at)
        return at + 2

    def _names_action(self, header: Header | None) -> bool:
        """Tell whether a header announces an action and names it."""
        if header is None or header.role is not Role.CALL:
            return False
        return bool(self.text[header.body : header.resume].strip(_DECORATION + ":"))

    def _input_after(self, at: int) -> int | None:
        """Return the input's header that belongs to an action."""
        following = at + 1
        header = self.nodes[at].header
        assert header is not None
        while following < len(self.nodes):
            node = self.nodes[following]
            if node.header is not None:
                inputs = node.header.role is Role.ARGUMENTS and not node.header.quoted
                if node.header.role is Role.NAME and header.role is Role.CALL:
                    following += 1
                    continue
                begin = header.resume
                if self.text.startswith("(", begin):
                    begin = max(begin, self.text.find(")", begin, node.start) + 1)
                between = self.text[begin : node.start]
                return following if inputs and not between.strip(_DECORATION + "-,;|()") else None
            if node.start < header.resume or node.kind.value in ("noise", "code", "python"):
                following += 1
                continue
            return None
        return None

    def _with_input(self, at: int, name: str, start: int, given: int) -> int:
        node = self.nodes[given]
        following = self.nodes[given + 1] if given + 1 < len(self.nodes) else None
        end = node.stop
        right = following is not None and following.start == node.stop
        if following is not None and right and following.kind in (Kind.VALUE, Kind.FENCE):
            value = following.value or self._fenced(following)
            if value is not None:
                return self._made(
                    at, name, self._plain(value), (start, following.end), given + 2, value
                )
            end = self._section_end(given)
            text = self.text[node.begin : end].strip()
            return self._made(at, name, text, (start, end), self._after(given, end))
        text = self.text[node.begin : end].strip()
        if not text:
            call = Call(name, "", (start, end), missing=True)
            self._candidate(ReactCandidate((start, end), [call]), at)
            return given + 1
        if text.startswith(("{", "[")):
            end = self._section_end(given)
            text = self.text[node.begin : end].strip()
            torn = self._torn(node.begin, end) if text[0] == "{" else None
            if torn is not None:
                return self._made(at, name, torn.value, (start, end), self._after(given, end), torn)
        below = text.partition("\n")[2]
        if self._announces_another(below[:_FAR]):
            message = f"Another call follows the input of `{name[:80]}`, or is part of it."
            failed = Failure(FailurePattern.MALFORMED, message, (start, end), name)
            self._candidate(ReactCandidate((start, end), failure=failed), at)
            return self._after(given, end)
        if any(refuses(s) for s in (*sentences(below[:_FAR]), *sentences(below[_FAR:][-_FAR:]))):
            message = f"The words after the input of `{name[:80]}` may take it back."
            failed = Failure(FailurePattern.MALFORMED, message, (start, end), name)
            self._candidate(ReactCandidate((start, end), failure=failed), at)
            return self._after(given, end)
        plain = unquoted(text)
        if plain != text:
            self.result.repairs.append(Repair("quotes around the input", (node.begin, end)))
        return self._made(at, name, plain, (start, end), self._after(given, end))

    def _announces_another(self, below: str) -> bool:
        """Tell whether a line below the first of an input begins a call in another form."""
        for line in _MARKED_LINE.finditer(below):
            tag, name = line["tag"], line["name"]
            if tag is not None and role_of(tag) is Role.CALL:
                return True
            if name is not None and self.tools is not None and self.tools.find(name) is not None:
                return True
        return False

    def _torn(self, begin: int, end: int) -> Value:
        """Return what there is of an input that stops in the middle."""
        start = self.text.index("{", begin)
        try:
            value = decode_value(self.text, start, end)
        except LenientError:
            value = Value(self.text[start:end], start, end)
        return replace(value, torn=Tear.CUT)

    def _plain(self, value: Value) -> Any:
        """Return an object as one, and anything else as it is written: the tool may take text."""
        return value.value if isinstance(value.value, dict) else self.text[value.start : value.end]

    @staticmethod
    def _fenced(node: Node) -> Value | None:
        """Return the one value that a fence holds."""
        values = [n.value for n in node.children if n.value is not None]
        return values[0] if len(node.children) == 1 and values else None

    def _made(  # noqa: PLR0913, PLR0917 - what an action consists of
        self,
        at: int,
        name: str,
        given: Any,
        span: tuple[int, int],
        following: int,
        value: Value | None = None,
    ) -> int:
        plain = name.strip(_DECORATION)
        known = self.tools is not None and self.tools.find(plain) is not None
        if plain.lower() in _FINAL and (not known or plain.lower() == "final answer"):
            text = given if isinstance(given, str) else _said(given)
            self._candidate(ReactCandidate(span, answer=Answered(text)), at)
            return following
        call = Call(plain, given, span)
        if value is not None:
            call = Call.of_value(plain, given, span, verified(self.text, value))
        self._candidate(ReactCandidate(span, [call]), at)
        return following

    def _note_inline(self, node: Node) -> None:
        if node.header is not None and node.header.inline and not self.thinks:
            self.result.repairs.append(Repair("header in mid-line", (node.start, node.begin)))

    def _candidate(self, candidate: ReactCandidate, at: int) -> None:
        header = self.nodes[at].header
        assert header is not None
        if self.observed:
            message = "The action relies on a tool's output that the model made up."
            failed = Failure(FailurePattern.FABRICATED_OUTPUT, message, candidate.span)
            candidate = ReactCandidate(candidate.span, failure=failed)
        candidate.thought = self.thinks
        self._note_inline(self.nodes[at])
        if header.quoted:
            candidate.shown = "a quotation"
        elif self.transcript:
            candidate.shown = "a transcript"
        self.result.candidate = candidate

    # -- sections

    def _next_is_header(self, at: int) -> bool:
        return at + 1 >= len(self.nodes) or self.nodes[at + 1].header is not None

    def _section_end(self, at: int) -> int:
        index = self._next_header(at)
        if index < len(self.nodes):
            return self.nodes[index].start
        stop = self.parent.stop
        return len(self.text) if stop == -1 else stop

    def _next_header(self, at: int) -> int:
        """Return the index of the next header, or one behind the last node."""
        at += 1
        while at < len(self.nodes) and self.nodes[at].header is None:
            at += 1
        return at

    def _starts(self, at: int) -> bool:
        """Tell whether nothing is said before a place."""
        return self.opening >= at


def _said(given: Any) -> str:
    """Return the answer that an object holds."""
    if isinstance(given, dict) and len(given) == 1:
        only = next(iter(given.values()))
        if isinstance(only, str):
            return only
    return json.dumps(given, ensure_ascii=False)
