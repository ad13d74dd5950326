"""One action of ReAct: its name, its input, and where both end."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final

from loopmend.reading.answers import Answered
from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.inputs import unquoted
from loopmend.reading.lexicon import Role
from loopmend.reading.nodes import Kind, Node
from loopmend.reading.pythonic import PythonCall, read_call
from loopmend.reading.react_inputs import objection
from loopmend.reading.react_sections import ReactCandidate, ReactSections
from loopmend.reading.scalars import Tear
from loopmend.reading.sections import Header
from loopmend.reading.speech import is_remark
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.values import Value, verified
from loopmend.reading.written_calls import Call

__all__ = ["ReactActions"]

"""Words that take an input back stand this near to its start or to its end."""
_CLOSED: Final = re.compile(r"[\]})>.,;:`\s]+|(?:</[\w.:\-]{1,60}>\s*)+")
_ASIDE: Final = re.compile(r"#|//|\([^\W\d]|[,.;]\s+[^\W\d]")
_FINAL: Final = frozenset({"finish", "final answer", "final", "respond", "answer", "final_answer"})
_NO_TOOL: Final = frozenset(
    {"none", "null", "n/a", "na", "no action", "no tool", "no tool needed", "nothing", "-"}
)
_BRACKETED: Final = re.compile(
    r"\s*(?P<name>[^\W\d][\w .\-]{0,80}?)\s*\[(?P<input>.*)\][\s*_`]*\Z", re.DOTALL
)
_SECOND: Final = re.compile(r"\][\s,;]*([^\W\d]\w*)\[")
_BRACKET_TORN: Final = re.compile(r"\s*[^\W\d][\w .\-]{0,80}?\s*\[")
_HEADER_IN_NAME: Final = re.compile(r"\bFinal Answer\s*:|\n", re.IGNORECASE)
_BREAK: Final = re.compile(r"<br\s*/?>\s*\Z|</\w{1,6}>\s*\Z", re.IGNORECASE)
_DECORATION: Final = " \t\n\u00a0*`\"'\u201c\u201d\u2018\u2019\u00ab\u00bb"


class ReactActions(ReactSections):
    """Reads the action that a header starts."""

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
            return at + 1 if given is None else self._after(given, self._section_end(given))
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
            return self._refused(at, at, failed)
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
        if given is not None and called is not None and _gives_values(called[0]):
            message = f"`{name[:80]}` is given its arguments twice."
            span = (start, self._section_end(given))
            failed = Failure(FailurePattern.MALFORMED, message, span, name)
            return self._refused(at, given, failed)
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
            return self._refused(at, at, failed)
        value = verified(self.text, value)
        end = value.end + (self.text.startswith(")", value.end))
        call = Call.of_value(name, value.value, (start, end), value)
        self._candidate(ReactCandidate((start, end), [call]), at)
        return self._after(at, end)

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

    def _refused(self, at: int, given: int, failure: Failure) -> int:
        """Note why an action cannot be made, and go on behind its input."""
        self._candidate(ReactCandidate(failure.span, failure=failure), at)
        return self._after(given, failure.span[1])

    def _with_input(self, at: int, name: str, start: int, given: int) -> int:
        node = self.nodes[given]
        following = self.nodes[given + 1] if given + 1 < len(self.nodes) else None
        end = node.stop
        right = following is not None and following.start == node.stop
        if following is not None and right and following.kind in (Kind.VALUE, Kind.FENCE):
            value = following.value or self._fenced(following)
            if value is not None and not self._goes_on(given, value):
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
        if (message := objection(name[:80], text, self.tools)) is not None:
            failed = Failure(FailurePattern.MALFORMED, message, (start, end), name)
            return self._refused(at, given, failed)
        plain = unquoted(text)
        if plain != text:
            self.result.repairs.append(Repair("quotes around the input", (node.begin, end)))
        return self._made(at, name, plain, (start, end), self._after(given, end))

    def _goes_on(self, given: int, value: Value) -> bool:
        """Tell whether an input is more than the value that it starts with, as code is.

        What follows an object on a line of its own, as a comment or behind a comma, explains it.
        """
        following = self.nodes[given + 1]
        end = self._section_end(given)
        rest = self.text[following.end : end]
        for node in reversed(self.nodes[given + 2 : self._after(given, end)]):
            if node.kind is Kind.NOISE:
                rest = rest[: node.start - following.end] + rest[node.end - following.end :]
        said = rest.strip(_DECORATION)
        if not said or _CLOSED.fullmatch(said):
            return False
        apart = following.kind is Kind.FENCE or "\n" in rest[: rest.index(said)]
        if isinstance(value.value, dict) and (apart or _ASIDE.match(said)):
            self.result.repairs.append(Repair("text behind the input", (following.end, end)))
            return False
        return following.kind is Kind.VALUE

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


def _gives_values(call: PythonCall) -> bool:
    """Tell whether parentheses hold values, not names: those describe what a tool takes."""
    return bool(call.positional or call.named) and not call.bare


def _said(given: Any) -> str:
    """Return the answer that an object holds."""
    if isinstance(given, dict) and len(given) == 1:
        only = next(iter(given.values()))
        if isinstance(only, str):
            return only
    return json.dumps(given, ensure_ascii=False)
