"""`make demo` is the first thing a newcomer runs."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("langchain.agents")
pytest.importorskip("llama_index.core")

from demo.__main__ import main
from demo.runs import FAILURES, ran


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Run the demo once; return what it prints and the picture that it draws."""
    file, picture = StringIO(), tmp_path_factory.mktemp("demo") / "demo.svg"
    main(["--svg", str(picture)], Console(file=file, width=160, highlight=False))
    return file.getvalue(), picture.read_text(encoding="utf-8")


def test_it_shows_the_whole_loop(shown: tuple[str, str]) -> None:
    """Agents of both frameworks fail in five ways; loopmend answers, or stops and says so."""
    text = " ".join(shown[0].split())
    for failure in FAILURES.values():
        assert failure in text
    for said in (
        "✗ Let me search for that.",
        "✗ I will use the search tool",
        "GraphRecursionError",
        "Max iterations of 20",
        "✓ 717,710 people live in Oslo.",
        "■ Stopped: the run reached its",
        "no_progress_loop",
        "Next: tell the user why the run cannot go on (ReturnBlocker).",
        "make live",
    ):
        assert said in text
    assert "Without loopmend: 4 answered, 0 stopped, 6 failed of 10, 49 model calls." in text
    assert "With its defaults: 8 answered, 2 stopped, 0 failed of 10, 57 model calls." in text
    for word in ("final_answer", "max_iterations", "unknown"):
        assert f"{word}: " in text, "the words of the table are explained"


def test_the_picture_needs_nothing_from_elsewhere(shown: tuple[str, str]) -> None:
    """It is a drawing of the table, without fonts to fetch."""
    picture = shown[1]
    assert picture.startswith("<svg")
    assert "with&#160;loopmend" in picture
    assert "@font-face" not in picture
    assert "url(http" not in picture


def test_the_picture_of_the_readme_is_the_product_s_own(shown: tuple[str, str]) -> None:
    """What the README shows is what the demo draws today: `make picture` draws it anew."""
    kept = Path(__file__).parents[2] / "docs" / "demo.svg"
    assert kept.read_text(encoding="utf-8") == shown[1]


def test_a_run_without_a_trace_is_an_error() -> None:
    """Nothing is made up where the recorder has nothing."""
    with pytest.raises(RuntimeError, match="no trace"):
        ran("", 0, None)
