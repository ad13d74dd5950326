"""Calls to look at, not to make: the user asks to see one, or a user or a tool wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from loopmend._repr import written
from loopmend.contracts.actions import ToolCall
from loopmend.mending.messages import Message
from loopmend.reading.turn import Turn

__all__ = ["Quotations", "asks_to_see"]

# A call is the same however it is spaced, quoted, escaped or fenced.
_DRESS: Final = re.compile(r"[\s\\`]+")
_QUOTES: Final = str.maketrans(dict.fromkeys("'\u2018\u2019\u201c\u201d", '"'))
_LONGEST: Final = 4000
_NOT: Final = r"(?:do not|don't|never|without|no need to|instead of|rather than|not to)"
_RUNNING: Final = r"(?:run|execut|call|invok|perform|send|trigger|launch|do|mak)\w*"
# "do not run it", "without executing anything", "don't delete anything", "a dry run"
_NOT_RUN: Final = re.compile(
    rf"\b{_NOT}\s+(?:actually\s+|really\s+|yet\s+)?(?:{_RUNNING}\b|\w+\s+anything\b)"
    r"|\bdry[ -]?run\b|\b(?:preview|simulate)\b"
    rf"|\bbefore (?:you|it|anything) (?:is |are |gets )?{_RUNNING}"
    r"|\b(?:review|approve|check|confirm|see)\b.{0,40}\b(?:first|before)\b"
    r"|\b(?:nicht|ohne|ne|sans|sin|no lo|não|sem|non|senza|niet|zonder|не|без)\b.{0,30}"
    r"\b(?:ausführ|auszuführ|aufruf|exécut|lanc|appel|ejecut|llam|execut|cham|esegu|chiam|uitvoer"
    r"|aanroep|выполн|вызыва)\w*"
    r"|不要(?:执行|运行|调用)|実行しない|실행하지",
    re.IGNORECASE,
)
_SHOW: Final = (
    r"\b(?:show|print|display|write (?:out|down|me)|give me|draft|explain|describe|quote|generate"
    r"|produce|compose|output|what would|how would|zeig|schreib|montre|écri|muestra|escribe|mostra"
    r"|toon)\w*"
)
# "print the tool call": who wants a thing done speaks of the thing.
_SHOW_CALL: Final = re.compile(rf"{_SHOW}\b.{{0,60}}\b(?:tool|function) call\b", re.IGNORECASE)
# "show me the JSON for delete_all", "what arguments does delete_all take": only of a tool by name,
# as arguments, calls and JSON may be about anything.
_ABOUT_A_TOOL: Final = re.compile(
    rf"(?:{_SHOW}|\b(?:what|how|which|can you write)\b).{{0,60}}"
    r"\b(?:json|call(?:s|ed|ing)?|invo[kc]\w+|arguments|parameters|syntax|payload|snippet"
    r"|request body|aufruf|befehl|appel|commande|llamada|comando|chamada|chiamata|aanroep)\b",
    re.IGNORECASE,
)
_FEW: Final = 40
_END: Final = re.compile(r"[.?!\n](?:\s|$)")
_WORD: Final = re.compile(r"[\w.\-]+")


@dataclass
class Quotations:
    """What a model may write as text in one turn without anybody's wanting it done.

    A tool's result quotes a call if it holds the name and each value: whoever wrote the result may
    want the call, but nobody else does. What a tool says of its own calls is no quotation. A user
    who names a tool and its values wants the call; one who writes the call itself may only want to
    see it.

    >>> turn = Turn((ToolCall("wipe", {"path": "/data"}),))
    >>> Quotations(conversation=[Message("user", "Use wipe on /data.")]).hold(turn)
    False
    >>> said = "{'name': 'wipe', 'arguments': {'path': '/data'}}"
    >>> Quotations(conversation=[Message("tool", said)]).hold(turn)
    True
    """

    question: str = ""
    tools: Collection[str] = ()
    conversation: Iterable[Message] = ()

    @cached_property
    def wanted(self) -> bool:
        """Whether the user asks to see a call."""
        return asks_to_see(self.question, self.tools)

    def hold(self, turn: Turn) -> bool:
        """Tell whether a turn is to be looked at: all of it, or a call that somebody else wrote."""
        if self.wanted:
            return True
        failed = turn.failure and turn.failure.call
        calls = [*turn.calls, failed] if failed else turn.calls
        if not calls:
            return False
        self.conversation = tuple(self.conversation)  # it may be an iterator
        return any(_is_quoted(call, self.conversation) for call in calls)


def _is_quoted(call: ToolCall, conversation: Iterable[Message]) -> bool:
    """Tell whether a call stands in what a user or a tool said."""
    made: dict[str | None, str] = {}
    for message in conversation:
        if message.role == "assistant":
            made.update((each.id, each.name) for each in message.calls)
        elif message.role == "tool" and made.get(message.call_id) == call.name:
            continue
        elif message.role in ("user", "tool") and call.name in message.content:
            text = _bare(message.content)
            if _holds(text, call) and (message.role == "tool" or _is_written(text, call)):
                return True
    return False


def _holds(text: str, call: ToolCall) -> bool:
    """Tell whether a text holds each value of a call; without values, the call itself."""
    values = [_bare(value) for value in _leaves(call.arguments)]
    return all(value in text for value in values) if values else _is_written(text, call)


def _is_written(text: str, call: ToolCall) -> bool:
    """Tell whether a text does not only name a tool, but is written as a call of it is."""
    name = _bare(call.name)
    if f"{name}(" in text or f"Action:{name}" in text or f"<{name}>" in text:
        return True
    pairs = [f'"{_bare(key)}":{_bare(written(value))}' for key, value in call.arguments.items()]
    return f'"{name}"' in text and all(pair in text for pair in pairs)


def _leaves(value: Any) -> Iterator[str]:
    """Yield the values in an argument as text, but for empty ones."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif said := (value if isinstance(value, str) else written(value)):
        yield said


def _bare(text: str) -> str:
    return _DRESS.sub("", text).translate(_QUOTES)


def asks_to_see(question: str, tools: Collection[str] = ()) -> bool:
    """Tell whether a user asks to see a call rather than to have it made.

    Args:
        question: The user's last message.
        tools: The names of the available tools.

    >>> asks_to_see("Show me the JSON for delete_all, do not run it.")
    True
    >>> asks_to_see("How is delete_all called?", tools=["delete_all"])
    True
    >>> asks_to_see("Show me the weather in Oslo as JSON.", tools=["delete_all"])
    False
    """
    asked = question.replace("\u2019", "'")
    parts = [asked] if len(asked) <= 2 * _LONGEST else [asked[:_LONGEST], asked[-_LONGEST:]]
    if any(_NOT_RUN.search(part) or _SHOW_CALL.search(part) for part in parts):
        return True
    said = [_sentence(part, found) for part in parts for found in _ABOUT_A_TOOL.finditer(part)]
    words = {word.strip(".-").lower() for text in said for word in _WORD.findall(text)}
    return any(name.lower() in words for name in tools)


def _sentence(text: str, found: re.Match[str]) -> str:
    """Return what was found and a few more words, up to the end of the sentence."""
    return _END.split(text[found.start() : found.end() + _FEW], maxsplit=1)[0]
