"""ReAct text as simple parsers take it: the first word is the tool, the first object its input.

Agents were written against such parsers, LlamaIndex's among them, so what those make a call or an
answer of is one here, too: where a line holds both labels, or words stand around the input.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from loopmend.contracts.actions import FinalAnswer, ToolCall
from loopmend.reading.fitting import fit
from loopmend.reading.reader import read_turn
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Repair, Turn
from loopmend.reading.written_calls import Call

__all__ = ["read_react"]

P: Final = FailurePattern
_CALL: Final = re.compile(r"^Action: ([^\n() ]+)(?=[\n() ])[^\n]*\n+Action Input: ", re.MULTILINE)
_DECODER: Final = json.JSONDecoder()
_UNANSWERED: Final = frozenset({P.NO_ACTION, P.NARRATED})
_UNREAD: Final = frozenset({P.BAD_ARGUMENTS, P.MALFORMED, P.MISSING_INPUT, P.UNKNOWN_TOOL})


def read_react(text: str, tools: Toolbox | None, config: ReadingConfig) -> Turn:
    r"""Read a reply where ReAct text was asked for, and no less of it than simple parsers do.

    >>> text = 'Thought: t\nAction: ask\nAction Input: Engine({"input": "Oslo"})'
    >>> read_react(text, Toolbox(["ask"]), ReadingConfig()).actions[0].arguments
    {'input': 'Oslo'}
    """
    turn = read_turn(text, tools=tools, config=config)
    if turn.failure is not None and turn.failure.pattern in _UNANSWERED:
        return _answer(text) or turn
    return _call(text, turn, tools) or turn


def _answer(text: str) -> Turn | None:
    """Return the answer behind a label that does not stand at the start of a line."""
    thought = text.find("Thought:")
    answer = text.find("Answer:", thought)
    said = text[answer + len("Answer:") :].strip()
    if thought < 0 or answer < 0 or "Action:" in text[:answer] or not said:
        return None
    before = text[thought + len("Thought:") : answer].strip()
    return Turn((FinalAnswer(said),), before, dialect="react", span=(answer, len(text)))


def _call(text: str, turn: Turn, tools: Toolbox | None) -> Turn | None:
    """Return a call with the first object of its input, if the reader made less of that."""
    found = _CALL.search(text)
    start = -1 if found is None else text.find("{", found.end())
    if found is None or start < 0:
        return None
    try:
        given, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not _left(turn, text[start:end]):
        return None
    repairs: list[Repair] = []
    call = fit(Call(found[1], given, (start, end)), tools, repairs)
    if isinstance(call, Failure) or repairs or not _takes(tools, call):
        return None
    repair = Repair("took the object out of the input", (start, end))
    thought = turn.thought or text[: found.start()].strip() or None
    return Turn((call,), thought, None, None, "repaired", (repair,), "react", (found.start(), end))


def _takes(tools: Toolbox | None, call: ToolCall) -> bool:
    spec = None if tools is None else tools.find(call.name)
    return spec is None or not spec.known or set(call.arguments) <= set(spec.parameters)


def _left(turn: Turn, written: str) -> bool:
    """Tell whether an object was not read as the input: nothing was, or a text that holds it."""
    if turn.failure is not None:
        return turn.failure.pattern in _UNREAD
    calls = [call.arguments for call in turn.calls]
    given: Any = calls[0] if len(calls) == len(turn.actions) == 1 else None
    values = given.values() if isinstance(given, dict) else [given]
    return any(isinstance(value, str) and written in value for value in values)
