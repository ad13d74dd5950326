"""The code in the documents runs and prints what they say, and their links lead somewhere."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_BLOCK = re.compile(r"^(`{3,}).*?^\1", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)

FRAMEWORKS = ("agents", "autogen_agentchat", "crewai", "pydantic_ai", "smolagents")
"""What the tests do not install: their recipes run where they are."""


def others(example: CodeExample) -> list[str]:
    """Return the frameworks of others that a block of code needs."""
    return [
        name for name in FRAMEWORKS if re.search(rf"^from {name}\b", example.source, re.MULTILINE)
    ]


EXAMPLES = [e for e in find_examples(*map(str, DOCUMENTS)) if e.prefix == "python"]


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.filterwarnings("ignore:is_running called from within a step")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.path.name}:{e.start_line}")
def test_code_runs_and_prints_what_it_says(example: CodeExample, eval_example: EvalExample) -> None:
    """Each Python block runs, and its comments say what it really prints."""
    eval_example.set_config(line_length=100)
    with warnings.catch_warnings():
        for name in others(example):
            warnings.simplefilter("ignore")
            pytest.importorskip(name, reason=f"{name} is not installed here")
        eval_example.run_print_check(example)


def test_each_other_framework_has_a_recipe() -> None:
    """Only the page of other frameworks may be passed over, and it names each of them once."""
    found = Counter((example.path.name, name) for example in EXAMPLES for name in others(example))
    assert found == {("frameworks.md", name): 1 for name in FRAMEWORKS}


def test_there_is_code_to_run() -> None:
    """The documents do hold code: the test above is not empty."""
    shown = {example.path.name for example in EXAMPLES}
    assert shown >= {"README.md", "adapters.md", "contracts.md", "quick-start.md", "recipes.md"}


def prose(document: Path) -> str:
    """Return a document without its blocks of code."""
    return _BLOCK.sub("", document.read_text(encoding="utf-8"))


def anchors(document: Path) -> set[str]:
    """Return the names that GitHub gives a document's headings."""
    titles = [title.lower() for title in _HEADING.findall(prose(document))]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    """Each relative link names a file of the repository, and a heading that is there."""
    for link in _LINK.findall(prose(document)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_each_page_can_be_found() -> None:
    """The index of the documentation names each page."""
    linked = set(_LINK.findall(prose(ROOT / "docs" / "README.md")))
    pages = {path.name for path in ROOT.glob("docs/*.md")}
    assert pages - linked == {"README.md"}


def test_readme_names_the_two_commands() -> None:
    """A newcomer finds `make demo` and `make test` in the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_the_tests_that_the_security_page_names_exist() -> None:
    """Each threat names at least one test or command, and each named test is there."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    named = [re.findall(r"`(test_\w+|make \w+)`", row) for row in rows]
    assert all(named)
    files = (ROOT / "tests").rglob("test_*.py")
    written = "".join(path.read_text(encoding="utf-8") for path in files)
    tests = {name for row in named for name in row if name.startswith("test_")}
    assert {name for name in tests if f"def {name}(" not in written} == set()
