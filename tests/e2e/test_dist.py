"""`make dist` refuses what must not be published; it builds and installs nothing here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

import loopmend
from tools import audit, dist, smoke

ROOT = Path(__file__).parents[2]
INFO = f"loopmend-{loopmend.__version__}.dist-info"
NAMES = [
    *(f"{package}/{name}" for package in dist.PACKAGES for name in ("__init__.py", "py.typed")),
    *dist.DATA,
    *(f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")),
]


def metadata(**changed: str) -> Message:
    """Return metadata as they should be, but for what is changed."""
    made = Message()
    fields = {
        "Name": "loopmend",
        "Version": loopmend.__version__,
        "License-Expression": "MIT",
        "License-File": "LICENSE",
        "Requires-Python": ">=3.10",
        "Description-Content-Type": "text/markdown",
    }
    for field, value in (fields | changed).items():
        made[field] = value
    for extra in set(smoke.INSTALLS) - {"core"}:
        made["Provides-Extra"] = extra
    for needed in ("pydantic<3,>=2.10", 'ipykernel; extra == "notebooks"'):
        made["Requires-Dist"] = needed
    return made


def test_the_version_is_stated_once() -> None:
    """One file states the version: the build, the package and the installed metadata agree."""
    assert dist.stated_version() == loopmend.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["readme", "version"]' in project
    assert not re.search(r"^version\s*=", project, flags=re.MULTILINE)
    stating = re.compile(r"^__version__\s*=", re.MULTILINE)
    files = [*ROOT.glob("core/**/*.py"), *ROOT.glob("integrations/**/*.py")]
    found = [path.name for path in files if stating.search(path.read_text(encoding="utf-8"))]
    assert found == ["_version.py"]


def test_a_page_on_the_index_links_to_nothing_beside_it() -> None:
    """A link to `docs/` leads nowhere on the package index, so it is named."""
    described = metadata()
    described.set_payload("[tasks](https://example.org/docs/live.md), ![picture](docs/demo.svg)")
    with pytest.raises(dist.Refused, match=r"links to files beside it: docs/demo\.svg$"):
        dist.check_wheel(NAMES, described, loopmend.__version__)


def test_a_right_wheel_passes() -> None:
    """Packages, markers, licence and metadata as they should be are accepted."""
    dist.check_wheel(NAMES, metadata(), loopmend.__version__)


@pytest.mark.parametrize(
    ("names", "changed", "complaint"),
    [
        ([*NAMES, "tests/__init__.py"], {}, "the wheel holds .*tests"),
        ([*NAMES, "loopmend/tests/a.py"], {}, "the wheel holds loopmend/tests/a.py"),
        ([*NAMES, "loopmend/notes.txt"], {}, "the wheel holds loopmend/notes.txt"),
        ([name for name in NAMES if name != "loopmend/py.typed"], {}, "lacks loopmend/py.typed"),
        ([name for name in NAMES if "LICENSE" not in name], {}, "lacks .*LICENSE"),
        ([name for name in NAMES if name not in dist.DATA], {}, "lacks .*page.css.*weights.txt"),
        (NAMES, {"Version": "0.0.0"}, r"Version: 0\.0\.0"),
        (NAMES, {"Requires-Python": ">=3.8"}, "Requires-Python: >=3.8"),
    ],
)
def test_a_wrong_wheel_is_refused(
    names: list[str], changed: dict[str, str], complaint: str
) -> None:
    """Tests, stray files, a missing marker or licence, and wrong metadata are named."""
    with pytest.raises(dist.Refused, match=complaint):
        dist.check_wheel(names, metadata(**changed), loopmend.__version__)


def test_another_dependency_of_the_core_is_refused() -> None:
    """What the core needs is decided in the open, and not by the way."""
    heavier = metadata()
    heavier["Requires-Dist"] = "numpy>=2"
    with pytest.raises(dist.Refused, match="the core needs numpy, pydantic"):
        dist.check_metadata(heavier, loopmend.__version__)


def test_an_sdist_holds_the_sources_and_nothing_private() -> None:
    """Whoever gets the sdist can test it, and does not get what belongs to one machine."""
    top = "loopmend-1/"
    held = [top + name for name in dist.SOURCES]
    dist.check_sdist(held)
    with pytest.raises(dist.Refused, match="the sdist lacks LICENSE"):
        dist.check_sdist([name for name in held if "LICENSE" not in name])
    with pytest.raises(dist.Refused, match=r"the sdist holds \.venv/pyvenv\.cfg"):
        dist.check_sdist([*held, f"{top}.venv/pyvenv.cfg"])


def test_a_command_that_fails_is_shown() -> None:
    """What a failing command printed is part of the refusal."""
    with pytest.raises(dist.Refused, match=r"(?s)failed:.*no such thing"):
        dist.run(sys.executable, "-c", "raise SystemExit('no such thing')")


def test_a_bill_of_materials_names_no_folder_of_ours() -> None:
    """What a package was installed from on this machine is left out; all else stays."""
    kept = {"type": "vcs", "url": "https://example.org/x"}
    local = {"type": "distribution", "url": "file:///home/ann/x.whl"}
    parts = [{"name": "a", "externalReferences": [local, kept]}, {"name": "b"}]
    made = json.loads(dist.without_places(json.dumps({"components": parts})))
    assert [part["externalReferences"] for part in made["components"]] == [[kept], []]


AUDITED = {"name": "a", "version": "1", "vulns": []}
FLAWED = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1"}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("rows", "code", "said"),
    [
        ([AUDITED, SKIPPED], 0, "1 of 2 packages looked up, 0 known flaws"),
        ([AUDITED, FLAWED], 1, "2 of 2 packages looked up, 1 known flaws\nb 2: PYSEC-1"),
        ([SKIPPED], 0, "NOT AUDITED: none of 1 packages could be looked up from here."),
        (None, 0, "NOT AUDITED: pip-audit could not reach its data."),
    ],
)
def test_an_audit_says_what_it_could_not_look_up(rows: Any, code: int, said: str) -> None:
    """Silence is not safety: a step without data passes, but says so, and a flaw fails."""
    output = "" if rows is None else json.dumps({"dependencies": rows, "fixes": []})
    assert audit.verdict(output) == (code, said)


def test_an_unknown_extra_is_refused() -> None:
    """A misspelt extra does not pass untried."""
    with pytest.raises(dist.Refused, match="there is no langchian, but there are core"):
        dist.main(["langchian"])


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
@pytest.mark.filterwarnings("ignore:is_running called from within a step")
@pytest.mark.parametrize("extra", list(smoke.TRIED))
def test_what_the_extras_promise(extra: str) -> None:
    """What `make dist` tries of each extra works here, where all are installed."""
    smoke.TRIED[extra]()


def test_an_adapter_that_works_without_its_extra_is_a_failure() -> None:
    """Where an adapter can be imported, the check that it cannot fails."""
    with pytest.raises(SystemExit, match="langchain_loopmend can be imported without its extra"):
        smoke.refused("langchain")


def test_a_checkout_is_no_wheel() -> None:
    """The smoke test fails where loopmend comes from elsewhere than the environment."""
    command = [sys.executable, "-I", str(ROOT / "tools/smoke.py"), "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "smoke test failed: loopmend is imported from " in done.stderr
