"""Real files of each format, with what a person reading them finds; skipped if not there.

The expectations were written by reading each file; the files are not ours to ship.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from loopmend import classify_trace, load_traces
from loopmend.traces.view import is_failure

FOLDERS = [parent / "shared/corpus/formats" for parent in Path(__file__).parents]
FORMATS = next((folder for folder in FOLDERS if folder.is_dir()), None)

REPLAY = "swe_agent/replay__marshmallow-code__marshmallow-1867__"

# file: format, and for each run its steps, calls, failed results, and why it stopped
EXPECTED: dict[str, tuple[str, list[tuple[int, int, int, str]]]] = {
    "atif/openhands_hello-world.trajectory.no_function_calling.json": (
        "atif",
        [(2, 2, 0, "final_answer")],
    ),
    "atif/terminus_2_hello-world-context-summarization-linear-history.trajectory.cont-1.json": (
        "atif",
        [(4, 2, 0, "final_answer")],
    ),
    "inspect/2024-11-05T13-32-37-05-00_input-task_hxs4q9azL3ySGkjJirypKZ.eval": (
        "inspect",
        [(1, 0, 0, "final_answer")],
    ),
    "inspect/2025-05-12T20-28-13-04-00_popularity.json": (
        "inspect",
        [(1, 0, 0, "final_answer")] * 3,
    ),
    "inspect/2025-09-23T08-09-58-04-00_popularity_DN2wbX2ZvACsBpjwptzBRo.eval": (
        "inspect",
        [(1, 0, 0, "final_answer")] * 100,
    ),
    "inspect/2025-09-23T08-09-58-04-00_theory-of-mind_bbB4eRCx2rFJLyPH42Cj9r.eval": (
        "inspect",
        [(1, 0, 0, "final_answer")] * 100,
    ),
    "inspect/log_formats.eval": ("inspect", [(1, 0, 0, "final_answer")]),
    "inspect/log_message_deduplication.eval": ("inspect", [(6, 5, 0, "final_answer")]),
    "inspect/log_tool_call_error.json": ("inspect", [(1, 0, 11, "unknown")]),
    "langfuse/agno-2025-06-11.trace.json": ("langfuse", [(2, 1, 0, "final_answer")]),
    "langfuse/beeai-2025-08-01.trace.json": ("langfuse", [(3, 2, 0, "final_answer")]),
    "langfuse/crewai-2025-07-11.trace.json": ("langfuse", [(1, 0, 0, "final_answer")]),
    "langfuse/google-adk-2025-08-28.trace.json": ("langfuse", [(2, 1, 0, "final_answer")]),
    "langfuse/koog-2025-08-26.trace.json": ("langfuse", [(2, 2, 0, "final_answer")]),
    "langfuse/langgraph-python-2025-08-22.trace.json": ("langfuse", [(2, 1, 0, "final_answer")]),
    "langfuse/microsoft-agent-2025-12-17.trace.json": ("langfuse", [(2, 1, 0, "final_answer")]),
    "langfuse/pydantic-ai-2025-06-06.trace.json": ("langfuse", [(1, 0, 0, "final_answer")]),
    "langfuse/pydantic-ai-tools-2025-12-04.trace.json": ("langfuse", [(4, 4, 0, "final_answer")]),
    "langfuse/vercel-aisdk-2025-11-17.trace.json": ("langfuse", [(1, 1, 0, "unknown")]),
    "langsmith/anthropic_managed_builtin_tools.jsonl": (
        "managed_agent",
        [(2, 1, 0, "final_answer")],
    ),
    "langsmith/anthropic_managed_mcp_tools.jsonl": ("managed_agent", [(2, 1, 0, "final_answer")]),
    "langsmith/langsmith_js_wrap_openai_default.json": ("langsmith", [(1, 0, 0, "final_answer")]),
    "langsmith/langsmith_js_wrap_openai_stream.json": ("langsmith", [(1, 0, 0, "final_answer")]),
    "langsmith/langsmith_py_wrap_openai_.json": ("langsmith", [(1, 0, 0, "final_answer")]),
    "langsmith/langsmith_py_wrap_openai_stream.json": ("langsmith", [(1, 0, 0, "final_answer")]),
    "langsmith/sdk_runs_create_agent.jsonl": (
        "langsmith",
        [(3, 2, 0, "final_answer"), (4, 4, 0, "max_iterations"), (1, 1, 1, "tool_error")],
    ),
    # Ten spans in ten traces; two of them embed a text, which is no run.
    "otel_genai/all-spans.json": ("openinference", [(1, 0, 0, "final_answer")] * 8),
    "otel_genai/openinference_client_span_tool_calls.json": (
        "openinference",
        [(2, 1, 0, "final_answer")],
    ),
    "otel_genai/otel_genai_deprecated_client_span_tool_calls.json": (
        "openinference",
        [(2, 1, 0, "final_answer")],
    ),
    "swe_agent/6e44b9__sweagenttestrepo-1c2844.traj": ("swe_agent", [(5, 5, 0, "final_answer")]),
    "swe_agent/crypto__BabyTimeCapsule.traj": ("swe_agent", [(9, 9, 1, "final_answer")]),
    "swe_agent/crypto__katy.traj": ("swe_agent", [(18, 18, 1, "final_answer")]),
    "swe_agent/human_thought__swe-bench-HumanEvalFix-python__lcb__t-0.00__p"
    "__humanevalfix-python-0.traj": (
        "swe_agent",
        [(5, 5, 0, "final_answer")],
    ),
    "swe_agent/pwn__warmup.traj": ("swe_agent", [(7, 7, 0, "final_answer")]),
    f"{REPLAY}default__t-0.20___marshmallow-code__marshmallow-1867.traj": (
        "swe_agent",
        [(14, 14, 1, "final_answer")],
    ),
    f"{REPLAY}function_calling__marshmallow-code__marshmallow-1867.traj": (
        "swe_agent",
        [(13, 13, 0, "final_answer")],
    ),
    f"{REPLAY}xml_sys-env_wind__marshmallow-code__marshmallow-1867.traj": (
        "swe_agent",
        [(11, 11, 1, "final_answer")],
    ),
    "swe_agent/swe-agent__test-repo-i1.traj": ("swe_agent", [(5, 5, 0, "final_answer")]),
}


@pytest.mark.skipif(FORMATS is None, reason="the samples are not there")
@pytest.mark.parametrize("name", EXPECTED, ids=lambda name: name[:50])
def test_a_real_file(name: str) -> None:
    """A file is read with the steps, calls, failures and stop reason that a reader finds in it."""
    assert FORMATS is not None
    format, runs = EXPECTED[name]
    found = []
    for trace in load_traces(FORMATS / name):
        assert trace.framework == format
        calls = sum(len(step.calls) for step in trace.steps)
        seen = [each for step in trace.steps for each in step.observations]
        reason = classify_trace(trace).stop_reason
        found.append((trace.iterations, calls, sum(map(is_failure, seen)), reason.value))
    assert found == runs


@pytest.mark.skipif(FORMATS is None, reason="the samples are not there")
def test_no_file_is_left_out() -> None:
    """Every sample has an expectation."""
    assert FORMATS is not None
    files = {str(path.relative_to(FORMATS)) for path in FORMATS.glob("*/*") if path.is_file()}
    assert files == set(EXPECTED)
