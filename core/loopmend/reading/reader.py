"""Reading a turn: every dialect by its evidence, then the tools, then what is left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from loopmend._arguments import not_text
from loopmend.contracts.actions import AgentAction, AskUser, Final, ToolCall, parse_action
from loopmend.contracts.signals import (
    Answer,
    Clarification,
    MetaSignal,
    Stuck,
    Thinking,
    Uncertain,
    Yield,
)
from loopmend.errors import ActionParseError
from loopmend.reading.clean import read_clean
from loopmend.reading.dialects import DIALECTS
from loopmend.reading.fitting import fit
from loopmend.reading.found import Call, Dialect, Found, Source
from loopmend.reading.intent import find_fault
from loopmend.reading.native import read_native
from loopmend.reading.segments import segment
from loopmend.reading.signals import read_signal
from loopmend.reading.tools import Toolbox, Tools, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, Fidelity, ReadingConfig, Repair, Turn

__all__ = ["read_turn"]

_DEFAULT = ReadingConfig()
# A wrapper such as `<function_calls>` may stand between the word and the call.
_EXAMPLE = re.compile(
    r"\b(?:for example|example|e\.g\.)\s*[:,]\s*(?:<[\w:]{1,40}>\s*)?\Z", re.IGNORECASE
)


def read_turn(
    text: str,
    *,
    tools: Tools = None,
    native_calls: Sequence[Any] | None = None,
    config: ReadingConfig = _DEFAULT,
) -> Turn:
    """Read what a model emitted into the actions it asks for, or say why not.

    No model is called and none is guessed: every dialect is tried by its evidence in the
    text. What had to be put right is listed; what cannot be read for sure is a failure.

    Args:
        text: What the model emitted.
        tools: What is on offer: OpenAI-style schemas, JSON Schemas with a title, pydantic
            models, callables, tool objects or bare names. `None` if that is unknown.
        native_calls: Calls that the provider returned beside the text.
        config: How to read.

    Raises:
        TypeError: `text` is not a `str`, or a tool or a native call has no name.

    >>> read_turn('Sure! <tool_call>{"name": "search", "arguments": {"q": "rust",}}</tool_call>')
    ... # doctest: +ELLIPSIS
    Turn(actions=(ToolCall(name='search', arguments={'q': 'rust'}, type='tool_call'),), ...
    >>> read_turn("I will use the `search` tool.", tools=["search"]).failure.message
    'It is told what will be done with `search`, but nothing is called.'
    """
    if not isinstance(text, str):
        raise not_text(text, "text")
    toolbox = toolbox_of(tools)
    if native_calls:
        return _native(text, toolbox, native_calls, config)
    if toolbox is None and not config.dialects and (clean := read_clean(text)) is not None:
        return clean
    source = Source(segment(text), toolbox)
    found, dialect = _find(source, (*config.dialects, *DIALECTS))
    if found is not None:
        return _conclude(source, found, dialect, config)
    return _unended(source, config) or _plain(source, config)


def _unended(source: Source, config: ReadingConfig) -> Turn | None:
    """Read what was asked for within thinking that never ends, if anything was."""
    opened = source.segments.opened()
    if opened is None or source.segments.say():
        return None
    inside = Source(opened, source.tools)
    found, dialect = _find(inside, (*config.dialects, *DIALECTS))
    if found is None or found.failure is not None:
        return None
    start = opened.hidden[0][1]
    turn = _conclude(inside, found, dialect, config)
    repair = Repair("thinking that never ends", (start, start))
    fidelity: Fidelity = turn.fidelity if turn.failure else "repaired"
    return replace(turn, fidelity=fidelity, repairs=(repair, *turn.repairs))


def _native(text: str, tools: Toolbox | None, calls: Sequence[Any], config: ReadingConfig) -> Turn:
    source = Source(segment(text), tools)
    turn = _conclude(source, read_native(calls, len(text)), "native", config)
    said = source.segments.say()
    return replace(turn, thought="\n".join(p for p in (turn.thought, said) if p) or None)


def _find(source: Source, dialects: Sequence[Dialect]) -> tuple[Found | None, str | None]:
    action = _contract(source.text)
    if action is not None:
        span = (0, len(source.text))
        if isinstance(action, Final):
            return Found(span, answer=action.content), "contract"
        if isinstance(action, AskUser):
            return Found(span, question=action.question), "contract"
        return Found(span, [Call(action.name, action.arguments, span)]), "contract"
    failed: tuple[Found, str] | None = None
    for dialect in dialects:
        found = dialect.read(source)
        if found is None or _is_example(source.text, found):
            continue
        if found.failure is None:
            return found, dialect.name
        failed = failed or (found, dialect.name)
        if dialect.name == "react":
            break
    return failed or (None, None)


def _is_example(text: str, found: Found) -> bool:
    """Tell whether the model only shows how a call would look."""
    start = found.span[0]
    return _EXAMPLE.search(text[max(0, start - 60) : start]) is not None


def _contract(text: str) -> AgentAction | None:
    if '"type"' not in text:
        return None
    try:
        return parse_action(text)
    except ActionParseError:
        return None


def _conclude(source: Source, found: Found, dialect: str | None, config: ReadingConfig) -> Turn:
    """Fit what was found to the tools and say how sure it is."""
    thought = "\n".join(part for part in (source.segments.thought, found.thought) if part) or None
    repairs = list(found.repairs)
    actions: list[AgentAction] = []
    failure = found.failure
    if found.answer is not None:
        actions = [Final(found.answer)]
    elif found.question is not None:
        actions = [AskUser(found.question)]
    for call in found.calls:
        fitted = fit(call, source.tools, repairs)
        if isinstance(fitted, Failure):
            failure = failure or fitted
        else:
            actions.append(fitted)
    signal = _signal(source, actions, config)
    if failure is not None:
        kept = tuple(actions) or _salvaged(found, source)
        kept = kept if config.salvage else ()
        fidelity: Fidelity = "salvaged" if kept else "exact"
        return Turn(kept, thought, signal, failure, fidelity, tuple(repairs), dialect, found.span)
    fidelity = "repaired" if repairs or not found.exact else "exact"
    return Turn(
        tuple(actions), thought, signal, None, fidelity, tuple(repairs), dialect, found.span
    )


def _salvaged(found: Found, source: Source) -> tuple[AgentAction, ...]:
    """Return what the calls would be if one believed them."""
    known = [call for call in found.calls if isinstance(call.arguments, (dict, str))]
    names = source.tools.tools if source.tools is not None else None
    return tuple(
        ToolCall(call.name, call.arguments) for call in known if names is None or call.name in names
    )


def _signal(source: Source, actions: list[AgentAction], config: ReadingConfig) -> MetaSignal | None:
    """Return the signal; beside a call one that would end the run does not count."""
    if not config.detect_signals:
        return None
    signal = read_signal(source.segments.say())
    calls = any(isinstance(action, ToolCall) for action in actions)
    return None if calls and isinstance(signal, (Answer, Stuck, Yield)) else signal


def _plain(source: Source, config: ReadingConfig) -> Turn:
    said = source.segments.say()
    whole = (0, len(source.segments.text))
    thought = source.segments.thought
    if not said:
        if config.after_tool_result:
            return Turn((Final(""),), thought, span=whole)
        message = "There is only thinking." if thought else "Nothing was said."
        return Turn((), thought, failure=Failure(FailurePattern.EMPTY, message, whole))
    fault = find_fault(said, source.tools, whole[1])
    signal = read_signal(said) if config.detect_signals else None
    if fault is not None:
        echo = fault.pattern is FailurePattern.TEMPLATE_ECHO
        return Turn((), thought, None if echo else signal, fault)
    if isinstance(signal, Answer) and "</" in said:
        return Turn((Final(signal.content),), thought, signal, span=whole)
    if isinstance(signal, (Stuck, Yield, Uncertain, Thinking)) and _is_element(said):
        return _only_signal(signal, thought, whole)
    return Turn((Final(said),), thought, signal, span=whole)


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
        return Turn((Final(signal.partial_answer),), thought, signal, span=whole)
    if isinstance(signal, Thinking):
        message = "There is only thinking."
        return Turn((), thought, signal, Failure(FailurePattern.NO_ACTION, message, whole))
    return Turn((), thought, signal, span=whole)
