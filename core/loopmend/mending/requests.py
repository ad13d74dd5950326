"""What the user asked for: a call that is made, or one to look at."""

from __future__ import annotations

import re
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
# "show me the JSON for …", "what would the call look like"
_SHOW: Final = re.compile(
    r"\b(?:show|print|display|write (?:out|down|me)|give me|draft|explain|describe|quote|generate"
    r"|produce|compose|output|what would|how would|what does|zeig|schreib|montre|écri|muestra"
    r"|escribe|mostra|toon)\w*\b.{0,60}"
    r"\b(?:json|tool call|function call|(?:the|a|your) call|call (?:for|to|of)|arguments|syntax"
    r"|payload|snippet|request body|aufruf|befehl|appel|commande|llamada|comando|chamada|chiamata"
    r"|aanroep)\b"
    # Who asks what a call is wants to know it; who says that seeing is all wants no more.
    r"|\bwhat(?: is|'s|s)\b.{0,20}\b(?:json|tool call|function call|payload|request body|syntax)\b"
    r"|\b(?:only|just) (?:want|need|wish|like) to (?:see|read|look|know)\b",
    re.IGNORECASE,
)


def asks_to_see(question: str) -> bool:
    """Tell whether a user asks to see a call rather than to have it made.

    >>> asks_to_see("Show me the JSON for delete_all, do not run it.")
    True
    >>> asks_to_see("Show me the weather in Oslo."), asks_to_see("Show me my calls from yesterday.")
    (False, False)
    """
    asked = question.replace("\u2019", "'")
    parts = [asked] if len(asked) <= 2 * _LONGEST else [asked[:_LONGEST], asked[-_LONGEST:]]
    return any(_NOT_RUN.search(part) or _SHOW.search(part) for part in parts)
