"""Traces as OpenTelemetry spans, under the names of OpenInference and of the GenAI conventions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import groupby
from math import isfinite
from typing import Any, Final

from loopmend.traces.redaction import redact_secrets
from loopmend.traces.trace import Observation, Step, Trace, TraceCall, TraceError

__all__ = ["export_spans"]

_AGENT: Final = "invoke_agent"
# Readers order spans by times that many exporters write in microseconds, rounded from a float:
# two times that are only one microsecond apart can come out the same.
_TICK: Final = 2_000
# What the conventions call an error that has no name of its own.
_FAILED: Final = "_OTHER"
_MESSAGE: Final = "llm.output_messages.0.message."


def export_spans(
    trace: Trace, tracer: Any, *, redact: Callable[[Trace], Trace] | None = redact_secrets
) -> None:
    """Write a trace as spans: an agent with a chain per step, which has a model and tools.

    `Trace.from_spans` reads them back. The trace records how long things took but not when, so the
    spans end now. They are children of the current span, if there is one.

    Args:
        trace: The run.
        tracer: An OpenTelemetry tracer, as `TracerProvider.get_tracer` returns it.
        redact: Removes secrets from the trace first; `None` keeps everything.

    >>> from contextlib import contextmanager
    >>> class Tracer:  # what OpenTelemetry's does, in short
    ...     @contextmanager
    ...     def start_as_current_span(self, name, *, attributes, **options):
    ...         print(name, attributes["openinference.span.kind"])
    ...         yield self
    ...     def end(self, end_time):
    ...         pass
    >>> export_spans(Trace([Step("It is 4.")], answer="It is 4."), Tracer())
    invoke_agent AGENT
    Step 1 CHAIN
    chat LLM
    """
    trace = trace if redact is None else redact(trace)
    _Export(tracer, trace).run(trace)


class _Export:
    def __init__(self, tracer: Any, trace: Trace) -> None:
        self.tracer = tracer
        taken = max(_nanoseconds(trace.seconds), sum(_length(step) for step in trace.steps))
        self.now = time.time_ns() - taken

    def run(self, trace: Trace) -> None:
        agents = {step.agent for step in trace.steps if step.agent}
        name = agents.pop() if len(agents) == 1 else _AGENT
        with self.span(name, _run(trace, name), trace.error, trace.seconds):
            numbered = enumerate(trace.steps, 1)
            for agent, group in groupby(numbered, key=lambda item: item[1].agent or name):
                if agent == name:
                    self.steps(group)
                    continue
                with self.span(agent, _agent(agent)):
                    self.steps(group)

    def steps(self, numbered: Iterator[tuple[int, Step]]) -> None:
        for number, step in numbered:
            printed, results = _results(step)
            # What the host says of the step and what went wrong in it cannot both be read back
            # from the chain's span.
            of_model = step.error is not None and (
                step.error.origin == "model" or printed is not None
            )
            chain = {"openinference.span.kind": "CHAIN", "output.value": printed}
            with self.span(f"Step {number}", chain, None if of_model else step.error, step.seconds):
                alone = _nanoseconds(step.seconds) - sum(
                    _nanoseconds(o.seconds) for o, _ in results
                )
                error = step.error if of_model else None
                with self.span("chat", _model(step), error, alone / 1e9):
                    pass
                for observation, call in results:
                    self.tool(observation, call)

    def tool(self, observation: Observation, call: TraceCall | None) -> None:
        name = call.name if call is not None else observation.tool or "tool"
        attributes = _tool(name, observation, call)
        error = TraceError(_FAILED, observation.text) if observation.failed else None
        with self.span(f"execute_tool {name}", attributes, error, observation.seconds):
            pass

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Mapping[str, Any],
        error: TraceError | None = None,
        seconds: float | None = None,
    ) -> Iterator[None]:
        """Open a span that lasts as long as what is in it, and at least the given time."""
        given = {key: _value(value) for key, value in attributes.items() if value is not None}
        if error is not None:
            given["error.type"] = _value(error.kind)
        began = self.now
        with self.tracer.start_as_current_span(
            _value(name), attributes=given, start_time=began, end_on_exit=False
        ) as span:
            try:
                if error is not None:
                    _fail(span, error)
                self.now += _TICK
                yield
            finally:
                self.now = max(self.now, began + _nanoseconds(seconds)) + _TICK
                span.end(end_time=self.now)


def _fail(span: Any, error: TraceError) -> None:
    # Imported here, so that the core does without; who has a tracer has this too.
    code = import_module("opentelemetry.trace").StatusCode.ERROR
    span.set_status(code, _value(_described(error)))


def _described(error: TraceError) -> str:
    """Write an error as frameworks do: its name, a colon, its message."""
    head, colon, rest = error.message.partition(":")
    # What a tool returned has no name; it stays as it is unless it looks as if it had one.
    if error.kind == _FAILED and not (colon and rest and head.isidentifier()):
        return error.message
    return f"{error.kind}: {error.message}"


def _run(trace: Trace, name: str) -> dict[str, Any]:
    question = None if trace.question is None else _json({"input": trace.question})
    return _agent(name) | {
        "input.value": question,
        "input.mime_type": None if question is None else "application/json",
        "output.value": trace.answer,
        "metadata": _json(trace.metadata) if trace.metadata else None,
        "gen_ai.conversation.id": trace.id,
        "gen_ai.tool.definitions": _tools(trace),
        "loopmend.stop_reason": trace.reason,
        "loopmend.framework": trace.framework,
        "loopmend.max_iterations": trace.limits.max_iterations,
    }


def _tools(trace: Trace) -> str | None:
    if trace.tools is None:
        return None
    return _json([{"type": "function", "name": name} for name in trace.tools])


def _agent(name: str) -> dict[str, Any]:
    return {
        "openinference.span.kind": "AGENT",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": None if name == _AGENT else name,
    }


def _model(step: Step) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "gen_ai.operation.name": "chat",
        "output.value": step.text,
        f"{_MESSAGE}role": "assistant",
        f"{_MESSAGE}content": step.text,
    }
    for number, call in enumerate(step.calls):
        base = f"{_MESSAGE}tool_calls.{number}.tool_call."
        attributes[f"{base}id"] = call.id
        attributes[f"{base}function.name"] = call.name
        attributes[f"{base}function.arguments"] = call.arguments
    return attributes | _tokens(step)


def _tokens(step: Step) -> dict[str, Any]:
    if step.tokens is None:
        return {}
    return {
        "llm.token_count.prompt": step.tokens.input,
        "llm.token_count.completion": step.tokens.output,
        "llm.token_count.total": step.tokens.total,
        "gen_ai.usage.input_tokens": step.tokens.input,
        "gen_ai.usage.output_tokens": step.tokens.output,
    }


def _tool(name: str, observation: Observation, call: TraceCall | None) -> dict[str, Any]:
    arguments = None if call is None else call.arguments
    return {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "input.value": arguments,
        "output.value": observation.text,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": observation.call_id or (None if call is None else call.id),
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": observation.text,
    }


def _results(step: Step) -> tuple[str | None, list[tuple[Observation, TraceCall | None]]]:
    """Return what the step printed without a tool, and each observation with its call."""
    seen = list(step.observations)
    if not step.calls and len(seen) == 1 and seen[0].tool is None and not seen[0].failed:
        return seen[0].text, []
    waiting = list(step.calls)
    return None, [(observation, _taken(waiting, observation)) for observation in seen]


def _taken(waiting: list[TraceCall], observation: Observation) -> TraceCall | None:
    """Take the call that an observation answers: by its id, by its tool, or the next one."""
    by_id = [c for c in waiting if c.id is not None and c.id == observation.call_id]
    by_name = [c for c in waiting if c.name == observation.tool]
    call = next(iter([*by_id, *by_name, *waiting]), None)
    if call is not None:
        waiting.remove(call)
    return call


def _value(value: Any) -> Any:
    """Return what an attribute can hold; exporters fail on what UTF-8 cannot encode."""
    if isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else _json(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _length(step: Step) -> int:
    return max(_nanoseconds(step.seconds), sum(_nanoseconds(o.seconds) for o in step.observations))


def _nanoseconds(seconds: float | None) -> int:
    return int(seconds * 1e9) if seconds is not None and isfinite(seconds) and seconds > 0 else 0
