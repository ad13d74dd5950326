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
from loopmend.reading.fitting import fit, fit_text, fits
from loopmend.reading.found import Call, Dialect, Found, Source
from loopmend.reading.intent import find_fault, has_markup, is_plain
from loopmend.reading.native import read_native
from loopmend.reading.segments import segment
from loopmend.reading.signals import read_signal
from loopmend.reading.tools import Toolbox, Tools, toolbox_of
from loopmend.reading.turn import Failure, FailurePattern, Fidelity, ReadingConfig, Repair, Turn

__all__ = ["read_turn"]

_DEFAULT = ReadingConfig()
# Only before a thought or an action is it another turn; a quiz may hold questions as well.
_NEXT_QUESTION = re.compile(
    r"^[ \t]*Question(?: \d{1,3})?:[^\n]*\n\s{0,20}(?:Thought|Action)(?: \d{1,3})?:", re.MULTILINE
)
# Only as ReAct asks for it: a thought, and then the answer.
_ANSWER_HEADER = re.compile(r"\A\s{0,20}Thought:[^\n]*\n\s{0,20}(?:Final )?Answer:")
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
        return _strictly(_native(text, toolbox, native_calls, config), config)
    if "Question" in text and (end := _run_on(text)) is not None:
        return _strictly(_until(text, end, toolbox, config), config)
    if not config.dialects and text.startswith("Thought: "):
        clean = read_clean(text, phrases=config.detect_signals is True)
        if clean is not None and (clean := _fitted(clean, toolbox)) is not None:
            return clean
    if not config.dialects and is_plain(text) and _takes_prose(config):
        return Turn((Final(text.strip()),), span=(0, len(text)))
    source = Source(segment(text), toolbox)
    found, dialect = _find(source, (*config.dialects, *DIALECTS))
    if found is not None and config.native and _only_talk(source, found, dialect):
        found = None
    if found is not None:
        return _strictly(_conclude(source, _chosen(found, config), dialect, config), config)
    return _strictly(_unended(source, config) or _plain(source, config), config)


def _only_talk(source: Source, found: Found, dialect: str | None) -> bool:
    """Tell whether a text only talks of calls, where they would go through the interface."""
    if dialect == "react" and (found.calls or found.failure is not None):
        names = [call.name for call in found.calls]
        known = source.tools is not None and any(source.tools.find(n)[0] for n in names)
        return not known
    if dialect == "objects" and source.tools is not None:
        tools = source.tools
        return all(not tools.find(c.name)[0] and not tools.nearest(c.name) for c in found.calls)
    if found.failure is not None and not found.calls:
        return not has_markup(source.segments.say(), native=True)
    if dialect == "calls":  # prose after a call explains it
        return bool(source.text[found.span[1] :].strip("` \n\t]);"))
    return False


def _run_on(text: str) -> int | None:
    """Return where a model goes on with a question of its own, as if it were another example."""
    for match in _NEXT_QUESTION.finditer(text):
        if text[: match.start()].strip():
            return match.start()
    return None


def _until(text: str, end: int, tools: Toolbox | None, config: ReadingConfig) -> Turn:
    """Read a text up to a place, and note that the rest was cut off."""
    turn = read_turn(text[:end], tools=tools, config=replace(config, strict=False))
    repair = Repair("made-up question cut off", (end, len(text)))
    fidelity: Fidelity = "repaired" if turn.fidelity == "exact" else turn.fidelity
    return replace(turn, fidelity=fidelity, repairs=(*turn.repairs, repair))


def _takes_prose(config: ReadingConfig) -> bool:
    """Tell whether prose is the answer as it is, and phrases in it do not matter."""
    return config.detect_signals is not True and config.plain_text == "answer"


def _fitted(turn: Turn, tools: Toolbox | None) -> Turn | None:
    """Return a turn of one action as the tools take it, if that is plain to see."""
    if tools is None or not isinstance(call := turn.actions[0], ToolCall):
        return turn
    arguments = fit_text(call.name, call.arguments, tools)
    if arguments is None or arguments is call.arguments:
        return None if arguments is None else turn
    fitted = ToolCall(call.name, arguments)
    return Turn((fitted,), turn.thought, dialect="react", span=turn.span)


def _strictly(turn: Turn, config: ReadingConfig) -> Turn:
    """Refuse what had to be repaired, if that is wanted."""
    if not config.strict or turn.fidelity == "exact":
        return turn
    what = ", ".join(dict.fromkeys(repair.what for repair in turn.repairs)) or "its form"
    span = turn.repairs[0].span if turn.repairs else turn.span
    failure = turn.failure or Failure(FailurePattern.MALFORMED, f"To be mended: {what}.", span)
    return replace(turn, actions=(), failure=failure, fidelity="exact")


def _chosen(found: Found, config: ReadingConfig) -> Found:
    """Keep what counts of an action and an answer in one turn."""
    both = found.failure is not None and found.failure.pattern is FailurePattern.ACTION_AND_ANSWER
    if not both or found.failure is None or config.action_and_answer == "error":
        return replace(found, answer=None) if both else found
    if config.action_and_answer == "answer":
        return replace(found, calls=[], failure=None, exact=False, span=(0, found.failure.span[1]))
    repair = Repair("answer beside an action cut off", found.failure.span)
    return replace(found, answer=None, failure=None, repairs=[*found.repairs, repair])


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
    found = read_native(calls, len(text))
    if (
        not text
        and tools is not None
        and all(fits(c.name, c.arguments, tools) for c in found.calls)
    ):
        return Turn(tuple([ToolCall(c.name, c.arguments) for c in found.calls]), dialect="native")
    source = Source(segment(text), tools)
    turn = _conclude(source, found, "native", config)
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
        if found.calls and dialect.name != "react" and _is_answered(source.text, found.span[0]):
            continue
        if found.failure is None:
            return found, dialect.name
        failed = failed or (found, dialect.name)
        if dialect.name == "react":
            break
    return failed or (None, None)


def _is_answered(text: str, at: int) -> bool:
    """Tell whether a call stands in the words of an answer in ReAct's form."""
    header = _ANSWER_HEADER.search(text, 0, at)
    return header is not None and bool(text[header.end() : at].strip("` \n\t"))


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
    signal = read_signal(source.segments.say(), phrases=config.detect_signals is True)
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
    fault = find_fault(said, source.tools, whole[1], config)
    if fault is not None and fault.pattern is FailurePattern.NARRATED:
        fault = _unless_element(said, fault)  # an attempt in a signal is no plan
    phrases = config.detect_signals is True
    signal = read_signal(said, phrases=phrases) if config.detect_signals else None
    if fault is None and config.plain_text == "error":
        message = "There is neither an action nor an answer in the form that was asked for."
        fault = _unless_element(said, Failure(FailurePattern.NO_ACTION, message, whole))
    if fault is not None:
        echo = fault.pattern is FailurePattern.TEMPLATE_ECHO
        return Turn((), thought, None if echo else signal, fault)
    if isinstance(signal, Answer) and "</" in said:
        return Turn((Final(signal.content),), thought, signal, span=whole)
    if isinstance(signal, (Stuck, Yield, Uncertain, Thinking)) and _is_element(said):
        return _only_signal(signal, thought, whole)
    return Turn((Final(said),), thought, signal, span=whole)


def _unless_element(said: str, fault: Failure) -> Failure | None:
    """Return the fault, but not for a signal in tags, which is a form too."""
    return None if _is_element(said) and read_signal(said) is not None else fault


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
