"""Nearly JSON to JSON: quotes, keys, commas, comments and literals, each where it stands.

Most of what models get wrong is of this kind. To rewrite it piece by piece and let `json` decode
the whole takes a fraction of what decoding character by character takes; what does not come out as
JSON is for the slow decoder.
"""

from __future__ import annotations

import re
from typing import Final

from loopmend.reading.pairs import NO_KEY, likely_value, whole_value
from loopmend.reading.scalars import ENDS_TOO_EARLY, INNER_QUOTE, MOST_REPAIRS, Tear
from loopmend.reading.turn import Repair, repair
from loopmend.reading.values import Value

__all__ = ["rewritten_value"]

_TEXT: Final = r"\"[^\"\\\x00-\x1f]*(?:\\[\"\\/nrtu][^\"\\\x00-\x1f]*)*\""
# Words without a sign that could end a string or be code.
_PLAIN: Final = r"[^\W\d_](?:[^\"\\\x00-\x1f,:;=+%/#()\[\]{}<>`'\u201c\u201d]{0,200}[^\W\d_])?"
# Blanks, brackets, colons and numbers: whether they are JSON is for `json` to say.
_SIGNS: Final = r"[ \t\r\n{}\[\]:0-9.+\-]"
_PIECE: Final = re.compile(
    # What is JSON already, as much of it as there is, and then what is not.
    rf"(?:{_SIGNS}+|(?:,[ \t\r\n]*)?{_TEXT}(?!\w){_SIGNS}*|,[ \t\r\n]*(?![}}\],/#\s])"
    rf"|(?:true|false|null)\b{_SIGNS}*|(?<=\d)[eE][+-]?\d+(?!\w))*"
    r"(?:(?P<key>[A-Za-z_$][\w$\-]*(?=\s*:))"
    r"|(?P<single>'[^'\"\\\x00-\x1f]*')"
    r"|(?P<smart>\u201c[^\u201c\u201d\"\\\x00-\x1f]*\u201d)"
    r"|(?P<literal>(?:True|False|None)\b)"
    r"|(?P<word>(?!(?:NaN|nan|Infinity|inf|undefined|nil|NULL|TRUE|FALSE)\b)"
    r"[A-Za-z][^\W_]*(?:-+[^\W_]+)*(?=\s*[,\]}]))"  # with an underscore it may be a variable
    r"|(?P<raw>\"[^\"\\]*(?:\\[\"\\/nrtu][^\"\\]*)*\"(?=\s*[,}\]]))"
    rf"|(?P<quoted>(?<=: )\"{_PLAIN}(?: \"{_PLAIN}\" {_PLAIN}){{1,9}}\""
    r"(?=\}(?!\s*,)|, \"[^\"\\\n]{0,80}\":))"
    r"|(?P<comma>,(?=[ \t\r\n]*[}\]]))|(?P<late>,)"
    r"|(?P<comment>(?!(?://|/\*|\#)\s*(?:\.\.\.|\u2026))(?://[^\n]*\n|/\*[^*]*\*/|\#[^\n]*\n))|)"
)
_ENDS: Final = re.compile(r"(?:\s|//[^\n]*\n|/\*[^*]*\*/|\#[^\n]*\n)*[}\]]")
_NO_BRACKET: Final = re.compile(r"\"[^\"\\]*(?:\\.[^\"\\]*)*(?:\"|\\?\Z)|[^\"{}\[\]]+", re.DOTALL)
_QUOTE: Final = re.compile('"')
_COMMA: Final = "trailing comma"
_LITERALS: Final = {"True": "true", "False": "false", "None": "null"}
_WHAT: Final = {
    "single": "quotes",
    "smart": "quotes",
    "key": "unquoted key",
    "word": "unquoted text",
    "raw": "raw line end in a string",
    "literal": "Python literal",
    "comma": _COMMA,
    "late": _COMMA,
    "comment": "comment left out",
}
_EXTRA_COMMA: Final = re.compile(r",(?=[ \t\r\n]*[}\]])")
_CLOSED: Final = str.maketrans("{[", "}]")
_BARE: Final = frozenset(("key", "word"))
_ENDED: Final = frozenset('"}]')
_DEEPEST: Final = 8
_Fix = tuple[int, int, str, int]
# Where it stands in the text that was written, of what kind it is, and how long what replaces it.


def rewritten_value(text: str, start: int) -> Value | None:
    """Return the value that starts at a place if simple repairs make it JSON, or `None`.

    What is missing may be brackets at the end of the text.
    """
    count = text.count
    torn = count("}", start) < count("{", start) or count("]", start) < count("[", start)
    if torn and text.rstrip()[-1:] not in _ENDED:
        return None  # it stops within a number, a string or a member, most likely
    if not torn and (found := _without_commas(text, start)) is not None:
        return found
    pieces: list[str] = []
    fixes: list[_Fix] = []
    stop = _rewrite(text, start, pieces, fixes)
    if torn:
        return _closed(text, start, pieces, fixes) if stop == len(text) else None
    return _first(text, start, stop, pieces, fixes) if fixes else None


