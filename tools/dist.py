"""Build the distribution, check it, and try it out as a stranger would.

`make dist` runs this. The sdist and the wheel are left in `dist/`, ready to be published, if
every check passes; the extras named on the command line are tried, or all, and a CycloneDX bill of
materials beside them lists what each installs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Final

from tools.smoke import INSTALLS

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
UV: Final = Path(sys.executable).with_name("uv")
PACKAGES: Final = ("loopmend", "langchain_loopmend", "llama_index_loopmend")
DATA: Final = (
    *(f"loopmend/rendering/page/page.{kind}" for kind in ("css", "html", "js")),
    "loopmend/reading/weights.txt",
)
"""The report page, and what the reader's words weigh."""
SOURCES: Final = (
    *(
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "pyproject.toml",
        "Makefile",
    ),
    *("constraints.txt", "tests/__init__.py", "docs/README.md"),
    "notebooks/contracts.ipynb",
)
"""Some of what whoever gets the sdist needs to read, test and build the package."""


class Refused(Exception):
    """What was built must not be published."""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command quietly; what it printed is shown if it fails."""
    # What the caller's shell has on its path must not reach an environment that is to be clean.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        msg = f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}"
        raise Refused(msg)


def require(wanted: bool, otherwise: str) -> None:  # noqa: FBT001
    """Refuse the distribution unless something holds."""
    if not wanted:
        raise Refused(otherwise)


def build(scratch: Path) -> tuple[Path, Path]:
    """Return a new sdist and wheel, and make sure that the sdist builds the same wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(UV, "build", "--quiet", "--sdist", "--wheel", "--out-dir", DIST)
    sdist, wheel = next(DIST.glob("*.tar.gz")), next(DIST.glob("*.whl"))
    run(UV, "build", "--quiet", "--wheel", "--out-dir", scratch / "again", sdist)
    again = scratch / "again" / wheel.name
    require(again.is_file(), f"the sdist does not build {wheel.name}")
    require(again.read_bytes() == wheel.read_bytes(), "the sdist builds another wheel")
    return sdist, wheel


def check_tools(sdist: Path, wheel: Path) -> None:
    """Let those who know the formats look at both files."""
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    run(sys.executable, "-m", "check_wheel_contents", wheel)


def check_sdist(names: Iterable[str]) -> None:
    """Refuse an sdist that lacks a source, or holds what belongs to one machine."""
    held = {name.partition("/")[2] for name in names}
    missing = [name for name in SOURCES if name not in held]
    require(not missing, f"the sdist lacks {', '.join(missing)}")
    private = sorted(name for name in held if name.startswith((".venv", ".live", ".ci", "dist/")))
    require(not private, f"the sdist holds {', '.join(private)}")


def check_wheel(names: Sequence[str], metadata: Message, version: str) -> None:
    """Refuse a wheel with other files than the packages', or with wrong metadata."""
    info = f"loopmend-{version}.dist-info"
    tops = {name.partition("/")[0] for name in names}
    require(tops == {*PACKAGES, info}, f"the wheel holds {', '.join(sorted(tops))}")
    odd = [name for name in names if not name.startswith(info) and not _belongs(name)]
    require(not odd, f"the wheel holds {', '.join(odd)}")
    marks = [f"{package}/py.typed" for package in PACKAGES]
    needed = [*marks, *DATA, f"{info}/licenses/LICENSE"]
    missing = [name for name in needed if name not in names]
    require(not missing, f"the wheel lacks {', '.join(missing)}")
    check_metadata(metadata, version)


def _belongs(name: str) -> bool:
    ours = name.endswith((".py", "/py.typed")) or name in DATA
    return ours and "/test_" not in name and "/tests/" not in name


def check_metadata(metadata: Message, version: str) -> None:
    """Refuse metadata that says something else than it should."""
    for field, wanted in (
        ("Name", ["loopmend"]),
        ("Version", [version]),
        ("License-Expression", ["MIT"]),
        ("License-File", ["LICENSE"]),
        ("Requires-Python", [">=3.10"]),
        ("Description-Content-Type", ["text/markdown"]),
        ("Provides-Extra", sorted(set(INSTALLS) - {"core"})),
    ):
        got = sorted(metadata.get_all(field, []))
        require(got == wanted, f"the metadata say {field}: {', '.join(got) or 'nothing'}")
    linked = re.findall(r"\]\(([^)\s]+)\)", str(metadata.get_payload()))
    beside = sorted({link for link in linked if not link.startswith("https://")})
    require(not beside, f"the description links to files beside it: {', '.join(beside)}")
    core = [one for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one]
    names = sorted(re.split(r"[^\w-]", one)[0] for one in core)
    require(names == ["pydantic"], f"the core needs {', '.join(names)}")


def check(sdist: Path, wheel: Path) -> None:
    """Refuse files that must not be published."""
    check_tools(sdist, wheel)
    with tarfile.open(sdist) as packed:
        check_sdist(packed.getnames())
    version = stated_version()
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"loopmend-{version}.dist-info/METADATA").decode()
        check_wheel(archive.namelist(), Parser().parsestr(text), version)


def stated_version() -> str:
    """Return the version as the one file that states it does."""
    stated: dict[str, str] = {}
    exec((ROOT / "core/loopmend/_version.py").read_text(encoding="utf-8"), stated)  # noqa: S102
    return stated["__version__"]


def try_out(wheel: Path, extra: str, folder: Path) -> None:
    """Install the wheel alone with an extra, in a new environment, and try it out there."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    wanted = "loopmend" if extra == "core" else f"loopmend[{extra}]"
    run(
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        f"{wanted} @ {wheel.as_uri()}",
        cwd=folder,
    )
    # -I: neither the checkout nor the folder of the script is on the path.
    run(python, "-I", ROOT / "tools" / "smoke.py", extra, cwd=folder)


def bill(extra: str, folder: Path) -> Path:
    """Write the bill of materials of an environment, as CycloneDX, beside what is published."""
    path = DIST / f"loopmend-{stated_version()}-{extra}.cdx.json"
    options = ("--output-reproducible", "--short-PURLs", "--validate", "--output-file", path)
    run(sys.executable, "-m", "cyclonedx_py", "environment", *options, folder / "bin" / "python")
    path.write_text(without_places(path.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def without_places(bom: str) -> str:
    """Return a bill of materials without the folders of this machine."""
    read = json.loads(bom)
    for part in read["components"]:
        told = part.get("externalReferences", [])
        part["externalReferences"] = [one for one in told if not one["url"].startswith("file:")]
    return json.dumps(read, indent=1) + "\n"


def main(extras: Sequence[str]) -> None:
    """Build, check, and try out each extra."""
    unknown = [extra for extra in extras if extra not in INSTALLS]
    require(not unknown, f"there is no {', '.join(unknown)}, but there are {', '.join(INSTALLS)}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="loopmend-dist-") as folder:
        scratch = Path(folder)
        sdist, wheel = build(scratch)
        check(sdist, wheel)
        print(f"built and checked {sdist.name} and {wheel.name}")
        for extra in extras:
            since = time.monotonic()
            try_out(wheel, extra, scratch / extra)
            made = bill(extra, scratch / extra)
            print(f"tried {extra}: {time.monotonic() - since:.0f} s, {made.name}")
    print(f"all is well after {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or list(INSTALLS))
    except Refused as refused:
        sys.exit(f"refused: {refused}")
