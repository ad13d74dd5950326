"""The suites: where they come from, what they need, and how they are run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any, Final

from tools.peers import in_place

ROOT: Final = Path(__file__).parents[2]
UV: Final = Path(sys.executable).with_name("uv")
MINUTES: Final = 10
"""How long one run of a suite may take."""
SOURCE: Final = "LOOPMEND_PEERS_SOURCE"
"""The variable of the environment that names a repository to take tests from, by their tag."""
TAG: Final = re.compile(r"v\d+(?:\.\d+)+")
PRIVATE: Final = ("LANGCHAIN_", "LANGSMITH_", "PYTEST_", "PYTHONPATH", "COV", "OPENAI_")
"""How the names of variables begin that must not reach a suite."""


class Unavailable(Exception):
    """A suite cannot be run."""


@dataclass(frozen=True)
class Suite:
    """Some tests of one package, and the extra of loopmend that they are run with."""

    name: str
    package: str
    extra: str
    paths: Sequence[str]
    arms: Sequence[str]
    tests: str = "tests/unit_tests"
    """Where the paths are."""
    source: str = ""
    """The repository, tag and folder to get the tests from, where the sdist ships none."""


SUITES: Final = (
    Suite(
        "langchain: agents",
        "langchain",
        "agents",
        ("agents",),
        (
            *("normalization-last", "normalization-first"),
            *("loops-last", "loops-first", "signals-last", "signals-first"),
        ),
    ),
    # Without langchain, as its version would be noted in what the core's tests compare.
    Suite(
        "langchain-core: runs",
        "langchain-core",
        "langchain",
        ("runnables", "tracers", "callbacks", "output_parsers"),
        ("recorder",),
    ),
    Suite(
        "langchain-classic: agents",
        "langchain-classic",
        "classic",
        ("agents",),
        ("parser", "parser-classic"),
    ),
    Suite(
        "langchain-core: values",
        "langchain-core",
        "langchain",
        ("output_parsers/test_json.py", "output_parsers/test_pydantic_parser.py"),
        ("values",),
    ),
    Suite(
        "langchain-classic: values",
        "langchain-classic",
        "classic",
        ("output_parsers/test_structured_parser.py", "output_parsers/test_combining_parser.py"),
        ("structured",),
    ),
    Suite(
        "langchain-classic: retries",
        "langchain-classic",
        "classic",
        ("output_parsers/test_retry.py", "output_parsers/test_fix.py"),
        ("retry",),
    ),
    Suite(
        "llama-index-core: agents",
        "llama-index-core",
        "llama-index",
        ("agent", "output_parsers", "program"),
        (
            *("hooks-planned", "hooks-wrapped", "hooks-workflow", "hooks-observe", "hooks-advise"),
            *("react-parser", "pydantic-parser"),
        ),
        tests="tests",
        source="https://github.com/run-llama/llama_index v{version} llama-index-core",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """How a test went, what loopmend logged meanwhile, and whether the test reached it."""

    outcome: str
    line: str = ""
    text: str = ""
    told: Sequence[str] = ()
    reached: bool = False


def run(
    *command: str | Path, cwd: Path = ROOT, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command quietly, without what the caller's shell has set for others."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(PRIVATE)}
    words = [str(word) for word in command]
    try:
        return subprocess.run(
            words,
            cwd=cwd,
            env={**kept, **(variables or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=60 * MINUTES,
        )
    except subprocess.TimeoutExpired:
        msg = f"{words[0]} took more than {MINUTES} minutes"
        raise Unavailable(msg) from None
    except OSError as error:
        msg = f"{words[0]} cannot be run: {error}"
        raise Unavailable(msg) from None


def require(*command: str | Path, otherwise: str) -> None:
    """Run a command that must not fail."""
    done = run(*command)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        msg = f"{otherwise}: {said[-1].strip() if said else done.returncode}"
        raise Unavailable(msg)


def stated_version(package: str) -> str:
    """Return the version of a package that is installed here."""
    try:
        return version(package)
    except PackageNotFoundError:
        msg = f"{package} is not installed"
        raise Unavailable(msg) from None


class Workshop:
    """A folder with the sdists, the suites that they ship, and an environment for each package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plugins = folder / "plugins"
        self.plugins.mkdir(parents=True, exist_ok=True)
        # Alone in its folder: nothing else of the checkout must be on the path of a suite.
        shutil.copy(in_place.__file__, self.plugins / "loopmend_in_place.py")
        self.results = folder / "results.json"
        self._wheel: Path | None = None
        self._versions: dict[str, str] = {}
        self._ready: dict[str, tuple[Path, Path] | Unavailable] = {}

    def get(self, suite: Suite) -> tuple[Path, Path]:
        """Return the folder of a suite and its Python, which are made when first asked for.

        Raises:
            Unavailable: The sdist ships no tests, or something cannot be installed.
        """
        if suite.package not in self._ready:
            try:
                self._ready[suite.package] = self._made(suite)
            except Unavailable as unavailable:
                self._ready[suite.package] = unavailable
        ready = self._ready[suite.package]
        if isinstance(ready, Unavailable):
            raise ready
        return ready

    def _made(self, suite: Suite) -> tuple[Path, Path]:
        tests = self._cloned(suite) if suite.source else self._unpacked(suite.package)
        return tests, self._environment(suite, tests / "pyproject.toml")

    def _unpacked(self, package: str) -> Path:
        """Return a folder with the tests of an sdist, without the package itself."""
        wanted = f"{package.replace('-', '_')}-{stated_version(package)}"
        folder, sdist = self.folder / wanted, self.folder / "sdists" / f"{wanted}.tar.gz"
        if not sdist.is_file():
            require(
                *(sys.executable, "-m", "pip", "download", "--quiet"),
                *("--disable-pip-version-check", "--no-deps", "--no-binary", ":all:"),
                *("--dest", sdist.parent, f"{package}=={stated_version(package)}"),
                otherwise=f"the sdist of {package} cannot be had",
            )
        if not sdist.is_file():
            msg = f"the sdist of {package} is not called {sdist.name}"
            raise Unavailable(msg)
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(sdist) as packed:
            inside = (f"{wanted}/tests/", f"{wanted}/pyproject.toml")
            members = [one for one in packed.getmembers() if one.name.startswith(inside)]
            packed.extractall(self.folder, members, filter="data")
        if not (folder / "tests" / "unit_tests").is_dir():
            msg = f"the sdist of {package} ships no tests"
            raise Unavailable(msg)
        return folder

    def _cloned(self, suite: Suite) -> Path:
        """Return a folder with the tests of a repository, without the package itself."""
        number = stated_version(suite.package)
        address, tag, inside = suite.source.format(version=number).split()
        repository = Path(os.environ.get(SOURCE, self.folder / f"clone-{tag}"))
        if not repository.is_dir():
            require(
                *("git", "clone", "--quiet", "--bare", "--depth", "1", "--branch", tag),
                *(address, repository),
                otherwise=f"the tests of {suite.package} cannot be had",
            )
        packed = self.folder / "tests.tar"
        # By its tag: the head of a repository tests another version than the one installed. A copy
        # may be older than that, and then both are what it has.
        tag = newest_tag(repository, tag)
        number = self._versions[suite.package] = tag.removeprefix("v")
        folder = self.folder / f"{suite.package}-{number}"
        require(
            *("git", "-C", repository, "archive", "--output", packed, f"refs/tags/{tag}"),
            *(f"{inside}/{suite.tests}", f"{inside}/pyproject.toml"),
            otherwise=f"{repository} has no tests of {suite.package} {number}",
        )
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(packed) as tests:
            tests.extractall(folder, filter="data")
        return folder / inside

    def _environment(self, suite: Suite, needs: Path) -> Path:
        """Return the Python of a new environment with what a suite needs, and loopmend."""
        folder = self.folder / f"venv-{suite.package}"
        python = folder / "bin" / "python"
        pins = self.folder / "constraints.txt"
        pins.write_text("\n".join(pinned(self._versions)), encoding="utf-8")
        require(
            *(UV, "venv", "--quiet", "--clear", "--python", sys.executable, folder),
            otherwise="no environment",
        )
        require(
            *(UV, "pip", "install", "--quiet", "--python", python, "--constraint", pins),
            *("--no-sources", *_needed(suite, needs), suite.package),
            f"loopmend[{suite.extra}] @ {self._built().as_uri()}",
            otherwise=f"what the tests of {suite.package} need cannot be installed",
        )
        return python

    def _built(self) -> Path:
        """Return a wheel of this tree: later changes of the tree do not reach the suites."""
        if self._wheel is None:
            folder = self.folder / "wheel"
            shutil.rmtree(folder, ignore_errors=True)
            require(
                *(UV, "build", "--quiet", "--wheel", "--out-dir", folder),
                otherwise="loopmend cannot be built",
            )
            self._wheel = next(folder.glob("*.whl"))
        return self._wheel

    def outcomes(
        self, suite: Suite, arm: str = "", only: Sequence[str] | None = None
    ) -> dict[str, Outcome]:
        """Run a suite, or some of its tests, and return how each test went.

        Args:
            suite: The suite.
            arm: What to put in place; nothing if left out.
            only: The tests to run, one after the other; else all, on two cores.

        Raises:
            Unavailable: The suite cannot be run at all.
        """
        folder, python = self.get(suite)
        asked = self.folder / "tests.txt"
        tests = [f"{suite.tests}/{path}" for path in suite.paths] if only is None else only
        asked.write_text("\n".join(tests), encoding="utf-8")
        self.results.unlink(missing_ok=True)
        variables = {
            "LANGGRAPH_TEST_FAST": "1",  # as the suite's own `make test_fast`
            "PYTHONPATH": str(self.plugins),
            in_place.RESULTS: str(self.results),
            in_place.ARM: arm,
        }
        done = run(
            *(python, "-m", "pytest", "-q"),
            *("-p", "loopmend_in_place", "-p", "no:cacheprovider"),
            *_options(suite, alone=only is not None),
            f"@{asked}",
            cwd=folder,
            variables=variables,
        )
        if not self.results.is_file():
            said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
            msg = f"pytest says: {said[-1]}"
            raise Unavailable(msg)
        noted: dict[str, dict[str, Any]] = json.loads(self.results.read_text(encoding="utf-8"))
        return {test: Outcome(**details) for test, details in noted.items()}


