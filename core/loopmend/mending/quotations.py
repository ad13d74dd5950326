"""Calls to look at, not to make: the user asks to see one, or a user or a tool wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from loopmend._repr import written
from loopmend.contracts.actions import ToolCall
from loopmend.mending.corrections import Form
from loopmend.mending.messages import Message, Reply
from loopmend.mending.prohibitions import forbidden_in
from loopmend.reading.turn import FailurePattern, Turn

__all__ = ["Quotations", "asks_to_see"]

# A copy is the same however it is spaced, quoted, escaped or fenced.
_DRESS: Final = re.compile(r"(?:`{3,}|~{3,})[\w+\-.]*|[\s\\`]+")
_QUOTES: Final = str.maketrans(dict.fromkeys("'\u2018\u2019\u201c\u201d", '"'))
_BACKSLASHES: Final = re.compile(r"\\{2,}")
_ESCAPED_SPACE: Final = re.compile(r"\\[nrt]")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
# In which dialects a call is as good as one through an interface; code is no call.
_OWN: Final[dict[Form, tuple[str, ...] | None]] = {
    "native": (),
    "react": ("react",),
    "json": ("json", "contract"),
    "code": None,
}
# Where all is one text, that names the form, too, and nobody knows what of it is the user's.
_PROMPT: Final = re.compile(r"action[ _]input|[\"']action[\"']|tool_call", re.IGNORECASE)
_LONGEST: Final = 4000
_NOT: Final = r"(?:do not|don't|never|without|no need to|instead of|rather than|not to)"
_HOW: Final = r"(?:\s+(?:actually|really|yet))?"
_RUNNING: Final = r"(?:run|execut|call|invok|perform|send|trigger|launch)\w*"
# What runs is a call: who says "do not make anything up" wants things done.
_IT: Final = (
    r"(?:it|this|that|them|anything"
    r"|(?:the|a|any)\s+(?:\w+\s+)?(?:tools?|functions?|calls?|commands?|code|json))"
    r"(?!\s+(?:up|out|else|me|him|her|us)\b)"
)
_ENDS: Final = r"\s*(?:[.,;:!?)]|$|\b(?:yet|now|until|before)\b)"
# "do not run it", "without executing anything", "it must not be executed"
_NOT_RUN: Final = re.compile(
    rf"\b{_NOT}{_HOW}\s+{_RUNNING}\s+{_IT}\b|\b{_NOT}{_HOW}\s+(?:do|mak(?:e|ing))\s+{_IT}{_ENDS}"
    rf"|\b{_NOT}{_HOW}\s+{_RUNNING}\s*(?:[.,;:!?)]|$)"
    rf"|\b(?:not|never)\s+(?:to\s+)?be(?:ing)?\s+{_RUNNING}{_ENDS}"
    rf"|\bi(?:'ll|\s+will|\s+can|\s+want\s+to)\s+{_RUNNING}\s+{_IT}\s+(?:myself|on my own)\b"
    r"|\b(?:nicht|ohne|ne|sans|sin|no lo|não|sem|non|senza|niet|zonder|не|без)\b.{0,30}"
    r"\b(?:ausführ|auszuführ|aufruf|exécut|lanc|appel|ejecut|llam|execut|cham|esegu|chiam|uitvoer"
    r"|aanroep|выполн|вызыва)\w*"
    r"|不要(?:执行|运行|调用)|実行しない|실행하지",
    re.IGNORECASE,
)
# "I will run it myself", "let me check it": of a call, if the user speaks of one.
_LATER: Final = re.compile(
    rf"\bi(?:'ll|\s+will|\s+can|\s+want\s+to)\s+{_RUNNING}\s+{_IT}\b"
    rf"|\bbefore\s+(?:you\s+{_RUNNING}\s+{_IT}\b|(?:it|anything)\s+(?:is|are|gets)\s+{_RUNNING})"
    r"|\bdry[ -]?run\b"
    rf"|\b(?:let me|i)\b[^.?!\n]{{0,20}}\b(?:review|approve|check|confirm|see)\s+{_IT}\b",
    re.IGNORECASE,
)
_CALL: Final = re.compile(
    r"\b(?:tools?|functions?|calls?|commands?|json|arguments|payload|request body)\b", re.IGNORECASE
)
_SHOW: Final = (
    r"\b(?:show|print|display|write (?:out|down|me)|give me|draft|explain|describe|quote|generate"
    r"|produce|compose|output|preview|simulate|render|see|look at|what would|how would"
    r"|zeig|schreib|montre|écri|muestra|escribe|mostra|toon|laat)\w*"
)
# "print the tool call": who wants a thing done speaks of the thing.
_SHOW_CALL: Final = re.compile(
    rf"{_SHOW}\b.{{0,60}}\b(?:tool|function) call\b(?! in\b)", re.IGNORECASE
)
# "show me the JSON for delete_all", "what arguments does delete_all take": only of a tool by name,
# as arguments, calls and JSON may be about anything.
_ABOUT_A_TOOL: Final = re.compile(
    rf"(?:{_SHOW}|\b(?:what|how|which|can you write|wie (?:sieht|lautet|wird|würde)|welche\w*"
    r"|comment|quel\w*|cómo|qué|cuál\w*|hoe|welke)\b).{0,60}"
    r"\b(?:json|call(?:s|ed|ing)?|invo[kc]\w+|arguments|parameters|syntax|payload|snippet"
    r"|request body|aufruf|befehl|appel|commande|llamada|comando|chamada|chiamata|aanroep)\b",
    re.IGNORECASE,
)
# "JSON for delete_all", in whatever language: it is that of the call. A name that is also a word
# may stand there by chance, and "delete_all as JSON" is its result.
_NO_WORD: Final = re.compile(r"[_\d.\-]|[a-z][A-Z]")
_JSON_OF: Final = (
    r"(?<![a-z\d_.])json[\w'\-]{{0,20}}\s{{1,3}}(?:[^\s.?!]{{1,20}}\s{{1,3}})?[\"'`]?"
    r"(?:{name})(?![a-z\d_])"
    r"|(?<![a-z\d_])(?:{name})[\"'`]?(?:-\w{{1,20}})?\s{{0,3}}"
    r"(?:[^\x00-\u024f\s]{{1,20}}\s{{0,3}})?json"
)
_NAMED: Final = r"(?<![a-z\d_]){name}(?![a-z\d_])"
_NAMED_WORD: Final = (
    r"[`'\"]{name}[`'\"]|(?<![a-z\d_.]){name}(?:\(|[- ](?:tool|function|call|command|aufruf))"
    r"|\b(?:tool|function|command|for|of|calls?|invoke|call(?:s|ed)? to|does|would|is|von|für|de"
    r"|del|do|di|van)\s{name}(?![a-z\d_])"
)
_FEW: Final = 40
_END: Final = re.compile(r"[.?!\n](?:\s|$)")


@dataclass
class Quotations:
    """What a model may write as text in one turn without anybody's wanting it done.

    Whoever wrote a tool's result may want a call, but nobody else does. A result quotes a call that
    is a copy of its words, or whose name and values it holds, unless it is the call's own tool that
    says what to call. A user who names a tool and its values wants the call; one who writes the
    call itself may only want to see it. Instructions quote what is copied from them with values.

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
    form: Form = "native"

    @cached_property
    def wanted(self) -> bool:
        """Whether the user asks to see a call."""
        return asks_to_see(self.question, self.tools)

    @cached_property
    def forbidden(self) -> frozenset[str]:
        """The tools that the user forbids by name."""
        if _OWN[self.form] and _PROMPT.search(self.question):  # not the user's alone
            return frozenset()
        self.conversation = tuple(self.conversation)  # it may be an iterator
        users = [each.content for each in reversed(self.conversation) if each.role == "user"]
        return forbidden_in([self.question, *users], self.tools)

    def answer(self, reply: Reply, turn: Turn, *, decodes: bool) -> bool:
        """Tell whether a call that a reply writes is the answer: it is not made, nor asked for.

        Args:
            reply: The reply.
            turn: What the reader made of it.
            decodes: Whether the provider decodes by the schema of actions.
        """
        called = self.form == "native" and (reply.calls or reply.broken_calls)
        calls, failure = turn.calls, turn.failure
        if called or reply.error or turn.dialect == "native" or not (calls or failure):
            return False
        named = {call.name for call in calls} | ({failure.tool} if failure else set())
        if self._forbids(turn, named):
            return True
        if decodes and turn.dialect == "contract":
            return self.wanted and bool(calls)
        if self.form == "native" and failure is not None and self.wanted:
            return failure.pattern is not FailurePattern.EMPTY
        return self.hold(turn, reply.text)

    def _forbids(self, turn: Turn, named: Collection[str | None]) -> bool:
        """Tell whether the user forbids one of the tools by name that a turn is about."""
        if _OWN[self.form] is None or self._prompted(turn):
            return False
        return not self.forbidden.isdisjoint(named)

    def _prompted(self, turn: Turn) -> bool:
        """Tell whether a call is in the form that the prompt asks for."""
        own = _OWN[self.form] or ()
        return bool(own) and (turn.dialect in own or _PROMPT.search(self.question) is not None)

    def hold(self, turn: Turn, text: str = "") -> bool:
        """Tell whether a turn has a call to look at: of any user's wish, or somebody else's words.

        Args:
            turn: The turn.
            text: The reply that it was read from.
        """
        failed = turn.failure and turn.failure.call
        calls = [*turn.calls, failed] if failed else turn.calls
        own = _OWN[self.form]
        if not calls or own is None:
            return False
        if self.wanted and not self._prompted(turn):
            return True
        written = _bare(text[slice(*(turn.failure or turn).span)])
        if own:
            told = (each for each in self._told() if each[0].role == "tool")
            return any(_is_copy(said, written, tool) for said, tool in told)
        return any(_quotes(said, calls, written, tool) for said, tool in self._told())

    def _told(self) -> Iterator[tuple[Message, str | None]]:
        """Yield what somebody else said, each with the tool that it is a result of."""
        self.conversation = tuple(self.conversation)
        made: dict[str | None, str] = {}
        for message in self.conversation:
            if message.role == "assistant":
                made.update((each.id, each.name) for each in message.calls)
            else:
                yield message, made.get(message.call_id) if message.role == "tool" else None


