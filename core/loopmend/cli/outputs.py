"""What `triage` writes besides its table: JSON, JSON lines, SARIF, JUnit, HTML.

Each takes the runs one by one. Nothing is kept but what the format needs first, and what is
finished when somebody presses Ctrl-C is written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, Final, Protocol
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from loopmend._version import __version__
from loopmend.cli.gates import Gate
from loopmend.cli.reading import Run
from loopmend.rendering.page import PageWriter, spool
from loopmend.rendering.tally import Tally
from loopmend.traces.files import open_plain
from loopmend.traces.readers.loading import Skipped

__all__ = [
    "Ending",
    "HtmlOutput",
    "JUnitOutput",
    "JsonLines",
    "JsonOutput",
    "Output",
    "SarifOutput",
    "opened",
    "outputs_of",
]

_LEVELS: Final = {"error": "error", "warning": "warning"}
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known when all runs were read, or when somebody pressed Ctrl-C."""

    tally: Tally
    skipped: list[Skipped]
    complete: bool
    """Whether all runs were read."""


class Output(Protocol):
    """Takes runs one by one, and is complete when it is finished."""

    def add(self, run: Run) -> None:
        """Take a run."""

    def finish(self, ending: Ending, /) -> None:
        """Write the rest."""


@contextmanager
def opened(path: str) -> Iterator[IO[str]]:
    """Open a file to write to, for its owner alone; `-` is standard output."""
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    target: int | str = path
    if not os.path.exists(path) or os.path.isfile(path):  # noqa: PTH110, PTH113 - else a pipe
        target = open_plain(Path(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        # One that was there may have been open to all.
        os.chmod(target if os.chmod in os.supports_fd else path, 0o600)  # noqa: PTH101
    with open(target, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123
        yield file


def outputs_of(
    stack: ExitStack, paths: Mapping[str, str | None], cases: Gate, title: str
) -> list[Output]:
    """Open what is to be written, by its kind, until the stack is left; the page comes last."""
    found: list[Output] = []
    for kind, path in paths.items():
        if path is None:
            continue
        if kind == "html":
            found.append(stack.enter_context(closing(HtmlOutput(path, title))))
            continue
        out = stack.enter_context(opened(path))
        if kind == "junit":
            found.append(stack.enter_context(closing(JUnitOutput(out, cases))))
        else:
            found.append(_PLAIN[kind](out))
    return found


class JsonLines:
    """A line for each run, written at once."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def add(self, run: Run) -> None:
        """Write a run."""
        self._out.write(json.dumps(run.data) + "\n")

    def finish(self, _: Ending) -> None:
        """Write nothing more."""


class JsonOutput:
    """One JSON object: all runs, what was skipped, and the figures."""

    def __init__(self, out: IO[str]) -> None:
        self._out, self._between = out, '{"runs": [\n'

    def add(self, run: Run) -> None:
        """Write a run."""
        self._out.write(self._between + json.dumps(run.data))
        self._between = ",\n"

    def finish(self, ending: Ending) -> None:
        """Write the figures."""
        start = "" if self._between == ",\n" else self._between
        left = [
            {"file": each.file, "line": each.line, "reason": each.reason, "format": each.format}
            for each in ending.skipped
        ]
        rest = {"skipped": left, "complete": ending.complete, "summary": ending.tally.data()}
        self._out.write(f"{start}\n], {json.dumps(rest)[1:]}\n")


class SarifOutput:
    """Findings as SARIF 2.1.0, which GitHub and other hosts of code show."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._between = f'{{"$schema": "{_SARIF}", "version": "2.1.0", "runs": [{{"results": [\n'

    def add(self, run: Run) -> None:
        """Write the findings of a run."""
        for found in run.data["findings"]:
            self._out.write(self._between + json.dumps(_result(run.data, found)))
            self._between = ",\n"

    def finish(self, ending: Ending) -> None:
        """Write what the findings are called."""
        start = "" if self._between == ",\n" else self._between
        rules = [{"id": kind, "name": kind} for kind in ending.tally.findings]
        driver = {"name": "loopmend", "version": __version__, "rules": rules}
        done = [{"executionSuccessful": ending.complete and not ending.skipped}]
        rest = {"tool": {"driver": driver}, "invocations": done, "columnKind": "unicodeCodePoints"}
        self._out.write(f"{start}\n], {json.dumps(rest)[1:]}]}}\n")


_PLAIN: Final[dict[str, Callable[[IO[str]], Output]]] = {
    "json": JsonOutput,
    "jsonl": JsonLines,
    "sarif": SarifOutput,
}


def _result(run: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    step = "" if found["step"] is None else f", step {found['step'] + 1}"
    said = f"Run {run['run']}{step}: {found['message']}"
    # What a run is has no line of its own in most formats; hosts want one, so it is the first.
    place = {"artifactLocation": {"uri": _uri(run["file"])}, "region": {"startLine": 1}}
    name = f"run {run['run']}" if run["id"] is None else run["id"]
    return {
        "ruleId": found["kind"],
        "level": _LEVELS.get(found["severity"], "note"),
        "message": {"text": said},
        "locations": [{"physicalLocation": place, "logicalLocations": [{"name": name}]}],
        "partialFingerprints": {"run/v1": f"{run['run']}:{found['kind']}:{found['step']}"},
        "properties": {"certainty": found["certainty"], "recovered": found["recovered"]},
    }


def _uri(file: str) -> str:
    return quote(file.replace("\\", "/"), errors="replace")


class JUnitOutput:
    """A test case for each run, which every CI shows; the gate says which have failed."""

    def __init__(self, out: IO[str], gate: Gate) -> None:
        self._out, self._gate = out, gate
        self._cases = spool()
        self._failures = 0

    def add(self, run: Run) -> None:
        """Write a test case; how many there are must stand before them."""
        data = run.data
        reasons = self._gate.reasons(data)
        self._failures += bool(reasons)
        name = f"run {data['run']}" + (f": {data['question']}" if data["question"] else "")
        start = f"<testcase classname={quoteattr(data['file'])} name={quoteattr(name[:200])}"
        time = "" if data["seconds"] is None else f' time="{data["seconds"]:.3f}"'
        inside = f"<failure message={quoteattr(data['headline'])}>{_told(data)}</failure>"
        self._cases.write(f"{start}{time}>{inside if reasons else ''}</testcase>\n")

    def finish(self, ending: Ending) -> None:
        """Write the counts, and then the cases."""
        counts = f'tests="{ending.tally.runs}" failures="{self._failures}"'
        self._out.write(f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites {counts}>\n')
        self._out.write(f'<testsuite name="loopmend" {counts} skipped="0" errors="0">\n')
        self._cases.seek(0)
        copyfileobj(self._cases, self._out)
        self._out.write("</testsuite>\n</testsuites>\n")

    def close(self) -> None:
        """Forget the cases."""
        self._cases.close()


def _told(data: Mapping[str, Any]) -> str:
    lines = [f"{each['severity']} {each['kind']}: {each['message']}" for each in data["findings"]]
    return escape("\n".join([data["headline"], *lines]))


class HtmlOutput:
    """The report page."""

    def __init__(self, path: str, title: str) -> None:
        self._page = PageWriter(path, title=title)

    def add(self, run: Run) -> None:
        """Take a run."""
        self._page.add(run.data, run.steps)

    def finish(self, _: Ending) -> None:
        """Write the page."""
        self._page.finish()

    def close(self) -> None:
        """Forget the runs."""
        self._page.close()
