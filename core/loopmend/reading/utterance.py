"""What a text says that asks for nothing in any form: an answer, a signal, a plan, nothing."""

from __future__ import annotations

import re
from typing import Final as Constant

from loopmend.contracts.actions import AgentAction, AskUser, FinalAnswer, ToolCall
from loopmend.contracts.signals import (
    Answer,
    Clarification,
    MetaSignal,
    Stuck,
    Thinking,
    Uncertain,
    Yield,
)
from loopmend.reading.candidates import Found
from loopmend.reading.decoding import LenientError, decode_value
from loopmend.reading.evidence import Around
from loopmend.reading.prose import find_fault
from loopmend.reading.signals import read_signal
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, Fidelity, ReadingConfig, Repair, Turn

__all__ = ["Utterance"]

_LOOK_BACK: Constant = 200
_ONLY_WITHOUT_SIGNAL: Constant = (FailurePattern.NARRATED, FailurePattern.NO_ACTION)
_NEEDS_NO_TOOL: Constant = re.compile(
    r"\A\s*(?:[^\n?]{0,40}\btool\b[^\n?]{0,20}\?)\s*No(?:[.,!]|\s*\n|\s*\Z)\s*(?P<answer>.*)\Z",
    re.DOTALL | re.IGNORECASE,
)


