"""What the user asked for: a call that is made, or one to look at."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

__all__ = ["asks_to_see"]

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
