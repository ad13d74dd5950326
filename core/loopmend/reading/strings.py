"""The strings of values as models write them, and where they end.

What follows a quote shows whether it is the last one; what may follow depends on whether the string
is a key, a member, an item or an argument. A string that can be read in two ways is an error.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Final

from loopmend.reading.escapes import EscapeScanner
from loopmend.reading.quotations import CLOSERS, QUOTES, holds_open, is_open, laid_out
from loopmend.reading.scalars import INNER_QUOTE, MISSING_QUOTE, NAMED, Part, Tear

__all__ = ["TWO_WAYS", "StringScanner"]

TOKEN_QUOTES: Final = ('<|"|>', "<escape>")
"""Quotes that are tokens, as Gemma writes them: nothing in between is escaped."""

_FIXED: Final = r"(?:true|false|null|True|False|None)\b"
_WORD: Final = rf"(?!{_FIXED})[^\W\d]"
_ITEM: Final = (
    r"""[uUrR]?["']|[\u201c\u2018\u201e\u00ab\u300c`\[{(]|[-+.]?\d"""
    rf"|[\w.\-]{{1,60}}\s*[,\]]|{_FIXED}"
)
# A key that is cut off, and blanks behind it, however many.
_CUT_KEY: Final = (
    r"""["'\u201c\u2018`](?:[^"'\u201c\u201d\u2018\u2019`\n]{0,80}"""
    r"""[^"'\u201c\u201d\u2018\u2019`\s])?\s*\Z"""
)
_NOTE: Final = r"//[^\n]{0,200}\n|\#[^\n]{0,200}\n|/\*[^*]{0,200}\*/"
# Line ends between members may be escaped, as in a text that was encoded without its quotes.
_GAP: Final = r"\s*(?:\\[nrt]\s*)*"
_OVER: Final = r"\.\.\.|\u2026|//|/\*|#|$"
# What may follow the closing quote of a text that is all there is, a key, a member and an item.
_AFTER: Final = {
    "root": re.compile(r"\s*\Z"),
    "key": re.compile(rf"(?:\s|{_NOTE})*(?:[:\uff1a=]|(?:{_FIXED}|-?\d[\d.]*)\s*[,}}])"),
    "member": re.compile(
        rf"{_GAP}(?:[,\uff0c]{_GAP}(?:,\s*)*(?:{NAMED}|[\w$][\w$.\-]{{0,60}}\s*:|[}}\]\[{{]|{_CUT_KEY}|{_OVER})"
        rf"|\}}(?!\s*,\s*{_WORD})|\](?!\s*\w)|{NAMED}|{_OVER})|[^\S\n]*\n\s*[\w$][\w$.\-]{{0,60}}\s*:"
    ),
    "argument": re.compile(
        r"""\s*(?:[}\])]|[:\uff1a\uff0c]|,\s*(?:["'`\u201c\u2018\w\[{(}\])/#-]|$)|\n|$|//|/\*|#)"""
    ),
    "item": re.compile(
        rf"{_GAP}(?:[,\uff0c]{_GAP}(?:,\s*)*(?:{_ITEM}|[}}\])]|{_OVER})|[\])}}]|{_OVER})"
        rf"|\s+[\"'](?=[^\s,\]])|[^\S\n]*\n\s*(?:[\"'\[{{\d]|{_FIXED})"
    ),
}
_UNCLOSED: Final = {
    "member": re.compile(rf",\s*(?={NAMED})"),
    "item": re.compile(r",(?:/\*[^*]*\*/)?(?=[\"'][^\s\"',\]])|(?P<line>,[ \t]*\n\s*)"),
}
TWO_WAYS: Final = "quotes that can be read in two ways"
_RAW: Final = "raw line end in a string"
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_DOUBLED: Final = "doubled quotes"
_TRIPLE: Final = ('"""', "'''", "```")
_BEFORE_KEY: Final = frozenset(", \t\n\r\f\v/")
_JOINS: Final = re.compile(r"\s*\+\s*(?=[\"'])")
_BEFORE_PLUS: Final = frozenset("+ \t\n\r")
_REACH: Final = 2000
# More of them are no part of a string.
_MOST_QUOTES: Final = 2000
_PLAIN: Final = {
    "root": frozenset({""}),
    "argument": frozenset(")"),
    "key": frozenset(":\uff1a"),
    "member": frozenset("}"),
    "item": frozenset("]"),
}
_INFO: Final = re.compile(r"(?:json|JSON)[0-9c]?\s*\n")
_EXPRESSION: Final = re.compile(r"""\s*[+%]\s*["'\w(]""")
# What stands between two strings: an operator, or a few words such as `or` and `if x else`.
_BETWEEN: Final = re.compile(
    r"""(?:(?:\s+[^\s"']{1,20}){1,3}\s+|\s*[^\s\w"',:;.<>(){}\[\]]{1,2}\s*)["'][^\s"',}\]]"""
)
_SAME: Final = re.compile(r"""[uU]["']|[rR](?:"[^"\\\n]*"|'[^'\\\n]*')""")
_PREFIX: Final = re.compile(r"""[bBfFrRuU]{1,2}(["'])(?=[^\n]{0,2000}?\1)""")
_ENDS: Final = {
    opening: re.compile("[\\\\\n\t\r" + "".join(sorted(set(closing))) + "]")
    for opening, closing in QUOTES.items()
}
_BLANKS_AND_SIGN: Final = re.compile(r"\s*[,:]")
# An escaped quote and a comma look like the end of a string whose quote is missing.
_ESCAPED_END: Final = re.compile(r"\\[\"'],\s{0,20}\Z")
_SEMICOLON: Final = re.compile(r"\s*;\s*[\"'\u201c]")
_QUOTE_NEXT: Final = re.compile(r"\s*,\s*[\"'\u201c]|[ \t]+[\"'](?=[^\s,}\])])")
_COMMA_NEXT: Final = re.compile(r"\s*,")
_COLON: Final = re.compile(r"\s*[:\uff1a]")
_NO_KEY: Final = re.compile(r"[:,\n]")
_PREFIXES: Final = frozenset("bBfFrRuU")


