"""Observations of Langfuse: a trace with its observations, or rows of an export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from loopmend.traces.readers import attributes as of
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.run import read_run
from loopmend.traces.readers.spans import Span, error_of, origin_of
from loopmend.traces.readers.values import as_map, decoded, first, tokens_in
from loopmend.traces.trace import Trace

__all__ = ["is_observation", "is_trace", "observation_trace_id", "read_observations"]

_KINDS: Final = {
    "GENERATION": "LLM",
    "TOOL": "TOOL",
    "AGENT": "AGENT",
    "SPAN": "CHAIN",
    "CHAIN": "CHAIN",
}

_OF_TRACES: Final = frozenset({"userId", "user_id", "sessionId", "bookmarked", "htmlPath"})


def is_observation(row: Any) -> bool:
    """Tell whether a row is an observation."""
    if not isinstance(row, Mapping) or not isinstance(row.get("type"), str):
        return False
    traced = "traceId" in row or "trace_id" in row
    timed = "startTime" in row or "start_time" in row
    return traced and timed and row["type"].isupper()


def is_trace(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is a trace without its observations, as tables of traces hold them."""
    named = {"timestamp", "name", "input", "output"} <= row.keys()
    return named and not _OF_TRACES.isdisjoint(row) and "type" not in row


def observation_trace_id(row: Mapping[str, Any]) -> str:
    """Return the trace that an observation belongs to."""
    return str(first(row, "traceId", "trace_id") or "")


def read_observations(
    rows: Iterable[Any], options: ReadOptions, about: Mapping[str, Any] | None = None
) -> Trace:
    """Read the observations of one trace.

    Args:
        rows: The observations in any order.
        options: Which calls end a run, and the like.
        about: What the platform keeps of the trace itself.

    >>> row = {"id": "1", "traceId": "t", "type": "GENERATION", "startTime": "", "output": "Hi."}
    >>> read_observations([row], ReadOptions()).answer
    'Hi.'
    """
    about = about or {}
    given = [row for row in rows if isinstance(row, Mapping)]
    spans = [_span(row) for row in given]
    models = {span.id for span in spans if span.kind == "LLM"}
    for span in spans:
        if span.kind == "CHAIN" and span.parent in models and _is_reply(span.said):
            span.kind = "LLM"  # Mastra keeps the steps of a model in one span
    scores = {
        str(first(score, "name")): first(score, "value", "stringValue")
        for score in about.get("scores") or []
        if isinstance(score, Mapping)
    }
    id = first(about, "id") or next((observation_trace_id(row) for row in given), None)
    roots = _outermost(spans, about)
    trace = Trace(
        framework="langfuse",
        id=None if id is None else str(id),
        metadata={"scores": scores} if scores else {},
    )
    return read_run([*roots, *spans], trace, options)


def _is_reply(said: Any) -> bool:
    return isinstance(said, Mapping) and isinstance(
        said.get("toolCalls", said.get("text")), (str, list)
    )


def _outermost(spans: list[Span], about: Mapping[str, Any]) -> list[Span]:
    """Return the trace itself as the span around the others: it tells question and answer."""
    given, said = decoded(about.get("input")), decoded(about.get("output"))
    if given is None and said is None:
        return []
    known = {span.id for span in spans}
    below = sorted((s for s in spans if s.parent not in known), key=lambda span: span.start)
    for span in below:
        span.parent = "the trace"
    kind = "AGENT" if said is not None else "CHAIN"
    whole = Span("the trace", name="", kind=kind, given=given, said=said)
    # The trace has no error of its own: what failed last below it is the run's, if that is no tool.
    if below and said is None and (len(below) == 1 or below[-1].kind != "TOOL"):
        whole.error, whole.ended = below[-1].error, below[-1].ended
    return [whole]


def _span(row: Mapping[str, Any]) -> Span:
    told = as_map(decoded(row.get("metadata")))
    attributes = of.flat(as_map(decoded(told.get("attributes"))))
    kind = _KINDS.get(str(row.get("type")).upper(), "OTHER")
    tool, call_id = of.tool_in(attributes)
    event = kind in ("CHAIN", "AGENT") and of.is_call(attributes)
    if kind in ("CHAIN", "AGENT") and attributes:
        meant = of.kind_in(attributes, str(row.get("name") or ""))
        kind = "TOOL" if meant == "TOOL" or event else kind
    failed = str(row.get("level") or "").upper() == "ERROR"
    message = str(first(row, "statusMessage", "status_message") or "")
    origin = origin_of(kind, str(row.get("name") or ""))
    given, said = decoded(row.get("input")), decoded(row.get("output"))
    if kind == "TOOL" and given is None:
        given = of.given_in(attributes, [], kind)
    usage = first(row, "usageDetails", "usage_details", "usage")
    return Span(
        id=str(row.get("id") or ""),
        parent=str(first(row, "parentObservationId", "parent_observation_id") or ""),
        name=str(row.get("name") or ""),
        kind=kind,
        start=str(first(row, "startTime", "start_time") or ""),
        given=given,
        said=said,
        error=error_of(message, origin) if failed else None,
        tokens=tokens_in(decoded(usage)) if kind == "LLM" else None,
        tool=tool if kind == "TOOL" else None,
        call_id=call_id,
        event=event,
        failed=of.failed_in(attributes),
        tools=of.tools_in(attributes),
    )
