"""The words of a correction: what was wrong, what the tool takes, one instruction, an example.

A correction repeats nothing that the model wrote except names (of available tools, of their
parameters, and of arguments that a tool does not accept, if they are names at all) and, in an
example, the values of its call: only if all of them are short and fit the tool, and with whatever
could pass for markup escaped as JSON allows. What comes back is then the call that was meant. An
example is filled in or absent: models copy templates.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from loopmend.contracts.actions import ToolCall
from loopmend.reading.fitting import fit
from loopmend.reading.json_reading import fit_value
from loopmend.reading.tools import Toolbox, ToolSpec
from loopmend.reading.turn import Failure, FailurePattern, Repair
from loopmend.reading.written_calls import Call

__all__ = ["FORMS", "Form", "correction", "mistake_in_words", "signature", "written"]

Form = Literal["react", "json", "native", "code"]
"""The form that the model was asked for: ReAct text, one JSON action, the provider's own calls, or
code between `<execute>` tags."""

P: Final = FailurePattern
_SAID: Final = {
    P.MALFORMED: "Your tool call could not be parsed.",
    P.NARRATED: "You described a tool call but did not make it. Describing a call does not run it.",
    P.EMPTY: "Your reply was empty.",
    P.UNKNOWN_TOOL: "Unknown tool.",
    P.BAD_ARGUMENTS: "The arguments do not fit the tool.",
    P.MISSING_INPUT: "The tool call has no input.",
    P.TRUNCATED: "Your reply was cut off. Send a shorter one.",
    P.TEMPLATE_ECHO: "You repeated the template. Fill it in.",
    P.FABRICATED_OUTPUT: "You made up a tool's result. Tools run only after you call them.",
    P.ACTION_AND_ANSWER: "You sent both a tool call and an answer. Send only one.",
    P.NO_ACTION: "Your reply contains neither a tool call nor an answer.",
    P.TEXTUAL_CALL: "You wrote the tool call as text, so it did not run.",
    P.BAD_VALUE: "The value does not fit the schema.",
}
_NO_CALL: Final = "Your reply calls no tool."
_NO_TOOLS: Final = "You have no tools."
# Who broke a call is not offered an answer in its place: models then make one up.
_MAY_ANSWER: Final = frozenset({P.EMPTY, P.NO_ACTION, P.TEMPLATE_ECHO, P.ACTION_AND_ANSWER})
FORMS: Final[dict[Form, str]] = {
    "react": "Call the tool with a line for the action and a line for its input",
    "json": "Reply with one JSON object and nothing else",
    "native": "Call the tool through the tool interface, not in the text",
    "code": "Write the code to run between <execute> and </execute>",
}
"""How to name the requested form to a model, without a full stop."""
_OR_ANSWER: Final = ": a tool call, or an object of type final with your answer"
_LIKE: Final[dict[Form, str]] = {
    "react": "For example:",
    "json": "For example:",
    "native": "Its arguments, for example:",
    "code": "",
}
_LISTED: Final = 20
_NAME: Final = re.compile(r"[^\W\d][\w.\-]{0,59}")
_LONGEST_VALUE: Final = 80
_LONGEST_EXAMPLE: Final = 400
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
# What tags, tokens, fences and objects are written with, and what nobody sees.
_MARK: Final = re.compile(
    r"[<>\[\]{}|`\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)


def correction(  # noqa: PLR0913 - all but three by name
    failure: Failure,
    form: Form,
    tools: Toolbox | None = None,
    *,
    question: str = "",
    answer_label: str = "Final Answer",
    may_answer: bool = True,
) -> str:
    r"""Return the correction of a failed reply.

    Args:
        failure: What is wrong with the reply.
        form: The form that you asked the model for.
        tools: The available tools, if known.
        question: The user's question; it may fill in an example.
        answer_label: The ReAct prompt's label for the answer.
        may_answer: Whether an answer would do in place of a call.

    >>> from loopmend import read_turn
    >>> search = {"name": "search", "parameters": {"properties": {"query": {"type": "string"}},
    ...           "required": ["query"]}}
    >>> turn = read_turn('Action: search\nAction Input: {"q": "Oslo"}', tools=[search])
    >>> print(correction(turn.failure, "react", Toolbox([search]), question="Where is Oslo?"))
    `search` needs `query` and does not accept `q`. Signature: search(query: string).
    Call the tool with a line for the action and a line for its input. For example:
    <BLANKLINE>
    Action: search
    Action Input: {"query": "Where is Oslo?"}
    """
    if tools is not None and not tools.tools:
        wrong = _NO_TOOLS if failure.pattern is P.UNKNOWN_TOOL else _SAID[failure.pattern]
        return f"{wrong}\nGive the answer{_answer(form, answer_label)}."
    spec = _spec(failure, tools)
    due = failure.pattern in _MAY_ANSWER and not may_answer
    missing = due and failure.pattern is P.NO_ACTION
    wrong = _NO_CALL if missing else _what_is_wrong(failure, spec)
    parts = [wrong, _did_you_mean(failure, spec, tools)]
    if due and spec is None and tools is not None:
        parts.append(_available(tools))
    if spec is not None and spec.known and failure.pattern is not P.TRUNCATED:
        parts.append(f"Signature: {signature(spec)}.")
    told = " ".join(part for part in parts if part)
    asked = FORMS[form]
    if failure.pattern in _MAY_ANSWER and not due:
        in_words = f", or give the answer{_answer(form, answer_label)}"
        asked += _OR_ANSWER if form == "json" else in_words
    example = _example(failure, spec, form, question)
    if not example:
        return f"{told}\n{asked}."
    return f"{told}\n{asked}. {_LIKE[form]}\n\n{example}"


def mistake_in_words(pattern: FailurePattern) -> str:
    """Return what is wrong with a reply that failed in this way, as a model is told it.

    >>> mistake_in_words(FailurePattern.EMPTY)
    'Your reply was empty.'
    """
    return _SAID[pattern]


def signature(spec: ToolSpec) -> str:
    """Return a tool as a model reads it best.

    >>> schema = {"properties": {"full_name": {"type": "string"}}, "required": ["full_name"]}
    >>> signature(ToolSpec.of({"name": "employee_id", "parameters": schema}))
    'employee_id(full_name: string)'
    """
    if not spec.known:
        return spec.name
    taken = (_parameter(spec, name) for name in spec.parameters)
    return f"{spec.name}({', '.join(taken)})"


def written(call: ToolCall, form: Form) -> str:
    r"""Return a call in the form that was asked for.

    >>> print(written(ToolCall("search", {"query": "Oslo"}), "react"))
    Action: search
    Action Input: {"query": "Oslo"}
    """
    given = json.dumps(call.arguments, ensure_ascii=False, default=str)
    if form == "native":
        return given
    if form == "json":
        name = json.dumps(call.name, ensure_ascii=False)
        return f'{{"type": "tool_call", "name": {name}, "arguments": {given}}}'
    return f"Action: {call.name}\nAction Input: {given}"


def _spec(failure: Failure, tools: Toolbox | None) -> ToolSpec | None:
    """Return the tool that the model meant, if it is on offer."""
    if tools is None:
        return None
    name = failure.nearest or failure.tool
    found = tools.find(name) if name else None
    if found is None and len(tools.tools) == 1:
        return next(iter(tools.tools.values()))
    return found


def _what_is_wrong(failure: Failure, spec: ToolSpec | None) -> str:
    if failure.pattern is not P.BAD_ARGUMENTS or spec is None:
        return _SAID[failure.pattern]
    wrong = []
    if failure.missing:
        wrong.append(f"needs {_names(failure.missing)}")
    if unknown := [name for name in failure.unknown if _NAME.fullmatch(name)]:
        wrong.append(f"does not accept {_names(unknown[:3])}")
    wrong += [f"takes `{name}: {_kind(spec, name)}`" for name in failure.mistyped]
    return f"`{spec.name}` {' and '.join(wrong)}." if wrong else _SAID[P.BAD_ARGUMENTS]


def _did_you_mean(failure: Failure, spec: ToolSpec | None, tools: Toolbox | None) -> str:
    if failure.pattern is not P.UNKNOWN_TOOL or tools is None:
        return ""
    meant = f"Did you mean `{spec.name}`? " if spec is not None else ""
    return f"{meant}{_available(tools)}"


def _available(tools: Toolbox) -> str:
    names = ", ".join(list(tools.tools)[:_LISTED])
    return f"Available tools: {names}." if names else ""


def _answer(form: Form, label: str) -> str:
    return {
        "react": f" on a line that starts with {label}",
        "json": " as an object of type final",
    }.get(form, " in plain words")


def _example(failure: Failure, spec: ToolSpec | None, form: Form, question: str) -> str:
    """Write a call in full, or nothing if some of it would have to be made up."""
    if form == "code" or spec is None:
        return ""
    arguments = _filled(failure, spec, question)
    if arguments is None or not _may_repeat(arguments):
        return ""
    if form == "native" and not arguments:
        return ""  # it would be `{}`, which says nothing
    if failure.call is not None and not _fits(spec, arguments):  # what the user said fits
        return ""
    example = written(ToolCall(spec.name, arguments), form)
    # In a string of JSON an escape stands for the same character, but it is no mark.
    example = _STRING.sub(lambda found: _MARK.sub(_escaped, found[0]), example)
    return example if len(example) <= _LONGEST_EXAMPLE else ""


def _may_repeat(value: Any) -> bool:
    """Tell whether a value may stand in an example: a long text may be somebody's instructions."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_VALUE
    if isinstance(value, dict):
        named = all(isinstance(key, str) and _NAME.fullmatch(key) for key in value)
        return named and all(map(_may_repeat, value.values()))
    if isinstance(value, list):
        return all(map(_may_repeat, value))
    return not isinstance(value, float) or math.isfinite(value)


