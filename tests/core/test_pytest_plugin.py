"""The pytest plugin, in tests of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

import loopmend.pytest as plugin
from loopmend import Trace, classify_trace
from loopmend.pytest import RecordedTraces, assert_no_findings

pytest_plugins = ("pytester",)

LOOP = Trace.from_react_log(
    "Thought 1: x\nAction 1: Search[a]\nObservation 1: Could not find a\n" * 3, max_iterations=3
)


def test_what_passes_and_what_fails() -> None:
    """A severity includes what is worse; kinds can be allowed; several runs are judged together."""
    fine = Trace(answer="4")
    assert_no_findings(fine, severity="info")
    assert_no_findings([fine, classify_trace(fine)])
    for given in (LOOP, classify_trace(LOOP), [fine, LOOP], iter([LOOP])):
        with pytest.raises(AssertionError, match=r"Failed: No answer after 3 of 3 steps\."):
            assert_no_findings(given)
    errors = {f.kind for f in classify_trace(LOOP).findings if f.severity == "error"}
    assert_no_findings(LOOP, allow=errors)
    with pytest.raises(AssertionError, match="no_progress_loop"):
        assert_no_findings(LOOP, severity="warning", allow=errors)
    with pytest.raises(ValueError, match="`severity` must be one of error, warning, info"):
        assert_no_findings(fine, severity="bad")  # type: ignore[arg-type]


def test_recorded_traces_may_be_none() -> None:
    """Before a run there is none."""
    assert (RecordedTraces().all, RecordedTraces().last) == ((), None)


def test_a_framework_that_is_not_there(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A framework that nobody imported is not recorded, and does not stand in the way."""
    monkeypatch.setattr(plugin, "_ADAPTERS", {"no_such_framework": "no_such_adapter"})
    pytester.makeconftest('pytest_plugins = ("loopmend.pytest",)')
    pytester.makepyfile("def test_none(loopmend_traces):\n    assert loopmend_traces.all == ()\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


TESTS = """
import pytest
from loopmend import Trace
from loopmend.pytest import assert_no_findings

LOG = "Thought 1: x\\nAction 1: Search[a]\\nObservation 1: Could not find a\\n" * 3

def test_fails(loopmend_traces):
    loopmend_traces.add(Trace.from_react_log(LOG, max_iterations=3))
    assert loopmend_traces.last.answer == "4"

def test_asserts(loopmend_traces):
    loopmend_traces.add(Trace.from_react_log(LOG, max_iterations=3))
    assert_no_findings(loopmend_traces.all, severity="warning")

def test_passes(loopmend_traces):
    loopmend_traces.add(Trace(answer="4"))
    assert_no_findings(loopmend_traces.all)

def test_without():
    assert False
"""


def test_reports_are_shown_when_a_test_fails(pytester: pytest.Pytester) -> None:
    """Under a test that failed stands why its runs stopped; a test that passes is quiet."""
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "loopmend.pytest")
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_fails*",
            "*- loopmend: run 1 -*",
            "Failed: No answer after 3 of 3 steps.",
            "*- error, proven*: cap",
            "*test_asserts*",
            "E *AssertionError: Failed: No answer after 3 of 3 steps.",
        ]
    )
    assert str(result.stdout).count("- loopmend: run 1 -") == 2


LANGCHAIN = """
from langchain_core.language_models import FakeListChatModel

def test_records(loopmend_traces):
    FakeListChatModel(responses=["In Norway."]).invoke("Where is Oslo?")
    assert [trace.answer for trace in loopmend_traces.all] == ["In Norway."]

def test_begins_anew(loopmend_traces):
    assert loopmend_traces.all == ()
"""


def test_langchain_is_recorded(pytester: pytest.Pytester) -> None:
    """A test that uses LangChain needs no recorder of its own."""
    pytest.importorskip("langchain_core")
    pytester.makepyfile(LANGCHAIN)
    pytester.runpytest_inprocess("-p", "loopmend.pytest").assert_outcomes(passed=2)


def test_the_plugin_is_light() -> None:
    """Tests without agents pay nothing: the plugin loads neither the reader nor pydantic."""
    code = (
        "import loopmend.pytest, sys; print([m for m in sys.modules if m.startswith('loopmend.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['loopmend._late', 'loopmend._version', 'loopmend.pytest']\n"
