"""The code in the documents runs and prints what they say, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


EXAMPLES = [e for e in find_examples(*map(str, DOCUMENTS)) if e.prefix == "python"]


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.filterwarnings("ignore:is_running called from within a step")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.path.name}:{e.start_line}")
def test_code_runs_and_prints_what_it_says(example: CodeExample, eval_example: EvalExample) -> None:
    """Each Python block runs, and its comments say what it really prints."""
    eval_example.set_config(line_length=100)
    eval_example.run_print_check(example)


def test_there_is_code_to_run() -> None:
    """The documents do hold code: the test above is not empty."""
    assert {example.path.name for example in EXAMPLES} >= {"README.md", "contracts.md"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    """Each relative link names a file of the repository."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [link for link in _LINK.findall(text) if "://" not in link]
    assert [link for link in targets if not (document.parent / link).exists()] == []


def test_readme_names_the_two_commands() -> None:
    """A newcomer finds `make demo` and `make test` in the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme
