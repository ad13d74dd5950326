"""Nearly JSON to JSON: quotes, keys, commas, comments and literals, each where it stands.

Most of what models get wrong is of this kind. To rewrite it piece by piece and let `json` decode
the whole takes a fraction of what decoding character by character takes; what does not come out as
JSON is for the slow decoder.
"""

from __future__ import annotations

import re
from typing import Any, Final

from loopmend.reading.pairs import strict_value
from loopmend.reading.turn import Repair
from loopmend.reading.values import Value

__all__ = ["rewritten_value"]

_PIECE: Final = re.compile(
    # What is JSON already, as much of it as there is.
    r"(?:[ \t\r\n]+|\"[^\"\\\x00-\x1f]*(?:\\[\"\\/bfnrtu][^\"\\\x00-\x1f]*)*\"|[{}\[\]:]"
    r"|,(?!\s*[}\],/#])|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])"
    r"|(?:true|false|null)\b)+"
    r"|(?P<key>[A-Za-z_$][\w$\-]*(?=\s*:))"
    r"|(?P<single>'[^'\"\\\x00-\x1f]*')"
    r"|(?P<smart>\u201c[^\u201c\u201d\"\\\x00-\x1f]*\u201d)"
    r"|(?P<literal>(?:True|False|None)\b)"
    r"|(?P<word>(?!(?:NaN|nan|Infinity|inf|undefined|nil|NULL|TRUE|FALSE)\b)"
    r"[A-Za-z_][\w\-]*(?=\s*[,\]}]))"
    r"|(?P<raw>\"[^\"\\]*(?:\\[\"\\/bfnrtu][^\"\\]*)*\"(?=\s*[,}\]]))"
    r"|(?P<comma>,)"
    r"|(?P<comment>//[^\n]*\n|/\*[^*]*\*/|\#[^\n]*\n)"
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
_Fix = tuple[int, int, int, int, str]
# Where it starts in the text that is made, how long it is there, where it stands in the text that
# was written, and of what kind it is.


def rewritten_value(text: str, start: int) -> Value | None:
    """Return the value that starts at a place if simple repairs make it JSON, or `None`."""
    pieces: list[str] = []
    fixes: list[_Fix] = []
    length = start
    for match in iter(_PIECE.scanner(text, start).match, None):  # type: ignore[attr-defined]
        kind, piece = match.lastgroup, match[0]
        if kind is not None and (kind != "comma" or _ENDS.match(text, match.end())):
            piece = _fixed(kind, piece)
            fixes.append((length, len(piece), match.start(), match.end(), kind))
        pieces.append(piece)
        length += len(piece)
    found = strict_value("".join(pieces), 0) if fixes else None
    return None if found is None else _placed(found[0], start, start + found[1], fixes)


def _fixed(kind: str, piece: str) -> str:
    if kind in ("key", "word"):
        return f'"{piece}"'
    if kind in ("single", "smart"):
        return f'"{piece[1:-1]}"'
    if kind == "raw":
        return _encoded(piece)
    if kind == "comment":
        return " "  # it keeps apart what stands around it
    return _LITERALS[piece] if kind == "literal" else ""


def _encoded(piece: str) -> str:
    """Encode raw line ends and tabs; a line end right before the closing quote is layout."""
    inner = piece[1:-1]
    plain = inner.rstrip(" \t\r\n")
    if "\n" in inner[len(plain) :]:
        inner = plain
    return f'"{inner}"'.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _placed(value: Any, start: int, end: int, fixes: list[_Fix]) -> Value | None:
    """Return a value with its place in the text as it was."""
    within = [fix for fix in fixes if fix[0] < end]
    if not within:
        return None
    begin, size, _, last, _ = within[-1]
    repairs = tuple(
        [Repair(_WHAT[kind], (first, last)) for _, _, first, last, kind in within[:_MOST_REPAIRS]]
    )
    return Value(value, start, end + last - begin - size, repairs)
