"""Runs of LangSmith: rows of an export, operations of its client, or a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.run import read_run
from loopmend.traces.readers.spans import Span, error_of, origin_of
from loopmend.traces.readers.values import as_list, as_map, decoded, first, tokens_in
from loopmend.traces.trace import Trace

__all__ = ["is_run", "parent_of", "read_runs", "run_trace_id", "runs_in"]

_STATES: Final = {
    **dict.fromkeys(("cancelled", "canceled"), "cancelled"),
    "interrupted": "interrupted",
}
_KINDS: Final = {"llm": "LLM", "tool": "TOOL", "chain": "CHAIN", "parser": "CHAIN"}


_CAMEL: Final = {
    "runType": "run_type",
    "traceId": "trace_id",
    "parentRunId": "parent_run_id",
    "startTime": "start_time",
    "dottedOrder": "dotted_order",
    "childRuns": "child_runs",
}


def is_run(row: Any) -> bool:
    """Tell whether a row is a run, or the operation of a client that tells of one."""
    return isinstance(row, Mapping) and (
        ("runType" in row and "id" in row)
        or ("run_type" in row and ("id" in row or "trace_id" in row))
        or "dotted_order" in row
        or ("post" in row and "patch" in row)
        or (isinstance(row.get("child_runs"), list) and "outputs" in row)
    )


def runs_in(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the runs that a row holds: one, the operations of a client, or a tree."""
    stack: list[tuple[Mapping[str, Any], str | None]] = [(row, None)]
    for key in ("patch", "post"):
        stack += [(each, None) for each in as_list(row.get(key)) if isinstance(each, Mapping)]
    while stack:
        run, parent = stack.pop()
        if "post" in run or "patch" in run:
            continue
        if "runType" in run:
            run = {_CAMEL.get(key, key): value for key, value in run.items()}
        yield (
            run if parent is None or run.get("parent_run_id") else {**run, "parent_run_id": parent}
        )
        children = as_list(run.get("child_runs"))
        stack += [(c, _id(run)) for c in reversed(children) if isinstance(c, Mapping)]


def run_trace_id(run: Mapping[str, Any]) -> str:
    """Return the trace that a run belongs to."""
    told = run.get("trace_id")
    return str(told or str(run.get("dotted_order") or "").partition(".")[0][-36:] or _id(run))


def parent_of(run: Mapping[str, Any]) -> str:
    """Return the run that a run is part of, or nothing."""
    return "" if run.get("trace_id") else _parent(run)


def read_runs(runs: Iterable[Mapping[str, Any]], options: ReadOptions) -> Trace:
    """Read the runs of one trace.

    >>> run = {"id": "1", "run_type": "llm", "outputs": {"generations": [[{"text": "Hi."}]]}}
    >>> read_runs([run], ReadOptions()).answer
    'Hi.'
    """
    merged = list(_merged(runs).values())
    spans = [_span(run) for run in merged]
    root = next((run for run in merged if not _parent(run)), None)
    tags = as_list(root.get("tags")) if root is not None else []
    trace = Trace(
        framework="langsmith",
        id=run_trace_id(merged[0]) if merged else None,
        answer=_answer(root),
        metadata={"tags": tags} if tags else {},
    )
    if all(span.kind == "OTHER" for span in spans):  # an embedding or a retriever by itself
        return replace(trace, answer=None, unreadable=trace.framework)
    return read_run(spans, trace, options)


def _merged(runs: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Make one run of what was posted of it and what was patched later."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        held = found.setdefault(_id(run), {})
        held.update({key: value for key, value in run.items() if value not in (None, {}, [])})
    return found


def _id(run: Mapping[str, Any]) -> str:
    told = first(run, "id", "run_id")
    # A patch may tell its run by its place only, which ends with the run's id.
    return str(told or str(run.get("dotted_order") or "")[-36:])


def _parent(run: Mapping[str, Any]) -> str:
    told = first(run, "parent_run_id", "parent_id")
    if told:
        return str(told)
    return str(run.get("dotted_order") or "").rpartition(".")[0][-36:]


def _span(run: Mapping[str, Any]) -> Span:
    kind = _KINDS.get(str(run.get("run_type") or "chain").lower(), "OTHER")
    name = str(run.get("name") or "")
    origin = origin_of(kind, "Parser" if run.get("run_type") == "parser" else name)
    told = run.get("error")
    error = error_of(told, origin) if isinstance(told, str) and told.strip() else None
    given, said = decoded(run.get("inputs")), decoded(run.get("outputs"))
    if kind == "TOOL":
        given, said = _sole(given, "input"), _sole(said, "output")
    if not _parent(run) and kind == "CHAIN":
        kind = "CHAIN" if error is not None or name.endswith("Parser") else "AGENT"
    usage = as_map(said).get("usage_metadata") or as_map(as_map(said).get("llm_output")).get(
        "token_usage"
    )
    return Span(
        id=_id(run),
        parent=_parent(run),
        name=name,
        kind=kind,
        start=str(run.get("dotted_order") or run.get("start_time") or ""),
        given=given,
        said=said,
        error=error,
        ended=_STATES.get(str(run.get("status")).lower()) if error is None else None,
        tokens=tokens_in(usage),
        call_id=_call_id(run),
    )


def _sole(value: Any, key: str) -> Any:
    """Take a value out of an object that holds nothing else."""
    return value[key] if isinstance(value, Mapping) and set(value) == {key} else value


def _call_id(run: Mapping[str, Any]) -> str | None:
    extra = as_map(as_map(run.get("extra")).get("metadata"))
    id = first(run, "tool_call_id") or first(extra, "tool_call_id")
    return id if isinstance(id, str) else None


def _answer(root: Mapping[str, Any] | None) -> str | None:
    """Return what the outermost run returned, if that is text."""
    outputs = decoded(root.get("outputs")) if root is not None else None
    told = first(outputs, "output", "answer", "result", "text") if outputs else None
    return told if isinstance(told, str) and told else None
