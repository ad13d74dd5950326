"""Spans as OpenTelemetry, Phoenix and their exporters write them, nested or flat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from loopmend.traces.readers import attributes as of
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.run import read_run
from loopmend.traces.readers.spans import ENDS, Span, error_of, origin_of, sortable
from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, first, get
from loopmend.traces.trace import Trace, TraceError
from loopmend.traces.unread import Later

__all__ = ["BATCHES", "is_attributes", "read_spans", "spans_in", "told_by", "trace_id_of"]

_FAILED = ("ERROR", "STATUS_CODE_ERROR", "2")
_SCOPES = (
    *("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs"),
)
_CONTEXTS = ("context", "spanContext", "_spanContext")  # the last: a span of JavaScript's itself
_STARTS = ("timestamp", "start_time", "startTimeUnixNano", "startTime", "started_at")
_AGENTS = {"generation": "LLM", "response": "LLM", "function": "TOOL", "agent": "AGENT"}
BATCHES = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
"""The keys under which a batch of OTLP stands; Tempo has its own."""
_OF_AGENTS = frozenset({"LLM", "TOOL", "AGENT", "CHAIN", "TWIN"})
_LOGGED = "logged"
"""The key of an event that was exported as a record of a log, apart from its span."""


def read_spans(
    spans: Iterable[Any], options: ReadOptions, *, framework: str = "openinference"
) -> Trace:
    """Read the spans of one trace: each call of a model is a step.

    >>> span = {"name": "llm", "span_id": "1", "attributes": {
    ...     "openinference.span.kind": "LLM", "output.value": "It is in Norway."}}
    >>> read_spans([span], ReadOptions()).answer
    'It is in Norway.'
    """
    given = _with_logs(list(spans))
    id = next((found for span in given if (found := trace_id_of(span)) is not None), None)
    made = list(_spans(given))
    trace = read_run(made, Trace(framework=framework, id=id), options)
    # Other software has failed spans as well, such as a request of a browser's.
    agents = framework != "otlp" or trace.steps or any(span.kind != "CHAIN" for span in made)
    agents = agents or any(is_attributes(told_by(span)) for span in given)
    # Nor is an embedding or a search by itself an agent's run.
    agents = agents and any(span.kind in _OF_AGENTS for span in made)
    return trace if agents else Trace(framework=framework, id=id, unreadable=framework)


def _with_logs(rows: list[Any]) -> list[Any]:
    """Give events that were exported as records of a log to their spans, or make such a span."""
    logged: dict[str, list[Any]] = {}
    whole: dict[str, Any] = {}
    for row in rows:
        if _LOGGED in as_map(row):
            logged.setdefault(row["spanId"], []).append(row[_LOGGED])
            whole.setdefault(row["spanId"], row)
    if not logged:
        return rows
    spans = [row for row in rows if _LOGGED not in as_map(row)]
    whole.update({str(get(span, "spanId")): span for span in spans})
    return [
        {**span, "events": [*logged.get(id, ()), *as_list(span.get("events"))]}
        for id, span in whole.items()
    ]


def _spans(given: list[Any]) -> Iterator[Span]:
    stack: list[tuple[Any, str | None]] = [(raw, None) for raw in reversed(given)]
    number = 0
    while stack:
        raw, parent = stack.pop()
        if not isinstance(raw, Mapping):
            continue
        span = _span(raw, parent, number)
        number += 1
        yield span
        children = as_list(raw.get("child_spans") or raw.get("children"))
        if children:
            stack += [(child, span.id) for child in reversed(children)]


def _span(raw: Mapping[str, Any], parent: str | None, number: int) -> Span:
    told = told_by(raw)
    if not told:
        told = raw if is_attributes(raw) else _dotted(raw)
    attributes = of.flat(told)
    context = as_map(first(raw, *_CONTEXTS))
    name = str(first(raw, "span_name", "name", "operationName", "workflow_name") or "")
    kind = of.kind_in(attributes, name, raw.get("span_kind"))
    events = as_list(raw.get("events"))
    error = _error(raw, attributes, events, kind, name)
    tool, call_id = of.tool_in(attributes)
    event = kind in ("AGENT", "CHAIN") and of.is_call(attributes)
    kind = "TOOL" if event else kind
    above = first(raw, "parent_span_id", "parent_id", "parentSpanId", "parentId")
    if not (above or parent):
        above = first(as_map(raw.get("parentSpanContext")), "spanId", "span_id")
        above = above or next((get(e, "spanID") for e in as_list(raw.get("references"))), None)
    id = first(context, "span_id", "spanId") or first(raw, "span_id", "spanId", "spanID", "id")
    return Span(
        id=str(id or f"span-{number}"),
        parent=parent or str(above or ""),
        name=name,
        kind=kind,
        start=sortable(first(raw, *_STARTS)),
        given=Later(lambda _: of.given_in(attributes, events, kind)),
        said=Later(lambda _: of.said_in(attributes, events, kind)),
        error=error,
        tokens=of.tokens_told(attributes) if kind == "LLM" else None,
        tool=tool,
        call_id=call_id,
        event=event,
        failed=kind == "TOOL" and of.failed_in(attributes),
        tools=of.tools_in(attributes) if kind in ("LLM", "AGENT") else (),
        finish=of.finish_told(attributes) if kind == "LLM" else None,
    )


def told_by(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a span says about its work: under its attributes, its tags or its data."""
    for key in ("span_attributes", "attributes", "tags"):  # the last is Jaeger's and Zipkin's
        held = raw.get(key)
        if type(held) is dict and held:
            return held
        held = decoded(held)
        if isinstance(held, Mapping) and held:
            return held
        if isinstance(held, list) and held and "key" in as_map(held[0]):
            return _plain(held)
    data = as_map(raw.get("span_data"))  # OpenAI's Agents SDK
    if not data:
        return {}
    held = as_map(first(data, "response", "_response"))
    return {
        "openinference.span.kind": _AGENTS.get(str(data.get("type")), "OTHER"),
        "input.value": first(data, "input", "_input"),
        "output.value": held or data.get("output"),
        "tool.name": data.get("name") if data.get("type") == "function" else None,
    }