# What the tests of llama-index-core need of its group `dev`, which holds all that it is built with.
_NEEDED: Final = ("pytest<9", "pytest-asyncio==0.21.0", "pytest-mock", "pytest-timeout", "openai")


def _needed(suite: Suite, needs: Path) -> Sequence[str]:
    """Return how to install what the tests of a suite need."""
    return _NEEDED if suite.source else ("--group", f"{needs}:test")


def _options(suite: Suite, *, alone: bool) -> Sequence[str]:
    """Return how to run a suite; only LangChain's takes two cores and no sockets."""
    if suite.source:
        # It has no settings for pytest, which would look for some further up. Python 3.11 cannot
        # parse the sources of some of its tracebacks, so that they are not shown.
        return ("-c", "pyproject.toml", "--rootdir", ".", "-W", "ignore", "--tb=line")
    sockets = ("--benchmark-disable", "--disable-socket", "--allow-unix-socket")
    return (*sockets, "--tb=short", "-n", "0" if alone else "2")


def newest_tag(repository: Path, wanted: str) -> str:
    """Return a tag if a repository has it, else the newest before it."""
    listed = run("git", "-C", repository, "tag", "--list", "v*").stdout.split()
    tags = [tag for tag in listed if TAG.fullmatch(tag)]
    older = [tag for tag in tags if _order(tag) <= _order(wanted)]
    return wanted if not older else max(older, key=_order)


def _order(tag: str) -> tuple[int, ...]:
    return tuple(int(part) for part in tag.removeprefix("v").split("."))


def pinned(others: Mapping[str, str]) -> Iterable[str]:
    """Return the versions that are installed here of what is to be tested, or others."""
    found = {one.metadata["Name"].lower(): one.version for one in distributions()}
    found.update(others)
    return sorted(
        f"{name}=={number}"
        for name, number in found.items()
        if name.startswith(("lang", "llama-index-", "pydantic"))
    )
