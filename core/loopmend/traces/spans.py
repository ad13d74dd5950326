"""OpenInference spans, nested or flat, as exporters write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loopmend.reading.response import read_response
from loopmend.reading.turn import Turn
from loopmend.traces.messages import text_of_content
from loopmend.traces.trace import (
    Limits,
    Observation,
    Step,
    Tokens,
    Trace,
    TraceCall,
    TraceError,
)

__all__ = ["read_spans"]

_KIND: Final = "openinference.span.kind"
_FINAL_TOOLS: Final = frozenset({"finalanswertool", "final_answer", "finalanswer"})
_CODE: Final = re.compile(r"```(?:py|python)\s*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_IN_TOOLS: Final = frozenset({"sanitize_inputs_outputs"})


@dataclass
class _Span:
    name: str
    kind: str
    attributes: Mapping[str, Any]
    id: str
    parent: str | None
    start: str
    error: TraceError | None
    children: list[_Span] = field(default_factory=list)


def read_spans(spans: Iterable[Any], *, max_iterations: int | None = None) -> Trace:
    """Read the spans of one trace: each call of a model is a step.

    Args:
        spans: Mappings, nested (`child_spans`) or flat (`parent_span_id`, `parent_id`), with
            OpenInference attributes.
        max_iterations: The cap on steps, if there was one and the spans do not tell.

    >>> span = {"name": "llm", "span_id": "1", "attributes": {
    ...     "openinference.span.kind": "LLM", "output.value": "It is in Norway."}}
    >>> read_spans([span]).answer
    'It is in Norway.'
    """
    given = list(spans)
    roots = _tree(given)
    reading = _Reading()
    for root in roots:
        reading.visit(root)
    steps = reading.steps
    ended = next((root.error for root in roots if root.error is not None), None)
    answer = reading.answer
    if answer is None and steps and not steps[-1].calls and steps[-1].error is None:
        answer = steps[-1].text or None
    return Trace(
        steps,
        question=reading.question,
        answer=answer,
        error=None if answer is not None else ended,
        limits=Limits(max_iterations=max_iterations),
        framework="openinference",
        id=_trace_id(given),
        tools=reading.tools or None,
    )


class _Reading:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.answer: str | None = None
        self.question: str | None = None
        self.tools: list[str] = []

    def visit(self, root: _Span) -> None:
        """Follow a span and its children, in the order in which they started.

        Not by calling itself: spans may be nested deeper than Python can call.
        """
        stack: list[tuple[_Span, str | None, bool]] = [(root, None, False)]
        while stack:
            span, agent, left = stack.pop()
            if left:
                self._chain(span)
                continue
            if span.kind == "AGENT":
                agent = span.name
                self._agent(span)
            elif span.kind == "LLM":
                self._model(span, agent)
            elif span.kind == "TOOL":
                self._tool(span)
            elif span.kind == "CHAIN" and span.name.startswith("Step"):
                stack.append((span, agent, True))
            in_time = sorted(span.children, key=lambda each: each.start)
            stack += [(child, agent, False) for child in reversed(in_time)]

    def _agent(self, span: _Span) -> None:
        given = _decoded(span.attributes.get("input.value"))
        if self.question is None and isinstance(given, Mapping):
            task = given.get("task") or given.get("input")
            self.question = task if isinstance(task, str) else None
        names = span.attributes.get("smolagents.tools_names")
        if isinstance(names, (list, tuple)) and not self.tools:
            self.tools = [str(name) for name in names]
        said = span.attributes.get("output.value")
        if isinstance(said, str) and span.error is None and said not in ("", "None"):
            self.answer = said

    def _model(self, span: _Span, agent: str | None) -> None:
        text, calls = _output(span.attributes)
        answers = [call for call in calls if call.name.lower() in _FINAL_TOOLS]
        calls = [call for call in calls if call not in answers]
        code = _CODE.search(text) if not calls else None
        if code is not None and not answers:
            calls = [TraceCall("python", code[1])]
        self.steps.append(
            Step(
                text=text,
                calls=calls,
                turn=_turn(text, calls),
                answer=_answer_of(answers[0].arguments) if answers else None,
                error=span.error,
                tokens=_tokens(span.attributes),
                agent=agent,
                id=span.id,
            )
        )

    def _tool(self, span: _Span) -> None:
        name = str(span.attributes.get("tool.name") or span.name)
        given = _tool_input(span.attributes.get("input.value"))
        if span.name.lower() in _FINAL_TOOLS or name.lower() in _FINAL_TOOLS:
            self._last(answer=_answer_of(given))
            return
        said = span.attributes.get("output.value")
        text = span.error.message if span.error is not None else str(said or "")
        self._last(
            call=TraceCall(name, given),
            observation=Observation(text, name, failed=span.error is not None),
        )

    def _chain(self, span: _Span) -> None:
        """Take what the host says about a step: its error, or what its code printed."""
        said = span.attributes.get("output.value")
        if span.error is not None:
            self._last(error=span.error)
        elif isinstance(said, str) and self.steps and not self.steps[-1].observations:
            self._last(observation=Observation(said))

    def _last(
        self,
        *,
        call: TraceCall | None = None,
        observation: Observation | None = None,
        answer: str | None = None,
        error: TraceError | None = None,
    ) -> None:
        """Add to the latest step, or to one of its own where no model was asked."""
        if not self.steps:
            self.steps.append(Step())
        step = self.steps[-1]
        # A call that the model's own span tells of is there already.
        asked = sum(call is not None and c.name == call.name for c in step.calls)
        made = sum(call is not None and o.tool == call.name for o in step.observations)
        calls = step.calls if call is None or made < asked else (*step.calls, call)
        seen = step.observations if observation is None else (*step.observations, observation)
        self.steps[-1] = Step(
            step.text,
            step.thought,
            calls,
            seen,
            step.answer if answer is None else answer,
            step.turn,
            step.error or error,
            step.tokens,
            step.seconds,
            step.agent,
            step.id,
        )


def _trace_id(spans: list[Any]) -> str | None:
    ids = (span.get("trace_id") for span in spans if isinstance(span, Mapping))
    return next((id for id in ids if isinstance(id, str)), None)


def _turn(text: str, calls: list[TraceCall]) -> Turn | None:
    """Read what a model said; code that its host runs is a call and no text of its own."""
    if not text and not calls:
        return None
    native = [{"name": call.name, "args": call.arguments} for call in calls]
    return read_response(text, calls=native)


def _tree(spans: Iterable[Any]) -> list[_Span]:
    """Return the outermost spans, whichever way the spans were given."""
    flat: dict[str, _Span] = {}
    order: list[_Span] = []
    stack: list[tuple[Any, str | None]] = []
    stack += [(raw, None) for raw in reversed(list(spans))]
    while stack:
        raw, parent = stack.pop()
        if not isinstance(raw, Mapping):
            continue
        span = _span(raw, parent, len(order))
        flat[span.id] = span
        order.append(span)
        children = raw.get("child_spans") or raw.get("children")
        if isinstance(children, (list, tuple)):
            stack += [(child, span.id) for child in reversed(children)]
    roots = []
    for span in order:
        above = flat.get(span.parent or "")
        if above is None or above is span:
            roots.append(span)
        else:
            above.children.append(span)
    return roots


def _span(raw: Mapping[str, Any], parent: str | None, number: int) -> _Span:
    attributes = raw.get("span_attributes") or raw.get("attributes") or {}
    attributes = attributes if isinstance(attributes, Mapping) else {}
    context = raw.get("context")
    context = context if isinstance(context, Mapping) else {}
    kind = attributes.get(_KIND) or raw.get("span_kind") or ""
    return _Span(
        name=str(raw.get("span_name") or raw.get("name") or ""),
        kind=str(kind).upper(),
        attributes=attributes,
        id=str(raw.get("span_id") or context.get("span_id") or f"span-{number}"),
        parent=parent or str(raw.get("parent_span_id") or raw.get("parent_id") or ""),
        start=str(raw.get("timestamp") or raw.get("start_time") or ""),
        error=_error(raw, str(kind).upper()),
    )


def _error(raw: Mapping[str, Any], of_kind: str) -> TraceError | None:
    status = raw.get("status")
    status = status if isinstance(status, Mapping) else {}
    code = str(raw.get("status_code") or status.get("status_code") or status.get("code") or "")
    if code.upper().rpartition(".")[2] not in ("ERROR", "STATUS_CODE_ERROR", "2"):
        return None
    message = str(
        raw.get("status_message") or status.get("description") or status.get("message") or ""
    )
    kind, _, rest = message.partition(":")
    named = bool(rest) and kind.isidentifier()
    origin = {"LLM": "model", "TOOL": "tool"}.get(of_kind, "host")
    return TraceError(kind if named else "Error", rest.strip() if named else message, origin)


def _output(attributes: Mapping[str, Any]) -> tuple[str, list[TraceCall]]:
    """Return what a model's span says, from flat attributes or from its output."""
    prefix = "llm.output_messages.0.message."
    text = attributes.get(f"{prefix}content")
    calls = _flat_calls(attributes, prefix)
    if text is None and not calls:
        value = _decoded(attributes.get("output.value"))
        if isinstance(value, Mapping):
            text = value.get("content")
        elif isinstance(value, str):
            text = value
    return text_of_content(text), calls


