"""Events of a managed agent's session, as Anthropic's platform streams them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from loopmend.traces.readers.draft import Draft, maker
from loopmend.traces.readers.endings import ended
from loopmend.traces.readers.options import ReadOptions
from loopmend.traces.readers.parts import call_of, content_of, result_of
from loopmend.traces.readers.spans import error_of
from loopmend.traces.readers.values import as_map, as_text, tokens_in
from loopmend.traces.trace import Trace, TraceError

__all__ = ["events_in", "is_event", "read_events"]

_PREFIXES: Final = ("agent.", "session.", "user.", "span.")
_PAIR: Final = 2
_STOPS: Final = {"requires_action": "interrupted", "retries_exhausted": "provider_error"}


def is_event(row: Any) -> bool:
    """Tell whether a row is an event, bare or after the name of the call that returned it."""
    sent = (
        isinstance(row, (list, tuple)) and len(row) == _PAIR and isinstance(row[1], (list, tuple))
    )
    return any(True for _ in events_in(row)) or (sent and str(row[0]).endswith(".events.send"))


def events_in(row: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a row."""
    if isinstance(row, (list, tuple)) and len(row) == _PAIR and isinstance(row[0], str):
        row = row[1]
    if not isinstance(row, Mapping):
        return
    kind = row.get("type")
    if isinstance(row.get("data"), Mapping):  # Copilot's
        return
    session = kind == "session" and isinstance(row.get("agent"), Mapping)
    if session or (isinstance(kind, str) and kind.startswith(_PREFIXES)):
        yield row


def read_events(rows: Iterable[Any], options: ReadOptions) -> Trace:
    """Read the events of one session: each request of the model is a step.

    >>> said = {"type": "agent.message", "content": [{"type": "text", "text": "Hi."}]}
    >>> read_events([said], ReadOptions()).answer
    'Hi.'
    """
    reading = _Reading()
    for row in rows:
        for event in events_in(row):
            reading.take(event)
    trace = Trace(
        question=reading.question,
        reason=reading.reason,
        error=reading.error,
        framework="managed_agent",
        id=reading.id,
    )
    return ended(reading.drafts, trace, options, talks=True)


class _Reading:
    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.question: str | None = None
        self.reason: str | None = None
        self.error: TraceError | None = None
        self.id: str | None = None
        self.open = False
        self.request = 0

    def take(self, event: Mapping[str, Any]) -> None:
        kind = str(event.get("type"))
        if kind == "session":
            self.id = as_text(event.get("id")) or None
        elif kind == "user.message":
            self.question = self.question or "\n".join(content_of(event.get("content")).texts)
            self.request, self.open = self.request + bool(self.drafts), False
        elif kind == "span.model_request_start":
            self.open = False
        elif kind == "span.model_request_end" and self.drafts:
            self.drafts[-1].tokens = tokens_in(event.get("model_usage"))
            self.open = False
        elif kind in ("agent.message", "agent.thinking") or kind.endswith("tool_use"):
            self._said(event, kind)
        elif kind.endswith("tool_result"):
            self._returned(event)
        elif kind == "session.error":
            told = as_map(event.get("error"))
            said = ": ".join(as_text(told[k]) for k in ("type", "message") if told.get(k))
            self.error = error_of(said or "Error", "model")
        elif kind == "session.status_idle":
            stop = as_map(event.get("stop_reason")).get("type")
            self.reason = _STOPS.get(str(stop))
        elif kind == "session.status_running":
            self.reason = None  # who waited goes on

    def _said(self, event: Mapping[str, Any], kind: str) -> None:
        if kind == "agent.thinking" and not event.get("content"):
            return
        if not self.open or not self.drafts:
            self.drafts.append(Draft(request=self.request))
            self.open = True
        draft = self.drafts[-1]
        if kind.endswith("tool_use"):
            call = call_of(event)
            draft.calls += [] if call is None else [call]
        else:
            held = content_of(event.get("content"))
            said = "\n".join(held.texts)
            if kind == "agent.thinking":
                draft.thought = said or None
            else:
                draft.text = "\n".join(filter(None, (draft.text, said)))

    def _returned(self, event: Mapping[str, Any]) -> None:
        id = next((event[k] for k in event if k.endswith("tool_use_id")), None)
        result = result_of({"role": "tool", **event, "tool_use_id": id})
        target = maker(self.drafts, result.call_id) or (self.drafts[-1] if self.drafts else None)
        if target is not None:
            target.observe(result)
        self.open = False
