"""The short way for what is beyond doubt: plain ReAct lines, plain prose, calls that fit.

Most replies of well-behaved models are so. Each function here answers `None` or `False` where it
would take a second look, and else just what the long way answers; tests/core/reading/test_quick.py
holds them to that.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast
from typing import Final as Constant

from loopmend.contracts.actions import FinalAnswer, ToolCall
from loopmend.contracts.signal_detection import implied_signal
from loopmend.reading.pairs import sure_value
from loopmend.reading.placeholders import is_placeholder, is_schema
from loopmend.reading.sections import has_header_lines
from loopmend.reading.tools import Toolbox
from loopmend.reading.turn import ReadingConfig, Turn

__all__ = ["CleanParts", "clean_parts", "fit_text", "fits", "is_plain", "quick_turn"]

# One line without anything that could be markup, a header or a call.
_MARKUP: Constant = r"\n\r<`~*{}\[\]|:("
_LINE: Constant = rf"[^\s{_MARKUP}](?:[^{_MARKUP}]*[^\s{_MARKUP}])?"
_INPUT: Constant = rf"[^\s{_MARKUP}\"'=](?:[^{_MARKUP}\"=]*[^\s{_MARKUP}\"'=])?"
_ANSWER: Constant = r"[^\s<`*{\[](?:[^\n\r<`]*[^\s<`])?(?<!\|\])"  # that may end a token
# What tools with named parameters are given: one flat object, each value a number or plain words.
_VALUE: Constant = r"(?:-?[0-9]{1,15}|true|false|\"[A-Za-z0-9 ,;!?'-]*\")"
_OBJECT: Constant = re.compile(
    rf"Thought: (?P<thought>{_LINE})[ ]?\n"
    rf"Action: (?P<name>[A-Za-z_](?:[\w.\-]*\w)?)[ ]?\nAction Input: "
    rf"(?P<input>\{{\"\w+\": {_VALUE}(?:, \"\w+\": {_VALUE})*\}})\s*",
    re.ASCII,
)
_REACT: Constant = re.compile(
    rf"(?:Thought: (?P<thought>{_LINE})[ ]?\n)?"
    rf"(?:Action: (?P<name>[A-Za-z_](?:[\w.\-]*\w)?)[ ]?\nAction Input: (?P<input>{_INPUT})"
    rf"|(?:Final )?Answer: (?P<answer>{_ANSWER}))\s*"
)
_HEADERS: Constant = ("Thought: ", "Final Answer: ")
# A call that is all of the text, as the contract or as most models write it.
_WORDS: Constant = r"\"[A-Za-z0-9 ,;!?'./:@_()#&%+=-]*\""
_PAIR: Constant = rf"\"\w+\": ?(?:-?[0-9]{{1,15}}|true|false|{_WORDS})"
_CALL: Constant = re.compile(
    r"\{(?P<typed>\"type\": ?\"tool_call\", ?)?\"name\": ?\"(?P<name>[A-Za-z_]\w*)\", ?"
    rf"\"arguments\": ?(?P<input>\{{(?:{_PAIR}(?:, ?{_PAIR})*)?\}})\}}",
    re.ASCII,
)
_REFUSED: Constant = frozenset(
    {"none", "null", "na", "nothing", "finish", "final", "respond", "answer", "final_answer"}
)
# Whatever any mark, any header or any rule about prose needs to be found.
_SIGN: Constant = re.compile(r"[^ \n\t!#$%)*+,\-./0-9;@A-Z\\\]^_a-z}]")
_PLAN: Constant = re.compile(
    r"\b(?:i\s+(?:will|am|shall|need|have|must|should|would|can|could)\b"
    r"|we\s+(?:will|need|should)\b|let\s+(?:me|us)\b|allow\s+me\b|lemme\b|gonna\b|gotta\b|while\s+i\b|(?:going|time|need|about)\s+to\b|(?:now|for you|repeat|action|hold on|wait)\b"
    r"|(?:im|ill|lets)\b|ich\b|lass\b|laisse|je\b|voy\b|vou\b|deixe|sto\b|vado\b|lasciami\b|ik\b|laat\b)"
)
_WORD: Constant = re.compile(r"\w")
_TYPED: Constant = frozenset({"type", "anyOf", "oneOf"})
_AS_THEY_ARE: Constant[dict[type, tuple[str, ...]]] = {
    int: ("integer", "number"),
    bool: ("boolean",),
}

# To fill a frozen value costs several times as much as an open one, so what is made for each
# reply is filled first and frozen then. Python refuses that for classes whose slots differ.
_OpenTurn: Constant[Any] = type("OpenTurn", (), {"__slots__": Turn.__slots__})
_OpenAnswer: Constant[Any] = type("OpenAnswer", (), {"__slots__": FinalAnswer.__slots__})
_OpenCall: Constant[Any] = type("OpenCall", (), {"__slots__": ToolCall.__slots__})


class CleanParts(NamedTuple):
    """What a turn in plain lines consists of."""

    thought: str | None
    name: str | None
    """The tool's name; `None` for an answer."""
    content: str
    """The input or the answer."""
    start: int
    """Where the action or the answer starts."""


def clean_parts(text: str) -> CleanParts | None:
    r"""Return the parts of a text that is one thought and one action or answer, in plain lines.

    An answer may stand by itself.

    >>> clean_parts("Thought: I look.\nAction: search\nAction Input: Oslo").name
    'search'
    """
    match = _REACT.fullmatch(text) if text.startswith(_HEADERS) and text.isascii() else None
    if match is None:
        return None
    thought, name, given, answer = match.groups()
    if name is None:
        return CleanParts(thought, None, answer, match.start(4) - 1)
    return None if name.lower() in _REFUSED else CleanParts(thought, name, given, 0)