def _flat_calls(attributes: Mapping[str, Any], prefix: str) -> list[TraceCall]:
    calls: list[TraceCall] = []
    base = f"{prefix}tool_calls.0.tool_call."
    while isinstance(name := attributes.get(f"{base}function.name"), str):
        arguments = _decoded(attributes.get(f"{base}function.arguments"))
        id = attributes.get(f"{base}id")
        calls.append(TraceCall(name, arguments, id if isinstance(id, str) else None))
        base = f"{prefix}tool_calls.{len(calls)}.tool_call."
    return calls


def _tool_input(value: Any) -> Any:
    """Return a tool's arguments, without what a framework adds to them."""
    given = _decoded(value)
    if not isinstance(given, Mapping):
        return given
    plain = {k: v for k, v in given.items() if k not in _IN_TOOLS and v not in ({}, [])}
    if set(plain) <= {"args", "kwargs"} and len(plain) == 1:
        return next(iter(plain.values()))
    return plain


def _answer_of(given: Any) -> str:
    if isinstance(given, Mapping) and len(given) == 1:
        given = next(iter(given.values()))
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    return given if isinstance(given, str) else json.dumps(given, default=repr)


def _tokens(attributes: Mapping[str, Any]) -> Tokens | None:
    given = [_number(attributes.get(f"llm.token_count.{key}")) for key in ("prompt", "completion")]
    return None if given == [None, None] else Tokens(given[0] or 0, given[1] or 0)


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _decoded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "{[":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
