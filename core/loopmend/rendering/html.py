"""HTML that is safe by construction: whatever is not `Markup` is escaped where it is put in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Final

from loopmend.rendering.style import STYLE

__all__ = ["Html", "Markup", "card", "clipped", "element", "escaped", "joined", "visible"]

# Control characters, marks that turn the direction of what follows, and halves of pairs.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\ufdd0-\ufdef\ufff9-\uffff]"
)
_PICTURES: Final = 0x2400
_DELETE: Final = 0x7F
_ASCII_CONTROLS: Final = 0x20


class Markup(str):
    """HTML that was written here, in which all foreign text is escaped.

    >>> element("b", "1 < 2")
    '<b>1 &lt; 2</b>'
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Html:
    """Something to look at in a notebook; its `str` is the HTML.

    >>> str(Html(element("b", "bold")))
    '<b>bold</b>'
    """

    markup: Markup = field(repr=False)

    def __str__(self) -> str:
        return str(self.markup)

    def _repr_html_(self) -> str:
        return str(self.markup)


def visible(text: str) -> str:
    r"""Return a text in which every control character and every lone surrogate can be seen.

    >>> visible("a\x1b\u202eb")
    'a␛\\u202eb'
    """
    return _INVISIBLE.sub(_pictured, text)


def _pictured(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < _ASCII_CONTROLS:
        return chr(_PICTURES + code)
    return "\u2421" if code == _DELETE else f"\\u{code:04x}"


def escaped(text: str) -> Markup:
    """Return a text as HTML that shows just this text.

    >>> escaped("<script>")
    '&lt;script&gt;'
    """
    return text if isinstance(text, Markup) else Markup(escape(visible(str(text))))


def clipped(text: str, longest: int) -> Markup:
    """Return a text as HTML, cut where it is too long, with the number of characters left out.

    >>> clipped("abcdef", 4)
    'abcd<span class="note"> … 2 more characters</span>'
    """
    if len(text) <= longest:
        return escaped(text)
    note = f" … {len(text) - longest:,} more characters"
    return joined([escaped(text[:longest]), element("span", note, css="note")])


def element(name: str, *inside: str, css: str = "", title: str = "", style: str = "") -> Markup:
    """Return an element with what is inside, escaped unless it is markup.

    >>> element("i", "a", element("b", "&"), css="note")
    '<i class="note">a<b>&amp;</b></i>'
    """
    given = (("class", css), ("title", title), ("style", style))
    attributes = "".join(f' {key}="{escaped(value)}"' for key, value in given if value)
    return Markup(f"<{name}{attributes}>{joined(inside)}</{name}>")


def joined(pieces: Iterable[str]) -> Markup:
    """Put pieces one after the other, each escaped unless it is markup.

    >>> joined(["<", element("b", "x")])
    '&lt;<b>x</b>'
    """
    return Markup("".join(map(escaped, pieces)))


def card(*inside: str) -> Markup:
    """Return what is shown as a whole, with its style.

    The classes keep notebooks from taking what stands between dollar signs for formulas.

    >>> card("x")[-7:]
    'x</div>'
    """
    style = Markup(f"<style>{STYLE}</style>")
    return element("div", style, *inside, css="loopmend tex2jax_ignore mathjax_ignore")
