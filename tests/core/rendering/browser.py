"""A real browser, driven through a pair of pipes: what a page does, not what we think it does."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-pipe", "--window-size=1440,900"),
)

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


class Tab:
    """A tab of the browser, and everything that happened in it."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number, self._buffer = 0, b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def connect(self) -> None:
        """Open the tab and listen to it."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        given = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = given["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Ask the browser for something and wait for the answer."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while True:
            got = self._message()
            if got.get("id") == self._number:
                assert "error" not in got, got
                return got["result"]
            self.events.append(got)

    def _message(self) -> Any:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser went away"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path: Path) -> None:
        """Load a file and wait until its script has run."""
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        for _ in range(600):
            if self.run("document.readyState === 'complete' && location.protocol === 'file:'"):
                return
            time.sleep(0.05)
        raise AssertionError(path)

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page; a promise is waited for."""
        done = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, as a person would."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            given = text if kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **given)

    def text(self, selector: str) -> str:
        """Return what an element shows."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def happened(self, method: str) -> list[dict[str, Any]]:
        """Return the events of a kind since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def screenshot(self, path: Path, *, scheme: str = "light") -> None:
        """Write down what the page looks like."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", features=[feature])
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))


@contextmanager
def browser() -> Iterator[Tab]:
    """Start a browser of our own and end it."""
    (to_read, write), (read, to_write) = os.pipe(), os.pipe()

    def hand_over() -> None:
        # The browser reads from 3 and writes to 4; neither may be closed by moving the other.
        reading, writing = os.dup(to_read), os.dup(to_write)
        os.dup2(reading, 3)
        os.dup2(writing, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=hand_over,  # noqa: PLW1509 - the tests' threads hold no locks here
        )
        os.close(to_read)
        os.close(to_write)
        try:
            tab = Tab(write, read)
            tab.connect()
            yield tab
        finally:
            process.kill()
            process.wait()
            os.close(write)
            os.close(read)
