"""Prints every ratio after the run."""

from __future__ import annotations

import pytest

# It holds no tests, and makes workflows when it is imported, of which LlamaIndex warns.
collect_ignore = ["gate_cases.py"]
RATIOS = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start with no ratios."""
    config.stash[RATIOS] = []


@pytest.fixture
def report(request: pytest.FixtureRequest) -> list[str]:
    """Return the list of lines to print in the end."""
    return request.config.stash[RATIOS]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the lines."""
    terminalreporter.section("ratios")
    for line in terminalreporter.config.stash[RATIOS]:
        terminalreporter.write_line(line)
