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
    react_log,
    swe_agent,
)
from loopmend.traces.readers.conversation import read_messages
from loopmend.traces.readers.messages import is_message
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.values import as_list, as_map, decoded, first
from loopmend.traces.trace import Trace

__all__ = ["FORMATS", "Piece", "format_of", "pieces_of", "read_group"]

Read = Callable[[Any, ReadOptions], Trace]

_TALKS: Final = (
    "messages",
    "conversations",
    "conversation",
    "traj",
    "contents",
    "history",
    "turns",
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
    return isinstance(value, Mapping) and bool({"resourceSpans", "resource_spans"} & set(value))


def _is_span(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    told = isinstance(value.get("attributes", value.get("span_attributes")), (Mapping, list))
    columns = any(isinstance(key, str) and key.startswith("attributes.") for key in value)
    placed = any(k in value for k in ("span_id", "spanId", "context", "spanContext", "span_kind"))
    return (placed and (told or columns)) or otel_spans.is_attributes(value)


def _is_spans(value: Any) -> bool:
    """Tell whether a value is one trace with its spans inside."""
    spans = as_list(as_map(value).get("spans"))
    return bool(spans) and all(map(_is_span, spans))


def _is_traced(value: Any) -> bool:
    """Tell whether a value is a trace with its observations inside."""
    return isinstance(value, Mapping) and isinstance(value.get("observations"), list)


def _is_talk(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(is_message, value))
    return isinstance(value, Mapping) and _talk_in(value) is not None


def _talk_in(value: Mapping[str, Any]) -> Any:
    for key in _TALKS:
        listed = decoded(value.get(key))
        if isinstance(listed, list) and listed and any(map(is_message, listed)):
            return listed
    # OpenAI's Responses: what was asked, and what came of it
    given, said = decoded(value.get("input")), decoded(value.get("output"))
    if isinstance(said, list) and said and any(map(is_message, said)):
        asked = given if isinstance(given, list) else [{"role": "user", "content": given}]
        return [*asked, *said] if given else said
    if isinstance(value.get("choices"), list) or isinstance(value.get("candidates"), list):
        return [value]
    return None


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
    ("agent_executor", agent_steps.is_agent_result),
    ("swe_agent", swe_agent.is_trajectory),
    ("openinference", lambda value: _is_spans(value) or _is_span(value)),
    ("managed_agent", managed_events.is_event),
    ("messages", lambda value: _is_talk(value) or is_message(value)),
    ("react_log", _is_log),
)
FORMATS: Final = tuple(name for name, _ in _MARKS)
"""The formats that can be read, under the names that `load_traces` takes."""


def format_of(value: Any) -> str | None:
    """Return the name of a value's format, or none if it has no marks of any."""
    return next((name for name, has in _MARKS if has(value)), None)


def pieces_of(value: Any, format: str | None = None, *, deep: bool = True) -> Iterator[Piece]:
    """Yield the runs and the rows that a decoded value holds.

    Args:
        value: What a file or a line of it holds.
        format: Its format, if the user told it.
        deep: Whether to look into lists and pages.
    """
    name = format or format_of(value)
    if name is None or (isinstance(value, list) and name not in ("messages", "managed_agent")):
        yield from _inside(value, format, deep=deep)
        return
    yield from _split(name, value)


def _inside(value: Any, format: str | None, *, deep: bool) -> Iterator[Piece]:
    """Yield what a list holds, or a page of an interface."""
    listed = value if isinstance(value, list) else None
    for key in ("data", "runs", "traces", "rows", "results", "items"):
        held = as_map(value).get(key)
        listed = held if listed is None and isinstance(held, list) else listed
    if listed is None or not deep:
        if value not in (None, {}, []):
            yield Piece("unknown" if format is None else format, value)
        return
    for each in listed:
        yield from pieces_of(each, format, deep=isinstance(value, Mapping) or _is_talk(each))


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
    "messages": _is_talk,
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


_ROWS: Final[dict[str, Callable[[Any], Iterable[tuple[Any, str]]]]] = {
    "otlp": _otlp_rows,
    "langsmith": _langsmith_rows,
    "langfuse": lambda value: [(value, langfuse.observation_trace_id(as_map(value)))],
    "openinference": lambda value: [(value, otel_spans.trace_id_of(value) or "")],
    "managed_agent": _event_rows,
    "messages": lambda value: [(value, "")],
}


def read_group(format: str, rows: list[Any], options: ReadOptions, *, whole: bool) -> Trace:
    """Read one run: a whole one, or the rows of it."""
    if not whole:
        return _GROUPED[format](rows, options)
    return _WHOLE[format](rows[0], options)


def _otlp(rows: list[Any], options: ReadOptions) -> Trace:
    return otel_spans.read_spans(rows, options, framework="otlp")


def _spans(value: Any, options: ReadOptions) -> Trace:
    return otel_spans.read_spans(as_list(as_map(value).get("spans")), options)


def _traced(value: Any, options: ReadOptions) -> Trace:
    told = as_map(value)
    about = as_map(told.get("trace")) or told
    return langfuse.read_observations(as_list(told.get("observations")), options, about)


def _talk(value: Any, options: ReadOptions) -> Trace:
    listed = value if isinstance(value, list) else _talk_in(as_map(value)) or [value]
    return _named(read_messages(listed, options), value)


def _log(value: Any, options: ReadOptions) -> Trace:
    text = _log_in(value)
    told = text if text is not None else value if isinstance(value, str) else ""
    return _named(react_log.read_react_log(told, options), value)


def _named(trace: Trace, value: Any) -> Trace:
    """Add what a row says of its run besides the run: its name, its question, its error."""
    told = as_map(value)
    id, asked = first(told, "id", "trace_id", "run_id", "session_id"), told.get("question")
    return replace(
        trace,
        id=str(id) if isinstance(id, (str, int)) else None,
        question=asked if isinstance(asked, str) and trace.question is None else trace.question,
    )


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
    "managed_agent": managed_events.read_events,
    "messages": read_messages,
}
