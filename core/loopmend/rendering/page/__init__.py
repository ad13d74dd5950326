"""One HTML file about many runs: it needs no network, and nothing that a run says can do anything.

All foreign text is data: JSON in script elements that no browser runs, put on the page as text. The
policy of the page allows its own style and script, by their hashes, and nothing else.
"""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from shutil import copyfileobj
from types import TracebackType
from typing import IO, Any, Final

from loopmend.rendering.html import escaped
from loopmend.rendering.runs import run_data, step_data
from loopmend.rendering.tally import Tally
from loopmend.traces.report import TraceReport
from loopmend.traces.trace import Trace

__all__ = ["PageWriter", "json_text", "write_page"]

_MOST: Final = 48 * 1024 * 1024
"""So many characters of steps at most, of which a third is for runs without errors or warnings."""
_UNSAFE: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def json_text(value: object) -> str:
    """Return a value as JSON in ASCII that can stand in a script element.

    >>> json_text("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def write_page(
    path: str | os.PathLike[str],
    runs: Iterable[tuple[Trace | None, TraceReport]],
    *,
    title: str = "Runs",
) -> None:
    """Write a page about runs: one HTML file that works without a network.

    Args:
        path: Where to write it; a file that is there is replaced when the page is complete.
        runs: Traces and their reports, in any number; a report may come without its trace.
        title: The title of the page.

    Raises:
        OSError: The file cannot be written.

    >>> import tempfile
    >>> from loopmend import classify_trace
    >>> trace = Trace(question="2 + 2?", answer="4")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(page := Path(folder) / "page.html", [(trace, classify_trace(trace))])
    ...     "1 run: 1 answered." in page.read_text()
    True
    """
    with PageWriter(path, title=title) as page:
        for number, (trace, report) in enumerate(runs, 1):
            steps = None if trace is None else json_text(step_data(trace))
            page.add({"file": None, "run": number, **run_data(trace, report)}, steps)


class PageWriter:
    """Writes a page run by run, in bounded memory; it is complete when the block ends.

    >>> PageWriter("page.html", title="Runs").tally.runs
    0
    """

    def __init__(self, path: str | os.PathLike[str], *, title: str) -> None:
        self.path = Path(path)
        self.title = title
        self.tally = Tally()
        self._room = {True: _MOST * 2 // 3, False: _MOST // 3}
        self._runs, self._steps = _spool(), _spool()

    def add(self, run: Mapping[str, Any], steps: str | None) -> None:
        """Add a run.

        Args:
            run: As `run_data` gives it, with `file` and `run`, its number there.
            steps: The JSON of `step_data`, if it is known.
        """
        self._runs.write((",\n" if self.tally.runs else "") + json_text(run))
        self.tally.add(run)
        bad = any(found["severity"] != "info" for found in run["findings"])
        if steps is not None and len(steps) <= self._room[bad]:
            self._room[bad] -= len(steps)
            self._steps.write(steps)
        self._steps.write("\n")

    def __enter__(self) -> PageWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._runs, self._steps:
            if error is None or isinstance(error, KeyboardInterrupt):
                self._write()

    def _write(self) -> None:
        partial = self.path.with_name(f"{self.path.name}.partial")
        with partial.open("w", encoding="utf-8") as out:
            style, script = _asset("page.css"), _asset("page.js")
            body = _asset("page.html").partition("<!-- runs -->")
            out.write(_filled(body[0], style, script, escaped(self.title), self.tally.lead()))
            self._copy("runs", self._runs, out, "[", "]")
            self._copy("steps", self._steps, out)
            out.write(f"<script>{script}</script>{body[2]}")
        partial.replace(self.path)

    def _copy(self, id: str, spool: IO[str], out: IO[str], start: str = "", end: str = "") -> None:
        spool.seek(0)
        out.write(f'<script type="application/json" id="{id}">{start}')
        copyfileobj(spool, out)
        out.write(f"{end}</script>\n")


def _spool() -> IO[str]:
    return tempfile.SpooledTemporaryFile(  # noqa: SIM115 - closed when the page is complete
        max_size=16 * 1024 * 1024, mode="w+", encoding="utf-8", newline=""
    )


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _filled(head: str, style: str, script: str, title: str, lead: str) -> str:
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {"policy": policy, "title": title, "lead": escaped(lead), "style": style}
    for name, part in parts.items():
        head = head.replace(f"<!-- {name} -->", part)
    return head


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