def _quotes(said: Message, calls: Sequence[ToolCall], written: str, own: str | None) -> bool:
    """Tell whether a message holds the words of calls, or what makes one up."""
    if _is_copy(said, written, own):
        return said.role != "system" or any(list(_leaves(call.arguments)) for call in calls)
    if said.role == "system":
        return False
    text = _plain(said.content)
    return any(_holds(said, text, call) for call in calls if call.name != own)


def _is_copy(said: Message, written: str, own: str | None) -> bool:
    """Tell whether words are copied from a message; a tool's own error may say what to call."""
    return written != "" and not (own and said.failed) and written in _bare(said.content)


def _holds(said: Message, text: str, call: ToolCall) -> bool:
    """Tell whether a result holds the name and each value of a call, or a message the call."""
    values = [_plain(value) for value in _leaves(call.arguments)]
    if not all(_has_word(text, value) for value in (_plain(call.name), *values)):
        return False
    return (said.role == "tool" and bool(values)) or _is_written(said.content, call)


def _has_word(text: str, word: str) -> bool:
    """Tell whether a text holds a word that is not a part of a longer one."""
    start = r"(?<!\w)" if word[:1].isalnum() else ""
    end = r"(?!\w)" if word[-1:].isalnum() else ""
    return re.search(start + re.escape(word) + end, text) is not None


