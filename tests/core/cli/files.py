"""Files to read: all that can go wrong with lines of JSON, in one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EVIL = "\x1b]0;gone\x07\x1b[2J<script>alert(1)</script>[red]\u202e\x9b31m"
"""What a model should not be able to do to a terminal, a page or a table."""


def talk(question: str = "Where is Oslo?", answer: str | None = "In Norway.") -> dict[str, Any]:
    """Return a conversation; without an answer, its last call fails."""
    call = {"id": "1", "function": {"name": "search", "arguments": '{"q": "Oslo"}'}}
    told: dict[str, Any] = {
        "role": "tool",
        "tool_call_id": "1",
        "content": "A city." if answer else "HTTP 500",
    }
    said = [
        {"role": "user", "content": question},
        {"role": "assistant", "tool_calls": [call]},
        told,
    ]
    return {"messages": [*said, {"role": "assistant", "content": answer}] if answer else said}


def span(trace: str, number: int, kind: str = "LLM") -> dict[str, Any]:
    """Return a span of a trace."""
    return {
        "name": "chat",
        "context": {"trace_id": trace, "span_id": f"{trace}-{number}"},
        "parent_id": None if kind == "AGENT" else f"{trace}-0",
        "start_time": f"2026-01-01T00:00:{number:02}Z",
        "attributes": {
            "openinference.span.kind": kind,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": f"said in {trace} at {number}",
        },
    }


def batch(*traces: str) -> dict[str, Any]:
    """Return a batch of OTLP with a span of each of several traces, and two of the first."""
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.completion", "value": {"stringValue": "It is 4."}},
    ]
    spans = [
        {"traceId": trace, "spanId": f"{n}", "name": "chat", "attributes": attributes}
        for n, trace in enumerate((traces[0], *traces))
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def mixed() -> list[Any]:
    """Return lines: whole runs, rows of runs that are far apart, and what is neither."""
    lines: list[Any] = []
    for n in range(12):
        lines += [talk(f"Question {n}", None if n % 3 else "Here."), span(f"t{n % 4}", n + 1)]
        lines += [batch(f"o{n % 3}", f"o{n % 5}"), {"odd": n}]
    lines += [span(f"t{n}", 0, "AGENT") for n in range(4)]
    # Runs that tell no trace, only the run that they are part of; the root comes in the middle.
    lines[7:7] = [{"id": "model", "parent_run_id": "root", "run_type": "llm", "inputs": {},
                   "outputs": {"generations": [[{"text": "It is 4."}]]}}]  # fmt: skip
    lines[30:30] = [{"id": "root", "run_type": "chain", "inputs": {}, "outputs": {}}]
    return [*lines, {"id": "x", "run_type": "llm", "trace_id": "ls", "inputs": {}, "outputs": {}}]


def write_lines(path: Path, values: list[Any]) -> str:
    """Write values as lines, with a torn and an empty one in between."""
    lines = [json.dumps(value) for value in values]
    middle = len(lines) // 2
    path.write_text("\n".join([*lines[:middle], '{"torn', "", *lines[middle:]]) + "\n")
    return str(path)
