"""Reading a turn: from the text to its tree, to what it asks for, to what it clearly means."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from typing import Final as Constant

from loopmend._arguments import not_text
from loopmend.contracts.actions import AgentAction, AskUser, FinalAnswer, ToolCall
from loopmend.reading.calls import collect
from loopmend.reading.candidates import Candidate
from loopmend.reading.evidence import Around, Doubt, merged, why_not_meant
from loopmend.reading.fitting import fit
from loopmend.reading.native import native_calls_in
from loopmend.reading.quick import quick_turn
from loopmend.reading.source import Source
from loopmend.reading.spans import grow
from loopmend.reading.tools import Toolbox, Tools, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, Fidelity, ReadingConfig, Repair, Turn
from loopmend.reading.utterance import Utterance
from loopmend.reading.written_calls import Call

__all__ = ["read", "read_slowly", "read_turn"]

_DEFAULT = ReadingConfig()
_STRAY: Constant = re.compile(r"\s*[\]})]+")


def read_turn(
    text: str,
    *,
    tools: Tools = None,
    native_calls: Sequence[Any] | None = None,
    config: ReadingConfig = _DEFAULT,
) -> Turn:
    """Read a model's reply into the actions that it asks for, or say why not.

    It calls no model and does not need to know which model replied. The turn lists every repair. A
    reply that is not certain, or that may only show a call, is a failure.

    Args:
        text: The model's reply.
        tools: The available tools: OpenAI-style schemas, JSON Schemas with a title, pydantic
            models, callables, tool objects or bare names. `None` if unknown.
        native_calls: Calls that the provider returned with the text.
        config: How to read.

    Raises:
        TypeError: `text` is not a `str`, or a tool or a native call has no name.

    >>> read_turn('Sure! <tool_call>{"name": "search", "arguments": {"q": "rust",}}</tool_call>')
    ... # doctest: +ELLIPSIS
    Turn(actions=(ToolCall(name='search', arguments={'q': 'rust'}, type='tool_call'),), ...
    >>> read_turn("I will use the `search` tool.", tools=["search"]).failure.message
    'The model described a call to `search` without making it.'
    >>> read_turn('The page says: "search(q=1)"', tools=["search"]).actions[0].type
    'final'
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    return read(text, toolbox_of(tools), native_calls, config)


def read(
    text: str, tools: Toolbox | None, native_calls: Sequence[Any] | None, config: ReadingConfig
) -> Turn:
    """Read a turn: the short way if it is beyond doubt, else the long one."""
    if not native_calls and (turn := quick_turn(text, tools, config)) is not None:
        return turn
    return read_slowly(text, tools, native_calls, config)


def read_slowly(
    text: str, tools: Toolbox | None, native_calls: Sequence[Any] | None, config: ReadingConfig
) -> Turn:
    """Read a turn the long way, which knows everything."""
    source = Source(text)
    turn = _turn(source.text, tools, native_calls, config)
    certain = source.certain and turn.dialect is not None and not native_calls
    if source.changed not in (None, "brackets") and not certain:
        # Nothing was read out of the text: then nothing in it is put right, if that says the same.
        as_it_is = _turn(text, tools, native_calls, config)
        if _outcome(as_it_is) == _outcome(turn):
            return _strictly(as_it_is, config)
    return _strictly(source.placed(turn), config)


def _outcome(turn: Turn) -> tuple[Any, ...]:
    failed = turn.failure and turn.failure.pattern
    return (failed, *(getattr(action, "name", action.type) for action in turn.actions))


def _turn(
    text: str, tools: Toolbox | None, native_calls: Sequence[Any] | None, config: ReadingConfig
) -> Turn:
    tree = grow(text, tools)
    in_text = not (config.native or native_calls)
    if in_text and not tree.whole:
        return _too_much(text)
    found = collect(tree, tools)
    if in_text and found.too_many:
        return _too_much(text)
    reading = _Reading(tree.text, found, tools, config)
    return reading.native(native_calls) if native_calls else reading.text_turn()


def _too_much(text: str) -> Turn:
    message = "The reply has too much markup to read reliably."
    return Turn(failure=Failure(FailurePattern.MALFORMED, message, (0, len(text))))


def _strictly(turn: Turn, config: ReadingConfig) -> Turn:
    """Refuse what had to be repaired, if that is wanted."""
    if not config.strict or turn.fidelity == "exact":
        return turn
    what = ", ".join(dict.fromkeys(repair.what for repair in turn.repairs)) or "its form"
    span = turn.repairs[0].span if turn.repairs else turn.span
    failure = turn.failure or Failure(
        FailurePattern.MALFORMED, f"Strict reading allows no repairs: {what}.", span
    )
    return replace(turn, actions=(), failure=failure, fidelity="exact")


class _Reading(Utterance):
    """What follows from all that is known of a text."""

    def native(self, calls: Sequence[Any]) -> Turn:
        """Read calls that came beside the text."""
        made, failure = native_calls_in(calls, len(self.text))
        failure = failure or self._left_in_text({call.name for call in made})
        turn = self._fitted(made, (len(self.text), len(self.text)), "native", failure)
        said = self.said()
        return replace(turn, thought="\n".join(p for p in (self.thought, said) if p) or None)

    def _left_in_text(self, made: set[str]) -> Failure | None:
        """Return the failure if the text calls another tool beside those of the interface."""
        if self.tools is None:
            return None
        found = [c for c in self._candidates(self.found.answer) if c.calls and not c.loose]
        known = [(call, c.span) for c in found for call in c.calls if self.tools.find(call.name)]
        other = next(((call, span) for call, span in known if call.name not in made), None)
        if other is None or why_not_meant(self.around, found) is not None:
            return None
        call, span = other
        message = f"The text calls `{call.name[:80]}` beside the calls of the interface."
        fitted = fit(call, self.tools, [])
        meant = fitted if isinstance(fitted, ToolCall) else None
        return Failure(FailurePattern.TEXTUAL_CALL, message, span, call.name, call=meant)

    def text_turn(self) -> Turn:
        """Read what the text itself asks for."""
        for form in self.config.forms:
            if calls := form(self.text):
                whole = (0, len(self.text))
                made = [Call(call.name, call.arguments, whole) for call in calls]
                return self._fitted(made, whole, "own", None)
        answer = self.found.answer
        candidates = self._candidates(answer)
        calls = [c for c in candidates if c.calls or c.failure is not None]
        said = next((c for c in candidates if c.answer is not None), None)
        if calls:
            if answer is not None:
                return self._both(calls, answer)
            return self._called(calls, said)
        if said is not None and said.answer is not None:
            return self._said(said)
        if answer is not None:
            return self._answered(*answer)
        return self.plain()

    def _candidates(self, answer: tuple[str, tuple[int, int]] | None) -> list[Candidate]:
        """Return what counts: nothing made up, nothing behind an answer, nothing in thinking."""
        kept: list[Candidate] = []
        if not self.found.candidates:
            return kept
        thoughts = merged(self.found.thoughts)
        over = sys.maxsize
        if answer is not None and not answer[0].endswith(":"):  # else it goes on with what follows
            over = answer[1][0]
        for candidate in self.found.candidates:
            if candidate.span[0] >= self.cut or candidate.shown in _NOT_SAID:
                continue
            start = candidate.span[0]
            index = bisect_right(thoughts, (start, sys.maxsize)) - 1
            if index >= 0 and start < thoughts[index][1]:
                continue
            if candidate.span[0] >= over:
                self.repairs.append(Repair("action after the answer cut off", candidate.span))
                continue
            if self.config.native and not self._is_known(candidate) and candidate.form != "tags":
                continue
            kept.append(candidate)
        return kept

    def _is_known(self, candidate: Candidate) -> bool:
        """Tell whether a candidate names a tool on offer, or nearly."""
        if self.tools is None or candidate.answer is not None:
            return candidate.answer is None
        names = [call.name for call in candidate.calls]
        if candidate.failure is not None and candidate.failure.tool:
            names.append(candidate.failure.tool)
        return any(self.tools.find(n) or self.tools.nearest(n) for n in names)

    def _called(self, candidates: list[Candidate], said: Candidate | None) -> Turn:
        doubt = None
        if said is not None and said.span[0] < candidates[0].span[0]:
            doubt = Doubt("an answer comes before it")
        elif said is not None:
            self.repairs.append(Repair("answer beside an action cut off", said.span))
        shown = any(candidate.shown for candidate in candidates)
        if self.config.calls == "sure" or shown:
            around = self.around
            if said is not None:
                around = Around(self.text, self.found, 0, min(self.cut, said.span[0]))
            doubt = doubt or why_not_meant(around, candidates)
        if doubt is not None:
            return self._unclear(candidates, doubt)
        span = (candidates[0].span[0], max(c.span[1] for c in candidates))
        failure = next((c.failure for c in candidates if c.failure is not None), None)
        calls = [call for candidate in candidates for call in candidate.calls]
        self.repairs += self.found.repairs
        self._note_stray(span[1])
        return self._fitted(calls, span, candidates[0].form, failure)

    def _unclear(self, candidates: list[Candidate], doubt: Doubt) -> Turn:
        """Say that calls may only be shown, unless nobody would mistake them for calls.

        Where calls go through the provider's interface, a call that stands in a quotation or in
        code is part of an answer.
        """
        if self.config.native and doubt.placed:
            return self.plain()
        serious = [
            c for c in candidates if not c.loose and (c.form in _MARKED or self._is_on_offer(c))
        ]
        if not serious:
            return self.plain()
        first = serious[0]
        name = next((c.name for c in first.calls), first.failure.tool if first.failure else None)
        what = f"`{name[:80]}`" if name else "a tool"
        message = f"Unclear whether {what} is being called or quoted: {doubt.why}."
        failure = Failure(FailurePattern.MALFORMED, message, first.span, name)
        signal = self._signal([])
        return Turn((), self.thought, signal, failure, dialect=first.form, span=first.span)

    def _is_on_offer(self, candidate: Candidate) -> bool:
        if self.tools is None or candidate.failure is not None:
            return True
        return any(self.tools.find(call.name) for call in candidate.calls)

    def _fitted(
        self, calls: list[Call], span: tuple[int, int], form: str, failure: Failure | None
    ) -> Turn:
        """Fit calls to the tools and say how sure they are."""
        actions: list[AgentAction] = []
        for call in calls:
            fitted = fit(call, self.tools, self.repairs, self.config.question)
            if isinstance(fitted, Failure):
                failure = failure or fitted
            else:
                actions.append(fitted)
        signal = self._signal(actions)
        self._note_cut()
        repairs = tuple(self.repairs)
        if failure is not None:
            kept = (tuple(actions) or self._likely(calls)) if self.config.salvage else ()
            fidelity: Fidelity = "salvaged" if kept else "exact"
            return Turn(kept, self.thought, signal, failure, fidelity, repairs, form, span)
        fidelity = "repaired" if repairs else "exact"
        return Turn(tuple(actions), self.thought, signal, None, fidelity, repairs, form, span)

    def _note_stray(self, end: int) -> None:
        """Note brackets behind the last call that close nothing."""
        stray = _STRAY.match(self.text, end)
        if stray:
            self.repairs.append(Repair("stray bracket", stray.span()))

    def _likely(self, calls: list[Call]) -> tuple[AgentAction, ...]:
        """Return what calls would be if one believed them."""
        return tuple(
            ToolCall(call.name, call.arguments)
            for call in calls
            if isinstance(call.arguments, (dict, str))
            and (self.tools is None or call.name in self.tools.tools)
        )

    def _both(self, calls: list[Candidate], answer: tuple[str, tuple[int, int]]) -> Turn:
        """Choose between an action and an answer in one turn; behind an answer it is part of it."""
        text, span = answer
        if self.config.action_and_answer == "action" and calls[0].span[0] < span[0]:
            self.repairs.append(Repair("answer beside an action cut off", span))
            self.around = Around(self.text, self.found, 0, calls[-1].span[1])
            return self._called(calls, None)
        if self.config.action_and_answer == "answer":
            self.repairs.append(Repair("action beside an answer cut off", calls[0].span))
            return self._answered(text, span)
        message = "The turn has both an action and a final answer."
        failure = Failure(FailurePattern.ACTION_AND_ANSWER, message, (calls[0].span[0], span[1]))
        made = [call for candidate in calls for call in candidate.calls]
        return self._fitted(made, calls[0].span, "react", failure)

    def _said(self, candidate: Candidate) -> Turn:
        """Return the answer or the question that has the shape of a call."""
        said = candidate.answer
        assert said is not None
        action: AgentAction = AskUser(said.text) if said.question else FinalAnswer(said.text)
        fidelity: Fidelity = "repaired" if self.repairs else "exact"
        signal = self._signal([action])
        return Turn(
            (action,),
            self.thought,
            signal,
            None,
            fidelity,
            tuple(self.repairs),
            candidate.form,
            candidate.span,
        )

    def _answered(self, text: str, span: tuple[int, int]) -> Turn:
        if not text:
            failure = Failure(FailurePattern.EMPTY, "The answer is empty.", span)
            return Turn((), self.thought, None, failure, dialect="react", span=span)
        self._note_cut()
        self.repairs += self.found.repairs
        fidelity: Fidelity = "repaired" if self.repairs else "exact"
        action = FinalAnswer(text)
        signal = self._signal([action])
        repairs = tuple(self.repairs)
        return Turn((action,), self.thought, signal, None, fidelity, repairs, "react", span)


_MARKED: Constant = ("tags", "react")
_NOT_SAID: Constant = ("an answer", "thinking")
