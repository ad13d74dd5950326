"""Which format a value has, told by its content, and the reader for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from loopmend.traces.readers import (
    agent_steps,
    atif,
    inspect_log,
    langfuse,
    langsmith,
    managed_events,
    otel_spans,
    platform_rows,
    react_log,
    sessions,
    swe_agent,
)
from loopmend.traces.readers.conversation import read_messages
from loopmend.traces.readers.endings import reason_in
from loopmend.traces.readers.kept_steps import steps_in
from loopmend.traces.readers.messages import is_message
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.spans import error_of
from loopmend.traces.readers.tables import rows_in
from loopmend.traces.readers.talk import REPLIES, is_talk, latest_in, talk_in
from loopmend.traces.readers.values import as_list, as_map, as_text, decoded, first
from loopmend.traces.trace import Trace, TraceError

__all__ = ["FORMATS", "Piece", "format_of", "pieces_of", "read_group"]

Read = Callable[[Any, ReadOptions], Trace]

_PAGES: Final = (
    *("data", "runs", "traces", "rows", "results", "items", "edges", "node", "records"),
    *("sessions", "trajectories", "simulations", "spans", "calls"),
)
_DEEPEST: Final = 3
_MOST_NAMED: Final = 100_000
_ENDS: Final = (
    *("stop_reason", "termination_reason", "exit_reason", "finish_reason", "status", "state"),
)
_LOGS: Final = ("scratchpad", "log", "transcript", "trajectory", "text", "output")


class Piece(NamedTuple):
    """A part of a file: a whole run, or a row of one."""

    format: str
    value: Any
    run: str | None = None
    """Which run it is a row of; none for a whole run."""


def _is_own(value: Any) -> bool:
    return isinstance(value, Mapping) and type(value.get("version")) is int and "steps" in value


def _is_batch(value: Any) -> bool:
    told = as_map(as_map(value).get("trace")) or as_map(value)
    return any(isinstance(told.get(key), list) for key in (*otel_spans.BATCHES, "scopeSpans"))


_PLACES: Final = (
    *("span_id", "spanId", "context", "spanContext", "span_kind", "traceId", "trace_id"),
    *("context.span_id", "traceID", "workflow_name", "_spanContext"),
)


def _is_span(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    held = value.get("attributes", value.get("span_attributes"))
    written = isinstance(held, str) and held.lstrip().startswith(("{", "["))
    told = written or isinstance(held, (Mapping, list)) or bool(otel_spans.told_by(value))
    told = told or (value.get("object") == "trace" and "workflow_name" in value)
    columns = any(isinstance(key, str) and key.startswith("attributes.") for key in value)
    placed = any(key in value for key in _PLACES)
    return (placed and (told or columns)) or otel_spans.is_attributes(value)


def _is_spans(value: Any) -> bool:
    """Tell whether a value is one trace with its spans inside."""
    spans = _spans_in(value)
    return bool(spans) and all(map(_is_span, spans))


def _spans_in(value: Any) -> list[Any]:
    told = as_map(value)
    inside = (as_map(decoded(told.get(key))).get("spans") for key in ("data", "trace"))  # TRAIL's
    return as_list(told.get("spans") or next(filter(None, inside), None))


def _is_traced(value: Any) -> bool:
    """Tell whether a value is a trace with its observations inside, or without any."""
    return isinstance(value, Mapping) and (
        isinstance(value.get("observations"), list) or langfuse.is_trace(value)
    )


def _holds_talk(value: Any) -> bool:
    told = as_map(value)
    failed = told.get("object") == "response" and bool(as_map(told.get("error")))
    held = failed or is_talk(value) or bool(sessions.events_in(value))
    return held and not sessions.is_event(value)


def _is_log(value: Any) -> bool:
    return _log_in(value) is not None


def _log_in(value: Any) -> str | None:
    if isinstance(value, str):
        return value if react_log.is_react_log(value) else None
    for key in _LOGS:
        text = as_map(value).get(key)
        if isinstance(text, str) and react_log.is_react_log(text):
            return text
    return None


# In the order in which they are tried: the surest marks first.
_MARKS: Final[tuple[tuple[str, Callable[[Any], bool]], ...]] = (
    ("loopmend", _is_own),
    ("otlp", _is_batch),
    ("inspect", lambda value: inspect_log.is_log(value) or inspect_log.is_sample(value)),
    ("atif", atif.is_atif),
    ("langfuse", lambda value: _is_traced(value) or langfuse.is_observation(value)),
    ("langsmith", langsmith.is_run),
    ("platform_rows", platform_rows.is_row),
    ("agent_executor", agent_steps.is_agent_result),
    ("swe_agent", swe_agent.is_trajectory),
    ("openinference", lambda value: _is_spans(value) or _is_span(value)),
    ("managed_agent", managed_events.is_event),
    ("messages", lambda value: _holds_talk(value) or is_message(value) or sessions.is_event(value)),
    ("react_log", _is_log),
)
FORMATS: Final = tuple(name for name, _ in _MARKS)
"""The formats that can be read, under the names that `load_traces` takes."""


def format_of(value: Any) -> str | None:
    """Return the name of a value's format, or none if it has no marks of any."""
    return next((name for name, has in _MARKS if has(value)), None)


