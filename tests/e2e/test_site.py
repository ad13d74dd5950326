"""`make docs` builds a site that holds every page, and whose links stay inside it."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from mkdocs.config import load_config

from tools import site

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_menu() -> None:
    """The menu takes its pages from the index, each once: a new page needs no second entry."""
    menu = json.dumps(site.on_config(load_config(str(ROOT / "mkdocs.yml"))).nav)
    for page in ROOT.glob("docs/*.md"):
        assert menu.count(f'"{page.name}"') == 1
    for name in ("notebooks/1-reading.md", "api/loopmend.md", "CHANGELOG.md"):
        assert f'"{name}"' in menu


@pytest.mark.parametrize("package", site.PACKAGES)
def test_a_page_of_the_api_has_names(package: str) -> None:
    """A package without public names of its own would be an empty page."""
    assert import_module(package).__all__


def test_what_documents_import_is_in_the_api() -> None:
    """Whoever looks up a name from an example finds the page of its package."""
    shown = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md"))
    ours = r"^ *from ((?:loopmend|langchain_loopmend|llama_index_loopmend)[\w.]*) import"
    found = set(re.findall(ours, shown, re.MULTILINE))
    assert len(found) > 10
    assert {each for each in found if each.removesuffix(".lexicon") not in site.PACKAGES} == set()


@pytest.mark.parametrize(
    ("text", "folder", "page", "expected"),
    [
        ("[a](../CHANGELOG.md#x)", "docs", "b.md", "[a](CHANGELOG.md#x)"),
        ("[a](docs/live.md)", ".", "CONTRIBUTING.md", "[a](live.md)"),
        ("[a](../docs/live.md)", "notebooks", "notebooks/1.md", "[a](../live.md)"),
        ("[a](../notebooks/1.ipynb)", "docs", "b.md", "[a](notebooks/1.md)"),
        ("[a](../Makefile)", "docs", "b.md", "a (`Makefile`)"),
        ("[a](https://b.c)", "docs", "b.md", "[a](https://b.c)"),
        ("```\n[a](../Makefile)\n```\n", "docs", "b.md", "```\n[a](../Makefile)\n```\n"),
    ],
)
def test_links_lead_to_pages_of_the_site(text: str, folder: str, page: str, expected: str) -> None:
    """A link to a file of the repository leads to its page, or is only its name."""
    assert site.relinked(text, ROOT / folder, Path(page)) == expected


def test_examples_are_code() -> None:
    """The examples of a docstring become blocks of code, where they stand."""
    shown = site.fenced("So:\n\n    >>> 1 + 1\n    2\n\nIt is.")
    assert shown == "So:\n\n    ```pycon\n    >>> 1 + 1\n    2\n    ```\n\nIt is."


def test_a_notebook_is_a_page() -> None:
    """Words, code, and what the code printed, drew and plotted are all on it."""
    shown = [
        {"data": {"text/plain": ["2"]}},
        {"data": {"text/plain": ["2"], "text/html": ["<b>\n", "\n", "two</b>"]}},
        {"data": {"text/plain": ["2"], "image/png": "iVBO\n"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "b"]},
        {"cell_type": "code", "source": ["1"], "outputs": shown},
    ]
    page = site.notebook(json.dumps({"cells": cells}))
    assert page == (
        "# A\nb\n\n```python\n1\n```\n\n```text\n2\n```\n\n<div><b>\ntwo</b></div>\n\n"
        '<p><img alt="figure" src="data:image/png;base64,iVBO"></p>'
    )
