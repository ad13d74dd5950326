"""Nearly JSON to JSON: quotes, keys, commas, comments and literals, each where it stands.

Most of what models get wrong is of this kind. To rewrite it piece by piece and let `json` decode
the whole takes a fraction of what decoding character by character takes; what does not come out as
JSON is for the slow decoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from loopmend.reading.pairs import likely_value
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["rewritten_value"]

_PIECE: Final = re.compile(
    # What is JSON already, as much of it as there is, and then what is not.
    r"(?:[ \t\r\n]+|\"[^\"\\\x00-\x1f]*(?:\\[\"\\/bfnrtu][^\"\\\x00-\x1f]*)*\"|[{}\[\]:]"
    r"|,(?!\s*[}\],/#])|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])"
    r"|(?:true|false|null)\b)*"
    r"(?:(?P<key>[A-Za-z_$][\w$\-]*(?=\s*:))"
    r"|(?P<single>'[^'\"\\\x00-\x1f]*')"
    r"|(?P<smart>\u201c[^\u201c\u201d\"\\\x00-\x1f]*\u201d)"
    r"|(?P<literal>(?:True|False|None)\b)"
    r"|(?P<word>(?!(?:NaN|nan|Infinity|inf|undefined|nil|NULL|TRUE|FALSE)\b)"
    r"[A-Za-z_][\w\-]*(?=\s*[,\]}]))"
    r"|(?P<raw>\"[^\"\\]*(?:\\[\"\\/bfnrtu][^\"\\]*)*\"(?=\s*[,}\]]))"
    r"|(?P<comma>,)"
    r"|(?P<comment>(?!(?://|/\*|\#)\s*(?:\.\.\.|\u2026))(?://[^\n]*\n|/\*[^*]*\*/|\#[^\n]*\n))|)"
)
_ENDS: Final = re.compile(r"(?:\s|//[^\n]*\n|/\*[^*]*\*/|\#[^\n]*\n)*[}\]]")
_LITERALS: Final = {"True": "true", "False": "false", "None": "null"}
_WHAT: Final = {
    "single": "quotes",
    "smart": "quotes",
    "key": "unquoted key",
    "word": "unquoted text",
    "raw": "raw line end in a string",
    "literal": "Python literal",
    "comma": "trailing comma",
    "comment": "comment left out",
}
_MOST_REPAIRS: Final = 100
_Fix = tuple[int, int, str]
# Where it stands in the text that was written, and of what kind it is.


def rewritten_value(text: str, start: int) -> Value | None:
    """Return the value that starts at a place if simple repairs make it JSON, or `None`."""
    count = text.count
    if count("}", start) < count("{", start) or count("]", start) < count("[", start):
        return None  # it stops in the middle, most likely
    pieces: list[str] = []
    fixes: list[_Fix] = []
    kept = start
    scanner: Any = _PIECE.scanner(text, start)  # type: ignore[attr-defined]
    while (match := scanner.match()).lastgroup is not None:
        kind, stop = match.lastgroup, match.end()
        if kind == "comma" and not _ENDS.match(text, stop):
            continue
        first = match.start(kind)
        pieces.append(text[kept:first])
        pieces.append(_FIXED[kind](text[first:stop]))
        fixes.append((first, stop, kind))
        kept = stop
    if not fixes:
        return None
    stop = match.end()
    pieces.append(text[kept:stop])
    made = "".join(pieces)
    found = likely_value(made, 0)
    if found is None:
        return None
    left = len(made) - found[1]
    # Nothing has to be put right behind the end.
    while left >= len(pieces[-1]) + len(pieces[-2]):
        left -= len(pieces.pop()) + len(pieces.pop())
        stop = fixes.pop()[0]
        if not fixes:
            return None
    repairs = [Repair(_WHAT[kind], (at, to)) for at, to, kind in fixes[:_MOST_REPAIRS]]
    return Value(found[0], start, stop - left, tuple(repairs))


def _encoded(piece: str) -> str:
    """Encode raw line ends and tabs; a line end right before the closing quote is layout."""
    inner = piece[1:-1]
    plain = inner.rstrip(" \t\r\n")
    if "\n" in inner[len(plain) :]:
        inner = plain
    return f'"{inner}"'.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


_FIXED: Final[dict[str, Callable[[str], str]]] = {
    **dict.fromkeys(("key", "word"), lambda piece: f'"{piece}"'),
    **dict.fromkeys(("single", "smart"), lambda piece: f'"{piece[1:-1]}"'),
    "raw": _encoded,
    "literal": _LITERALS.__getitem__,
    "comma": lambda _: "",
    "comment": lambda _: " ",  # it keeps apart what stands around it
}