class StringScanner(EscapeScanner):
    """Reads strings by what they are a part of."""

    __slots__ = ()

    def string(self) -> str:
        """Read a quoted string, whatever the quotes."""
        text, start = self.text, self.at
        opening = text[start]
        if text[start + 1 : start + 2] == opening and text.startswith(_TRIPLE, start):
            return self._block(opening * 3)
        found = self._string(opening)
        if text[self.at : self.at + 1] not in _BEFORE_PLUS:
            return found
        pieces = [found]
        while joined := _JOINS.match(text, self.at):
            self.mend("joined strings", self.at)
            self.at = joined.end()
            pieces.append(self._string(text[self.at]))
        return "".join(pieces)

    def prefixed(self) -> bool:
        """Step over the prefix of a string that says the same without it.

        Raises:
            LenientError: The prefix makes it a template, bytes, or text that is not escaped.
        """
        text, at = self.text, self.at
        if text[at : at + 1] not in _PREFIXES or not _PREFIX.match(text, at):
            return False
        if not _SAME.match(text, at):
            self.fail("an expression, not a value", at)
        self.mend("string prefix", at)
        self.at += 1
        return True

    def _string(self, opening: str) -> str:
        text, start, part = self.text, self.at, self.part
        if text[start + 1 : start + 2] == opening and text[start + 2 : start + 3].isalnum():
            return self._doubled(opening)
        begin = start + 1
        end = text.find(QUOTES[opening][0], begin, begin + _REACH)
        if end != -1 and "\\" not in (plain := text[begin:end]) and "\n" not in plain:
            ends = text[end + 1 : end + 2] in _PLAIN[part] or _AFTER[part].match(text, end + 1)
            if ends and len(QUOTES[opening]) == 1:
                self.at = end + 1
                self._note_quotes(start)
                if not (plain.isprintable() or self.parentheses) and _CONTROL.search(plain):
                    self.mend(_RAW, begin, end)
                return plain
        found = self._ended(opening, begin)
        self._note_quotes(start)
        return found

    def _note_quotes(self, start: int) -> None:
        if self.text[start] != '"':
            self.mend("quotes", start)

    def _ended(self, opening: str, begin: int) -> str:
        """Read on to the quote that what follows shows to be the last."""
        text, part = self.text, self.part
        search, after, inner = _ENDS[opening].search, _AFTER[part].match, part in _UNCLOSED
        start = checked = begin
        inner_quotes = 0
        pieces: list[str] = []
        self.enter(begin)
        self.at = begin
        while True:
            match = search(text, self.at)
            if match is None:
                return self._unclosed(pieces, begin)
            at, char = match.start(), match[0]
            if char == "\\":
                pieces.append(text[begin:at])
                self.at = at
                pieces.append(self.escape(opening))
                begin = self.at
                continue
            if char in "\n\t\r":
                if char == "\n" or not self.parentheses:  # Python takes tabs
                    self.mend(_RAW, at, at + 1)
                self.at = at + 1
                continue
            # Right before a word a quote opens something, and nothing has to be looked up.
            opens = inner and at > start and text[at + 1 : at + 2].isalnum()
            ends = not opens and (after(text, at + 1) or _JOINS.match(text, at + 1))
            if not ends:
                if not opens:
                    self._refuse(start, at, part, empty=at == start, first=checked == start)
                if (unclosed := self._ends_before(at)) is not None and unclosed >= begin:
                    self._verify(inner_quotes == 0 and self._lacks_quote(unclosed, at), at)
                    self.mend(MISSING_QUOTE, unclosed)
                    self.at = unclosed
                    return "".join([*pieces, text[begin:unclosed]])
            if ends or text.find(char, at + 1, at + _REACH) == -1:
                item = part == "item" and inner_quotes % 2 == 1
                open_ = inner_quotes > 0 and is_open(text[start:at], char, item=item)
                self._verify(not (open_ or (opens and text[at - 1] in _BEFORE_KEY)), at)
                pieces.append(text[begin:at])
                self.at = at + 1
                return self.leave(start, laid_out("".join(pieces), text[begin:at]))
            inner_quotes += 1
            self._note_inner(at, checked, inner_quotes)
            self.at = checked = at + 1

    def _verify(self, certain: bool, at: int) -> None:  # noqa: FBT001 - what is to hold
        """Refuse a string that may also end elsewhere, because it holds quotes that it needs."""
        if not certain:
            self.fail(TWO_WAYS, at)

    def _lacks_quote(self, unclosed: int, at: int) -> bool:
        r"""Tell whether a quote is surely missing before a comma, and opens the next key or item.

        In `"a', "b"` and `"a\", "b"` another one may be meant to close, or a raw backslash
        stands before it, and in `"a, ", b": 1` it is the opening one of `b` that is missing.
        """
        before, behind = self.text[unclosed - 1], _BLANKS_AND_SIGN.match(self.text, at + 1)
        return before not in QUOTES and behind is None

    def _note_inner(self, at: int, checked: int, count: int) -> None:
        """Note a quote that is part of a string, unless there are too many to believe it."""
        if self.part == "key" and _NO_KEY.search(self.text, checked, at):
            self.fail("a key that does not end", at)
        if count > _MOST_QUOTES:
            self.fail(TWO_WAYS, at)
        self.mend(INNER_QUOTE, at)

    def _refuse(self, begin: int, at: int, part: Part, *, empty: bool, first: bool) -> None:
        """Refuse what makes a quote neither the end of a string nor a part of it."""
        text = self.text
        if _EXPRESSION.match(text, at + 1):
            msg = "an expression, not a value"
        elif part == "item" and _COLON.match(text, at + 1):
            msg = "a key in an array"
        elif empty:
            msg = "text after an empty string"
        elif (
            (part in ("member", "argument") and _QUOTE_NEXT.match(text, at + 1))
            or (
                # `"a"; "b"`: two strings rather than one.
                part != "root" and _SEMICOLON.match(text, at + 1)
            )
            or (
                # `"a" or "b"`: a quote that closes where none was opened, and then one that opens.
                first
                and not text[at - 1].isspace()
                and (
                    text.count(text[at], at) % 2 if part == "root" else _BETWEEN.match(text, at + 1)
                )
            )
            or (
                # A path keeps its backslashes, but behind one a quote may be escaped.
                self._literal and text[at - 1] == "\\"
            )
            or (part != "root" and _ESCAPED_END.search(text, max(begin, at - 24), at))
            or (
                # `["a", b"]`: the quote that opens `b` is missing.
                first
                and part == "item"
                and _COMMA_NEXT.match(text, at + 1)
                and text.find(text[at], at + 1, at + _REACH) != -1
                and not is_open(text[begin:at], text[at])
            )
        ):
            msg = TWO_WAYS
        else:
            return
        self.fail(msg, at)

    def _ends_before(self, at: int) -> int | None:
        """Return where a string ends if this quote opens the next key or item."""
        pattern = _UNCLOSED.get(self.part)
        if pattern is None or self.text[at - 1] not in _BEFORE_KEY:
            return None
        comma = self.text.rfind(",", max(0, at - 60), at)
        found = pattern.match(self.text, comma) if comma != -1 else None
        if found is None or found.end() != at:
            return None
        if found.lastgroup == "line":
            self.fail(TWO_WAYS, at)  # a line of a text, or the next item
        return comma

    def _unclosed(self, pieces: list[str], begin: int) -> str:
        """Take what is left of the text, or what stands before the closing brackets."""
        rest = self.text[begin:]
        plain = rest.rstrip(" \t\r\n}]")
        closers = "".join(rest[len(plain) :].split())
        shut = self.open and closers == "".join(CLOSERS[each] for each in reversed(self.open))
        # The bracket may belong to the string, as in `"{x}`.
        if not shut or not plain.strip() or holds_open(plain):
            self.tear(Tear.CUT)
            self.at = len(self.text)
            return "".join([*pieces, rest])
        if pieces or plain[-1:] in QUOTES or "," in plain or ":" in plain.replace("://", ""):
            self.fail("a string that does not end", begin)
        self.at = begin + len(plain)
        self.mend(MISSING_QUOTE, self.at)
        return plain

    def token(self) -> str | None:
        """Return the token that stands for a quote here, if one does."""
        return next((t for t in TOKEN_QUOTES if self.text.startswith(t, self.at)), None)

    def token_string(self, token: str) -> str:
        """Read a string between two tokens, or to the end of the object if one is missing."""
        begin = self.at + len(token)
        end = self.text.find(token, begin)
        if end != -1:
            self.at = end + len(token)
            return self.text[begin:end]
        end = self.text.rfind("}", begin)
        if end == -1:
            self.tear(Tear.CUT)
            end = len(self.text)
        self.mend(MISSING_QUOTE, end)
        self.at = end
        return self.text[begin:end]

    def _doubled(self, opening: str) -> str:
        """Read `""text""`, as JSON in a table is quoted, or `""text"`."""
        begin = self.at + 2
        end = self.text.find(opening, begin, begin + _REACH)
        if end == -1:
            self.fail("a string that does not end")
        ends = self.text.startswith(opening, end + 1)
        # A table doubles the quotes of keys, too; else the inner ones may belong to the text.
        sure = self.part == "key" or any(each.what == _DOUBLED for each in self.repairs)
        once = not ends and self.part == "member" and _AFTER["member"].match(self.text, end + 1)
        if "\\" in self.text[begin:end] or not (sure or once):
            self.fail(TWO_WAYS)
        self.mend(_DOUBLED, self.at)
        self.at = end + 1 + ends
        return self.text[begin:end]

    def _block(self, quotes: str) -> str:
        """Read a text between triple quotes; line ends and indents next to them are layout."""
        begin = self.at + 3
        end = self.text.find(quotes, begin)
        if self.text.startswith(quotes[0], begin) or _INFO.match(self.text, begin):
            self.fail(TWO_WAYS)
        self.mend("triple quotes", self.at)
        if end == -1:
            self.tear(Tear.CUT)
            end = len(self.text)
        self.at = min(end + 3, len(self.text))
        block = self.text[begin:end]
        first, line_end, rest = block.partition("\n")
        if not line_end or first.strip():
            return block
        return dedent(rest).rstrip()
