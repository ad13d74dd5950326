"""Spans as platforms of their own export them, and events that are as much.

Braintrust, W&B Weave, Opik, Datadog, HoneyHive, LangWatch, Mastra, PostHog.

They differ in the names of the fields only: each row tells its place, its kind, what it got and
what it returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.run import read_run
from loopmend.traces.readers.spans import Span, error_of, origin_of, sortable
from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, first, tokens_in
from loopmend.traces.trace import Trace, TraceError

__all__ = ["is_row", "read_rows", "row_trace_id"]

_IDS: Final = ("span_id", "event_id", "id")
_TRACES: Final = ("root_span_id", "trace_id", "session_id", "traceId")
_PARENTS: Final = ("parent_span_id", "parent_id", "parentSpanId")
_STARTS: Final = ("start_time", "started_at", "start_ns", "created", "startTime")
_GIVEN: Final = ("inputs", "input")
_SAID: Final = ("outputs", "output")
_KINDS: Final = {
    **dict.fromkeys(("llm", "model", "llm_generation", "model_generation", "model_step"), "LLM"),
    **dict.fromkeys(("tool", "tool_call", "mcp_tool_call"), "TOOL"),
    **dict.fromkeys(("agent", "session", "agent_run", "workflow_run"), "AGENT"),
    **dict.fromkeys(("task", "general", "chain", "workflow", "function", "step"), "CHAIN"),
}
# What rows have beside their kind: Opik's, LangWatch's, Mastra's.
_MARKS: Final = frozenset({"parent_span_id", "error_info", "timestamps", "parentSpanId"})
_POSTHOG: Final = "$ai_"
_EVENTS: Final = {"$ai_generation": "llm", "$ai_trace": "agent"}
# How the names of calls end that a client of a model makes.
_ASKS: Final = (
    *(".create", ".parse", ".stream", ".generate", ".generate_content", ".converse"),
    *(".completion", ".acompletion", ".complete", ".chat", ".invoke_model"),
)


def is_row(row: Any) -> bool:
    """Tell whether a row is a span in a form of one of these platforms.

    >>> is_row({"id": "1", "trace_id": "t", "op_name": "f", "inputs": {}, "output": 4})
    True
    """
    if isinstance(row, Mapping) and str(row.get("event")).startswith(_POSTHOG):
        return isinstance(row.get("properties"), Mapping)
    if not isinstance(row, Mapping) or first(row, *_IDS) is None or first(row, *_TRACES) is None:
        return False
    if "op_name" in row:  # Weave
        return "inputs" in row
    about = as_map(row.get("meta"))
    if about:  # Datadog
        return "kind" in about or isinstance(as_map(about.get("span")).get("kind"), str)
    if "event_type" in row:  # HoneyHive
        return "inputs" in row and row["event_type"] in _KINDS
    if isinstance(row.get("span_attributes"), Mapping):  # Braintrust
        return "root_span_id" in row and "input" in row
    told = row.get("type") in (*_KINDS, "guardrail")
    return told and "input" in row and not _MARKS.isdisjoint(row)


def row_trace_id(row: Mapping[str, Any]) -> str:
    """Return the trace that a row belongs to."""
    return as_text(first(_plain(row), *_TRACES))


def read_rows(rows: Iterable[Any], options: ReadOptions) -> Trace:
    """Read the rows of one trace.

    >>> row = {"id": "1", "trace_id": "t", "type": "llm", "parent_span_id": None, "input": "Hi.",
    ...        "output": {"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}}
    >>> read_rows([row], ReadOptions()).answer
    'Hello.'
    """
    given = [row for row in rows if isinstance(row, Mapping)]
    id = next((row_trace_id(row) for row in given), None)
    return read_run(list(map(_span, given)), Trace(framework="platform_rows", id=id), options)


def _span(row: Mapping[str, Any]) -> Span:
    row = _plain(row)
    about, attributes = as_map(row.get("meta")), as_map(row.get("span_attributes"))
    name = _name(row, attributes)
    held = about or row
    given, said = (_value(decoded(first(held, *keys))) for keys in (_GIVEN, _SAID))
    kind = _kind(row, about, attributes, name)
    usage = first(row, "usage", "metrics")
    above = first(row, *_PARENTS) or next(iter(as_list(row.get("span_parents"))), None)
    return Span(
        id=as_text(first(row, *_IDS)),
        parent=as_text(above),
        name=name,
        kind=kind,
        start=sortable(first(row.get("metrics"), "start") or first(_times(row), *_STARTS)),
        given=given,
        said=said,
        error=_error(row, about, origin_of(kind, name)),
        tokens=tokens_in(usage) if kind == "LLM" else None,
    )


def _times(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_map(row.get("timestamps")) or row  # LangWatch keeps them apart


def _plain(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event of PostHog's as the row of a span; other rows are rows already."""
    event = row.get("event")
    if not (isinstance(event, str) and event.startswith(_POSTHOG)):
        return row
    held = as_map(row.get("properties"))
    failed = held.get("$ai_is_error") is True
    trace = held.get("$ai_trace_id")
    return {
        "id": first(held, "$ai_span_id", "$ai_generation_id") or trace,
        "trace_id": trace,
        "parent_id": held.get("$ai_parent_id"),
        "name": held.get("$ai_span_name"),
        "type": _EVENTS.get(event, "chain"),
        "input": first(held, "$ai_input", "$ai_input_state"),
        "output": first(held, "$ai_output_choices", "$ai_output_state"),
        "error": held.get("$ai_error") or ("Error" if failed else None),
        "usage": {k.removeprefix("$ai_"): v for k, v in held.items() if k.endswith("_tokens")},
        "start_time": row.get("timestamp"),
    }


def _name(row: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    told = as_text(first(attributes, "name") or first(row, "name", "event_name", "op_name"))
    if told.startswith("weave:///"):  # weave:///entity/project/op/Agent.run:digest
        told = told.rpartition("/")[2].rpartition(":")[0]
    return told


def _kind(
    row: Mapping[str, Any], about: Mapping[str, Any], attributes: Mapping[str, Any], name: str
) -> str:
    told = first(attributes, "type") or first(row, "event_type", "type")
    told = first(about, "kind") or as_map(about.get("span")).get("kind") or told
    if told is None:  # Weave tells none, but a client's call is known by its name
        told = "llm" if name.endswith(_ASKS) else "chain"
    kind = _KINDS.get(as_text(told).lower(), "OTHER")
    return "AGENT" if kind == "CHAIN" and not _has_parent(row) else kind


def _has_parent(row: Mapping[str, Any]) -> bool:
    return bool(first(row, *_PARENTS) or row.get("span_parents"))


def _value(told: Any) -> Any:
    """Return what a span got or returned, without what Datadog and LangWatch wrap a value in."""
    wrapped = isinstance(told, Mapping) and {"value"} <= told.keys() <= {"value", "type"}
    return decoded(told["value"]) if wrapped else told


def _error(row: Mapping[str, Any], about: Mapping[str, Any], origin: str) -> TraceError | None:
    told = first(row, "error", "error_info", "errorInfo", "exception") or about.get("error")
    kind = first(told, "exception_type", "type", "name")
    said = as_text(
        first(told, "message", "stack", "traceback") if isinstance(told, Mapping) else told
    )
    if kind:
        return TraceError(as_text(kind).rpartition(".")[2], said, origin)
    if not said.strip():
        return TraceError("Error", "", origin) if row.get("status") == "error" else None
    return error_of(said, origin)
