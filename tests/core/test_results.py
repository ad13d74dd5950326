"""A result says that its tool failed, or it does not; words about failures are no failure."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopmend.results import _EXIT, _EXITS, _KEY_ENDS, _KEYS, failure_in
from loopmend.traces.detectors.errors import _BLOCKED, _BLOCKING

FAILURES = [
    "Error: no such file",
    "Error: none of the files can be read",
    "Error: 0x80070005",
    "Errors: 0\nexit status 3",
    '{"status": "error"}',
    '{"status": "error", "message": "no such user"}',
    '{"status": "failed", "reason": "no seats"}',
    '{"status": "failure"}',
    '{"status": 503}',
    '{"statusCode": 404, "body": "gone"}',
    '{"error": "not enough seats"}',
    '{"error": {"code": 7, "message": "no"}}',
    '{"error": true}',
    '{"Error": ["a", "b"]}',
    '{"exception": "KeyError"}',
    '{"errors": [{"message": "bad query"}], "data": null}',
    '{"success": false}',
    '{"ok": false, "rows": []}',
    '{"isError": true, "content": [{"type": "text", "text": "boom"}]}',
    '{"result": {"error": "boom"}}',
    '{"stdout": "", "stderr": "boom", "exit_code": 2}',
    '{"returncode": -9}',
    "{'error': 'not found'}",
    "{'success': False}",
    "HTTP 500",
    "HTTP/1.1 404 Not Found",
    "HTTP Error 403: Forbidden",
    "404 Not Found",
    "Status code: 502",
    "Request failed with status code 500",
    "Exit code 1",
    "[exit code: 127]",
    "3 passed, 1 failed\nProcess exited with code 1",
    "Command '['ls']' returned non-zero exit status 2.",
    "Permission denied",
    "Access denied",
    "bash: foo: command not found",
    "cat: notes.txt: No such file or directory",
    "/bin/sh: 1: foo: not found",
    "fatal: not a git repository",
    "Error",
    "Error: flight HAT030 not available",
    "Error executing tool search: boom",
    "Error 404",
    "Error code: 429 - rate limited",
    "[ERROR] disk full",
    "<tool_use_error>File not found</tool_use_error>",
    "An internal error occurred",
    "ValueError: not a number",
    "openai.RateLimitError: slow down",
    "Traceback (most recent call last):\n  File 'x'\nKeyError: 1",
    "1\n2\nTraceback (most recent call last):\n  File 'x'\nZeroDivisionError: division by zero",
    "Could not find [Norge]. Similar: ['Norway']",
    "Cannot divide by zero",
    "Unable to open the page",
    "Failed to fetch",
    "Invalid action!",
    "No results found",
    "Nothing happened.",
    "Unknown tool: foo",
    "Tool foo not found",
    "foo is not a valid tool, try one of [bar].",
    "The page could not be found",
    "Command timed out after 30 s",
    "Timeout",
]

FINE = [
    "",
    "[]",
    "null",
    "Oslo is a city.",
    "Transfer successful",
    '{"error": ""}',
    '{"error": null, "rows": 3}',
    '{"error": "none"}',
    '{"error": 0.05, "mean": 1.2}',
    '{"error": [], "errors": []}',
    '{"errors": 3, "file": "a.py"}',
    '{"errors": ["unused import"], "file": "a.py"}',
    '{"error_rate": 0.2}',
    '{"status": "ok"}',
    '{"status": "failed", "job": 7}',
    '{"status": 200}',
    '{"success": true}',
    '{"exit_code": 0}',
    '{"a": {"error": "of somebody else"}}',
    '{"result": {"output": {"response": {"error": "too far down"}}}}',
    '{"result": [{"error": "in one row of many"}]}',
    '{"status": "ok", "note": cut off',
    "{'error': None}",
    "{'error': ''}",
    '["error"]',
    "HTTP 200 OK",
    "Exit code 0",
    "done\nexit code: 0",
    "Error handling in Rust is explicit.",
    "Errors and exceptions are chapter 8.",
    "The exception proves the rule.",
    "500 rows",
    "404 Media is a company.",
    "No errors.",
    "Error: none",
    "Errors: 0",
    "error: 0",
    "Errors: 0, warnings: 2",
    "0 errors: all is well",
    "Time out of Mind is an album.",
    "Permission to land granted.",
    "Note: the file is there",
    "A long tale of an exit code 1 " + "that somebody tells " * 20,
    "It prints Traceback (most recent call last), then it goes on.\nAll is well.",
]


@pytest.mark.parametrize("result", FAILURES)
def test_failures(result: str) -> None:
    """What a tool says when it failed is recognised, and quoted on one line."""
    found = failure_in(result)
    assert found
    assert "\n" not in found


@pytest.mark.parametrize("result", FINE)
def test_no_failures(result: str) -> None:
    """What only mentions a failure, or says that there was none, is no failure."""
    assert failure_in(result) is None


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ('{"error": {"code": 7, "message": "no such user"}}', "no such user"),
        ('{"success": false, "detail": "too late"}', "too late"),
        ('{"ok": false}', '{"ok": false}'),
        ("1\nTraceback (most recent call last):\nKeyError: 'x'", "KeyError: 'x'"),
        ("all good\nexit status 3", "exit status 3"),
    ],
)
def test_the_words_of_the_failure(result: str, says: str) -> None:
    """The failure is quoted where it stands, without what is around it."""
    assert failure_in(result) == says


def test_bounded() -> None:
    """A failure is quoted in part, and an object too long to be one is left alone."""
    assert len(failure_in("Error: " + "x" * 10_000) or "") == 200
    assert failure_in(json.dumps({"error": "x" * 200_000})) is None


@pytest.mark.parametrize(
    "result", ["{" * 100_000, '{"error":' * 9_000, "a: " * 50_000, "[" * 50_000, " " * 100_000]
)
def test_hostile_results(result: str) -> None:
    """No result is too deep or too long to be judged."""
    assert failure_in(result) is None


@pytest.mark.parametrize(
    ("pattern", "stems"),
    [(_EXIT, _EXITS), (_KEYS, _KEY_ENDS), (_BLOCKED, _BLOCKING)],
    ids=["exits", "keys", "pages"],
)
def test_the_quick_look_misses_nothing(pattern: re.Pattern[str], stems: tuple[str, ...]) -> None:
    """Whatever a slow pattern finds has a piece that the quick look before it looks for."""

    @settings(max_examples=300, deadline=None)
    @given(st.from_regex(pattern))
    def check(text: str) -> None:
        match = pattern.search(text)
        assert match is not None
        assert any(stem in text for stem in stems)

    check()
