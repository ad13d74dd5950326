"""Look up what we install in the databases of known vulnerabilities, and say what could not be.

`make audit` runs this. pip-audit passes if it cannot reach its data or does not know a package;
here that is said, so that nobody takes silence for safety.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
COMMAND: Final = (
    *(sys.executable, "-m", "pip_audit", "--requirement", "constraints.txt", "--no-deps"),
    *("--disable-pip", "--progress-spinner", "off", "--format", "json"),
)


def verdict(output: str) -> tuple[int, str]:
    """Return the exit code and the words for what pip-audit printed."""
    try:
        rows: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "NOT AUDITED: pip-audit could not reach its data."
    looked_up = [row for row in rows if "vulns" in row]
    if not looked_up:
        return 0, f"NOT AUDITED: none of {len(rows)} packages could be looked up from here."
    found = [
        f"{row['name']} {row['version']}: {flaw['id']}"
        for row in looked_up
        for flaw in row["vulns"]
    ]
    said = f"{len(looked_up)} of {len(rows)} packages looked up, {len(found)} known flaws"
    return int(bool(found)), "\n".join((said, *found))


def main() -> int:
    """Audit and report."""
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=False)
    code, said = verdict(done.stdout)
    print(said)
    return code


if __name__ == "__main__":
    sys.exit(main())
