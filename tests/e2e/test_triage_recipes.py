"""Recipes that need a platform: they compile, and the one that can run here does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "triage.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)


def test_the_recipes_compile() -> None:
    """Each block that no test can run without a platform is at least Python."""
    assert len(BLOCKS) == 5
    for block in BLOCKS:
        compile(block, "triage.md", "exec")


def test_the_evaluator_reads_a_tree_of_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What LangSmith hands to an evaluator, with its children, becomes a trace with its steps."""
    langsmith = pytest.importorskip("langsmith")
    [block] = [each for each in BLOCKS if "langsmith" in each]
    asked: dict[str, Any] = {}

    class Client:
        def evaluate(self, _: Any, **options: Any) -> None:
            asked.update(options)

    monkeypatch.setattr(langsmith, "Client", Client)
    exec(block, {"my_agent": None})  # noqa: S102 - our own
    tree = langsmith.run_trees.RunTree(name="agent", inputs={"q": "2 + 2?"}, run_type="chain")
    message = {"role": "user", "content": "2 + 2?"}
    child = tree.create_child("model", "llm", inputs={"messages": [message]})
    child.end(outputs={"choices": [{"message": {"role": "assistant", "content": "It is 4."}}]})
    tree.end(outputs={"answer": "It is 4."})
    [evaluator] = asked["evaluators"]
    told = evaluator(tree, None)
    assert (told["key"], told["score"]) == ("loopmend", True)
    assert told["comment"].startswith("Answered:")