def pieces_of(value: Any, format: str | None = None, depth: int = 0) -> Iterator[Piece]:
    """Yield the runs and the rows that a decoded value holds.

    Args:
        value: What a file or a line of it holds.
        format: Its format, if the user told it.
        depth: How many lists and pages it is in.
    """
    if type(value) in (dict, list):
        value = rows_in(value) or latest_in(value)
    name = format or format_of(value)
    if name is None or (isinstance(value, list) and name not in ("messages", "managed_agent")):
        yield from _inside(value, format, depth)
        return
    yield from _split(name, value)


def _inside(value: Any, format: str | None, depth: int) -> Iterator[Piece]:
    """Yield what a list holds, a page of an interface, or runs under their names."""
    listed = value if isinstance(value, list) else _page_in(as_map(value))
    if listed is None or depth > _DEEPEST:
        if value not in (None, {}, []):
            yield Piece("unknown" if format is None else format, value)
        return
    for each in listed:
        yield from pieces_of(each, format, depth + 1)


def _page_in(value: Mapping[str, Any]) -> list[Any] | None:
    for key in _PAGES:
        held = value.get(key)
        if isinstance(held, (list, Mapping)) and held:
            return held if isinstance(held, list) else [held]
    named = [*value.values()] if len(value) <= _MOST_NAMED else []
    return named if named and all(format_of(each) is not None for each in named) else None


def _split(name: str, value: Any) -> Iterator[Piece]:
    """Yield the rows of a value, each with its run, or the whole runs that it holds."""
    if name in _WHOLE and _HOLDS_RUN.get(name, _always)(value):
        if name == "inspect" and inspect_log.is_log(value):
            yield from (Piece(name, sample) for sample in inspect_log.samples_in(value))
        else:
            yield Piece(name, value)
    else:
        yield from (Piece(name, row, run) for row, run in _ROWS[name](value))


def _always(value: Any) -> bool:  # noqa: ARG001 - one of several
    return True


_HOLDS_RUN: Final[dict[str, Callable[[Any], bool]]] = {
    "langfuse": _is_traced,
    "openinference": _is_spans,
    "messages": _holds_talk,
}


def _otlp_rows(value: Any) -> Iterator[tuple[Any, str]]:
    for span in otel_spans.spans_in(as_map(value)):
        yield span, otel_spans.trace_id_of(span) or ""


def _langsmith_rows(value: Any) -> Iterator[tuple[Any, str]]:
    for run in langsmith.runs_in(as_map(value)):
        yield run, langsmith.run_trace_id(run)


def _event_rows(value: Any) -> Iterator[tuple[Any, str]]:
    for row in [value] if managed_events.is_event(value) else as_list(value):
        yield row, ""


def _message_rows(value: Any) -> Iterator[tuple[Any, str]]:
    yield value, sessions.session_of(value)


_ROWS: Final[dict[str, Callable[[Any], Iterable[tuple[Any, str]]]]] = {
    "otlp": _otlp_rows,
    "langsmith": _langsmith_rows,
    "langfuse": lambda value: [(value, langfuse.observation_trace_id(as_map(value)))],
    "openinference": lambda value: [(value, otel_spans.trace_id_of(value) or "")],
    "platform_rows": lambda value: [(value, platform_rows.row_trace_id(as_map(value)))],
    "managed_agent": _event_rows,
    "messages": _message_rows,
}


