"""`make check` runs the tests of what changed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools import changed

ROOT = Path(__file__).parents[2]
TESTS = [path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py")]


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("tests/e2e/test_demo.py", "tests/e2e/test_demo.py"),
        ("docs/reading.md", "tests/e2e/test_documents.py"),
        ("core/loopmend/wire.py", "tests/core/test_wire.py"),
        ("core/loopmend/wire.py", "core/loopmend/wire.py"),
        ("demo/screen.py", "tests/e2e/test_demo.py"),
        (
            "core/loopmend/traces/detectors/endings.py",
            "tests/core/traces/test_findings.py",
        ),
        ("Makefile", "tests/e2e/test_setup.py"),
        (".github/workflows/ci.yml", "tests/e2e/test_workflow.py"),
        ("notebooks/1-reading.ipynb", "tests/e2e/test_notebooks.py"),
    ],
)
def test_a_file_has_its_tests(path: str, test: str) -> None:
    """A file is tested by what is named after it, and by its own examples."""
    assert Path(test) in changed.covering(Path(path), TESTS)


def test_a_file_that_nothing_is_named_after_has_none() -> None:
    """A file without tests of its name runs none, rather than all."""
    assert changed.covering(Path("LICENSE"), TESTS) == []


def test_it_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that take too long are stopped, and the user learns that not all ran."""
    monkeypatch.setattr(changed, "changed", lambda: [Path("core/loopmend/wire.py")])
    assert changed.main(seconds=0.01) == 0
    assert "Stopped after 0.01 seconds" in capsys.readouterr().out
    monkeypatch.setattr(changed, "changed", list)
    assert changed.main() == 0
    assert "No test is named after what changed" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_what_changed_is_what_git_says(tmp_path: Path) -> None:
    """Committed, edited and new files count; deleted, ignored and unchanged ones do not."""

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run([shutil.which("git") or "", *who, *arguments], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "main")
    for name in ("kept.py", "edited.py", "gone.py"):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("ignored.py\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "a")
    git("checkout", "-qb", "work")
    (tmp_path / "committed.py").touch()
    (tmp_path / "gone.py").unlink()
    git("add", ".")
    git("commit", "-qm", "b")
    (tmp_path / "edited.py").write_text("1\n", encoding="utf-8")
    for name in ("new.py", "ignored.py"):
        (tmp_path / name).touch()
    found = {path.name for path in changed.changed(tmp_path)}
    assert found == {"committed.py", "edited.py", "new.py"}
    assert changed.changed(tmp_path, base="no such branch") != []