def _rewrite(text: str, start: int, pieces: list[str], fixes: list[_Fix]) -> int:
    """Note what is put right, and the text up to there; return where it stops to be JSON."""
    kept = start
    matches = _PIECE.finditer(text, start)
    while (kind := (match := next(matches)).lastgroup) is not None:
        first, end = match.span(kind)
        if kind in _BARE:
            fix = f'"{match[kind]}"'
        elif kind == "comma":
            fix = ""
        elif kind != "late":
            fix = _fixed(kind, text[first:end])
        elif _ENDS.match(text, end) is not None:
            fix = ""
        else:
            continue
        pieces.append(text[kept:first] + fix)
        fixes.append((first, end, kind, len(fix)))
        kept = end
    return match.end()


def _first(text: str, start: int, stop: int, pieces: list[str], fixes: list[_Fix]) -> Value | None:
    """Return the first value of what is rewritten; nothing is put right behind its end."""
    made = "".join([*pieces, text[fixes[-1][1] : stop]])
    found = likely_value(made, 0)
    if found is None:
        return None
    left = len(made) - found[1]
    while left >= (stop - fixes[-1][1]) + fixes[-1][3]:
        first, end, _, size = fixes.pop()
        left -= stop - end + size
        stop = first
        if not fixes:
            return None
    return Value(found[0], start, stop - left, _repairs(text, fixes))


def _without_commas(text: str, start: int) -> Value | None:
    """Return the value at the end of a text that is JSON but for commas that nothing follows.

    They are what is wrong most often, and to look for nothing else takes half the time.
    """
    if "\\" in text or text[start + 1 : start + 2] in NO_KEY:
        return None
    pieces = _EXTRA_COMMA.split(text[start:])
    if len(pieces) == 1:
        return None
    at = start - 1
    repairs = []
    for piece in pieces:
        if piece.count('"') % 2:
            return None  # it may stand in a string
        at += len(piece) + 1
        repairs.append(repair(_COMMA, (at, at + 1)))
    repairs.pop()
    made = "".join(pieces).rstrip()
    found = whole_value(made)
    if found is None:
        return None
    return Value(found, start, start + len(made) + len(pieces) - 1, tuple(repairs[:MOST_REPAIRS]))


def _closed(text: str, start: int, pieces: list[str], fixes: list[_Fix]) -> Value | None:
    """Return the value of what is rewritten up to the end of a text, where brackets are missing."""
    made = "".join([*pieces, text[fixes[-1][1] if fixes else start :]])
    braces = made.count("{") - made.count("}")
    if braces > 0 and made.count("[") == made.count("]"):
        closers = "}" * braces  # unless a string holds brackets: then this makes no JSON
    else:
        left = _NO_BRACKET.sub("", made)
        for _ in range(_DEEPEST):
            left = left.replace("{}", "").replace("[]", "")
        if left.strip("{["):
            return None
        closers = left.translate(_CLOSED)[::-1]
    # If nothing is missing after all, strings or comments hold the brackets that seem to be open.
    found = whole_value(made + closers) if closers else None
    if found is None:
        return None
    end = len(text)
    missing = [repair(ENDS_TOO_EARLY, (end, end))] * len(closers)
    repairs = (*_repairs(text, fixes), *missing)[:MOST_REPAIRS]
    return Value(found, start, end, repairs, Tear.OPEN)


def _fixed(kind: str, piece: str) -> str:
    """Return the JSON that stands for a piece that is none."""
    if kind == "literal":
        return _LITERALS[piece]
    if kind == "comment":
        return " "  # it keeps apart what stands around it
    inner = piece[1:-1]
    if kind == "quoted":
        return '"' + inner.replace('"', '\\"') + '"'
    if kind == "raw":
        # A line end right before the closing quote is layout.
        plain = inner.rstrip(" \t\r\n")
        inner = plain if "\n" in inner[len(plain) :] else inner
        inner = inner.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f'"{inner}"'


def _repairs(text: str, fixes: list[_Fix]) -> tuple[Repair, ...]:
    """Return what was put right, and where."""
    found: list[Repair] = []
    for at, to, kind, _ in fixes[:MOST_REPAIRS]:
        if kind == "quoted":
            found += [repair(INNER_QUOTE, m.span()) for m in _QUOTE.finditer(text, at + 1, to - 1)]
        else:
            found.append(repair(_WHAT[kind], (at, to)))
    return tuple(found[:MOST_REPAIRS])
