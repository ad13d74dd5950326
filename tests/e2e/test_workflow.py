"""The workflow runs what a developer can run, and all of it that a release needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z]+):.*## ", MAKEFILE, flags=re.MULTILINE))
GATE = "all-green"


def commands(job: str) -> list[str]:
    """Return what a job runs."""
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


@pytest.mark.parametrize("job", [job for job in JOBS if job != GATE])
def test_each_command_is_a_make_target(job: str) -> None:
    """Whatever fails on the server can be run here: `make` with an existing target."""
    assert commands(job)
    for command in commands(job):
        made = re.fullmatch(r"make ([a-z]+)(?: [A-Z]+=\S+| [A-Z]+=\$\{\{ [\w.]+ \}\})*", command)
        assert made, command
        assert made[1] in TARGETS


def test_what_a_release_needs_is_run() -> None:
    """Lint, site, tests, install variants, lowest versions, distribution and audit are there."""
    run = {command.split()[1] for job in JOBS if job != GATE for command in commands(job)}
    assert run == {"lint", "docs", "test", "variant", "floors", "dist", "audit"}


def test_the_gate_waits_for_all_jobs() -> None:
    """The last job is red unless each other job is green."""
    assert set(JOBS[GATE]["needs"]) == set(JOBS) - {GATE}
    assert "always()" in JOBS[GATE]["if"]
    (step,) = JOBS[GATE]["steps"]
    assert step["run"] == "exit 1"
    assert all(f"'{result}'" in step["if"] for result in ("failure", "cancelled", "skipped"))


def test_each_supported_python_is_tested() -> None:
    """The Pythons of the classifiers are those of the matrix."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    stated = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert JOBS["test"]["strategy"]["matrix"]["python"] == stated


def test_each_install_variant_is_tested() -> None:
    """The extras of the matrix are those that the Makefile knows tests for."""
    known = re.findall(r"^TESTS_([\w-]+) :=", MAKEFILE, flags=re.MULTILINE)
    assert JOBS["variant"]["strategy"]["matrix"]["extra"] == known


def test_jobs_may_read_and_nothing_else() -> None:
    """No job may write, keep credentials or run for ever."""
    assert WORKFLOW["permissions"] == {}
    for job in JOBS.values():
        assert job.get("permissions", {}) in ({}, {"contents": "read"})
        assert job["timeout-minutes"] <= 30
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_actions_are_pinned() -> None:
    """Each action is GitHub's own and named by its hash, which nobody can move."""
    used = [step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step]
    assert used
    assert [use for use in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", use)] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("extra", ["core", "llama-index"])
def test_a_variant_installs_its_extra_alone(extra: str) -> None:
    """`make variant` installs what its name says and runs the tests that fit."""
    asked = [shutil.which("make") or "make", "--dry-run", "variant", f"EXTRA={extra}"]
    shown = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = {"core": ("--editable '.' ", "tests/core"), "llama-index": ("'.[llama-index]' ", "")}
    assert all(part in shown for part in wanted[extra])
    assert ("tests/integrations/llama_index" in shown) == (extra == "llama-index")
    assert "tests/integrations/langchain" not in shown


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_an_unknown_variant_is_an_error() -> None:
    """A misspelt extra does not pass without tests."""
    asked = [shutil.which("make") or "make", "--dry-run", "variant", "EXTRA=langchian"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "there is no variant langchian" in done.stderr