def _fits(spec: ToolSpec, arguments: dict[str, Any]) -> bool:
    """Tell whether a tool takes arguments as they are, by the reader and by the whole schema."""
    repairs: list[Repair] = []
    fitted = fit(Call(spec.name, arguments, (0, 0)), Toolbox([spec]), repairs)
    reading = fit_value(arguments, spec.schema())
    exact = reading.ok and reading.fidelity == "exact" and not repairs
    return exact and fitted == ToolCall(spec.name, arguments)


def _escaped(mark: re.Match[str]) -> str:
    units = mark[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _filled(failure: Failure, spec: ToolSpec, question: str) -> dict[str, Any] | None:
    given = failure.call.arguments if failure.call is not None else None
    if not spec.known:
        return dict(given) if isinstance(given, dict) and given else None
    known: Mapping[str, Any] = given if isinstance(given, dict) else {}
    wrong = {*failure.mistyped, *failure.missing}
    filled = {k: v for k, v in known.items() if k in spec.parameters and k not in wrong}
    for name in spec.required:
        if name not in filled:
            value = _value(spec, name, question, alone=len(spec.required) == 1)
            if value is None:
                return None
            filled[name] = value
    return filled if filled or not spec.parameters else None


def _value(spec: ToolSpec, name: str, question: str, *, alone: bool) -> Any:
    """Return a value that may stand in an example: only what the user said."""
    schema = spec.parameters.get(name)
    if not isinstance(schema, Mapping):
        return None
    if isinstance(choices := schema.get("enum"), list):
        return next((c for c in choices if isinstance(c, str) and c and c in question), None)
    if schema.get("type") in ("integer", "number"):
        number = re.search(r"\b\d{1,9}\b", question)
        return int(number[0]) if number else None
    asked = " ".join(question.split())
    fits = schema.get("type") == "string" and alone and 0 < len(asked) <= _LONGEST_VALUE
    return asked if fits else None


def _parameter(spec: ToolSpec, name: str) -> str:
    optional = "" if name in spec.required else "?"
    return f"{name}{optional}: {_kind(spec, name)}"


def _kind(spec: ToolSpec, name: str) -> str:
    schema = spec.parameters.get(name)
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(choices := schema.get("enum"), list) and choices:
        return " | ".join(json.dumps(c, ensure_ascii=False, default=str) for c in choices[:8])
    kind = schema.get("type")
    return kind if isinstance(kind, str) else "any"


def _names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
