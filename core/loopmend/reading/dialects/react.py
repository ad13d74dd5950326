"""ReAct text: `Thought:`, `Action:`, `Action Input:`, `Observation:`, `Final Answer:` and kin.

The first action counts; an observation that the model made up, and all after it, is cut.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from loopmend.reading.described import Answered, calls_in
from loopmend.reading.dialects import calls, objects
from loopmend.reading.dialects.react_action import call_style, clean_name
from loopmend.reading.dialects.react_sections import Section, split
from loopmend.reading.found import Call, Found, Source
from loopmend.reading.lenient import LenientError
from loopmend.reading.payloads import Value, decode_value
from loopmend.reading.scalars import Tear
from loopmend.reading.turn import Failure, FailurePattern, Repair

name = "react"

_NO_TOOL: Final = re.compile(
    r"(?:none|n/?a|null|nothing|no (?:action|tool))(?: (?:is )?(?:needed|required))?", re.IGNORECASE
)
_FINISH: Final = frozenset({"finish", "final answer", "final_answer", "respond"})
_TOOL_QUESTION: Final = re.compile(
    r"\b(?:Do|No) I need to use a tool\?\s*(?:Yes|No)?[.!]?\Z", re.IGNORECASE
)
_INLINE_ANSWER: Final = re.compile(r"[.!?]\s+(?:Final )?Answer:\s*")
_JSON_INPUT: Final = re.compile(r"(?:`{1,3}(?:json|JSON)?\s*)?(?=\{)")
_TICKED: Final = re.compile(r"`[^`\n]+`")
_OWN_LINE: Final = re.compile(r"\n[ \t]*(?:`{1,3}\w{0,20}\s{0,5})?[\w.\-]{0,80}\Z")
_FENCE_BEFORE: Final = re.compile(r"`{1,3}\w*\s*\Z")
_BLANKS: Final = re.compile(r"[\s`*]*")
_BLOB: Final = re.compile(r"(?:json)?[ \t`*\n]{0,20}(?=[{\[])")


def read(source: Source) -> Found | None:
    """Read the first action, or the answer."""
    sections = split(source.text)
    kinds = {section.kind for section in sections}
    if kinds & {"action", "input", "final", "followup", "thought"}:
        return _Reading(source, sections).read()
    if "answer" in kinds:
        return _answer(source, sections)
    return _unmarked(source)


def _answer(source: Source, sections: list[Section]) -> Found:
    """Read a text whose only header is `Answer:`, `AI:` or the like."""
    last = [section for section in sections if section.kind == "answer"][-1]
    said = source.segments.say(last.start, len(source.text))
    return Found((last.header, len(source.text)), answer=said)


def _unmarked(source: Source) -> Found | None:
    """Read the remains of the form in a text without any header."""
    text = source.text.strip()
    if _TOOL_QUESTION.search(text):
        message = "It is said whether a tool is needed, but no action or answer follows."
        whole = (0, len(source.text))
        return Found(whole, failure=Failure(FailurePattern.NO_ACTION, message, whole))
    inline = _INLINE_ANSWER.search(source.text) if text.startswith(":") else None
    if inline:
        said = source.segments.say(inline.end(), len(source.text))
        return Found((inline.start(), len(source.text)), answer=said, exact=False)
    return None


class _Reading:
    def __init__(self, source: Source, sections: list[Section]) -> None:
        self.source = source
        self.text = source.text
        self.sections = sections
        self.repairs: list[Repair] = []
        self.torn = Tear.WHOLE

    def read(self) -> Found | None:
        action = self._index("action")
        final = self._index("final")
        if final is None:
            final = self._index("answer")
        if final is not None and (action is None or final < action):
            return self._final(final, action)
        if action is not None:
            return self._action(action, final)
        follow = self._index("followup")
        if follow is not None:
            section = self.sections[follow]
            span = (section.header, section.end)
            return Found(span, [Call("Intermediate Answer", self._say(section), span)])
        return self._nothing()

    def _index(self, kind: str) -> int | None:
        return next((i for i, s in enumerate(self.sections) if s.kind == kind), None)

    def _say(self, section: Section) -> str:
        return self.text[section.start : section.end].strip()

    def _thought(self, before: int) -> str | None:
        parts = [self.text[: self.sections[0].header].strip()]
        parts += [self._say(s) for s in self.sections[:before] if s.kind == "thought"]
        return "\n".join(part for part in parts if part) or None

    def _final(self, index: int, action: int | None) -> Found:
        section = self.sections[index]
        stop = len(self.text)
        if action is not None and self._is_meant(action):
            stop = self.sections[action].header
            self.repairs.append(Repair("action after the answer cut off", (stop, len(self.text))))
        said = self.source.segments.say(section.start, stop)
        thought = self._thought(index)
        span = (section.header, stop)
        if not said:
            failure = Failure(FailurePattern.EMPTY, "The final answer is empty.", span)
            return Found(span, failure=failure, thought=thought)
        return Found(span, answer=said, thought=thought, repairs=self.repairs)

    def _is_meant(self, index: int) -> bool:
        """Tell whether an action after the answer is one, and not a line of the answer."""
        label = clean_name(self._say(self.sections[index]))
        known = self.source.tools is None or self._knows(label)
        return known and self._input_after(index) is not None

    def _nothing(self) -> Found:
        first = self.sections[0]
        span = (first.header, len(self.text))
        kinds = {section.kind for section in self.sections}
        if "input" in kinds:
            failure = Failure(
                FailurePattern.NO_ACTION, "There is an action input but no action.", span
            )
        elif (called := self._called(first.start)) is not None:
            return called
        else:
            message = "The thought leads to neither an action nor a final answer."
            failure = Failure(FailurePattern.NO_ACTION, message, span)
        return Found(span, failure=failure, thought=self._thought(len(self.sections)))

    def _called(self, start: int) -> Found | None:
        """Read a call in another dialect after the thought, if it surely is one."""
        tools = self.source.tools
        # Without tools only an object with a name and arguments is sure.
        for dialect in (objects,) if tools is None else (objects, calls):
            found: Found | None = dialect.read(self.source)
            if found is None or found.failure is not None or not found.calls:
                continue
            before, after = self.text[: found.span[0]], self.text[found.span[1] :]
            alone = _OWN_LINE.search(before) is not None and not after.strip("` \n\t")
            if alone and (tools is None or all(tools.find(c.name)[0] for c in found.calls)):
                thought = _FENCE_BEFORE.sub("", self.text[start : found.span[0]]).strip()
                return replace(found, thought=thought or None)
        return None

    def _action(self, index: int, final: int | None) -> Found:
        section = self.sections[index]
        given = self._input_after(index)
        if given is None:
            calls = self._blob(section) or call_style(self.text, section, self.repairs)
            if calls is None:
                return self._without_input(section, index)
            return self._conclude(index, final, calls, section.end)
        label = clean_name(self._say(section))
        span = (section.header, given.end)
        if label.lower() in _FINISH and not self._knows(label):
            return Found(span, answer=self._say(given), thought=self._thought(index))
        if not label or _NO_TOOL.fullmatch(label) or "Final Answer" in label:
            return self._nameless(section, label, index)
        call = Call(label, self._input(given), span, torn=self.torn)
        return self._conclude(index, final, [call], given.end)

    def _input_after(self, index: int) -> Section | None:
        following = self.sections[index + 1 : index + 2]
        return following[0] if following and following[0].kind == "input" else None

    def _knows(self, label: str) -> bool:
        return self.source.tools is not None and self.source.tools.find(label)[0] is not None

    def _conclude(
        self, index: int, final: int | None, calls: list[Call] | Answered, end: int
    ) -> Found:
        span = (self.sections[index].header, end)
        thought = self._thought(index)
        if isinstance(calls, Answered):
            return Found(span, answer=calls.text, thought=thought)
        rest = self.sections[index + 1 :]
        made_up = next((s for s in rest if s.kind == "observation"), None)
        if made_up is not None:
            place = (made_up.header, len(self.text))
            self.repairs.append(Repair("made-up observation cut off", place))
        elif final is not None:
            place = (self.sections[final].header, len(self.text))
            message = "There is both an action and a final answer."
            failure = Failure(FailurePattern.ACTION_AND_ANSWER, message, place)
            said = self.source.segments.say(self.sections[final].start, len(self.text))
            return Found(span, calls, answer=said, failure=failure, thought=thought)
        return Found(span, calls, thought=thought, repairs=self.repairs)

    def _blob(self, section: Section) -> list[Call] | Answered | None:
        """Read an action that is JSON, fenced or not."""
        blank = _BLANKS.match(self.text, section.start, section.end)
        lead = blank and _BLOB.match(self.text, blank.end(), section.end)
        value = self._decode(lead.end(), section.end) if lead else None
        if value is None:
            return None
        found = calls_in(value, self.source.tools, marked=True)
        if found:
            self.repairs += value.repairs
        return found

    def _decode(self, start: int, stop: int) -> Value | None:
        try:
            return decode_value(self.text, start, stop)
        except LenientError:
            return None

    def _without_input(self, section: Section, index: int) -> Found:
        label = clean_name(self._say(section).split("\n")[0])
        if not label or _NO_TOOL.fullmatch(label):
            return self._nameless(section, label, index)
        span = (section.header, section.end)
        calls = [Call(label, {}, span)]
        spec = self.source.tools.find(label)[0] if self.source.tools is not None else None
        if spec is not None and spec.known and not spec.required:
            return Found(span, calls, thought=self._thought(index))
        message = f"The action `{label[:60]}` has no action input."
        failure = Failure(FailurePattern.MISSING_INPUT, message, span, label)
        return Found(span, calls, failure=failure, thought=self._thought(index))

    def _nameless(self, section: Section, label: str, index: int) -> Found:
        span = (section.header, section.end)
        if label:
            failure = Failure(FailurePattern.MALFORMED, "The action names no tool.", span)
        else:
            failure = Failure(FailurePattern.EMPTY, "The action has no name.", span)
        return Found(span, failure=failure, thought=self._thought(index))

    def _input(self, section: Section) -> Any:
        """Return the input as an object if it is one, else as text."""
        said = self._say(section)
        lead = _JSON_INPUT.match(said)
        start = self.text.find(said, section.start)
        value = self._decode(start + lead.end(), section.end) if lead else None
        if value is not None and isinstance(value.value, dict):
            self.repairs += value.repairs
            self.torn = value.torn
            return value.value
        quoted = len(said) > 1 and said[0] == said[-1] == '"'
        return said[1:-1] if quoted or _TICKED.fullmatch(said) else said