class Utterance:
    """All that is known of a text, and what it says."""

    def __init__(
        self, text: str, found: Found, tools: Toolbox | None, config: ReadingConfig
    ) -> None:
        self.text = text
        self.found = found
        self.tools = tools
        self.config = config
        self.cut = len(self.text) if found.observed is None else found.observed
        self.repairs: list[Repair] = []
        self.thought = self._thought()
        self.around = Around(self.text, found, 0, self.cut)

    def _thought(self) -> str | None:
        parts = [t for a, b in self.found.thought_texts if (t := self.text[a:b].strip())]
        return "\n".join(parts) or None

    def said(self) -> str:
        """Return what is said, without thinking and tokens."""
        return self.around.said(0, self.cut).strip()

    def _signal(self, actions: list[AgentAction]) -> MetaSignal | None:
        """Return the signal; beside a call one that would end the run does not count."""
        if not self.config.detect_signals:
            return None
        signal = read_signal(self.said(), phrases=self.config.detect_signals is True)
        calls = any(isinstance(action, ToolCall) for action in actions)
        return None if calls and isinstance(signal, (Answer, Stuck, Yield)) else signal

    def _note_cut(self) -> None:
        if self.cut < len(self.text) and self.text[self.cut :].strip():
            self.repairs.append(Repair("made-up continuation cut off", (self.cut, len(self.text))))

    def plain(self) -> Turn:
        """Read a text that asks for nothing in any form."""
        whole = (0, len(self.text))
        said = self.said()
        config = self.config
        if self.found.open_thought is not None:
            self.thought = self.text[self.found.open_thought :].partition(">")[2].strip() or None
            said = self.around.said(0, min(self.cut, self.found.open_thought)).strip()
        if not said:
            return self._silent(whole)
        needless = _NEEDS_NO_TOOL.match(said)
        said = needless["answer"].strip() if needless else said
        fault = self._fault(said, whole)
        if fault is None and config.plain_text == "error":
            message = "The reply has neither an action nor an answer in the requested form."
            fault = Failure(FailurePattern.NO_ACTION, message, whole)
        if fault is not None and fault.pattern in _ONLY_WITHOUT_SIGNAL:
            fault = None if _is_element(said) and read_signal(said) is not None else fault
        phrases = config.detect_signals is True
        signal = read_signal(said, phrases=phrases) if config.detect_signals else None
        if fault is not None:
            echo = fault.pattern is FailurePattern.TEMPLATE_ECHO
            return Turn((), self.thought, None if echo else signal, fault)
        if isinstance(signal, Answer) and "</" in said:
            return Turn((FinalAnswer(signal.content),), self.thought, signal, span=whole)
        if isinstance(signal, (Stuck, Yield, Uncertain, Thinking)) and _is_element(said):
            return _only_signal(signal, self.thought, whole)
        self._note_cut()
        fidelity: Fidelity = "repaired" if self.repairs else "exact"
        repairs = tuple(self.repairs)
        return Turn(
            (FinalAnswer(said),), self.thought, signal, None, fidelity, repairs, None, whole
        )

    def _silent(self, whole: tuple[int, int]) -> Turn:
        made_up = self.found.observed is not None and self.text[self.cut :].strip()
        if made_up and not self.found.other_turn:
            message = "The model wrote a tool's output without calling a tool."
            return Turn(
                (), self.thought, None, Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
            )
        needless = _NEEDS_NO_TOOL.match(self.thought or "")
        if needless and needless["answer"].strip():
            return Turn(
                (FinalAnswer(needless["answer"].strip()),), None, dialect="react", span=whole
            )
        if self.found.no_action and not self.config.native:
            return Turn((), self.thought, None, self._no_action(whole))
        if self.config.after_tool_result:
            return Turn((FinalAnswer(""),), self.thought, span=whole)
        signal = read_signal(self.text) if self.config.detect_signals else None
        if isinstance(signal, Thinking):
            return _only_signal(signal, self.thought, whole)
        message = "The reply is nothing but thinking." if self.thought else "The reply is empty."
        return Turn((), self.thought, failure=Failure(FailurePattern.EMPTY, message, whole))

    def _fault(self, said: str, whole: tuple[int, int]) -> Failure | None:
        if not self.config.native and said[:1] in ("{", "[") and _is_torn(said):
            message = "The reply stops in the middle of a value."
            return Failure(FailurePattern.TRUNCATED, message, whole)
        fault = find_fault(said, self.tools, whole[1], self.config)
        if fault is not None and fault.pattern is not FailurePattern.NARRATED:
            return fault
        if self.found.made_up and not self.config.native:
            message = "The model wrote a tool's output without calling a tool."
            return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
        if self._has_leftovers():
            message = "The reply has tool markup but no call that can be parsed."
            return Failure(FailurePattern.MALFORMED, message, whole)
        if self.found.observed is not None and not (self.config.native or self.found.other_turn):
            message = "The model wrote a tool's output without calling a tool."
            return Failure(FailurePattern.FABRICATED_OUTPUT, message, whole)
        if (not said or self.found.no_action) and not self.config.native:
            return self._no_action(whole)
        return fault

    @staticmethod
    def _no_action(whole: tuple[int, int]) -> Failure:
        message = "The thought leads to neither an action nor an answer."
        return Failure(FailurePattern.NO_ACTION, message, whole)

    def _has_leftovers(self) -> bool:
        """Tell whether the remains of a call stand in the text; an answer may talk of them."""
        last = len(self.text[: self.cut].rstrip())
        for start, end in self.found.leftovers:
            before = self.text[max(0, start - _LOOK_BACK) : start].rpartition("\n")[2]
            alone = not before.strip() or end >= last
            if start < self.cut and (alone or not self.config.native):
                return True
        return False


def _is_torn(said: str) -> bool:
    """Tell whether a text is an object that stops before its end."""
    try:
        return said[:2] not in ("[[", "[]") and bool(decode_value(said, 0).torn)
    except LenientError:
        return False


def _is_element(said: str) -> bool:
    return said.startswith("<") and said.endswith(">")


def _only_signal(signal: MetaSignal, thought: str | None, whole: tuple[int, int]) -> Turn:
    """Turn a signal that stands alone into what it asks for."""
    if isinstance(signal, Stuck):
        request = signal.request
        if isinstance(request, Clarification):
            return Turn((AskUser(" ".join(request.questions)),), thought, signal, span=whole)
        return Turn((), thought, signal, span=whole)
    if isinstance(signal, Uncertain) and signal.partial_answer:
        return Turn((FinalAnswer(signal.partial_answer),), thought, signal, span=whole)
    if isinstance(signal, Thinking):
        message = "The reply is nothing but thinking."
        return Turn((), thought, signal, Failure(FailurePattern.NO_ACTION, message, whole))
    return Turn((), thought, signal, span=whole)
