"""Samples of Inspect's logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from loopmend.traces.readers.conversation import drafts_of
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.messages import messages_in
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.said import first_user
from loopmend.traces.readers.spans import error_of
from loopmend.traces.readers.values import as_list, as_map, as_text, finish_of, first, tokens_in
from loopmend.traces.trace import Trace, TraceError

__all__ = ["is_log", "is_sample", "read_sample", "samples_in"]

# What a limit on a sample is to a run.
_LIMITS: Final = {
    **dict.fromkeys(("message", "turn", "token", "cost", "context"), "max_iterations"),
    **dict.fromkeys(("time", "working"), "timeout"),
    "operator": "cancelled",
    "custom": "blocked",
}
_ATTACHED: Final = ("attachment://", "tc://")
_DEEPEST: Final = 12


def is_log(value: Any) -> bool:
    """Tell whether a value is a whole log."""
    return (
        isinstance(value, Mapping) and "eval" in value and ("samples" in value or "plan" in value)
    )


def is_sample(value: Any) -> bool:
    """Tell whether a value is one sample of a log."""
    return isinstance(value, Mapping) and {"epoch", "messages"} <= set(value) and "id" in value


def samples_in(log: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the samples of a log."""
    yield from as_list(log.get("samples"))


def read_sample(sample: Mapping[str, Any], options: ReadOptions) -> Trace:
    """Read one sample.

    >>> sample = {"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "4"}]}
    >>> read_sample(sample, ReadOptions()).answer
    '4'
    """
    attached = as_map(sample.get("attachments"))
    messages = _resolved(sample.get("messages"), attached, 0)
    said = messages_in(messages)
    output = as_map(sample.get("output"))
    drafts = drafts_of(said)
    usage = tokens_in(output.get("usage"))
    if drafts and drafts[-1].tokens is None:
        drafts[-1].tokens = usage
    stop = finish_of(output)
    if drafts and stop is not None:
        drafts[-1].finish = stop
    limit = as_map(sample.get("limit")).get("type")
    reason = _LIMITS.get(str(limit)) if limit is not None else None
    scores = as_map(sample.get("scores"))
    given = _resolved(sample.get("input"), attached, 0)
    asked = given if isinstance(given, str) else first_user(said)
    filtered = stop == "content_filter"
    trace = Trace(
        question=asked or None,
        reason=reason or ("blocked" if filtered else None),
        error=_error(sample, output),
        framework="inspect",
        seconds=_seconds(sample),
        id=str(first(sample, "uuid") or f"{sample.get('id')}_epoch_{sample.get('epoch')}"),
        metadata={"scores": {k: as_map(v).get("value", v) for k, v in scores.items()}}
        if scores
        else {},
        unreadable="inspect" if as_list(messages) and not said else None,
    )
    return ended(drafts, trace, options, talks=True)


def _error(sample: Mapping[str, Any], output: Mapping[str, Any]) -> TraceError | None:
    told = as_map(sample.get("error")).get("message")
    if isinstance(told, str) and told:
        return error_of(told, "unknown")
    told = output.get("error")
    return error_of(told, "model") if isinstance(told, str) and told else None


def _seconds(sample: Mapping[str, Any]) -> float | None:
    taken = sample.get("total_time")
    return float(taken) if isinstance(taken, (int, float)) else None


def _resolved(value: Any, attached: Mapping[str, Any], depth: int) -> Any:
    """Put long texts back where they were replaced by a reference."""
    if not attached or depth > _DEEPEST:
        return value
    if isinstance(value, str):
        for start in _ATTACHED:
            if value.startswith(start):
                return as_text(attached.get(value[len(start) :], value))
        return value
    if isinstance(value, list):
        return [_resolved(each, attached, depth + 1) for each in value]
    if isinstance(value, Mapping):
        return {key: _resolved(each, attached, depth + 1) for key, each in value.items()}
    return value
