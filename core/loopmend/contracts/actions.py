"""Contract 1: which action did the model ask for?

The model must answer with exactly one JSON object, optionally in a code fence:
`{"type": "final", "content": …}`, `{"type": "tool_call", "name": …, "arguments": …}`
or `{"type": "ask_user", "question": …}`. Nothing is repaired and nothing is guessed.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from json import JSONDecodeError
from typing import Annotated, Any, Literal, NoReturn, Union

from loopmend._arguments import not_text
from loopmend._json import decode
from loopmend._text import WHITESPACE, trim
from loopmend.errors import InvalidJson, JsonErrorCategory, MissingField, UnknownType
from loopmend.wire import Tagged

__all__ = ["AgentAction", "AskUser", "FinalAnswer", "ToolCall", "parse_action"]


# What can be left over, unread, when a text stops within a word or a number.
_TORN_WORDS = frozenset({"-", "t", "tr", "tru", "f", "fa", "fal", "fals", "n", "nu", "nul"})
_TORN_NUMBERS = frozenset({".", "e", "e+", "e-", "E", "E+", "E-"})
_TORN_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
_LONGEST_TORN_TOKEN = 5


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The model is done and answers the user.

    >>> FinalAnswer("Paris").content
    'Paris'
    """

    content: str
    """The answer."""
    _: KW_ONLY
    type: Literal["final"] = "final"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model wants a tool to be run.

    >>> ToolCall("search", {"q": "rust"}).arguments["q"]
    'rust'
    """

    name: str
    """Name of the tool, as the model wrote it."""
    arguments: Any
    """Any JSON value: the contract does not insist on an object."""
    _: KW_ONLY
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class AskUser:
    """The model needs an answer from the user before it can go on.

    >>> AskUser("Which file?").question
    'Which file?'
    """

    question: str
    """What to ask."""
    _: KW_ONLY
    type: Literal["ask_user"] = "ask_user"


AgentAction = Annotated[Union[FinalAnswer, ToolCall, AskUser], Tagged("type")]
"""One of the three actions, told apart by `type`."""


def parse_action(content: str) -> AgentAction:
    r"""Parse a model's whole reply into the action it asks for.

    Raises:
        InvalidJson: The text is not strict JSON, or a field has the wrong type.
        MissingField: It is JSON, but no object with a string `type`.
        UnknownType: The `type` names no action.
        TypeError: `content` is not a `str`.

    >>> parse_action('{"type": "tool_call", "name": "search", "arguments": {"q": "rust"}}')
    ToolCall(name='search', arguments={'q': 'rust'}, type='tool_call')
    >>> fence = "`" * 3
    >>> parse_action(fence + 'json\n{"type": "final", "content": "done"}\n' + fence)
    FinalAnswer(content='done', type='final')
    """
    if not isinstance(content, str):
        raise not_text(content, "content")
    body = _strip_code_fences(content)
    try:
        value = decode(body)
    except JSONDecodeError as error:
        raise _invalid_json(content, body, error) from None
    if not isinstance(value, dict) or not isinstance(kind := value.get("type"), str):
        raise MissingField("type", content)
    if kind == "final":
        return FinalAnswer(_string(value, "content", content))
    if kind == "tool_call":
        name = _string(value, "name", content)
        if "arguments" not in value:
            _refuse_field("missing field `arguments`", content)
        return ToolCall(name, value["arguments"])
    if kind == "ask_user":
        return AskUser(_string(value, "question", content))
    raise UnknownType(kind, content)


def _strip_code_fences(content: str) -> str:
    trimmed = trim(content)
    if not trimmed.startswith("```"):
        return trimmed
    return trim(trimmed.removeprefix("```").removeprefix("json").removesuffix("```"))


def _string(value: dict[str, Any], field: str, content: str) -> str:
    text = value.get(field)
    if isinstance(text, str):
        return text
    if field in value:
        _refuse_field(f"field `{field}` must be a string", content)
    return _refuse_field(f"missing field `{field}`", content)


def _refuse_field(reason: str, content: str) -> NoReturn:
    raise InvalidJson(reason, content, None, "data")


def _invalid_json(content: str, body: str, error: JSONDecodeError) -> InvalidJson:
    """Move the decoder's position from the stripped body back into the whole text."""
    start = len(content) - len(content.lstrip(WHITESPACE))
    if content.startswith("```", start):
        start += 3 + 4 * content.startswith("json", start + 3)
        start += len(content) - start - len(content[start:].lstrip(WHITESPACE))
    category: JsonErrorCategory = "eof" if _ends_early(body, error) else "syntax"
    return InvalidJson(error.msg, content, start + error.pos, category)


def _ends_early(body: str, error: JSONDecodeError) -> bool:
    """Tell a text that stops in the middle from one that goes wrong."""
    if error.pos >= len(body) or error.msg.startswith("Unterminated string"):
        return True
    if len(body) - error.pos > _LONGEST_TORN_TOKEN:
        return False
    rest = body[error.pos :]
    if error.msg.startswith("Expecting value"):
        return rest in _TORN_WORDS
    return (rest in _TORN_NUMBERS and body[error.pos - 1].isdigit()) or (
        error.msg.startswith("Invalid \\u") and _TORN_ESCAPE.search(body) is not None
    )