def read_group(format: str, rows: list[Any], options: ReadOptions, *, whole: bool) -> Trace:
    """Read one run: a whole one, or the rows of it."""
    if not whole:
        return _GROUPED[format](rows, options)
    return _WHOLE[format](rows[0], options)


def _otlp(rows: list[Any], options: ReadOptions) -> Trace:
    return otel_spans.read_spans(rows, options, framework="otlp")


def _spans(value: Any, options: ReadOptions) -> Trace:
    return otel_spans.read_spans(_spans_in(value), options)


def _traced(value: Any, options: ReadOptions) -> Trace:
    told = as_map(value)
    about = as_map(told.get("trace")) or told
    return langfuse.read_observations(as_list(told.get("observations")), options, about)


def _talk(value: Any, options: ReadOptions) -> Trace:
    events = sessions.events_in(value)
    if events:
        return _named(sessions.read_session(events, options), value)
    listed = value if isinstance(value, list) else talk_in(as_map(value)) or [value]
    listed = steps_in({"steps": value}) or listed
    return _named(read_messages(listed, options), value)


def _log(value: Any, options: ReadOptions) -> Trace:
    text = _log_in(value)
    told = text if text is not None else value if isinstance(value, str) else ""
    return _named(react_log.read_react_log(told, options), value)


def _named(trace: Trace, value: Any) -> Trace:
    """Add what a row says of its run besides the run: its name, its question, its error."""
    told = as_map(value)
    id, asked = first(told, "id", "trace_id", "run_id", "session_id"), told.get("question")
    open_end = trace.answer is None and trace.error is None
    reason = _reason_in(told)
    error = _error_in(told) if open_end else trace.error
    return replace(
        trace,
        reason=(reason if open_end or reason == "yielded" else None) or trace.reason,
        error=error,
        unreadable=trace.unreadable if error is None else None,
        id=str(id) if isinstance(id, (str, int)) else None,
        question=asked if isinstance(asked, str) and trace.question is None else trace.question,
    )


def _reason_in(told: Mapping[str, Any]) -> str | None:
    """Return why a row says that its run ended, or that it waits for somebody."""
    held = (as_map(told.get("values")), *map(as_map, as_list(told.get("tasks"))))
    if any(each.get("interrupts") or each.get("__interrupt__") for each in (told, *held)):
        return "interrupted"  # a thread of LangGraph
    words = (as_map(each).get(key) for each in (told, told.get("output")) for key in _ENDS)
    return next((reason for word in words if (reason := reason_in(word)) is not None), None)


def _error_in(told: Mapping[str, Any]) -> TraceError | None:
    """Return what a row says that failed: itself, or the provider in place of a reply."""
    replies = [(as_map(decoded(told.get(key))), "model") for key in REPLIES]
    own = "model" if told.get("object") == "response" else "unknown"
    for held, origin in ((told, own), *replies):
        error = held.get("error")
        if isinstance(error, str) and error.strip():
            return error_of(error, origin)
        said = as_map(error)
        if said:
            kind, code = as_text(first(said, "type", "code")), as_text(first(said, "code"))
            message = as_text(first(said, "message", "detail"))
            return TraceError(kind or "Error", message or code, origin)
    return None


_WHOLE: Final[dict[str, Read]] = {
    "loopmend": lambda value, _: Trace.from_data(value),
    "inspect": lambda value, options: inspect_log.read_sample(as_map(value), options),
    "atif": lambda value, options: atif.read_atif(as_map(value), options),
    "langfuse": _traced,
    "agent_executor": lambda value, options: agent_steps.read_agent_result(as_map(value), options),
    "swe_agent": lambda value, options: swe_agent.read_trajectory(as_map(value), options),
    "openinference": _spans,
    "messages": _talk,
    "react_log": _log,
}
_GROUPED: Final[dict[str, Callable[[list[Any], ReadOptions], Trace]]] = {
    "otlp": _otlp,
    "langsmith": langsmith.read_runs,
    "langfuse": langfuse.read_observations,
    "openinference": otel_spans.read_spans,
    "platform_rows": platform_rows.read_rows,
    "managed_agent": managed_events.read_events,
    "messages": sessions.read_session,
}
