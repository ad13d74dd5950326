"""A reply where tools are on offer: what it asks for, and the calls to make of it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from loopmend.contracts.actions import AskUser, FinalAnswer, ToolCall, parse_action
from loopmend.errors import ActionParseError, InvalidJson
from loopmend.mending.corrections import Form
from loopmend.mending.messages import NativeCall, Reply
from loopmend.mending.value_replies import calls_first
from loopmend.reading.fitting import fit
from loopmend.reading.quick import fits, is_plain
from loopmend.reading.reader import read_turn
from loopmend.reading.response import is_unusual
from loopmend.reading.tools import Toolbox, ToolSpec
from loopmend.reading.turn import Failure, FailurePattern, ReadingConfig, Repair, Turn
from loopmend.reading.written_calls import Call

__all__ = [
    "beside",
    "is_clean",
    "new_id",
    "read_action_reply",
    "read_contract_reply",
    "to_be_made",
    "unwrapped",
]

P: Final = FailurePattern
_FENCES: Final = re.compile(r"(?:`{3,}|~{3,})[ \t]*[\w+\-.]*")
# Brackets, tags and quotes of any kind; an apostrophe stands within a word.
_WRAPPING: Final = re.compile(
    r"[\[\]{}()\"`\u00ab\u00bb\u201c-\u201f]|<[^<>\s]{1,60}>|(?<!\w)['\u2018\u2019]|['\u2018\u2019](?!\w)"
)
# A word before markup, `json` or `assistant:`, says nothing to anybody.
_LABEL: Final = re.compile(r"^\w+:?$\n?", re.MULTILINE)
_NOTHING: Final = re.compile(r"[\s{}\[\](),:\"']*")
# What may be a call and nothing else: it begins as one.
_MAY_BE_CALL: Final = re.compile(r"[{\[<`~]|[*_#> ]{0,8}\w{1,40}(?: \w{1,40})?[*_ ]{0,4}:")
_IN_FULL: Final = ReadingConfig()
_THOUGHT: Final = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCED: Final = re.compile(r"\s*(?:`{3}|~{3})[\w+\-.]*\n(?P<body>.*)\n(?:`{3}|~{3})\s*", re.DOTALL)


def new_id() -> str:
    """Return an id for a call."""
    return f"call_{uuid.uuid4().hex}"


def is_clean(
    reply: Reply, tools: Toolbox, answers: Mapping[str, Any] | None = None, *, taken: bool = False
) -> bool:
    """Tell quickly whether mending would use a reply as it is.

    This is true for most replies: only calls that fit, or plain prose. If in doubt, it is false.

    Args:
        reply: The reply.
        tools: The available tools.
        answers: The tools that give the answer, as for `Mending`; an answer is never clean.
        taken: Whether the host took the answer already; then only the rest counts, and whether a
            text that it took is a call.

    >>> from loopmend.reading import Toolbox
    >>> is_clean(Reply("It is in Norway."), Toolbox(["search"])), is_clean(Reply(""), Toolbox([]))
    (True, False)
    """
    text, calls = reply.text, reply.calls
    if reply.broken_calls or (reply.finish_reason and is_unusual(reply.finish_reason)):
        return False
    if not calls and taken:
        return not any(calls_first(reply, schema, tools) for schema in (answers or {}).values())
    if not calls:
        return answers is None and is_plain(text)
    for call in calls:
        is_answer = answers is not None and call.name in answers
        if not (taken if is_answer else fits(call.name, call.arguments, tools)):
            return False
    return (taken or text == "") and _have_ids(calls)


def read_action_reply(
    reply: Reply,
    tools: Toolbox | None,
    form: Form,
    config: ReadingConfig,
    corrected: Failure | None = None,
) -> Turn:
    """Read what a reply asks for.

    Args:
        reply: The reply.
        tools: The available tools.
        form: How the model was asked to write.
        config: How to read.
        corrected: What the model was told last, if it was corrected.

    >>> said = Reply('{"type": "final", "content": "Norway"}')
    >>> read_action_reply(said, None, "json", ReadingConfig()).actions[0].content
    'Norway'
    """
    if reply.error is not None:
        return _failed(P.MALFORMED, "The provider could not decode the call.", (0, 0))
    if form == "code":
        return _read_code(reply, tools, config)
    native, calls = form == "native", reply.calls or reply.broken_calls
    if native and not calls and tools is not None and not tools.tools:
        return Turn()  # without tools there is no protocol to break
    turn = reply.read(tools, "native" if native else "text", config)
    if turn.failure is not None and turn.failure.pattern is P.EMPTY and reply.holds_more:
        return Turn()
    if not native or calls or tools is None or turn.calls:
        return turn
    text = reply.text
    # An empty fence, or an object of nothing, is no answer.
    if turn.failure is None and text.strip() and _NOTHING.fullmatch(_FENCES.sub("", text)):
        return _failed(P.EMPTY, "The reply is empty.", (0, len(text)))
    found = None
    if corrected is not None and (alone := _object_in(text)):
        found = _of_arguments(text, alone, tools, config, corrected)
    if found is None and turn.failure is None:
        found = _of_unknown_tool(text, tools)
    return found or turn


def _read_code(reply: Reply, tools: Toolbox | None, config: ReadingConfig) -> Turn:
    """Read a reply where there should be code: calls in the rest of the text prove nothing.

    Args:
        reply: The reply; its calls are those that its framework does not run as code.
        tools: The functions that code may call.
        config: How to read.
    """
    text, whole = reply.text, (0, len(reply.text))
    if reply.calls:
        name = reply.calls[0].name
        message = f"`{name[:80]}` can only be called in code."
        return Turn(failure=Failure(P.MALFORMED, message, whole, name))
    if reply.holds_more or (tools is not None and not tools.tools):
        return Turn()
    if "<execute>" in text:
        return _failed(P.TRUNCATED, "The code to execute is empty or cut off.", whole)
    failure = replace(reply, broken_calls=()).read(tools, "native", config).failure
    if failure is None or (failure.pattern is not P.NARRATED and text.strip()):
        return Turn()
    return Turn(failure=failure)


def _of_unknown_tool(text: str, tools: Toolbox) -> Turn | None:
    """Return the failure of a call that is all of a reply, but of a tool that does not exist.

    Accepting it as the answer would end the run with it. What looks like code may be the answer.
    """
    if not _MAY_BE_CALL.match(text.lstrip()):
        return None
    turn = read_turn(text, config=_IN_FULL)
    made = turn.calls
    if not made or turn.dialect == "python":
        return None
    before, after = text[: turn.span[0]], text[turn.span[1] :]
    if _says(after) or (turn.dialect == "json" and _says(before)):
        return None
    if isinstance(made[0].arguments, str) and turn.dialect == "json" and "_input" not in text:
        return None  # data may have such keys, but only a call has an object or an input
    call = Call(made[0].name, made[0].arguments, turn.span)
    fitted = fit(call, tools, [])
    return Turn(failure=fitted, span=turn.span) if isinstance(fitted, Failure) else None


def _says(text: str) -> bool:
    return any(char.isalnum() for char in _FENCES.sub("", text))


def _of_arguments(
    text: str, arguments: dict[str, Any], tools: Toolbox, config: ReadingConfig, corrected: Failure
) -> Turn | None:
    """Return the call whose arguments alone a model writes after it was told of them.

    They are all that it says, and fit the tool that the correction was about.
    """
    spec = tools.find(corrected.nearest or corrected.tool or "")
    if spec is None or not spec.known or not arguments:
        return None
    if not _takes(spec, arguments):
        return None
    span = (0, len(text))
    fitted = fit(Call(spec.name, arguments, span), tools, [])
    if isinstance(fitted, Failure):
        return Turn(failure=fitted, span=span)
    message = f"The model wrote only the arguments of `{spec.name}`, so nothing ran."
    textual = Failure(P.TEXTUAL_CALL, message, span, spec.name, call=fitted)
    # We suggested the tool to a model that named none on offer: it may have meant another.
    others = [each for each in tools.tools.values() if each.known and _takes(each, arguments)]
    guessed = corrected.tool != spec.name and len(others) > 1
    if guessed or not config.salvage:
        return Turn(failure=textual, span=span)
    return Turn((fitted,), None, None, textual, "salvaged", (), "json", span)


def _takes(spec: ToolSpec, arguments: dict[str, Any]) -> bool:
    """Tell whether a tool takes arguments of these names."""
    return set(spec.required) <= set(arguments) <= set(spec.parameters)


def read_contract_reply(text: str, tools: Toolbox | None, *, may_be_empty: bool) -> Turn | None:
    """Read a constrained reply by the contract; `None` if the provider ignored the schema.

    Args:
        text: The reply.
        tools: The available tools.
        may_be_empty: Whether an empty answer is a way to finish.
    """
    span = (0, len(text))
    thought = _THOUGHT.match(text)
    text = text[thought.end() :] if thought else text
    try:
        action = parse_action(text)
    except ActionParseError as error:
        if not text.lstrip().startswith("{"):
            return None
        cut = isinstance(error, InvalidJson) and error.category == "eof"
        said = "is cut off" if cut else f"is not an action: {error}"
        return _failed(P.TRUNCATED if cut else P.MALFORMED, f"The reply {said}.", span)
    if isinstance(action, FinalAnswer) and not action.content.strip() and not may_be_empty:
        return _failed(P.EMPTY, "The answer is empty.", span)
    if not isinstance(action, ToolCall):
        return Turn((action,), dialect="contract", span=span)
    repairs: list[Repair] = []
    fitted = fit(Call(action.name, action.arguments, span), tools, repairs)
    if isinstance(fitted, Failure):
        return Turn(failure=fitted, dialect="contract", span=span)
    fidelity: Literal["repaired", "exact"] = "repaired" if repairs else "exact"
    return Turn((fitted,), None, None, None, fidelity, tuple(repairs), "contract", span)


def to_be_made(
    reply: Reply, turn: Turn, id_of: Callable[[], str]
) -> tuple[tuple[NativeCall, ...] | None, str | None]:
    """Return the calls to make and what is said beside them, each `None` if it is right."""
    native = turn.dialect == "native"
    if native and turn.fidelity == "exact" and _have_ids(reply.calls):
        return None, None
    calls = turn.calls if native else _each_once(turn.calls)
    known = [call.id for call in (*reply.calls, *reply.broken_calls)] if native else []
    ids: list[str] = []
    for at in range(len(calls)):
        id = known[at] if at < len(known) else None
        ids.append(id_of() if not id or id in ids else id)
    made = [NativeCall(c.name, c.arguments, i) for c, i in zip(calls, ids, strict=True)]
    return tuple(made), None if native else beside(reply.text, turn)


def _each_once(calls: Sequence[ToolCall]) -> Sequence[ToolCall]:
    """Return calls without those that a text repeats: models repeat what they write."""
    return list({(call.name, repr(call.arguments)): call for call in calls}.values())


def beside(text: str, turn: Turn) -> str:
    """Return the text before a call, without the call's markup.

    >>> from loopmend import read_turn
    >>> text = '{"name": "search", "arguments": {}}'
    >>> beside(f"Let me search: {text}", read_turn(f"Let me search: {text}", tools=["search"]))
    'Let me search:'
    """
    if turn.dialect == "contract":
        return ""
    rest = _FENCES.sub("", text[: turn.span[0]])  # what follows a call cannot know what it returns
    plain = "\n".join(line.rstrip() for line in rest.splitlines() if line.strip())
    plain = _LABEL.sub("", plain).strip()
    wrapped = _WRAPPING.search(plain) or not any(char.isalpha() for char in plain)
    return "" if wrapped else plain


def unwrapped(turn: Turn) -> str | None:
    """Return what an answer or a question says that came as the contract's JSON."""
    action = turn.actions[0] if turn.actions and turn.dialect == "contract" else None
    if isinstance(action, FinalAnswer):
        return action.content
    return action.question if isinstance(action, AskUser) else None


def _failed(pattern: FailurePattern, message: str, span: tuple[int, int]) -> Turn:
    return Turn(failure=Failure(pattern, message, span))


def _object_in(text: str) -> dict[str, Any] | None:
    """Return the object that is all of a text, in a fence or not."""
    fenced = _FENCED.fullmatch(text)
    plain = (fenced["body"] if fenced else text).strip()
    try:
        found = json.loads(plain) if plain.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _have_ids(calls: tuple[NativeCall, ...]) -> bool:
    """Tell whether each call has an id of its own; small servers leave them out."""
    return len({call.id for call in calls if call.id}) == len(calls)