def _dotted(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes that rows of a data frame keep in columns of their own."""
    return {k[len("attributes.") :]: v for k, v in raw.items() if k.startswith("attributes.")}


def is_attributes(raw: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping holds a span's attributes without a span around them."""
    return any(
        key.startswith(("openinference.", "gen_ai.", "llm.output_messages", "ai.operationId"))
        for key in raw
        if isinstance(key, str)
    )


def _error(
    raw: Mapping[str, Any], attributes: Mapping[str, Any], events: list[Any], kind: str, name: str
) -> TraceError | None:
    status = as_map(raw.get("status"))
    code = first(raw, "status_code", "statusCode", "otel_status_code")
    code = first(status, "status_code", "code") if code is None else code
    failed = code is not None and str(code).upper().rpartition(".")[2] in _FAILED
    told = as_map(raw.get("error"))
    if told:  # OpenAI's Agents SDK
        what = first(as_map(told.get("data")), "error") or told.get("message")
        return error_of(as_text(what), origin_of(kind, name))
    if not failed and not events:
        return None
    known = (as_map(as_map(event).get("attributes")) for event in events)
    raised = next((each for each in known if isinstance(each.get("exception.type"), str)), None)
    what = "" if raised is None else raised["exception.type"].rpartition(".")[2]
    if not failed and what not in ENDS:  # a pause leaves the status as it is
        return None
    origin = origin_of(kind, name)
    if raised is not None:
        return TraceError(what, str(raised.get("exception.message") or ""), origin)
    told = first(raw, "status_message", "statusMessage", "otel_status_message") or first(
        status, "description", "message"
    )
    typed = attributes.get("error.type")
    if told and isinstance(typed, str) and not str(told).startswith(typed):
        return TraceError(typed.rpartition(".")[2], str(told), origin)
    return error_of(str(told or typed or ""), origin)


def trace_id_of(span: Any) -> str | None:
    """Return the trace that a span belongs to."""
    told = as_map(span)
    context = as_map(first(told, *_CONTEXTS))
    id = first(told, "trace_id", "traceId", "traceID", "context.trace_id")
    id = told.get("id") if id is None and told.get("object") == "trace" else id
    id = id if id is not None else first(context, "trace_id", "traceId")
    return id if isinstance(id, str) else None


def spans_in(batch: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the spans of a batch of OTLP JSON, with plain attributes."""
    told = as_map(batch.get("trace")) or batch
    listed = first(told, *BATCHES)
    for resource in [told] if listed is None else as_list(listed):
        scopes = first(resource, *_SCOPES)
        for scope in as_list(scopes):
            for span in as_list(as_map(scope).get("spans")):
                if isinstance(span, Mapping):
                    yield _plain_span(span)
            for record in as_list(first(scope, "logRecords", "log_records")):
                yield from _event_in(as_map(record))


def _event_in(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record of a log as a row of its span, if it is an event of GenAI."""
    attributes = _plain(record.get("attributes"))
    name = str(first(record, "eventName", "event_name") or attributes.get("event.name") or "")
    if name.startswith("gen_ai."):
        body = _value(record.get("body"), 0)
        yield {
            "traceId": first(record, "traceId", "trace_id"),
            "spanId": str(first(record, "spanId", "span_id") or ""),
            "startTimeUnixNano": record.get("timeUnixNano"),
            "attributes": {"gen_ai.operation.name": "chat"},
            _LOGGED: {"name": name, "attributes": attributes, "body": body},
        }


def _plain_span(span: Mapping[str, Any]) -> dict[str, Any]:
    events = [
        {**as_map(event), "attributes": _plain(as_map(event).get("attributes"))}
        for event in as_list(span.get("events"))
    ]
    return {**span, "attributes": _plain(span.get("attributes")), "events": events}


def _plain(attributes: Any) -> dict[str, Any]:
    if isinstance(attributes, Mapping):
        return dict(attributes)
    pairs = (as_map(each) for each in as_list(attributes))
    return {str(pair.get("key")): _value(pair.get("value"), 0) for pair in pairs}


def _value(value: Any, depth: int) -> Any:
    """Return what one of OTLP's typed values holds; integers come as text."""
    if not isinstance(value, Mapping) or depth > 20:  # noqa: PLR2004 - deeper than any exporter
        return value
    for key, held in value.items():
        if key == "intValue":
            return int(held) if str(held).lstrip("-").isdigit() else held
        if key == "arrayValue":
            return [_value(each, depth + 1) for each in as_list(as_map(held).get("values"))]
        if key == "kvlistValue":
            pairs = [as_map(each) for each in as_list(as_map(held).get("values"))]
            return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
        return held
    return None
