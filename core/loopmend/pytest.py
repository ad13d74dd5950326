"""A pytest plugin: tests of agents that fail when a run goes wrong, and say how.

Load it in your `conftest.py`: `pytest_plugins = ["loopmend.pytest"]`. It does not load itself,
because pytest would then rewrite all of loopmend; the fixture records nothing until a test
asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from loopmend.traces.finding import Severity
    from loopmend.traces.kept import KeptTraces
    from loopmend.traces.report import TraceReport
    from loopmend.traces.trace import Trace

__all__ = ["RecordedTraces", "assert_no_findings", "loopmend_traces"]

_WORSE: Final[dict[str, tuple[str, ...]]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "info": ("error", "warning", "info"),
}
# The adapters are looked up by name: the core imports none. Only a framework that the test has
# imported is recorded, because importing one takes seconds.
_ADAPTERS: Final = {
    "langchain_core": "langchain_loopmend",
    "llama_index.core": "llama_index_loopmend",
}
_RECORDED: Final = pytest.StashKey["RecordedTraces"]()


class RecordedTraces:
    """A test's runs: those that the plugin recorded, and those that the test added.

    >>> from loopmend import Trace
    >>> recorded = RecordedTraces()
    >>> recorded.add(Trace(answer="4"))
    >>> recorded.last.answer, len(recorded.all)
    ('4', 1)
    """

    def __init__(self) -> None:
        self._own: list[Trace] = []
        self._recorders: list[KeptTraces] = []

    def add(self, trace: Trace) -> None:
        """Add a run that no recorder sees, such as a run of your own loop."""
        self._own.append(trace)

    @property
    def all(self) -> tuple[Trace, ...]:
        """All finished runs: your own, then those of each framework."""
        return (*self._own, *(trace for each in self._recorders for trace in each.traces))

    @property
    def last(self) -> Trace | None:
        """The last finished run."""
        return self.all[-1] if self.all else None


def assert_no_findings(
    runs: Trace | TraceReport | Iterable[Trace | TraceReport],
    *,
    severity: Severity = "error",
    allow: Iterable[str] = (),
) -> None:
    """Fail if runs have findings of a severity or worse, and show them in the message.

    Args:
        runs: A trace, a report, or several.
        severity: `error`, `warning` or `info`.
        allow: Kinds of findings to ignore.

    Raises:
        AssertionError: There is such a finding.
        ValueError: There is no such severity.

    >>> from loopmend import Trace
    >>> assert_no_findings(Trace(answer="4"))
    """
    __tracebackhide__ = True
    from loopmend import Trace, TraceReport, classify_trace

    if severity not in _WORSE:
        msg = f"`severity` must be one of {', '.join(_WORSE)}, not {severity!r}"
        raise ValueError(msg)
    listed = [runs] if isinstance(runs, (Trace, TraceReport)) else list(runs)
    reports = [each if isinstance(each, TraceReport) else classify_trace(each) for each in listed]
    bad = [each for each in reports if _found(each, _WORSE[severity], frozenset(allow))]
    if bad:
        raise AssertionError("\n\n".join(map(str, bad)))


def _found(report: TraceReport, severities: tuple[str, ...], allowed: frozenset[str]) -> bool:
    return any(
        finding.severity in severities and finding.kind not in allowed
        for finding in report.findings
    )


@pytest.fixture
def loopmend_traces(request: pytest.FixtureRequest) -> Iterator[RecordedTraces]:
    """Record the runs of a test with LangChain or LlamaIndex; if it fails, their reports are shown.

    A framework is recorded if it is imported when the test starts and its extra is installed.

    >>> def test_my_agent(loopmend_traces):
    ...     my_agent.invoke({"messages": [("user", "Where is Oslo?")]})
    ...     assert_no_findings(loopmend_traces.all)
    """
    recorded = RecordedTraces()
    request.node.stash[_RECORDED] = recorded
    with ExitStack() as stack:
        for framework, adapter in _ADAPTERS.items():
            if framework in sys.modules:
                recorder: Any = import_module(adapter).record_traces()
                recorded._recorders.append(stack.enter_context(recorder))  # noqa: SLF001
        yield recorded


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the reports of the runs under a test that failed."""
    report = yield
    recorded = item.stash.get(_RECORDED, None)
    if report.when == "call" and report.failed and recorded is not None:
        from loopmend import classify_trace

        for number, trace in enumerate(recorded.all, 1):
            report.sections.append((f"loopmend: run {number}", str(classify_trace(trace))))
    return report
