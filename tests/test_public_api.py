"""The public API is locked: what is added or lost here is added or lost for users."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import loopmend

EXPECTED = [
    "AdvisedPlan",
    "Ask",
    "AskUser",
    "Done",
    "Failure",
    "FailurePattern",
    "FinalAnswer",
    "Finding",
    "GaveUp",
    "JsonReader",
    "JsonReading",
    "LoopPolicy",
    "LoopmendError",
    "Mending",
    "NormalizationError",
    "Planner",
    "ReadingConfig",
    "Repair",
    "Reply",
    "RetryPolicy",
    "StopReason",
    "ToolCall",
    "ToolSpec",
    "Trace",
    "TraceReport",
    "Turn",
    "TurnReader",
    "__version__",
    "action_schema",
    "classify_trace",
    "explain",
    "load_traces",
    "read_json",
    "read_response",
    "read_turn",
]

PACKAGES = (
    *(
        "adapting",
        "batch",
        "breaker",
        "cli",
        "contracts",
        "mending",
        "planning",
        "pytest",
        "reading",
    ),
    *("rendering", "traces"),
)
"""Where the names live that few need; their `__all__` is locked by tests/public_names.json."""

NAMES = Path(__file__).with_name("public_names.json")
ROOT = Path(__file__).parents[1]
SHOWN = ("integrations", "demo", "live", "docs", "notebooks")
"""What users read, or may take as a model for their own code, besides the README."""

WITHOUT_DOCSTRING = {
    *("AgentAction", "LoopDecision", "MetaSignal", "StuckRequest", "__version__"),
    *(
        "BreakerState",
        "FORMS",
        "Form",
        "Issue",
        "Kind",
        "LoopKind",
        "Match",
        "Mode",
        "OnCap",
        "OnFailure",
        "Step",
    ),
    *("ReactBoundOutcome", "ReactGrammarOutcome", "ReactTerminationOutcome"),
    *("ACTION_VERBS", "DETECTORS", "FORMATS", "I06_REASON_EXIT", "MAX_NORMALIZATION_RETRIES"),
}
"""Aliases and constants: Python keeps no docstring for them, their source has one."""


def _names(package: str) -> list[str]:
    return sorted(importlib.import_module(f"loopmend.{package}").__all__)


def test_public_names() -> None:
    """Exactly these names are public, each once."""
    assert sorted(loopmend.__all__) == sorted(EXPECTED)
    assert len(set(loopmend.__all__)) == len(loopmend.__all__)
    assert [name for name in EXPECTED if not hasattr(loopmend, name)] == []


def test_public_names_of_the_packages() -> None:
    """What is added to a package or lost from it is added or lost for users."""
    assert {p: _names(p) for p in PACKAGES} == json.loads(NAMES.read_text())


@pytest.mark.parametrize("package", ["", *PACKAGES])
def test_every_public_name_has_a_docstring_with_an_example(package: str) -> None:
    """The docstring of each public class and function holds an example that runs."""
    module = importlib.import_module(f"loopmend.{package}".rstrip("."))
    undocumented = [
        name
        for name in module.__all__
        if name not in WITHOUT_DOCSTRING and not _examples(getattr(module, name))
    ]
    assert undocumented == []


def _examples(documented: object) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(documented) or "")


def _imported(path: Path) -> set[tuple[str, str]]:
    """Return what a file imports from the core: Python, code in a document, or a notebook."""
    text = path.read_text(encoding="utf-8")
    codes = [text]
    if path.suffix == ".md":
        codes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    elif path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return {
        (str(node.module), each.name)
        for code in codes
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "loopmend"
        for each in node.names
    }


def test_only_public_names_are_imported() -> None:
    """What our own adapters, agents and documents need of the core, anybody else can have, too."""
    public = {f"loopmend.{package}": set(_names(package)) for package in PACKAGES}
    public["loopmend"] = set(EXPECTED)
    kinds = (".py", ".md", ".ipynb")
    files = [ROOT / "README.md", *(f for folder in SHOWN for f in (ROOT / folder).rglob("*"))]
    imported = {file: _imported(file) for file in sorted(files) if file.suffix in kinds}
    private = [
        f"{file.relative_to(ROOT)}: {module}.{name}"
        for file, names in imported.items()
        for module, name in sorted(names)
        if name not in public.get(module, ())
    ]
    assert private == []
    assert len(set().union(*imported.values())) > 100  # so that it looks at something


def test_names_that_do_not_exist() -> None:
    """A misspelt name is an error as in any module, and all names are listed."""
    with pytest.raises(AttributeError, match="has no attribute 'raed_turn'"):
        _ = loopmend.raed_turn
    assert dir(loopmend) == sorted(EXPECTED)
