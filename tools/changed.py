"""Run the tests of what changed: `make check` runs this after the linters.

What changed since the branch left `main` (and what git does not know yet) is mapped to tests by
name: a test is itself, a document is the test of documents, and any other file is its own examples
and the tests named after it (`test_<name>.py`, `test_<name>_….py`) or else after the nearest folder
that has any.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["changed", "covering", "main"]

ROOT: Final = Path(__file__).parents[1]
NAMED: Final = {"Makefile": "setup", ".ci/run": "workflow", "ci.yml": "workflow"}
"""Files whose tests are named otherwise."""
_FEW: Final = 4
"""So many files are through before more processes have begun."""


def changed(root: Path = ROOT, base: str = "main") -> list[Path]:
    """Return the files that differ from where the branch left `base`, and new ones."""
    start = _git(root, "merge-base", "HEAD", base) or ["HEAD"]
    found = _git(root, "diff", "--name-only", "--diff-filter=d", *start)
    return [Path(name) for name in (*found, *_git(root, "ls-files", "-o", "--exclude-standard"))]


def covering(path: Path, tests: Iterable[Path]) -> list[Path]:
    """Return the tests of a file, of all tests that there are.

    >>> tests = [Path("tests/core/test_wire.py"), Path("tests/core/reading/test_forms.py")]
    >>> [str(test) for test in covering(Path("core/loopmend/wire.py"), tests)]
    ['core/loopmend/wire.py', 'tests/core/test_wire.py']
    >>> [str(test) for test in covering(Path("core/loopmend/reading/tree.py"), tests)]
    ['core/loopmend/reading/tree.py', 'tests/core/reading/test_forms.py']
    >>> [str(test) for test in covering(Path("core/loopmend/errors.py"), tests)]
    ['core/loopmend/errors.py', 'tests/core/test_wire.py']
    """
    if path in (tests := list(tests)):
        return [path]
    if path.suffix == ".md":
        return [test for test in tests if test.name == "test_documents.py"]
    own = [path] if path.suffix == ".py" and path.parts[0] in ("core", "integrations") else []
    name = NAMED.get(path.name) or NAMED.get(str(path)) or path.stem.strip("_").replace("-", "_")
    named = [t for t in tests if t.stem == f"test_{name}" or t.stem.startswith(f"test_{name}_")]
    for parent in path.parents if not named else ():
        folder = parent.name.removesuffix("_loopmend")
        if found := [t for t in tests if folder and folder in (t.parent.name, t.stem[5:])]:
            return own + found
    return own + named


def main(seconds: float = 40) -> int:
    """Run the tests of what changed up to the first failure, and not for ever."""
    tests = [path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py")]
    chosen = sorted({str(test) for path in changed() for test in covering(path, tests)})
    if not chosen:
        print("No test is named after what changed; `make test` runs all.")
        return 0
    print("Testing", *chosen)
    cores = ["--numprocesses", "auto", "--dist", "loadfile"] if len(chosen) > _FEW else []
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--failed-first", *cores, *chosen]
    try:
        return subprocess.run(command, cwd=ROOT, check=False, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        print(f"\nStopped after {seconds} seconds without a failure; `make test` runs all.")
        return 0


def _git(root: Path, *arguments: str) -> list[str]:
    """Return the lines of an answer of git; none if it has no answer, as without a `main`."""
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607 - whichever git the user has
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main())
