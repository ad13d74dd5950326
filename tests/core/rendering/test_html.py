"""HTML that is safe by construction."""

from __future__ import annotations

import html

import pytest
from hypothesis import given

from loopmend.rendering.html import Html, Markup, card, clipped, element, escaped, visible
from loopmend.rendering.pieces import chip, short, table
from tests.core.rendering.pages import Page
from tests.core.strategies import any_text


@given(any_text)
def test_what_is_escaped_reads_back_as_what_is_visible(text: str) -> None:
    """A browser shows just the text, with what cannot be seen made visible."""
    assert html.unescape(escaped(text)) == visible(text)
    assert not set(escaped(text)) & set("<>\"'")
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x00\x1b\r\x7f\x85", "␀␛␍␡\\u0085"),
        ("\u202egnp.exe\u2066", "\\u202egnp.exe\\u2066"),
        ("\ud800 \udfff", "\\ud800 \\udfff"),
        ("å 東京 👩\u200d🚀 \u3000 \xa0", "å 東京 👩\u200d🚀 \u3000 \xa0"),
    ],
)
def test_visible(text: str, seen: str) -> None:
    """Controls, marks of direction and lone surrogates are seen; other scripts stay as they are."""
    assert visible(text) == seen


def test_markup_is_not_escaped_twice() -> None:
    """What was escaped once stays as it is, and what was not is escaped in attributes too."""
    assert element("b", escaped("<")) == "<b>&lt;</b>"
    assert element("b", title='"><script>') == '<b title="&quot;&gt;&lt;script&gt;"></b>'


def test_clipped() -> None:
    """A long text is cut, and it is said by how much."""
    assert clipped("<b>", 3) == "&lt;b&gt;"
    assert Page(card(clipped("x" * 5000, 10))).text() == f"{'x' * 10} … 4,990 more characters"
    assert short("x" * 81) == f"{'x' * 80}…"
    assert len(Page(chip("<" * 1000)).text()) == 81


def test_a_table_of_nothing_is_nothing() -> None:
    """Where there are no rows there is no header either."""
    assert table([], ["n"]) == ""


def test_a_card_has_its_own_style_and_no_formulas() -> None:
    """The style concerns nothing outside the card; dollar signs stay dollar signs."""
    page = Page(card("It costs $5 or $6."))
    assert page.seen[0] == ("div", "loopmend tex2jax_ignore mathjax_ignore")
    rules = [rule for rule in page.text("style", but=("none",)).split("}") if rule.strip()]
    assert all(rule.lstrip().startswith(".loopmend") for rule in rules)


def test_something_to_look_at() -> None:
    """It is HTML for a notebook and for `str`, and short in a terminal."""
    looked_at = Html(Markup("<b>x</b>"))
    assert str(looked_at) == looked_at._repr_html_() == "<b>x</b>"
    assert repr(looked_at) == "Html()"
