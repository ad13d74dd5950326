"""What a browser makes of a piece of HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

OURS = {
    *("b", "code", "div", "i", "li", "mark", "p", "pre", "span", "style", "sup"),
    *("table", "td", "th", "tr", "ul"),
}
"""All the tags that we write."""


class Page(HTMLParser):
    """A piece of HTML, taken apart.

    It insists that all tags are ours and closed in order, and that no attribute can do anything.
    """

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str]] = []
        self.seen: list[tuple[str, str]] = []
        self.titles: list[str] = []
        self.styles: list[str] = []
        self._text: list[tuple[tuple[str, ...], str]] = []
        markup.encode()  # no half of a pair is left
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and its attributes."""
        given = dict(attrs)
        assert tag in OURS
        assert set(given) <= {"class", "title", "style"}
        assert (given.get("style") or "width: ").startswith("width: ")
        css = given.get("class") or ""
        self.open.append((tag, css))
        self.seen.append((tag, css))
        self.titles += [given["title"] or ""] if "title" in given else []
        self.styles += [given["style"] or ""] if "style" in given else []

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last, and no other."""
        assert self.open.pop()[0] == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Refuse what is never written."""
        raise AssertionError(tag, attrs)

    def handle_comment(self, data: str) -> None:
        """Refuse what is never written."""
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        """Refuse what is never written."""
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        """Refuse what is never written."""
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        """Refuse what is never written."""
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        """Note a text and what it stands in."""
        self._text.append((tuple(f"{tag} {css}" for tag, css in self.open), data))

    def text(self, inside: str = "", but: tuple[str, ...] = ("style",)) -> str:
        """Return the text inside elements of a name, but not inside others."""
        return "".join(
            data
            for within, data in self._text
            if any(each.startswith(inside) for each in within)
            and not any(each.startswith(but) for each in within)
        )

    def count(self, tag: str, css: str = "") -> int:
        """Return how many elements there are of a name and with a class."""
        return sum(tag == each and css in ("", *classes.split()) for each, classes in self.seen)


def shown(value: Any) -> Page:
    """Take apart what a value shows of itself."""
    return Page(value._repr_html_())