def quick_turn(text: str, tools: Toolbox | None, config: ReadingConfig) -> Turn | None:
    """Return the turn of a text that keeps to its form, or `None` to take the long way."""
    if config.forms:
        return None
    phrases = config.detect_signals is True
    if not text.startswith(_HEADERS):
        if text.startswith('{"'):
            return _json_call(text, tools)
        if config.plain_text == "error" or not is_plain(text) or (phrases and implied_signal(text)):
            return None
        return Turn((FinalAnswer(text.strip()),), span=(0, len(text)))
    # What `clean_parts` does, without the value between: that took a tenth of the time.
    match = _REACT.fullmatch(text) if text.isascii() else None
    if match is None:
        return _with_object(text, tools) if tools is not None and not phrases else None
    if phrases and implied_signal(text):
        return None
    thought, name, given, answer = match.groups()
    if name is None:
        return _exact(_answer(answer), thought, match.start(4) - 1, text, "react")
    if name.lower() in _REFUSED:
        return None
    arguments = given if tools is None else fit_text(name, given, tools)
    if arguments is None:
        return None
    return _exact(_call(name, arguments), thought, 0, text, "react")


def _answer(content: str) -> FinalAnswer:
    answer = _OpenAnswer()
    answer.content = content
    answer.type = "final"
    answer.__class__ = FinalAnswer
    return cast("FinalAnswer", answer)


def _call(name: str, arguments: Any) -> ToolCall:
    call = _OpenCall()
    call.name = name
    call.arguments = arguments
    call.type = "tool_call"
    call.__class__ = ToolCall
    return cast("ToolCall", call)


def _exact(
    action: FinalAnswer | ToolCall, thought: str | None, start: int, text: str, dialect: str
) -> Turn:
    turn = _OpenTurn()
    turn.actions = (action,)
    turn.thought = thought
    turn.signal = turn.failure = None
    turn.fidelity = "exact"
    turn.repairs = ()
    turn.dialect = dialect
    turn.span = (start, len(text))
    turn.__class__ = Turn
    return cast("Turn", turn)


def _with_object(text: str, tools: Toolbox) -> Turn | None:
    """Return the turn of one thought and one action whose input is a flat object that fits."""
    match = _OBJECT.fullmatch(text)
    if match is None or match["name"].lower() in _REFUSED:
        return None
    try:
        given = sure_value(match["input"])
    except ValueError:  # a key comes twice, or a number begins with 0
        return None
    if not fits(match["name"], given, tools):
        return None
    return _exact(_call(match["name"], given), match["thought"], 0, text, "react")


def _json_call(text: str, tools: Toolbox | None) -> Turn | None:
    """Return the turn of a call that is all of the text, and whose flat arguments fit."""
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    typed, name, written = match.groups()
    try:
        given = sure_value(written)
    except ValueError:  # a key comes twice, or a number begins with 0
        return None
    spec = None if tools is None else tools.tools.get(name)
    if spec is not None and spec.known:
        known = fits(name, given, tools)  # type: ignore[arg-type]  # a spec is of some tools
    else:
        known = spec is not None or (tools is None and name.lower() not in _REFUSED)
        known = known and not is_schema(given) and not any(map(_is_slot, given.items()))
    if not known:
        return None
    return _exact(_call(name, given), None, 0, text, "contract" if typed else "json")


def _is_slot(pair: tuple[str, Any]) -> bool:
    return isinstance(pair[1], str) and is_placeholder(*pair)


def is_plain(text: str) -> bool:
    """Tell quickly whether a text is prose beyond doubt: no markup, no header, no plan."""
    if _SIGN.search(text) or "..." in text or _PLAN.search(text.lower()) or not _WORD.search(text):
        return False
    return not has_header_lines(text)


def fits(name: str, arguments: Any, tools: Toolbox) -> bool:
    """Tell quickly whether a call fits its tool as it is.

    >>> def search(query: str) -> str: ...
    >>> fits("search", {"query": "Oslo"}, Toolbox([search])), fits("search", {}, Toolbox([search]))
    (True, False)
    """
    spec = tools.tools.get(name)
    if spec is None or not spec.known or type(arguments) is not dict:
        return False
    for key, value in arguments.items():
        schema = spec.parameters.get(key)
        if type(schema) is not dict or "$ref" in schema or "allOf" in schema:
            return False
        if type(value) is str:
            if schema.get("type") != "string" or "enum" in schema or is_placeholder(key, value):
                return False
        elif not _takes_as_it_is(value, schema):
            return False
    return all(key in arguments for key in spec.required)


def _takes_as_it_is(value: Any, schema: dict[str, Any]) -> bool:
    """Tell whether a value is a whole number or a truth value, and the schema takes it."""
    kinds = _AS_THEY_ARE.get(type(value), ())
    return bool(kinds) and (schema.get("type") in kinds or not schema.keys() & _TYPED)


def fit_text(name: str, text: str, tools: Toolbox) -> str | dict[str, Any] | None:
    """Return what a tool takes of one line of plain text, or `None` if that takes a second look.

    >>> def search(query: str) -> str: ...
    >>> fit_text("search", "Oslo", Toolbox([search]))
    {'query': 'Oslo'}
    """
    spec = tools.tools.get(name)
    if spec is None or not spec.known:
        return None if spec is None else text
    names = spec.required if len(spec.required) == 1 else tuple(spec.parameters)
    if len(names) != 1:
        return None
    arguments = {names[0]: text}
    return arguments if fits(name, arguments, tools) else None
