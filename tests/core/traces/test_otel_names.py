"""The names of attributes are those of the conventions, as their own packages state them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

from loopmend.traces import otel
from loopmend.traces.otel import export_spans
from loopmend.traces.readers import attributes
from loopmend.traces.trace import Observation, Step, Tokens, Trace, TraceCall

conventions = pytest.importorskip("openinference.semconv.trace")

OPENINFERENCE = {
    value
    for holder in vars(conventions).values()
    if isinstance(holder, type) and not issubclass(holder, Enum)
    for value in vars(holder).values()
    if isinstance(value, str)
}
GEN_AI = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI")}
OTHERS = {
    *("gen_ai.completion.", "gen_ai.completion", "gen_ai.prompt"),  # Traceloop's, before 1.28
    *("llm.request.type", "llm.request.functions"),  # Traceloop's
    *("gen_ai.choice", "gen_ai.content.prompt", "gen_ai.content.completion"),  # events, before
    *("gen_ai.tool.message", "gen_ai.tool.status"),  # Strands'
    *("gen_ai.agent.tools", "gen_ai.event.content", "gen_ai.", "message."),  # beginnings of names
}
"""What is read besides, as other tools write it."""


class Tracer:
    """Keeps the attributes of spans."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.kinds: set[str] = set()

    @contextmanager
    def start_as_current_span(self, name: str, **given: Any) -> Iterator[Tracer]:
        """Note a span's attributes."""
        self.names |= set(given["attributes"]) if name else set()
        self.kinds.add(given["attributes"]["openinference.span.kind"])
        yield self

    def end(self, end_time: int) -> None:
        """End at any time."""


def test_what_we_write_is_what_the_conventions_name() -> None:
    """Each attribute of an exported span is OpenInference's, GenAI's, or has our own prefix."""
    seen = Observation("4", "add", "c")
    step = Step(
        "hm", calls=[TraceCall("add", {"a": 1}, "c")], observations=[seen], tokens=Tokens(1, 2)
    )
    tracer = Tracer()
    export_spans(Trace([step], "2 + 2?", "4", id="x", tools=["add"], metadata={"a": 1}), tracer)
    written = {part for name in tracer.names for part in re.split(r"\.\d+\.", name)}
    assert len(written) > 20
    assert {name for name in written if not name.startswith("loopmend.")} <= OPENINFERENCE | GEN_AI
    assert tracer.kinds <= {kind.value for kind in conventions.OpenInferenceSpanKindValues}


@pytest.mark.parametrize("module", [otel, attributes])
def test_what_we_read_is_what_the_conventions_name(module: Any) -> None:
    """Each name in the source that looks like one of theirs is one of theirs."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    named = re.compile(r"(?:llm|tool|message|input|output|gen_ai|openinference)\.[a-z_.0-9]*")
    found = [text for text in texts if isinstance(text, str) and named.fullmatch(text)]
    parts = {part for text in found for part in re.split(r"\.\d+\.", text)}
    assert len(parts) > 10
    assert parts - OPENINFERENCE - GEN_AI - OTHERS == set()
