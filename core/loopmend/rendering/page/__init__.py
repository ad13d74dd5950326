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
from contextlib import closing
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, Final
from uuid import uuid4

from loopmend.rendering.html import escaped
from loopmend.rendering.runs import run_data, step_data
from loopmend.rendering.tally import Tally
from loopmend.traces.files import open_plain
from loopmend.traces.redaction import Redactor
from loopmend.traces.report import TraceReport
from loopmend.traces.trace import Trace

__all__ = ["PageWriter", "json_text", "spool", "write_page"]

_MOST: Final = 48 * 1024 * 1024
"""So many characters of steps at most, of which a third is for runs without errors or warnings."""
_SHORT: Final = 16 * 1024 * 1024
_REDACT: Final = Redactor()
_UNSAFE: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def json_text(value: object) -> str:
    r"""Return a value as JSON in ASCII that can stand in a script element.

    >>> print(json_text("</script>"))
    "\u003c/script\u003e"
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def write_page(
    path: str | os.PathLike[str],
    runs: Iterable[tuple[Trace | None, TraceReport]],
    *,
    title: str = "Runs",
    redact: Redactor | None = _REDACT,
) -> None:
    """Write a page about runs: one HTML file that works without a network.

    Args:
        path: Where to write it; an existing file is replaced once the page is complete.
        runs: Traces and their reports, in any number; a report may come without its trace.
        title: The title of the page.
        redact: Removes secrets from the page; `None` keeps everything.

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
    with closing(PageWriter(path, title=title)) as page:
        for number, (trace, report) in enumerate(runs, 1):
            shown = trace if trace is None or redact is None else redact(trace)
            steps = None if shown is None else json_text(step_data(shown))
            told = run_data(shown, report, str if redact is None else redact.text)
            page.add({"file": None, "run": number, **told}, steps)
        page.finish()


class PageWriter:
    """Writes a page about runs that come one by one, in bounded memory.

    >>> with closing(PageWriter("page.html", title="Runs")) as page:
    ...     page.tally.runs
    0
    """

    def __init__(self, path: str | os.PathLike[str], *, title: str) -> None:
        self.path = Path(path)
        self.title = title
        self.tally = Tally()
        self._room = {True: _MOST * 2 // 3, False: _MOST // 3}
        self._runs, self._steps = spool(), spool()

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

    def finish(self) -> None:
        """Write the page, for its owner alone; it replaces a file when it is complete."""
        partial = self.path.with_name(f".{self.path.name}.{uuid4().hex}")
        try:
            file = open_plain(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(file, "w", encoding="utf-8") as out:
                self._write(out)
            partial.replace(self.path)
        finally:
            partial.unlink(missing_ok=True)

    def close(self) -> None:
        """Forget the runs."""
        self._runs.close()
        self._steps.close()

    def _write(self, out: IO[str]) -> None:
        style, script = _asset("page.css"), _asset("page.js")
        head, _, foot = _asset("page.html").partition("<!-- runs -->")
        policy = (
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        )
        parts = {
            "policy": policy,
            "title": escaped(self.title),
            "lead": escaped(self.tally.lead()),
            "style": style,
        }
        for name, part in parts.items():
            head = head.replace(f"<!-- {name} -->", part)
        out.write(head)
        self._copy("runs", self._runs, out, "[", "]")
        self._copy("steps", self._steps, out)
        out.write(f"<script>{script}</script>{foot}")

    def _copy(self, id: str, spool: IO[str], out: IO[str], start: str = "", end: str = "") -> None:
        spool.seek(0)
        out.write(f'<script type="application/json" id="{id}">{start}')
        copyfileobj(spool, out)
        out.write(f"{end}</script>\n")


def spool() -> IO[str]:
    """Return where text waits that must be written later, in memory while it is short."""
    return tempfile.SpooledTemporaryFile(_SHORT, "w+", encoding="utf-8", newline="")


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