def _is_written(text: str, call: ToolCall) -> bool:
    """Tell whether a text does not only name a tool, but is written as a call of it is."""
    if re.search(rf"(?<!\w){re.escape(call.name)}[\\`]*\(", text):
        return True
    name, bare = _bare(call.name), _bare(text)
    if f"Action:{name}" in bare or f"<{name}>" in bare:
        return True
    pairs = [f'"{_bare(key)}":{_bare(written(value))}' for key, value in call.arguments.items()]
    return f'"{name}"' in bare and all(pair in bare for pair in pairs)


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
    """Return a text without what a copy of it may lack."""
    return _DRESS.sub("", text).translate(_QUOTES)


def _plain(text: str) -> str:
    """Return a text in lower case as one line, with escapes read and quotes alike."""
    said = _ESCAPED_SPACE.sub(" ", _BACKSLASHES.sub(r"\\", text))
    said = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), said)
    said = said.replace("\\", "").replace("`", "").translate(_QUOTES)
    return " ".join(said.lower().split())


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
    names = "|".join(map(re.escape, filter(_NO_WORD.search, tools)))
    if names and any(re.search(_JSON_OF.format(name=names), p, re.IGNORECASE) for p in parts):
        return True
    about = [name for name in tools if any(_is_about(part, name) for part in parts)]
    if any(_LATER.search(part) for part in parts):
        return bool(about) or any(_CALL.search(part) for part in parts)
    said = [_sentence(part, found) for part in parts for found in _ABOUT_A_TOOL.finditer(part)]
    return any(_is_about(text, name) for name in about for text in said)


def _is_about(text: str, name: str) -> bool:
    """Tell whether a text names a tool; a name that is a word, too, is one only as a name."""
    pattern = _NAMED if _NO_WORD.search(name) else _NAMED_WORD
    return re.search(pattern.format(name=re.escape(name)), text, re.IGNORECASE) is not None


def _sentence(text: str, found: re.Match[str]) -> str:
    """Return what was found and a few more words, up to the end of the sentence."""
    return _END.split(text[found.start() : found.end() + _FEW], maxsplit=1)[0]
